use mainstay_core::BoxFuture;

use crate::store::Inner;
use crate::{Nonces, Result};

impl Nonces for Inner {
    fn claim(&self, nonce: &str, expires_ms: i64) -> BoxFuture<'_, Result<bool>> {
        let values = vec![nonce.into(), expires_ms.into()];
        Box::pin(async move {
            let sql = "INSERT INTO nonce (nonce, expires_ms) VALUES ($1, $2) ON CONFLICT DO NOTHING";
            Ok(self.writer.change(sql, values).await? > 0)
        })
    }

    fn sweep(&self, now_ms: i64) -> BoxFuture<'_, Result<u64>> {
        Box::pin(self.writer.change("DELETE FROM nonce WHERE expires_ms <= $1", vec![now_ms.into()]))
    }
}
