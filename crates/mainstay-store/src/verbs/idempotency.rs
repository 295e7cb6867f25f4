use mainstay_core::BoxFuture;

use crate::sql::Conn;
use crate::store::Inner;
use crate::writer::Deed;
use crate::{Begin, Begun, Held, Idempotency, Result, StoreError};

const BEGIN: &str = "INSERT INTO idempotency (principal, key, target, args_digest, since_ms, expires_ms) \
     VALUES ($1, $2, $3, $4, $5, $6) \
     ON CONFLICT (principal, key) DO UPDATE SET target = excluded.target, args_digest = excluded.args_digest, \
     outcome = NULL, since_ms = excluded.since_ms, expires_ms = excluded.expires_ms \
     WHERE idempotency.expires_ms <= $5";
const HELD: &str = "SELECT outcome, since_ms, target, args_digest FROM idempotency WHERE principal = $1 AND key = $2";
const FIND: &str = "SELECT outcome FROM idempotency WHERE principal = $1 AND key = $2 AND expires_ms > $3";

// An outcome once kept is never replaced, and a key whose call has an outcome is never freed: whoever repeats the call
// may have been told already.
const FINISH: &str = "UPDATE idempotency SET outcome = $3 WHERE principal = $1 AND key = $2 AND outcome IS NULL";
const ABANDON: &str = "DELETE FROM idempotency WHERE principal = $1 AND key = $2 AND outcome IS NULL";

impl Deed for Begin {
    type Given = Begun;

    async fn run(&self, db: &mut Conn<'_>) -> Result<Begun> {
        let Self { principal, key, target, args_digest, now_ms, expires_ms } = self;
        let values =
            [principal.into(), key.into(), target.into(), args_digest.into(), (*now_ms).into(), (*expires_ms).into()];
        if db.run(BEGIN, &values).await? > 0 {
            return Ok(Begun::New);
        }
        let held = db.row(HELD, &[principal.into(), key.into()]).await?;
        let held = held.ok_or_else(|| StoreError::failed("an idempotency key is neither free nor held"))?;
        let (since_ms, target, args_digest) = (held.int(1)?, held.text(2)?, held.text(3)?);
        Ok(match held.maybe_text(0)? {
            Some(outcome) => Begun::Replay { outcome, target, args_digest },
            None => Begun::Busy { since_ms, target, args_digest },
        })
    }
}

impl Idempotency for Inner {
    fn begin(&self, begin: Begin) -> BoxFuture<'_, Result<Begun>> {
        Box::pin(self.writer.perform(begin))
    }

    fn find(&self, principal: &str, key: &str, now_ms: i64) -> BoxFuture<'_, Result<Option<Held>>> {
        let values = [principal.into(), key.into(), now_ms.into()];
        Box::pin(async move {
            let Some(row) = self.readers.row(FIND, &values).await? else { return Ok(None) };
            Ok(Some(row.maybe_text(0)?.map_or(Held::Open, |outcome| Held::Finished { outcome })))
        })
    }

    fn finish(&self, principal: &str, key: &str, outcome: String) -> BoxFuture<'_, Result<()>> {
        let values = vec![principal.into(), key.into(), outcome.into()];
        Box::pin(async move { self.writer.change(FINISH, values).await.map(drop) })
    }

    fn abandon(&self, principal: &str, key: &str) -> BoxFuture<'_, Result<()>> {
        let values = vec![principal.into(), key.into()];
        Box::pin(async move { self.writer.change(ABANDON, values).await.map(drop) })
    }

    fn sweep(&self, now_ms: i64) -> BoxFuture<'_, Result<u64>> {
        Box::pin(self.writer.change("DELETE FROM idempotency WHERE expires_ms <= $1", vec![now_ms.into()]))
    }
}
