//! Who is calling? With authentication on, only a token says; with it off, a token that is sent has to be a good one.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::StreamExt as _;
use http::header::{AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, StatusCode};
use mainstay_core::{Caller, Error, Scope};
use mainstay_engine::Engine;
use mainstay_engine::oauth::{Authority, Identity, Verdict};
use serde_json::json;

use super::external::Verifier;
use crate::connection::{Connection, Peer};
use crate::headers::single;
use crate::settings::origin;
use crate::{AuthSettings, Route, ServerSettings, StartError};

/// What the routes know of authentication.
#[derive(Clone)]
pub(crate) struct Doors(Arc<Keeper>);

enum Keeper {
    /// Whoever can connect may call. Tokens are issued for those who want less than everything.
    Open(Authority),
    /// Only with a token of this server's own.
    Own(Authority),
    /// Only with a token of another issuer.
    External(Verifier),
}

/// How often the token of a connection that stays open is looked at again.
pub(crate) const RECHECK: Duration = Duration::from_secs(5);

/// What a proxy puts into the requests it passes on.
const PASSED_ON: [&str; 4] = ["forwarded", "x-forwarded-for", "x-real-ip", "via"];

/// Why a request has no caller.
pub(crate) enum Stranger {
    /// It brought nothing.
    Silent,
    /// It brought nothing where nobody needs to, but somebody else passed it on: whoever is behind a proxy is not at this
    /// machine, although the connection is.
    PassedOn,
    /// What it brought is no good; why is for the log.
    Refused(String),
    /// It cannot be found out now.
    Unknown(Error),
}

impl Doors {
    pub(crate) fn new(engine: &Engine, settings: &ServerSettings, address: SocketAddr) -> Result<Self, StartError> {
        let own = |audience: Option<&str>| {
            let audience = match audience {
                Some(audience) => audience.to_owned(),
                None if address.ip().is_unspecified() => return Err(StartError::Audience(address)),
                None => format!("http://{address}{}", Route::Mcp.path()),
            };
            let issuer = origin(&audience).ok_or_else(|| StartError::Issuer(audience.clone()))?;
            Ok(Authority::new(engine, issuer, audience))
        };
        Ok(Self(Arc::new(match &settings.auth {
            None => Keeper::Open(own(None)?),
            Some(AuthSettings::Local(local)) => Keeper::Own(own(local.audience.as_deref())?),
            Some(AuthSettings::External(external)) => Keeper::External(Verifier::new(external)?),
        })))
    }

    /// The authority that issues this server's tokens, if it is this server.
    pub(crate) fn authority(&self) -> Option<&Authority> {
        match &*self.0 {
            Keeper::Open(authority) | Keeper::Own(authority) => Some(authority),
            Keeper::External(_) => None,
        }
    }

    /// Whom the token stands for; without one, whoever may come without.
    pub(crate) async fn caller(&self, token: Option<&str>, ip: Option<IpAddr>) -> Result<Caller, Stranger> {
        match token {
            None if self.are_open() => Ok(Caller::local(ip)),
            None => Err(Stranger::Silent),
            Some(token) => {
                let Identity { principal, scopes, .. } = self.identity(token).await?;
                Ok(Caller { principal, scopes, ip })
            }
        }
    }

    /// Whether nobody needs a token.
    pub(crate) fn are_open(&self) -> bool {
        match &*self.0 {
            Keeper::Open(_) => true,
            Keeper::Own(_) | Keeper::External(_) => false,
        }
    }

    /// What a good token says.
    pub(crate) async fn identity(&self, token: &str) -> Result<Identity, Stranger> {
        match &*self.0 {
            Keeper::Open(authority) | Keeper::Own(authority) => match authority.verify(token).await {
                Ok(Verdict::Good(identity)) => Ok(identity),
                Ok(Verdict::Bad(reason)) => Err(Stranger::Refused(reason)),
                Err(error) => Err(Stranger::Unknown(error)),
            },
            Keeper::External(verifier) => verifier.verify(token).map_err(Stranger::Refused),
        }
    }

    /// Where a client learns how to get a token; nowhere, if none is needed.
    fn resource_metadata(&self) -> Option<String> {
        let audience = match &*self.0 {
            Keeper::Open(_) => return None,
            Keeper::Own(authority) => authority.audience(),
            Keeper::External(verifier) => &verifier.settings.audience,
        };
        Some(origin(audience).unwrap_or_default() + Route::Metadata.path())
    }

    pub(crate) fn challenge(&self, error: &str) -> String {
        let mut parts = vec![error.to_owned()];
        parts.extend(self.resource_metadata().map(|url| format!("resource_metadata=\"{url}\"")));
        parts.retain(|part| !part.is_empty());
        format!("Bearer {}", parts.join(", "))
    }

