//! From a proof to a token, and from a token to its end.

use std::net::IpAddr;

use mainstay_core::{Principal, Scope, Scopes, new_id};
use mainstay_store::{Client, NewRefreshToken, RefreshToken, Rotation};
use serde_json::json;

use super::refusal::{Reason, Refusal};
use super::standing::bounded;
use super::token::Claims;
use super::trail::{NOBODY, Trail};
use super::{ACCESS_LIFE, Authority, Proof, REFRESH_LIFE, after, random};
use crate::neighbourhood;

/// Nobody needs as many words to name six scopes.
const LONGEST_SCOPE: usize = 1000;

/// What is asked for.
pub enum Grant {
    /// A token for the client itself.
    Client { scope: Option<String> },
    /// A new token for an old refresh token, which is spent.
    Refresh { token: String, scope: Option<String> },
}

pub struct Issued {
    pub access_token: String,
    pub scopes: Scopes,
    pub refresh_token: String,
}

impl Authority {
    pub async fn grant(&self, proof: Proof, grant: Grant, ip: Option<IpAddr>) -> Result<Issued, Refusal> {
        let (kind, asked) = match &grant {
            Grant::Client { scope } => ("client_credentials", scope),
            Grant::Refresh { scope, .. } => ("refresh_token", scope),
        };
        let asked = json!({"grant_type": kind, "client_id": proof.client, "scope": asked});
        let trail = Trail::new("oauth/token", ip, &asked);
        let client = self.prove(proof, ip, &trail).await?;
        let given = match grant {
            Grant::Client { scope } => self.begin(&client, scope.as_deref()).await,
            Grant::Refresh { token, scope } => self.renew(&client, &token, scope.as_deref()).await,
        };
        self.tell(given, &client, &trail).await
    }

    /// Ends a token, or the whole family of a refresh token, if it is this client's. Any other is left alone, and that
    /// is not told.
    pub async fn revoke(&self, proof: Proof, token: &str, ip: Option<IpAddr>) -> Result<(), Refusal> {
        let trail = Trail::new("oauth/revoke", ip, &json!({"client_id": proof.client}));
        let client = self.prove(proof, ip, &trail).await?;
        let ended = self.end(&client, token).await;
        self.standing.forget();
        self.tell(ended, &client, &trail).await
    }

    /// The client, if this is its secret.
    async fn prove(&self, proof: Proof, ip: Option<IpAddr>, trail: &Trail) -> Result<Client, Refusal> {
        let client = self.engine.store().oauth().client(&proof.client).await?;
        let place = (client.as_ref().map(|client| client.id.clone()), ip.map(neighbourhood::of));
        if let Err(retry_after) = self.failures.attempt(&place) {
            // The failures that led here are in the audit; each of these would only make it longer. Of a client that
            // does not exist it is not said how many there were: that would say that it does not exist.
            return Err(match client {
                Some(_) => {
                    Refusal::new(Reason::TooMany { retry_after }, "Too many failures; wait before you try again.")
                }
                None => Refusal::unproven(),
            });
        }
        let kept = client.as_ref().map(|client| client.secret_hash.as_str());
        // What was not looked at has not failed.
        let fits = self.bench.fits(&proof.secret, kept).await.inspect_err(|_| self.failures.give_back(&place))?;
        let principal = client.as_ref().map(|client| self.principal(&client.id));
        let proven = client.filter(|client| fits && !client.disabled).ok_or_else(|| {
            let (refusal, known) = (Refusal::unproven(), principal.as_ref().map_or(NOBODY, Principal::as_str));
            trail.refused(&self.engine, known, refusal.outcome());
            refusal
        })?;
        self.failures.give_back(&place);
        Ok(proven)
    }

    async fn tell<T>(&self, given: Result<T, Refusal>, client: &Client, trail: &Trail) -> Result<T, Refusal> {
        let principal = self.principal(&client.id);
        match &given {
            Ok(_) => trail.given(&self.engine, principal.as_str()).await?,
            Err(refusal) => trail.refused(&self.engine, principal.as_str(), refusal.outcome()),
        }
        given
    }

