use mainstay_core::BoxFuture;

use crate::sql::{Conn, Row};
use crate::store::Inner;
use crate::writer::Deed;
use crate::{Client, NewRefresh, OAuth, Refresh, Result, Rotation, StoreError};

const ADD_CLIENT: &str = "INSERT INTO oauth_client (id, name, secret_hash, scopes, created_ms, disabled) \
     VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING";
const CLIENT: &str = "SELECT id, name, secret_hash, scopes, created_ms, disabled FROM oauth_client WHERE id = $1";
const CLIENTS: &str = "SELECT id, name, secret_hash, scopes, created_ms, disabled FROM oauth_client";
// A client that was disabled while its token was being made gets none.
const ISSUE: &str = "INSERT INTO oauth_refresh (hash, family, client, subject, scopes, created_ms, expires_ms) \
     SELECT $1, $2, $3, $4, $5, $6, $7 \
     WHERE NOT EXISTS (SELECT 1 FROM oauth_client WHERE id = $3 AND disabled <> 0) ON CONFLICT DO NOTHING";
const REFRESH: &str = "SELECT family, client, subject, scopes, expires_ms, spent, revoked FROM oauth_refresh \
     WHERE hash = $1 AND client = $2";
const SUCCEED: &str = "INSERT INTO oauth_refresh (hash, family, client, subject, scopes, created_ms, expires_ms) \
     SELECT $2, family, client, subject, scopes, $3, $4 FROM oauth_refresh WHERE hash = $1 ON CONFLICT DO NOTHING";
const REVOKE_ACCESS: &str = "INSERT INTO oauth_revoked (jti, expires_ms) VALUES ($1, $2) \
     ON CONFLICT (jti) DO UPDATE SET expires_ms = excluded.expires_ms \
     WHERE oauth_revoked.expires_ms < excluded.expires_ms";

struct DisableClient {
    id: String,
}

impl Deed for DisableClient {
    type Given = bool;

    async fn run(&self, db: &mut Conn<'_>) -> Result<bool> {
        let id = [(&self.id).into()];
        db.run("UPDATE oauth_refresh SET revoked = 1 WHERE client = $1", &id).await?;
        Ok(db.run("UPDATE oauth_client SET disabled = 1 WHERE id = $1", &id).await? > 0)
    }
}

struct RevokeFamily {
    family: String,
    until_ms: i64,
}

impl Deed for RevokeFamily {
    type Given = ();

    async fn run(&self, db: &mut Conn<'_>) -> Result<()> {
        db.run("UPDATE oauth_refresh SET revoked = 1 WHERE family = $1", &[(&self.family).into()]).await?;
        db.run(REVOKE_ACCESS, &[(&self.family).into(), self.until_ms.into()]).await?;
        Ok(())
    }
}

struct Rotate {
    old_hash: String,
    client: String,
    successor_hash: String,
    now_ms: i64,
    expires_ms: i64,
}

/// Gives none if the successor's hash is taken.
impl Deed for Rotate {
    type Given = Option<Rotation>;

    async fn run(&self, db: &mut Conn<'_>) -> Result<Option<Rotation>> {
        let Some(row) = db.row(REFRESH, &[(&self.old_hash).into(), (&self.client).into()]).await? else {
            return Ok(Some(Rotation::Unknown));
        };
        let old = refresh(&row)?;
        let (spent, revoked) = (row.int(5)? != 0, row.int(6)? != 0);
        // Before anything else: even a copy that is of no use any more shows that there is one.
        if spent {
            RevokeFamily { family: old.family.clone(), until_ms: self.expires_ms }.run(db).await?;
            return Ok(Some(Rotation::Reused { family: old.family }));
        }
        if revoked || old.expires_ms <= self.now_ms {
            return Ok(Some(Rotation::Unknown));
        }
        let values =
            [(&self.old_hash).into(), (&self.successor_hash).into(), self.now_ms.into(), self.expires_ms.into()];
        if db.run(SUCCEED, &values).await? == 0 {
            return Ok(None);
        }
        db.run("UPDATE oauth_refresh SET spent = 1 WHERE hash = $1", &[(&self.old_hash).into()]).await?;
        Ok(Some(Rotation::Rotated(old)))
    }
}

struct Sweep {
    now_ms: i64,
}

impl Deed for Sweep {
    type Given = u64;

    async fn run(&self, db: &mut Conn<'_>) -> Result<u64> {
        let now = [self.now_ms.into()];
        let tokens = db.run("DELETE FROM oauth_refresh WHERE expires_ms <= $1", &now).await?;
        Ok(tokens + db.run("DELETE FROM oauth_revoked WHERE expires_ms <= $1", &now).await?)
    }
}

