//! OAuth clients, and the tokens that have to be remembered.
//!
//! Access tokens are signed and not stored; only revoked ones are, until they would have expired. Refresh tokens are
//! stored by their hash and rotated on every use (RFC 9700, section 4.14): the second use of one shows that it was
//! stolen, and revokes its family.

use super::Database;
use crate::sql::{Conn, from_columns, params};
use crate::writer::transaction;
use crate::{Result, StoreError};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    pub id: String,
    pub name: String,
    /// A password hash; the secret itself is never stored.
    pub secret_hash: String,
    /// Space-separated, as OAuth writes them.
    pub scopes: String,
    pub created_ms: i64,
    pub disabled: bool,
}

/// A refresh token, stored by its hash alone. Those that were rotated from one another are a family.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefreshToken {
    pub family: String,
    pub client: String,
    pub subject: String,
    pub scopes: String,
    pub expires_ms: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rotation {
    /// The old token is spent and its successor stored, in one step. This is the old token.
    Rotated(RefreshToken),
    /// It had been spent before: somebody has a stolen copy, and the whole family is revoked now, as by
    /// [`OAuth::revoke_family`] until the time at which the successor would have expired.
    Reused { family: String },
    /// Never issued, expired, revoked, or another client's.
    Unknown,
}

/// What [`REFRESH`] reads: the token, and whether it is spent or revoked.
type StoredToken = (RefreshToken, bool, bool);

const ADD_CLIENT: &str = "INSERT INTO oauth_client (id, name, secret_hash, scopes, created_ms, disabled) \
     VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING";
const CLIENT: &str = "SELECT id, name, secret_hash, scopes, created_ms, disabled FROM oauth_client WHERE id = $1";
const CLIENTS: &str = "SELECT id, name, secret_hash, scopes, created_ms, disabled FROM oauth_client";
// A client that is disabled while its token is being issued gets none.
const ISSUE: &str = "INSERT INTO oauth_refresh (hash, family, client, subject, scopes, created_ms, expires_ms) \
     SELECT $1, $2, $3, $4, $5, $6, $7 \
     WHERE NOT EXISTS (SELECT 1 FROM oauth_client WHERE id = $3 AND disabled <> 0) ON CONFLICT DO NOTHING";
const REFRESH: &str = "SELECT family, client, subject, scopes, expires_ms, spent, revoked FROM oauth_refresh \
     WHERE hash = $1 AND client = $2";
const INSERT_SUCCESSOR: &str = "INSERT INTO oauth_refresh (hash, family, client, subject, scopes, created_ms, expires_ms) \
     SELECT $2, family, client, subject, scopes, $3, $4 FROM oauth_refresh WHERE hash = $1 ON CONFLICT DO NOTHING";
const REVOKE_ACCESS: &str = "INSERT INTO oauth_revoked (jti, expires_ms) VALUES ($1, $2) \
     ON CONFLICT (jti) DO UPDATE SET expires_ms = excluded.expires_ms \
     WHERE oauth_revoked.expires_ms < excluded.expires_ms";

/// The clients of the token issuer, and the tokens that must be remembered.
#[derive(Clone, Copy)]
pub struct OAuth<'s>(pub(crate) &'s Database);

