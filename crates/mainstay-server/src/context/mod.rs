//! The dialect `context`: what is asked in it becomes a look at three tools, or a call of one.

#[cfg(test)]
mod tests;

use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mainstay_core::{AnyTool, CacheFailure, Call, Caller, CancellationToken, Error, Outcome};
use mainstay_engine::{Engine, Inquiry};
use mainstay_wire::Id;
use mainstay_wire::context::{self, Ask, Fault, Order, Request, TOOLS};
use serde_json::{Value, json};

use crate::connection::Connection;

/// Where the requests of one client are dealt with.
pub(crate) struct Desk {
    engine: Engine,
    version: &'static str,
    tool_timeout: Duration,
    /// Before the greeting nothing else is answered.
    greeted: AtomicBool,
}

/// Who comes.
pub(crate) struct Visit {
    pub(crate) connection: Connection,
    pub(crate) session: Arc<str>,
    pub(crate) cancel: CancellationToken,
}

impl Desk {
    pub(crate) fn new(engine: Engine, version: &'static str, tool_timeout: Duration) -> Self {
        Self { engine, version, tool_timeout, greeted: AtomicBool::new(false) }
    }

    /// Does what is asked. Requests are to come one after the other: the second may depend on the greeting in the first.
    pub(crate) async fn answer(&self, request: Request, visit: Visit) -> Vec<u8> {
        let Request { id, ask } = request;
        if ask != Ok(Ask::Initialize) && !self.greeted.load(Ordering::Acquire) {
            return context::failure(&id, &Fault::not_initialized());
        }
        let result = match ask {
            Ok(Ask::Initialize) => self.greet(&visit.connection.caller),
            Ok(Ask::Ping) => Ok(json!({})),
            Ok(Ask::ListTools) => {
                self.tools(&visit.connection.caller, "tools/list").map(|tools| context::tools(&tools))
            }
            Ok(Ask::CallTool(order)) => return self.call(&id, order, visit).await,
            Err(fault) => Err(fault),
        };
        match result {
            Ok(result) => context::result(&id, &result),
            Err(fault) => context::failure(&id, &fault),
        }
    }

    fn greet(&self, caller: &Caller) -> Result<Value, Fault> {
        let tools = self.tools(caller, "initialize")?;
        self.greeted.store(true, Ordering::Release);
        Ok(context::greeting(self.version, &tools))
    }

    /// Those of the contract's tools that can be called, in its order.
    fn tools(&self, caller: &Caller, method: &str) -> Result<Vec<Value>, Fault> {
        let admitted = self.engine.admit_listing(caller, method).and_then(|()| self.engine.admit_reader(caller));
        admitted.map_err(|_| Fault::from(CacheFailure::Internal))?;
        Ok(TOOLS.iter().filter_map(|name| context::tool(self.spoken(name)?.info())).collect())
    }

    /// A tool has one name here, and is there only if it is switched on.
    fn spoken(&self, name: &str) -> Option<Arc<dyn AnyTool>> {
        let registry = self.engine.registry();
        let tool = registry.tool(name).filter(|tool| tool.info().spelling(context::DIALECT) == Some(name));
        tool.filter(|tool| registry.is_enabled(tool.info())).cloned()
    }

    async fn call(&self, id: &Id, order: Order, visit: Visit) -> Vec<u8> {
        let Order { name, arguments } = order;
        let args = match self.spoken(&name) {
            Some(tool) => context::arguments(tool.info(), arguments),
            None => Err(Fault::no_tool(&name)),
        };
        let args = match args {
            Ok(args) => args,
            Err(fault) => return context::failure(id, &self.turn_away(&name, fault, &visit).await),
        };
        let mut call = Call::tool(name, args, visit.connection.caller);
        call.session = Some(visit.session);
        call.dialect = Some(context::DIALECT);
        call.deadline = Some(self.tool_timeout);
        call.cancel = visit.cancel;
        match self.engine.call(call, &visit.connection.lane).await {
            Ok(Outcome::Reply(reply)) => context::reply(id, &reply),
            Ok(Outcome::Contents(_) | Outcome::Prompt(_)) => {
                context::failed(id, &Error::internal("a tool gave an outcome of another kind"))
            }
            Err(error) => context::failed(id, &error),
        }
    }

    /// A call that cannot be made is counted and recorded like one that was.
    async fn turn_away(&self, name: &str, fault: Fault, visit: &Visit) -> Fault {
        let inquiry = Inquiry {
            session: Some(visit.session.clone()),
            dialect: Some(context::DIALECT),
            ..Inquiry::new(format!("tools/call {}", context::shown(name)), visit.connection.caller.clone())
        };
        let reason = Error::invalid("The call names no tool of this dialect, or its arguments are no object.");
        let expected = reason.kind;
        match self.engine.attend::<()>(inquiry, ready(Err(reason))).await {
            Err(error) if error.kind != expected => CacheFailure::Internal.into(),
            Ok(()) | Err(_) => fault,
        }
    }
}
