//! Reading the audit on behalf of a caller.

use std::collections::HashSet;

use mainstay_core::{Caller, Result, Scope};
use mainstay_store::AuditQuery;

pub use mainstay_store::{AuditRow, Phase};

use crate::Engine;

impl Engine {
    /// The newest rows, one for each call: its `ended` row, or its `began` row if it has not ended. A caller sees its own
    /// calls; with the scope `admin` it sees everybody's.
    pub async fn audit_rows(&self, caller: &Caller, session: Option<String>, limit: u32) -> Result<Vec<AuditRow>> {
        let principal = (!caller.scopes.allows(Scope::Admin)).then(|| caller.principal.to_string());
        let wanted = usize::try_from(limit).unwrap_or(usize::MAX);
        let (mut rows, mut ended, mut before) = (Vec::new(), HashSet::new(), None);
        // Rows of read calls are written in the background; this includes those of calls that just ended.
        self.0.store.audit().flush().await?;
        while rows.len() < wanted {
            let query = AuditQuery { session: session.clone(), principal: principal.clone(), before, limit };
            let page = self.0.store.audit().query(query).await?;
            let Some(oldest) = page.last().map(|row| row.seq) else { break };
            before = Some(oldest);
            rows.extend(page.into_iter().filter(|row| is_latest(row, &mut ended)));
        }
        rows.truncate(wanted);
        Ok(rows)
    }
}

/// Whether a row is the one to show for its call. Rows come newest first, so a call's end is seen before its beginning.
fn is_latest(row: &AuditRow, ended: &mut HashSet<[String; 4]>) -> bool {
    let entry = &row.entry;
    let call = [&*entry.request_id, &entry.principal, &entry.target, &entry.args_digest].map(str::to_owned);
    match entry.phase {
        Phase::Ended => {
            ended.insert(call);
            true
        }
        Phase::Began => !ended.remove(&call),
    }
}