    async fn begin(&self, client: &Client, scope: Option<&str>) -> Result<Issued, Refusal> {
        let has = Scopes::parse(&client.scopes);
        let scopes = match scope.filter(|scope| !scope.trim().is_empty()) {
            Some(asked) => within(has, asked)?,
            None => usual(has)?,
        };
        let (family, refresh_token, now_ms) = (new_id(), random::unguessable()?, self.now_ms());
        let access_token = self.signed(client, scopes, &family).await?;
        let stored = NewRefreshToken {
            hash: random::hash(&refresh_token),
            family,
            client: client.id.clone(),
            subject: client.id.clone(),
            scopes: scopes.to_string(),
            now_ms,
            expires_ms: after(now_ms, REFRESH_LIFE),
        };
        self.engine.store().oauth().issue_refresh(stored).await?;
        Ok(Issued { access_token, scopes, refresh_token })
    }

    async fn renew(&self, client: &Client, old: &str, scope: Option<&str>) -> Result<Issued, Refusal> {
        let unknown = || Refusal::new(Reason::Grant, "The refresh token is not known, was used, or has expired.");
        let (store, old, now_ms) = (self.engine.store().oauth(), random::hash(old), self.now_ms());
        let RefreshToken { scopes: had, family, .. } = store.refresh(&old, &client.id).await?.ok_or_else(unknown)?;
        // Before it is spent: whoever asks for too much keeps the token.
        let had = bounded(Scopes::parse(&had), Scopes::parse(&client.scopes));
        let scopes = scope.filter(|scope| !scope.trim().is_empty()).map_or(Ok(had), |asked| within(had, asked))?;
        let access_token = self.signed(client, scopes, &family).await?;
        let (refresh_token, expires_ms) = (random::unguessable()?, after(now_ms, REFRESH_LIFE));
        match store.rotate_refresh(&old, &client.id, &random::hash(&refresh_token), now_ms, expires_ms).await? {
            Rotation::Rotated(_) => Ok(Issued { access_token, scopes, refresh_token }),
            Rotation::Reused { family: _ } => {
                tracing::warn!(client = client.id, "a refresh token was used twice; all that came from it is revoked");
                self.standing.forget();
                Err(unknown())
            }
            Rotation::Unknown => Err(unknown()),
        }
    }

    async fn signed(&self, client: &Client, scopes: Scopes, family: &str) -> Result<String, Refusal> {
        let ring = self.keys.ring(&self.engine).await?;
        let key = ring.first().ok_or_else(|| mainstay_core::Error::internal("there is no signing key"))?;
        Ok(Claims::new(self, &client.id, scopes, family).sign(key)?)
    }

    async fn end(&self, client: &Client, token: &str) -> Result<(), Refusal> {
        let store = self.engine.store().oauth();
        if let Ok(claims) = self.read(token).await? {
            if claims.client_id == client.id {
                store.revoke_access(&claims.jti, claims.expires_ms()).await?;
            }
            return Ok(());
        }
        match store.refresh(&random::hash(token), &client.id).await? {
            // The access tokens that came with it bear the family's name, and end with it.
            Some(RefreshToken { family, .. }) => {
                Ok(store.revoke_family(&family, after(self.now_ms(), ACCESS_LIFE)).await?)
            }
            None => Ok(()),
        }
    }
}

/// The scopes asked for, if they all exist and all are had.
fn within(had: Scopes, asked: &str) -> Result<Scopes, Refusal> {
    let refused = |why: String| Err(Refusal::new(Reason::Scope, why));
    if asked.len() > LONGEST_SCOPE {
        return refused("The scope is longer than all scopes together.".into());
    }
    let mut scopes = Vec::new();
    for word in asked.split_ascii_whitespace() {
        match Scope::ALL.into_iter().find(|scope| scope.as_str() == word) {
            Some(scope) if had.allows(scope) => scopes.push(scope),
            Some(_) => return refused(format!("The scope {word} is more than was given: {had}.")),
            None => {
                let all = Scopes::all();
                return refused(format!("The scope holds a word that is none of: {all}."));
            }
        }
    }
    Ok(scopes.into_iter().collect())
}

/// What is given to one who does not say: all but the rights over other people's work, which have to be asked for.
fn usual(has: Scopes) -> Result<Scopes, Refusal> {
    let usual: Scopes = has.iter().filter(|scope| !matches!(scope, Scope::Consent | Scope::Admin)).collect();
    if usual == Scopes::default() {
        return Err(Refusal::new(Reason::Scope, format!("Name the scopes you want; this client has: {has}.")));
    }
    Ok(usual)
}
