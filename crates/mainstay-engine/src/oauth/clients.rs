//! What an operator does: make clients, disable them, replace the signing key.

use std::sync::Arc;

use mainstay_core::{Clock, Error, Result, Scopes, new_id};
use mainstay_store::{Client, Store};
use serde_json::{Value, json};

use super::keys::{self, FRESH};
use super::trail::Trail;
use super::{ACCESS_LIFE, after, proof, random};

/// The shortest secret somebody may bring instead of one made here.
const SHORTEST: usize = 8;

const LONGEST_NAME: usize = 200;

/// The clients of a store, looked after by somebody.
pub struct Clients {
    store: Store,
    clock: Arc<dyn Clock>,
    by: String,
}

pub struct NewClient {
    pub name: String,
    pub scopes: Scopes,
    /// Made up if it is not given.
    pub id: Option<String>,
    /// 256 random bits if it is not given.
    pub secret: Option<String>,
}

/// The only time the secret is seen.
pub struct Registered {
    pub id: String,
    pub secret: String,
}

/// What becomes of the tokens that earlier keys signed when there is a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OldKeys {
    /// They are good until they expire.
    Fade,
    /// They are good no more, within seconds on every replica: somebody else may have the key.
    End,
}

impl Clients {
    /// `by` is who it is in the audit.
    pub fn new(store: Store, clock: Arc<dyn Clock>, by: String) -> Self {
        Self { store, clock, by }
    }

    pub async fn add(&self, new: NewClient) -> Result<Registered> {
        check(&new)?;
        let NewClient { name, scopes, id, secret } = new;
        let (id, secret) = (id.unwrap_or_else(new_id), secret.map_or_else(random::unguessable, Ok)?);
        if self.store.oauth().client(&id).await?.is_some() {
            return Err(Error::invalid(format!("There is a client {id:?} already; choose another id.")));
        }
        let client = Client {
            id: id.clone(),
            name,
            secret_hash: proof::keep(&secret)?,
            scopes: scopes.to_string(),
            created_ms: self.clock.now_ms(),
            disabled: false,
        };
        let asked = json!({"client_id": id, "scope": client.scopes});
        self.store.oauth().add_client(client).await?;
        self.note("oauth/client/add", &asked).await?;
        Ok(Registered { id, secret })
    }

    pub async fn list(&self) -> Result<Vec<Client>> {
        Ok(self.store.oauth().clients().await?)
    }

    /// Its tokens stop working, within seconds on other replicas.
    pub async fn disable(&self, id: &str) -> Result<()> {
        if !self.store.oauth().disable_client(id).await? {
            return Err(Error::not_found(format!("There is no client {id:?}; `mainstay client list` shows all.")));
        }
        self.note("oauth/client/disable", &json!({ "client_id": id })).await
    }

    /// Puts a new signing key in use. Says the name of it.
    pub async fn rotate_key(&self, old: OldKeys) -> Result<String> {
        let now_ms = self.clock.now_ms();
        let key = keys::make(now_ms)?;
        let id = key.id.clone();
        let until_ms = match old {
            // Other replicas sign with the old one until they look again; their tokens have to live as long as any.
            OldKeys::Fade => after(now_ms, ACCESS_LIFE + 12 * FRESH),
            OldKeys::End => now_ms,
        };
        self.store.signing_keys().rotate(key, until_ms).await?;
        self.note("oauth/key/rotate", &json!({ "key": id, "old_until_ms": until_ms })).await?;
        Ok(id)
    }

    async fn note(&self, operation: &'static str, asked: &Value) -> Result<()> {
        Trail::new(operation, None, asked).done(&self.store, self.clock.now_ms(), &self.by).await
    }
}

fn check(new: &NewClient) -> Result<()> {
    let plain = |id: &str| {
        (1..=100).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    };
    if let Some(id) = new.id.as_deref().filter(|id| !plain(id)) {
        return Err(Error::invalid(format!("{id:?} cannot be an id: use up to 100 of A-Z a-z 0-9 . _ -")));
    }
    if new.secret.as_deref().is_some_and(|secret| secret.len() < SHORTEST) {
        return Err(Error::invalid(format!(
            "The secret is shorter than {SHORTEST} characters; leave it out to get one."
        )));
    }
    if new.name.is_empty() || new.name.chars().count() > LONGEST_NAME {
        return Err(Error::invalid(format!("The name must have 1 to {LONGEST_NAME} characters.")));
    }
    if new.scopes == Scopes::default() {
        return Err(Error::invalid(format!("A client needs at least one scope of: {}.", Scopes::all())));
    }
    Ok(())
}
