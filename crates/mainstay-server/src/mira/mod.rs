//! The dialect `mira`: its messages become calls of the engine, the same on every transport.

mod chunks;

use std::sync::Arc;

use mainstay_core::{Call, CancellationToken, Error, Outcome, Quiet, Result, Sink};
use mainstay_engine::Engine;
use mainstay_wire::Id;
use mainstay_wire::mira::{self, Ask, Contract, Fault, ListParams, Place, Quota, Request};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use crate::StartError;
use crate::connection::Connection;

use chunks::Chunks;

/// Where the dialect's requests are dealt with.
pub(crate) struct Desk {
    engine: Engine,
    contract: Contract,
}

/// Who comes, from where, and how they can be reached while they wait.
pub(crate) struct Visit {
    pub(crate) connection: Connection,
    pub(crate) place: Arc<Place>,
    pub(crate) session: Option<Arc<str>>,
    pub(crate) idempotency_key: Option<String>,
    /// Where pieces of output go as they appear, if the caller wants to see them.
    pub(crate) stream: Option<mpsc::Sender<Vec<u8>>>,
    pub(crate) cancel: CancellationToken,
}

impl Desk {
    pub(crate) fn new(engine: Engine) -> Result<Self, StartError> {
        let contract = Contract::read().map_err(|error| StartError::Contract(error.detail.unwrap_or_default()))?;
        Ok(Self { engine, contract })
    }

    /// Does what is asked. The response, unless it was asked without an id.
    pub(crate) async fn answer(&self, request: Request, visit: Visit) -> Option<String> {
        let Request { id, ask } = request;
        let outcome = match ask {
            Ask::List(params) => self.list(params, &visit).map_err(|error| Fault::from(&error)),
            Ask::Call { tool, args } => self.call(&tool, args, id.as_ref(), visit).await,
        };
        let id = id?;
        Some(match outcome {
            Ok(result) => mira::result(&id, &result),
            Err(fault) => mira::failure(&id, &fault),
        })
    }

    fn list(&self, params: Value, visit: &Visit) -> Result<Value> {
        let caller = &visit.connection.caller;
        self.engine.admit_listing(caller, "tools/list")?;
        self.engine.admit_reader(caller)?;
        let ListParams { filter, cursor, limit } = self.contract.list_params(params)?;
        let registry = self.engine.registry();
        let wanted = |tool: &_| filter.wants(tool, registry.is_enabled(tool));
        let page = registry.tools_where(caller, wanted, cursor.as_deref(), limit)?;
        let entry = |tool: &mainstay_core::ToolInfo| {
            let quota = self.engine.settings().rate.per_tool.get(&tool.listed);
            let quota = quota.map(|quota| Quota { calls: quota.calls, seconds: quota.seconds });
            mira::entry(&self.contract, tool, registry.is_enabled(tool), quota, &visit.place)
        };
        let tools: Vec<Value> = page.items.iter().map(|tool| entry(tool.info())).collect();
        Ok(json!({ "tools": tools, "next_cursor": page.next }))
    }

    async fn call(&self, tool: &str, args: Map<String, Value>, id: Option<&Id>, visit: Visit) -> Result<Value, Fault> {
        self.spoken(tool).map_err(|error| Fault::from(&error))?;
        let mut call = Call::tool(tool, Value::Object(args), visit.connection.caller.clone());
        call.narrowed = self.contract.params(tool).cloned();
        call.session = visit.session;
        call.idempotency_key = visit.idempotency_key;
        call.cancel = visit.cancel;
        call.sink = match (visit.stream, id) {
            (Some(stream), Some(id)) => Arc::new(Chunks::new(id.clone(), stream)) as Arc<dyn Sink>,
            (Some(_) | None, _) => Arc::new(Quiet),
        };
        match self.engine.call(call, &visit.connection.lane).await {
            Ok(Outcome::Reply(reply)) => mira::reply(reply).map(|value| self.contract.close(tool, value)),
            Ok(Outcome::Contents(_) | Outcome::Prompt(_)) => {
                Err(Fault::from(&Error::internal("a tool gave an outcome of another kind")))
            }
            Err(error) => Err(Fault::from(&error)),
        }
    }

    /// A tool has one name here. Under another, what the contract closes would be open.
    fn spoken(&self, method: &str) -> Result<()> {
        match self.engine.registry().tool(method) {
            Some(tool) if mira::tool_name(tool.info()) == method => Ok(()),
            Some(_) | None => {
                Err(Error::unknown(format!("There is no method {method:?}; tools/list names those there are.")))
            }
        }
    }
}
