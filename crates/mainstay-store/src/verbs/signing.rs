use mainstay_core::BoxFuture;

use crate::sql::{Conn, Row};
use crate::store::Inner;
use crate::writer::Deed;
use crate::{Result, SigningKey, SigningKeys, StoreError};

const LIVE: &str = "SELECT id, pkcs8, created_ms, COALESCE(expires_ms, 0) FROM signing_key \
     WHERE expires_ms IS NULL OR expires_ms > $1";
const BEGIN: &str = "INSERT INTO signing_key (id, pkcs8, created_ms) SELECT $1, $2, $3 \
     WHERE NOT EXISTS (SELECT 1 FROM signing_key WHERE expires_ms IS NULL)";
const RETIRE: &str = "UPDATE signing_key SET expires_ms = $1 WHERE expires_ms IS NULL OR expires_ms > $1";

struct Begin {
    key: SigningKey,
    /// Until when the keys before it count, if it is to take their place.
    until_ms: Option<i64>,
}

/// Gives whether the key is in use now.
impl Deed for Begin {
    type Given = bool;

    async fn run(&self, db: &mut Conn<'_>) -> Result<bool> {
        let SigningKey { id, pkcs8, created_ms, expires_ms: _ } = &self.key;
        if db.row("SELECT id FROM signing_key WHERE id = $1", &[id.into()]).await?.is_some() {
            return Ok(false);
        }
        if let Some(until_ms) = self.until_ms {
            db.run(RETIRE, &[until_ms.into()]).await?;
        }
        Ok(db.run(BEGIN, &[id.into(), pkcs8.clone().into(), (*created_ms).into()]).await? > 0)
    }
}

impl SigningKeys for Inner {
    fn live(&self, now_ms: i64) -> BoxFuture<'_, Result<Vec<SigningKey>>> {
        let values = [now_ms.into()];
        Box::pin(async move {
            let rows = self.readers.rows(LIVE, &values).await?;
            let mut keys = rows.iter().map(key).collect::<Result<Vec<_>>>()?;
            keys.sort_by_key(|key| (key.expires_ms.is_some(), std::cmp::Reverse(key.expires_ms)));
            Ok(keys)
        })
    }

    fn begin(&self, key: SigningKey) -> BoxFuture<'_, Result<bool>> {
        Box::pin(self.writer.perform(Begin { key, until_ms: None }))
    }

    fn rotate(&self, key: SigningKey, until_ms: i64) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let begun = self.writer.perform(Begin { key, until_ms: Some(until_ms) }).await?;
            if begun { Ok(()) } else { Err(StoreError::failed("a signing key with this id exists already")) }
        })
    }

    fn sweep(&self, now_ms: i64) -> BoxFuture<'_, Result<u64>> {
        Box::pin(self.writer.change("DELETE FROM signing_key WHERE expires_ms <= $1", vec![now_ms.into()]))
    }
}

fn key(row: &Row) -> Result<SigningKey> {
    let expires_ms = Some(row.int(3)?).filter(|ms| *ms != 0);
    Ok(SigningKey { id: row.text(0)?, pkcs8: row.bytes(1)?, created_ms: row.int(2)?, expires_ms })
}