impl OAuth for Inner {
    fn add_client(&self, client: Client) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let Client { id, name, secret_hash, scopes, created_ms, disabled } = client;
            let disabled = i64::from(disabled);
            let values =
                vec![id.into(), name.into(), secret_hash.into(), scopes.into(), created_ms.into(), disabled.into()];
            match self.writer.change(ADD_CLIENT, values).await? {
                0 => Err(StoreError::failed("a client with this id exists already")),
                _ => Ok(()),
            }
        })
    }

    fn client(&self, id: &str) -> BoxFuture<'_, Result<Option<Client>>> {
        let values = [id.into()];
        Box::pin(async move { self.readers.row(CLIENT, &values).await?.as_ref().map(client).transpose() })
    }

    fn clients(&self) -> BoxFuture<'_, Result<Vec<Client>>> {
        Box::pin(async move {
            let rows = self.readers.rows(CLIENTS, &[]).await?;
            let mut clients = rows.iter().map(client).collect::<Result<Vec<_>>>()?;
            // Not in SQL, where each engine has its own order of texts.
            clients.sort_by(|a, b| (a.created_ms, &a.id).cmp(&(b.created_ms, &b.id)));
            Ok(clients)
        })
    }

    fn disable_client(&self, id: &str) -> BoxFuture<'_, Result<bool>> {
        Box::pin(self.writer.perform(DisableClient { id: id.to_owned() }))
    }

    fn refresh(&self, hash: &str, client: &str) -> BoxFuture<'_, Result<Option<Refresh>>> {
        let values = [hash.into(), client.into()];
        Box::pin(async move { self.readers.row(REFRESH, &values).await?.as_ref().map(refresh).transpose() })
    }

    fn issue_refresh(&self, token: NewRefresh) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let NewRefresh { hash, family, client, subject, scopes, now_ms, expires_ms } = token;
            let values = vec![
                hash.into(),
                family.into(),
                client.into(),
                subject.into(),
                scopes.into(),
                now_ms.into(),
                expires_ms.into(),
            ];
            match self.writer.change(ISSUE, values).await? {
                0 => {
                    Err(StoreError::failed("the client is disabled, or a refresh token with this hash exists already"))
                }
                _ => Ok(()),
            }
        })
    }

    fn rotate_refresh(
        &self,
        old_hash: &str,
        client: &str,
        successor_hash: &str,
        now_ms: i64,
        expires_ms: i64,
    ) -> BoxFuture<'_, Result<Rotation>> {
        let rotate = Rotate {
            old_hash: old_hash.to_owned(),
            client: client.to_owned(),
            successor_hash: successor_hash.to_owned(),
            now_ms,
            expires_ms,
        };
        Box::pin(async move {
            let rotation = self.writer.perform(rotate).await?;
            rotation.ok_or_else(|| StoreError::failed("a refresh token with the successor's hash exists already"))
        })
    }

    fn revoke_family(&self, family: &str, until_ms: i64) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.writer.perform(RevokeFamily { family: family.to_owned(), until_ms }))
    }

    fn revoke_access(&self, jti: &str, expires_ms: i64) -> BoxFuture<'_, Result<()>> {
        let values = vec![jti.into(), expires_ms.into()];
        Box::pin(async move { self.writer.change(REVOKE_ACCESS, values).await.map(drop) })
    }

    fn is_access_revoked(&self, jti: &str) -> BoxFuture<'_, Result<bool>> {
        let values = [jti.into()];
        Box::pin(async move {
            Ok(self.readers.row("SELECT expires_ms FROM oauth_revoked WHERE jti = $1", &values).await?.is_some())
        })
    }

    fn sweep(&self, now_ms: i64) -> BoxFuture<'_, Result<u64>> {
        Box::pin(self.writer.perform(Sweep { now_ms }))
    }
}

fn client(row: &Row) -> Result<Client> {
    Ok(Client {
        id: row.text(0)?,
        name: row.text(1)?,
        secret_hash: row.text(2)?,
        scopes: row.text(3)?,
        created_ms: row.int(4)?,
        disabled: row.int(5)? != 0,
    })
}

fn refresh(row: &Row) -> Result<Refresh> {
    Ok(Refresh {
        family: row.text(0)?,
        client: row.text(1)?,
        subject: row.text(2)?,
        scopes: row.text(3)?,
        expires_ms: row.int(4)?,
    })
}
