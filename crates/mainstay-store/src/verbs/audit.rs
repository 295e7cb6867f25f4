use mainstay_core::BoxFuture;

use crate::store::Inner;
use crate::{AuditEntry, AuditLog, AuditQuery, AuditRow, Result, Verdict, ledger};

impl AuditLog for Inner {
    fn append(&self, entry: AuditEntry) -> BoxFuture<'_, Result<i64>> {
        Box::pin(self.writer.append(entry))
    }

    fn note(&self, entry: AuditEntry) -> Result<()> {
        self.writer.note(&entry)
    }

    fn flush(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.writer.flush())
    }

    fn query(&self, query: AuditQuery) -> BoxFuture<'_, Result<Vec<AuditRow>>> {
        Box::pin(async move { ledger::query(&self.readers, &query).await })
    }

    fn verify(&self) -> BoxFuture<'_, Result<Verdict>> {
        Box::pin(ledger::verify(&self.readers))
    }
}