impl OAuth<'_> {
    /// Fails if the id is in use.
    pub async fn add_client(self, client: Client) -> Result<()> {
        let Client { id, name, secret_hash, scopes, created_ms, disabled } = client;
        let values = params![id, name, secret_hash, scopes, created_ms, disabled];
        match self.0.writer.change(ADD_CLIENT, values).await? {
            0 => Err(StoreError::failed("a client with this id exists already")),
            _ => Ok(()),
        }
    }

    pub async fn client(self, id: &str) -> Result<Option<Client>> {
        self.0.readers.one(CLIENT, &params![id]).await
    }

    /// All of them, oldest first.
    pub async fn clients(self) -> Result<Vec<Client>> {
        let mut clients: Vec<Client> = self.0.readers.all(CLIENTS, &[]).await?;
        // Not in SQL, where each engine has its own order of texts.
        clients.sort_by(|a, b| (a.created_ms, &a.id).cmp(&(b.created_ms, &b.id)));
        Ok(clients)
    }

    /// Disables the client and revokes its refresh tokens; false if there is no such client.
    pub async fn disable_client(self, id: &str) -> Result<bool> {
        transaction!(self.0.writer, id.to_owned(), |db, id| {
            db.execute("UPDATE oauth_refresh SET revoked = 1 WHERE client = $1", &params![id]).await?;
            Ok(db.execute("UPDATE oauth_client SET disabled = 1 WHERE id = $1", &params![id]).await? > 0)
        })
    }

    /// A refresh token of this client, whether or not it is still valid.
    pub async fn refresh(self, hash: &str, client: &str) -> Result<Option<RefreshToken>> {
        let found: Option<StoredToken> = self.0.readers.one(REFRESH, &params![hash, client]).await?;
        Ok(found.map(|(token, ..)| token))
    }

    /// Fails if the client has been disabled meanwhile, or the hash is in use.
    pub async fn issue_refresh(self, hash: &str, token: RefreshToken, now_ms: i64) -> Result<()> {
        let RefreshToken { family, client, subject, scopes, expires_ms } = token;
        let values = params![hash, family, client, subject, scopes, now_ms, expires_ms];
        match self.0.writer.change(ISSUE, values).await? {
            0 => Err(StoreError::failed("the client is disabled, or a refresh token with this hash exists already")),
            _ => Ok(()),
        }
    }

    /// Spends a token of `client` and stores its successor, which has the same family, client, subject and scopes.
    pub async fn rotate_refresh(
        self,
        old_hash: &str,
        client: &str,
        successor_hash: &str,
        now_ms: i64,
        expires_ms: i64,
    ) -> Result<Rotation> {
        let hashes = [old_hash, client, successor_hash].map(str::to_owned);
        let rotation =
            transaction!(self.0.writer, (hashes, now_ms, expires_ms), |db, (hashes, now_ms, expires_ms)| {
                let [old_hash, client, successor_hash] = hashes;
                let found: Option<StoredToken> = db.one(REFRESH, &params![old_hash, client]).await?;
                let Some((old, spent, revoked)) = found else { return Ok(Some(Rotation::Unknown)) };
                // Before anything else: a second use of even an expired token shows that somebody has a copy.
                if spent {
                    revoke_family(db, &old.family, *expires_ms).await?;
                    return Ok(Some(Rotation::Reused { family: old.family }));
                }
                if revoked || old.expires_ms <= *now_ms {
                    return Ok(Some(Rotation::Unknown));
                }
                let values = params![old_hash, successor_hash, now_ms, expires_ms];
                if db.execute(INSERT_SUCCESSOR, &values).await? == 0 {
                    return Ok(None);
                }
                db.execute("UPDATE oauth_refresh SET spent = 1 WHERE hash = $1", &params![old_hash]).await?;
                Ok(Some(Rotation::Rotated(old)))
            })?;
        rotation.ok_or_else(|| StoreError::failed("a refresh token with the successor's hash exists already"))
    }

    /// Revokes the refresh tokens of a family and, in the same transaction, the family's id among the access tokens,
    /// which is remembered until `until_ms`.
    pub async fn revoke_family(self, family: &str, until_ms: i64) -> Result<()> {
        transaction!(self.0.writer, (family.to_owned(), until_ms), |db, (family, until_ms)| {
            revoke_family(db, family, *until_ms).await
        })
    }

    /// Remembers a revoked access token until it would have expired.
    pub async fn revoke_access(self, jti: &str, expires_ms: i64) -> Result<()> {
        self.0.writer.change(REVOKE_ACCESS, params![jti, expires_ms]).await.map(drop)
    }

    /// Whether this access token, or a family by its id, has been revoked.
    pub async fn is_access_revoked(self, jti: &str) -> Result<bool> {
        let sql = "SELECT expires_ms FROM oauth_revoked WHERE jti = $1";
        Ok(self.0.readers.one::<i64>(sql, &params![jti]).await?.is_some())
    }
}

async fn revoke_family(db: &mut Conn<'_>, family: &str, until_ms: i64) -> Result<()> {
    db.execute("UPDATE oauth_refresh SET revoked = 1 WHERE family = $1", &params![family]).await?;
    db.execute(REVOKE_ACCESS, &params![family, until_ms]).await.map(drop)
}

from_columns!(Client { id, name, secret_hash, scopes, created_ms, disabled });
from_columns!(RefreshToken { family, client, subject, scopes, expires_ms });
