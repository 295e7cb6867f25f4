//! Looking at the audit from outside.

use std::collections::HashSet;

use mainstay_core::{Caller, Result, Scope};
use mainstay_store::AuditQuery;

pub use mainstay_store::{AuditRow, Phase};

use crate::Engine;

impl Engine {
    /// The newest rows, one for each call: that of its end, or that of its beginning where no end is on record. A caller
    /// sees what it did itself; an administrator sees everything.
    pub async fn audit_rows(&self, caller: &Caller, session: Option<String>, limit: u32) -> Result<Vec<AuditRow>> {
        let principal = (!caller.scopes.allows(Scope::Admin)).then(|| caller.principal.to_string());
        let wanted = usize::try_from(limit).unwrap_or(usize::MAX);
        let (mut rows, mut ended, mut before) = (Vec::new(), HashSet::new(), None);
        // What was just done is among the newest.
        self.store().audit().flush().await?;
        while rows.len() < wanted {
            let query = AuditQuery { session: session.clone(), principal: principal.clone(), before, limit };
            let page = self.store().audit().query(query).await?;
            let Some(oldest) = page.last().map(|row| row.seq) else { break };
            before = Some(oldest);
            rows.extend(page.into_iter().filter(|row| is_last_word(row, &mut ended)));
        }
        rows.truncate(wanted);
        Ok(rows)
    }
}

/// Rows come newest first, so the end of a call is seen before its beginning.
fn is_last_word(row: &AuditRow, ended: &mut HashSet<[String; 4]>) -> bool {
    let entry = &row.entry;
    let call = [&entry.request_id, &entry.principal, &entry.target, &entry.args_digest].map(Clone::clone);
    match entry.phase {
        Phase::Ended => {
            ended.insert(call);
            true
        }
        Phase::Began => !ended.remove(&call),
    }
}
