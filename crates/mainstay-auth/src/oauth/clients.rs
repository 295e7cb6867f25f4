//! Administration of clients and signing keys, for `mainstay client`. It works on the store, without a running server.

use std::sync::Arc;

use mainstay_core::{Clock, Error, Result, Scopes, new_id};
use mainstay_store::{Client, Store};
use serde_json::{Value, json};

use super::audit::OAuthAudit;
use super::client_secret::{hash_secret, random_token};
use super::keys::{self, FRESH};
use super::token::{ACCESS_LIFETIME, after};

/// The shortest secret an operator may choose.
const MIN_SECRET_BYTES: usize = 8;

const MAX_NAME_CHARS: usize = 200;

/// The clients of a store, and the operator who changes them.
pub struct ClientRegistry {
    store: Store,
    clock: Arc<dyn Clock>,
    operator: String,
}

pub struct NewClient {
    pub name: String,
    pub scopes: Scopes,
    /// Generated if not given.
    pub id: Option<String>,
    /// 256 random bits if not given.
    pub secret: Option<String>,
}

/// The only place where the secret can be read: the store has its hash.
pub struct RegisteredClient {
    pub id: String,
    pub secret: String,
}

/// What happens to tokens signed with earlier keys when a new key is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OldKeys {
    /// They stay valid until they expire.
    Expire,
    /// They become invalid, within seconds on every replica: the key may have leaked.
    Revoke,
}

impl ClientRegistry {
    /// `operator` is the principal recorded in the audit.
    pub fn new(store: Store, clock: Arc<dyn Clock>, operator: String) -> Self {
        Self { store, clock, operator }
    }

    /// Adds a client. The secret is returned here and nowhere else.
    pub async fn add(&self, new: NewClient) -> Result<RegisteredClient> {
        validate(&new)?;
        let NewClient { name, scopes, id, secret } = new;
        let (id, secret) = (id.unwrap_or_else(new_id), secret.map_or_else(random_token, Ok)?);
        if self.store.oauth().client(&id).await?.is_some() {
            return Err(Error::invalid(format!("A client {id:?} already exists. Choose another id.")));
        }
        let client = Client {
            id: id.clone(),
            name,
            secret_hash: hash_secret(&secret)?,
            scopes: scopes.to_string(),
            created_ms: self.clock.now_ms(),
            disabled: false,
        };
        let args = json!({"client_id": id, "scope": client.scopes});
        self.store.oauth().add_client(client).await?;
        self.audit("oauth/client/add", &args).await?;
        Ok(RegisteredClient { id, secret })
    }

    /// All clients, disabled ones too.
    pub async fn list(&self) -> Result<Vec<Client>> {
        Ok(self.store.oauth().clients().await?)
    }

    /// Invalidates the client's tokens too, on other replicas within seconds.
    pub async fn disable(&self, id: &str) -> Result<()> {
        if !self.store.oauth().disable_client(id).await? {
            return Err(Error::not_found(format!(
                "There is no client {id:?}. `mainstay client list` shows all clients."
            )));
        }
        self.audit("oauth/client/disable", &json!({ "client_id": id })).await
    }

    /// Makes a new signing key and returns its id.
    pub async fn rotate_key(&self, old: OldKeys) -> Result<String> {
        let now_ms = self.clock.now_ms();
        let key = keys::generate(now_ms)?;
        let id = key.id.clone();
        let until_ms = match old {
            // Other replicas sign with the old key until they reload; tokens they sign last as long as any other.
            OldKeys::Expire => after(now_ms, ACCESS_LIFETIME + 12 * FRESH),
            OldKeys::Revoke => now_ms,
        };
        self.store.oauth().rotate_signing_key(key, until_ms).await?;
        self.audit("oauth/key/rotate", &json!({ "key": id, "old_until_ms": until_ms })).await?;
        Ok(id)
    }

    async fn audit(&self, operation: &'static str, args: &Value) -> Result<()> {
        OAuthAudit::new(operation, None, args).write(&self.store, self.clock.now_ms(), &self.operator).await
    }
}

/// Rejects what could not be used later: ids that need escaping, secrets that can be guessed, clients without scopes.
fn validate(new: &NewClient) -> Result<()> {
    let is_valid_id = |id: &str| {
        (1..=100).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    };
    if let Some(id) = new.id.as_deref().filter(|id| !is_valid_id(id)) {
        return Err(Error::invalid(format!(
            "{id:?} is not a valid id: use 1 to 100 of the characters A-Z a-z 0-9 . _ -"
        )));
    }
    if new.secret.as_deref().is_some_and(|secret| secret.len() < MIN_SECRET_BYTES) {
        return Err(Error::invalid(format!(
            "The secret is shorter than {MIN_SECRET_BYTES} bytes. Leave it out to have one generated."
        )));
    }
    if new.name.is_empty() || new.name.chars().count() > MAX_NAME_CHARS {
        return Err(Error::invalid(format!("The name must have 1 to {MAX_NAME_CHARS} characters.")));
    }
    if new.scopes == Scopes::default() {
        return Err(Error::invalid(format!("A client needs at least one scope of: {}.", Scopes::all())));
    }
    Ok(())
}