    pub(crate) fn refuse(&self, stranger: Stranger, peer: SocketAddr) -> Response {
        let error = match stranger {
            Stranger::Silent => "",
            Stranger::PassedOn => {
                let told = "This request came through a proxy (Forwarded, X-Forwarded-For, X-Real-IP or Via), and without [server.auth] only those at this machine may call. Set server.auth to serve others.";
                return (StatusCode::FORBIDDEN, Json(json!({"error": "forbidden", "error_description": told})))
                    .into_response();
            }
            Stranger::Refused(reason) => {
                tracing::info!(%reason, %peer, "a token was refused");
                "error=\"invalid_token\""
            }
            Stranger::Unknown(error) => {
                tracing::error!(detail = error.detail, "a token could not be looked up");
                return (StatusCode::SERVICE_UNAVAILABLE, Json(json!({"error": error.public}))).into_response();
            }
        };
        let body = json!({"error": "unauthorized", "error_description": "Send an access token for this server as a Bearer token."});
        (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, self.challenge(error))], Json(body)).into_response()
    }

    /// RFC 6750: the request needs a token with this scope, and RFC 9728 says where to get one.
    fn insufficient_scope(&self, scope: Scope, response: Response) -> Response {
        let error = format!("error=\"insufficient_scope\", scope=\"{}\"", scope.as_str());
        (StatusCode::FORBIDDEN, [(WWW_AUTHENTICATE, self.challenge(&error))], response).into_response()
    }
}

impl Doors {
    /// The same response; if it is a stream, it ends when the token it was asked for with is good no more.
    pub(crate) fn for_as_long_as(&self, token: Option<String>, response: Response) -> Response {
        let (Some(token), true) = (token, is_stream(&response)) else { return response };
        let doors = self.clone();
        let ended = async move {
            while doors.still_good(Some(&token)).await {
                tokio::time::sleep(RECHECK).await;
            }
        };
        response.map(|body| Body::from_stream(body.into_data_stream().take_until(Box::pin(ended))))
    }

    /// Whether a connection that was let in with this token would be let in again.
    pub(crate) async fn still_good(&self, token: Option<&str>) -> bool {
        match self.caller(token, None).await {
            // What cannot be found out now is asked again.
            Ok(_) | Err(Stranger::Unknown(_)) => true,
            Err(Stranger::Silent | Stranger::PassedOn | Stranger::Refused(_)) => false,
        }
    }
}

/// Puts the caller into the request, or refuses it. Nothing behind this can run without one.
pub(crate) async fn identify(State(doors): State<Doors>, mut request: Request, next: Next) -> Response {
    let Some(peer) = request.extensions().get::<Peer>().cloned() else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let caller = match bearer(request.headers()) {
        Ok(None) if doors.are_open() && PASSED_ON.iter().any(|name| request.headers().contains_key(*name)) => {
            Err(Stranger::PassedOn)
        }
        Ok(token) => doors.caller(token, Some(peer.address.ip())).await,
        Err(stranger) => Err(stranger),
    };
    let caller = match caller {
        Ok(caller) => Arc::new(caller),
        Err(stranger) => return doors.refuse(stranger, peer.address),
    };
    let connection = Connection::new(caller, peer.lane);
    request.extensions_mut().insert(connection.clone());
    let response = next.run(request).await;
    match connection.missing_scope.scope() {
        // The status of a stream is sent before its call has an outcome.
        Some(scope) if !is_stream(&response) => doors.insufficient_scope(scope, response),
        Some(_) | None => response,
    }
}

/// The token of the one Authorization header. A token in the URL is not looked at.
pub(crate) fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Stranger> {
    let refused = |why: &str| Stranger::Refused(why.to_owned());
    let Some(value) = single(headers, AUTHORIZATION).map_err(refused)? else { return Ok(None) };
    match value.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Ok(Some(token.trim())),
        Some(_) | None => Err(refused("it is no Bearer token")),
    }
}

fn is_stream(response: &Response) -> bool {
    response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

/// RFC 9728: where a client gets a token for this server.
pub(crate) async fn metadata(State(doors): State<Doors>) -> Response {
    let (audience, issuer) = match &*doors.0 {
        Keeper::Open(_) => return StatusCode::NOT_FOUND.into_response(),
        Keeper::Own(authority) => (authority.audience(), authority.issuer()),
        Keeper::External(verifier) => (verifier.settings.audience.as_str(), verifier.settings.issuer.as_str()),
    };
    Json(json!({
        "resource": audience,
        "authorization_servers": [issuer],
        "bearer_methods_supported": ["header"],
        "scopes_supported": Scope::ALL.map(Scope::as_str),
    }))
    .into_response()
}
