//! Issuing, refreshing and revoking tokens.

use std::net::IpAddr;
use std::time::Duration;

use mainstay_core::{Error, Principal, Scope, Scopes, new_id};
use mainstay_store::{Client, RefreshToken, Rotation};
use serde_json::json;

use super::audit::{OAuthAudit, UNKNOWN_CLIENT};
use super::client_secret::{ClientCredentials, random_token, token_hash};
use super::error::{OAuthError, OAuthErrorKind};
use super::server::{AuthorizationServer, limit_scopes};
use super::token::{ACCESS_LIFETIME, Claims, after};
use crate::AuthError;

/// How long a refresh token can be used.
const REFRESH_LIFETIME: Duration = Duration::from_hours(24 * 30);

/// The longest `scope` parameter that is parsed, in bytes.
const MAX_SCOPE_BYTES: usize = 1000;

/// What a client requests, by the grant types of RFC 6749 that this server supports: `client_credentials`, for tokens of
/// a new family, or `refresh_token`.
#[derive(Default)]
pub struct Grant {
    pub scope: Option<String>,
    /// Exchanged for new tokens; it cannot be used again.
    pub refresh_token: Option<String>,
}

/// A new access token with the refresh token of its family.
pub struct IssuedTokens {
    pub access_token: String,
    pub scopes: Scopes,
    pub refresh_token: String,
}

impl AuthorizationServer {
    /// Issues tokens to a client that authenticates. The audit row is on disk before they are returned.
    pub async fn grant(
        &self,
        credentials: ClientCredentials,
        grant: Grant,
        ip: Option<IpAddr>,
    ) -> Result<IssuedTokens, OAuthError> {
        let grant_type = if grant.refresh_token.is_some() { "refresh_token" } else { "client_credentials" };
        let args = json!({"grant_type": grant_type, "client_id": credentials.client, "scope": grant.scope});
        let audit = OAuthAudit::new("oauth/token", ip, &args);
        let client = self.authenticate(credentials, ip, &audit).await?;
        let scope = grant.scope.as_deref().filter(|scope| !scope.trim().is_empty());
        let issued = match &grant.refresh_token {
            None => self.issue(&client, scope).await,
            Some(token) => self.refresh(&client, token, scope).await,
        };
        self.record(issued, &client, &audit).await
    }

    /// Revokes an access token, or the family of a refresh token, if it belongs to this client. Succeeds for any other
    /// token too (RFC 7009 section 2.2): the client does not learn whether it exists.
    pub async fn revoke(
        &self,
        credentials: ClientCredentials,
        token: &str,
        ip: Option<IpAddr>,
    ) -> Result<(), OAuthError> {
        let audit = OAuthAudit::new("oauth/revoke", ip, &json!({"client_id": credentials.client}));
        let client = self.authenticate(credentials, ip, &audit).await?;
        let revoked = self.revoke_token(&client, token).await;
        self.statuses.clear();
        self.record(revoked, &client, &audit).await
    }

    /// The client with these credentials. A failure counts against the name that was sent, whether or not a client has it,
    /// and the address prefix it came from.
    async fn authenticate(
        &self,
        credentials: ClientCredentials,
        ip: Option<IpAddr>,
        audit: &OAuthAudit,
    ) -> Result<Client, OAuthError> {
        let source = self.failures.source(&credentials.client, ip);
        // The failures that led here are in the audit; further rows would add nothing.
        self.failures.attempt(&source).map_err(|retry_after| {
            let kind = OAuthErrorKind::TooManyFailures { retry_after };
            OAuthError::new(kind, "Too many failed attempts. Try again later.")
        })?;
        let client = self.backend.store.oauth().client(&credentials.client).await;
        // What was not verified, because the store does not answer or the queue is full, has not failed.
        let client = client.inspect_err(|_| self.failures.withdraw(&source))?;
        let hash = client.as_ref().map(|client| client.secret_hash.as_str());
        let verified = self.secrets.verify(&credentials.secret, hash).await;
        let matches = verified.inspect_err(|_| self.failures.withdraw(&source))?;
        let principal = client.as_ref().map(|client| self.principal(&client.id));
        let client = client.filter(|client| matches && !client.disabled).ok_or_else(|| {
            let error = OAuthError::invalid_client();
            let name = principal.as_ref().map_or(UNKNOWN_CLIENT, Principal::as_str);
            audit.rejected(&self.backend, name, error.outcome());
            error
        })?;
        self.failures.withdraw(&source);
        Ok(client)
    }

    /// Audits the result before the client gets it.
    async fn record<T>(
        &self,
        result: Result<T, OAuthError>,
        client: &Client,
        audit: &OAuthAudit,
    ) -> Result<T, OAuthError> {
        let principal = self.principal(&client.id);
        match &result {
            Ok(_) => audit.succeeded(&self.backend, principal.as_str()).await?,
            Err(error) => audit.rejected(&self.backend, principal.as_str(), error.outcome()),
        }
        result
    }

