//! What is asked of the server besides calls: a list, a greeting, a look at its records. It meets those rules of a call
//! that apply to it, and leaves a row like one.

use std::sync::Arc;

use mainstay_core::{Call, Caller, Outcome, Result, Scope, Target, new_id};

use crate::Engine;
use crate::policy::record::{Portrait, Record};
use crate::policy::scope;

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
        let admitted = needs
            .map_or(Ok(()), |scope| scope::allow(&call.caller, scope))
            .and_then(|()| self.rate().admit(&call.caller, &operation, dialect));
        let result = match admitted {
            Ok(()) => work.await,
            Err(refusal) => Err(refusal),
        };
        let ended = result.as_ref().map(|_| Outcome::Contents(Vec::new())).map_err(Clone::clone);
        record.end(ended).await?;
        result
    }
}
