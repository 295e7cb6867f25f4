//! What is asked of the server besides calls: a list, a greeting, a look at its records. It meets those rules of a call
//! that apply to it, and leaves a row like one.

use std::sync::Arc;

use mainstay_core::{Call, Caller, Error, Outcome, Result, Scope, Target, new_id};
use serde_json::Value;

use crate::Engine;
use crate::policy::record::{Portrait, Record};
use crate::policy::scope;
use crate::road::Deed;

pub struct Inquiry {
    /// The name it is recorded under.
    pub operation: String,
    pub caller: Arc<Caller>,
    pub request_id: Arc<str>,
    pub session: Option<Arc<str>>,
    pub dialect: Option<&'static str>,
    /// What the caller needs to be allowed.
    pub needs: Option<Scope>,
}

impl Inquiry {
    pub fn new(operation: impl Into<String>, caller: Arc<Caller>) -> Self {
        let request_id = new_id().into();
        Self { operation: operation.into(), caller, request_id, session: None, dialect: None, needs: None }
    }
}

impl Engine {
    /// Does `work` for an inquiry that is allowed. However it ends, it is recorded.
    pub async fn attend<T>(&self, inquiry: Inquiry, work: impl Future<Output = Result<T>>) -> Result<T> {
        let Inquiry { operation, caller, request_id, session, dialect, needs } = inquiry;
        let mut call = Call::new(Target::Resource { uri: operation.clone() }, caller);
        (call.request_id, call.session) = (request_id, session);
        // What follows the first word is a caller's, and must not become a time series.
        let metric = operation.split(' ').next().unwrap_or_default();
        let record = Record::open(self, &call, Portrait::unheard(&operation, metric), String::new());
        let result = match self.admit(&call.caller, &operation, dialect, needs) {
            Ok(()) => work.await,
            Err(refusal) => Err(refusal),
        };
        let ended = result.as_ref().map(|_| Outcome::Contents(Vec::new())).map_err(Clone::clone);
        record.end(ended).await?;
        result
    }

    /// What a tool that only reads says, as part of an inquiry: it is the inquiry that is counted and recorded, and
    /// nobody is told that a tool was executed. Nothing where there is no such tool.
    pub async fn consult(&self, caller: &Arc<Caller>, tool: &str, args: Value) -> Result<Option<Value>> {
        let registry = self.registry();
        if !registry.tool(tool).is_some_and(|tool| registry.is_enabled(tool.info())) {
            return Ok(None);
        }
        let mut call = Call::tool(tool, args.clone(), caller.clone());
        let deed = Deed::find(self, &call.target)?;
        if deed.effect().changes() {
            return Err(Error::internal(format!("{tool} changes something: it has to be called")));
        }
        deed.scopes().try_for_each(|needed| scope::allow(caller, needed))?;
        deed.check(&args)?;
        let (context, deadline) = (self.context(&mut call), self.deadline(&call, &deed));
        match self.run(&deed, args, &context, deadline).await.result()? {
            Outcome::Reply(reply) => Ok(reply.structured),
            Outcome::Contents(_) | Outcome::Prompt(_) => Ok(None),
        }
    }
}