    /// Tokens of a new family.
    async fn issue(&self, client: &Client, scope: Option<&str>) -> Result<IssuedTokens, OAuthError> {
        let has = Scopes::parse(&client.scopes);
        let scopes = scope.map_or_else(|| default_scopes(has), |requested| parse_scopes(has, requested))?;
        let (family, refresh_token, now_ms) = (new_id(), random_token()?, self.backend.now_ms());
        let access_token = self.access_token(client, scopes, &family).await?;
        let stored = RefreshToken {
            family,
            client: client.id.clone(),
            subject: client.id.clone(),
            scopes: scopes.to_string(),
            expires_ms: after(now_ms, REFRESH_LIFETIME),
        };
        self.backend.store.oauth().issue_refresh(&token_hash(&refresh_token), stored, now_ms).await?;
        Ok(IssuedTokens { access_token, scopes, refresh_token })
    }

    /// Exchanges a refresh token. One that is used a second time was stolen from one of its two users: the whole family
    /// is revoked (RFC 9700 section 4.14.2).
    async fn refresh(&self, client: &Client, old: &str, scope: Option<&str>) -> Result<IssuedTokens, OAuthError> {
        let invalid =
            || OAuthError::new(OAuthErrorKind::InvalidGrant, "The refresh token is unknown, already used, or expired.");
        let (store, old, now_ms) = (self.backend.store.oauth(), token_hash(old), self.backend.now_ms());
        let RefreshToken { scopes: had, family, .. } = store.refresh(&old, &client.id).await?.ok_or_else(invalid)?;
        // Checked before the refresh token is spent: a client that requests too much keeps it.
        let had = limit_scopes(Scopes::parse(&had), Scopes::parse(&client.scopes));
        let scopes = scope.map_or(Ok(had), |requested| parse_scopes(had, requested))?;
        let access_token = self.access_token(client, scopes, &family).await?;
        let (refresh_token, expires_ms) = (random_token()?, after(now_ms, REFRESH_LIFETIME));
        match store.rotate_refresh(&old, &client.id, &token_hash(&refresh_token), now_ms, expires_ms).await? {
            Rotation::Rotated(_) => Ok(IssuedTokens { access_token, scopes, refresh_token }),
            Rotation::Reused { family: _ } => {
                tracing::warn!(client = client.id, "a refresh token was used twice; its family is revoked");
                self.statuses.clear();
                Err(invalid())
            }
            Rotation::Unknown => Err(invalid()),
        }
    }

    /// Signs an access token with the newest key.
    async fn access_token(&self, client: &Client, scopes: Scopes, family: &str) -> Result<String, OAuthError> {
        let keys = self.keys.keys(&self.backend).await?;
        let key = keys.first().ok_or_else(|| Error::internal("there is no signing key"))?;
        Ok(Claims::new(&self.issuer, self.backend.now_ms(), &client.id, scopes, family).sign(key)?)
    }

    async fn revoke_token(&self, client: &Client, token: &str) -> Result<(), OAuthError> {
        let store = self.backend.store.oauth();
        match self.claims(token).await {
            Ok(claims) if claims.client_id == client.id => {
                store.revoke_access(&claims.jti, claims.expires_ms()).await?;
            }
            Ok(_) => {}
            Err(AuthError::Unavailable(error)) => return Err(error.into()),
            Err(AuthError::MissingToken | AuthError::InvalidToken(_)) => {
                // The ids of the access tokens begin with the family's, so they end with it.
                if let Some(RefreshToken { family, .. }) = store.refresh(&token_hash(token), &client.id).await? {
                    store.revoke_family(&family, after(self.backend.now_ms(), ACCESS_LIFETIME)).await?;
                }
            }
        }
        Ok(())
    }
}

/// The requested scopes, if all of them exist and are allowed.
fn parse_scopes(allowed: Scopes, requested: &str) -> Result<Scopes, OAuthError> {
    let invalid = |why: String| Err(OAuthError::new(OAuthErrorKind::InvalidScope, why));
    if requested.len() > MAX_SCOPE_BYTES {
        return invalid(format!("scope is longer than {MAX_SCOPE_BYTES} bytes."));
    }
    let mut scopes = Vec::new();
    for word in requested.split_ascii_whitespace() {
        match Scope::ALL.into_iter().find(|scope| scope.as_str() == word) {
            Some(scope) if allowed.allows(scope) => scopes.push(scope),
            Some(_) => return invalid(format!("The scope {word} is not allowed; allowed are: {allowed}.")),
            None => return invalid(format!("scope contains an unknown value; valid values are: {}.", Scopes::all())),
        }
    }
    Ok(scopes.into_iter().collect())
}

/// The scopes of a client that requests none: all but `consent` and `admin`, which have to be requested by name because
/// they affect the work of other principals.
fn default_scopes(has: Scopes) -> Result<Scopes, OAuthError> {
    let scopes: Scopes = has.iter().filter(|scope| !matches!(scope, Scope::Consent | Scope::Admin)).collect();
    if scopes == Scopes::default() {
        let description = format!("Set scope to the scopes you need; this client has: {has}.");
        return Err(OAuthError::new(OAuthErrorKind::InvalidScope, description));
    }
    Ok(scopes)
}
