//! From an access token to a caller.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use mainstay_core::Caller;

use crate::external_issuer::ExternalIssuer;
use crate::oauth::AuthorizationServer;
use crate::settings::url_origin;
use crate::{AuthConfigError, AuthError, AuthSettings, Backend, Identity, Issuer};

/// Authenticates callers. Cloning is cheap.
#[derive(Clone)]
pub struct Authenticator(Arc<AuthMode>);

enum AuthMode {
    /// Whoever can connect may call. Tokens are optional: a client uses one to have fewer permissions.
    Open(AuthorizationServer),
    /// A token of this server is required.
    Local(AuthorizationServer),
    /// A token of another issuer is required.
    External(ExternalIssuer),
}

impl Authenticator {
    /// `settings` is `None` where no token is required. `address` is where this server listens, and `path` the path of
    /// the endpoint: tokens are for that URL unless the settings name another.
    pub fn new(
        backend: Backend,
        settings: Option<&AuthSettings>,
        address: SocketAddr,
        path: &str,
    ) -> Result<Self, AuthConfigError> {
        let server = |audience: Option<&str>| {
            let audience = match audience {
                Some(audience) => audience.to_owned(),
                None if address.ip().is_unspecified() => return Err(AuthConfigError::Audience(address)),
                None => format!("http://{address}{path}"),
            };
            let url = url_origin(&audience).ok_or_else(|| AuthConfigError::Issuer(audience.clone()))?;
            Ok(AuthorizationServer::new(backend, Issuer { url, audience }))
        };
        Ok(Self(Arc::new(match settings {
            None => AuthMode::Open(server(None)?),
            Some(AuthSettings::Local { audience }) => AuthMode::Local(server(audience.as_deref())?),
            Some(AuthSettings::External(external)) => AuthMode::External(ExternalIssuer::new(external)?),
        })))
    }

    /// This server's own authorization server, unless tokens come from another issuer.
    pub fn authorization_server(&self) -> Option<&AuthorizationServer> {
        match &*self.0 {
            AuthMode::Open(server) | AuthMode::Local(server) => Some(server),
            AuthMode::External(_) => None,
        }
    }

    /// Whether calls need a token.
    pub fn requires_token(&self) -> bool {
        !matches!(&*self.0, AuthMode::Open(_))
    }

    /// The authorization server, and the URL its tokens are for.
    pub fn issuer(&self) -> &Issuer {
        match &*self.0 {
            AuthMode::Open(server) | AuthMode::Local(server) => server.issuer(),
            AuthMode::External(external) => &external.issuer,
        }
    }

    /// The caller with this token. Without one it is the local principal, where no token is required. A token that is
    /// sent has to be valid in every mode: an expired one never falls back to the local principal's permissions.
    pub async fn caller(&self, token: Option<&str>, ip: Option<IpAddr>) -> Result<Caller, AuthError> {
        match token {
            None if self.requires_token() => Err(AuthError::MissingToken),
            None => Ok(Caller::local(ip)),
            Some(token) => {
                let Identity { principal, scopes, name, .. } = self.identity(token).await?;
                Ok(Caller { principal, scopes, ip, name })
            }
        }
    }

    pub async fn identity(&self, token: &str) -> Result<Identity, AuthError> {
        match &*self.0 {
            AuthMode::Open(server) | AuthMode::Local(server) => server.verify(token).await,
            AuthMode::External(external) => external.verify(token),
        }
    }

    /// Whether a connection that was opened with this token may stay open. If the store cannot be asked, it may.
    pub async fn is_still_valid(&self, token: Option<&str>) -> bool {
        match self.caller(token, None).await {
            Ok(_) | Err(AuthError::Unavailable(_)) => true,
            Err(AuthError::MissingToken | AuthError::InvalidToken(_)) => false,
        }
    }
}
