use mainstay_core::BoxFuture;

use crate::sql::Conn;
use crate::store::Inner;
use crate::writer::Deed;
use crate::{Result, Secrets, StoreError};

struct Settle {
    name: String,
    candidate: Vec<u8>,
}

impl Deed for Settle {
    type Given = Vec<u8>;

    async fn run(&self, db: &mut Conn<'_>) -> Result<Vec<u8>> {
        let values = [(&self.name).into(), self.candidate.clone().into()];
        db.run("INSERT INTO secret (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING", &values).await?;
        let row = db.row("SELECT value FROM secret WHERE name = $1", &[(&self.name).into()]).await?;
        row.ok_or_else(|| StoreError::failed("a secret is neither new nor there"))?.bytes(0)
    }
}

impl Secrets for Inner {
    fn secret(&self, name: &str, candidate: Vec<u8>) -> BoxFuture<'_, Result<Vec<u8>>> {
        Box::pin(self.writer.perform(Settle { name: name.to_owned(), candidate }))
    }
}
