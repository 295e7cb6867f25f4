//! Requests besides calls: lists, `initialize`, pages of a REST API, messages that cannot be read. They meet the policies
//! of a call that apply to them (rate and scope) and leave one audit entry, like a call.

use std::sync::Arc;

use mainstay_core::{Call, Caller, DialectPolicy, Error, Result, Scope, new_id};
use serde_json::Value;

use crate::Engine;
use crate::policy::record::{AuditSubject, Record, Requester};
use crate::policy::scope;
use crate::target::{ResolvedTarget, ToolTarget};

/// A request that is no call of a tool, resource or prompt.
pub struct AuditedQuery {
    /// The name it is recorded under: an operation, and after a space what it was about.
    pub operation: String,
    pub caller: Arc<Caller>,
    pub request_id: Arc<str>,
    pub session: Option<Arc<str>>,
    pub policy: DialectPolicy,
    /// The scope the caller has to have.
    pub scope: Option<Scope>,
}

impl AuditedQuery {
    pub fn new(operation: impl Into<String>, caller: Arc<Caller>) -> Self {
        Self {
            operation: operation.into(),
            caller,
            request_id: new_id().into(),
            session: None,
            policy: DialectPolicy::default(),
            scope: None,
        }
    }
}

impl Engine {
    /// Does `work` if the policies allow the query, and records it, however it ends.
    pub async fn audited_query<T>(&self, query: AuditedQuery, work: impl Future<Output = Result<T>>) -> Result<T> {
        let AuditedQuery { operation, caller, request_id, session, policy, scope } = query;
        // What follows the first word comes from the caller and must not become a time series.
        let metric = operation.split(' ').next().unwrap_or_default();
        let requester = Requester { caller: &caller, request_id: &request_id, session: session.as_deref() };
        let record = Record::open(self, &requester, AuditSubject::query(&operation, metric), String::new());
        let result = match self.admit(&caller, &operation, policy, [scope]) {
            Ok(()) => work.await,
            Err(refusal) => Err(refusal),
        };
        record.end(result, |_| false).await
    }

    /// The value of a tool that only reads, as part of a query: the query is what is counted and recorded, and nobody is
    /// notified that a tool was called. `None` if there is no such tool.
    pub async fn read_tool(&self, caller: &Arc<Caller>, tool: &str, args: Value) -> Result<Option<Value>> {
        let Ok(target) = ToolTarget::resolve(&self.registry(), tool, &args) else { return Ok(None) };
        // Without the pipeline there is no consent, no idempotency and no audit entry of its own.
        if target.effect().changes() {
            return Err(Error::internal(format!("{tool} changes something: it has to be called")));
        }
        scope::authorize(caller, target.scopes())?;
        target.check(&args)?;
        let mut call = Call::new(caller.clone());
        let (context, deadline) = (self.context(&mut call), self.deadline(&call, target.pace()));
        self.run(&target, args, &context, deadline).await.result().map(|reply| reply.structured)
    }
}
