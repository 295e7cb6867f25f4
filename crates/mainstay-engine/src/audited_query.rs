//! Requests besides calls: lists, `initialize`, pages of a REST API, messages that cannot be read. They meet the policies
//! of a call that apply to them (rate and scope) and leave one audit entry, like a call.

use std::sync::Arc;

use mainstay_core::{Call, Caller, Error, Result, Scope};
use serde_json::Value;

use crate::Engine;
use crate::policy;
use crate::policy::record::{AuditSubject, Record};
use crate::target::{ResolvedTarget, ToolTarget};

impl Engine {
    /// Does `work` if the policies allow the query, and records it, however it ends. `operation` is the name it is
    /// recorded under: a method or a path, and after a space what it was about. `call` says who asks, and in which
    /// dialect; `scope` is what they have to be allowed.
    pub async fn audited_query<T>(
        &self,
        operation: &str,
        call: &Call,
        scope: Option<Scope>,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let record = Record::open(self, call, AuditSubject::query(operation), String::new());
        let result = match self.admit(call, operation, [scope]).await {
            Ok(()) => work.await,
            Err(refusal) => Err(refusal),
        };
        record.end(result, |_| false).await
    }

    /// The value of a tool that only reads, as part of a query: the query is what is counted and recorded, and nobody is
    /// notified that a tool was called. `None` if there is no such tool.
    pub async fn read_tool(&self, caller: &Arc<Caller>, tool: &str, args: Value) -> Result<Option<Value>> {
        let Ok(target) = ToolTarget::resolve(self.registry(), tool, &args) else { return Ok(None) };
        // Without the pipeline there is no consent, no idempotency and no audit entry of its own.
        if target.effect().changes() {
            return Err(Error::internal(format!("{tool} changes something: it has to be called")));
        }
        policy::authorize(caller, target.scopes())?;
        target.check(&args)?;
        let mut call = Call::new(caller.clone());
        let (context, deadline) = (self.context(&mut call), self.deadline(&call, target.pace()));
        self.run(&target, args, &context, deadline).await.flatten().map(|reply| reply.structured)
    }
}
