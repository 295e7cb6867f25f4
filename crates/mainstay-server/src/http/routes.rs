//! The table of routes: where each is, who may use it, and what it ends at.

use std::sync::Arc;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{any, get, post};
use bytes::Bytes;
use mainstay_auth::Authenticator;
use mainstay_engine::Engine;

use super::api::{self, View};
use super::{auth, consent, docs, health, jsonrpc, mcp, oauth, rpc, ws};

/// Every route there is: the router is built from this list and the tests walk it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    Mcp,
    Rpc,
    Jsonrpc,
    Api(View),
    ApiHealth,
    OpenApi,
    Docs,
    DocsScript,
    DocsStyle,
    Consent,
    ConsentStyle,
    Ws,
    Metrics,
    Health,
    Metadata,
    McpMetadata,
    Token,
    Revoke,
    Keys,
    Issuer,
}

/// Who may use a route when authentication is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Token,
    Everybody,
}

impl Route {
    pub const ALL: [Self; 25] = [
        Self::Mcp,
        Self::Rpc,
        Self::Jsonrpc,
        Self::Api(View::Status),
        Self::ApiHealth,
        Self::Api(View::Resources),
        Self::Api(View::Prompts),
        Self::Api(View::Capabilities),
        Self::Api(View::Security),
        Self::Api(View::Audit),
        Self::OpenApi,
        Self::Docs,
        Self::DocsScript,
        Self::DocsStyle,
        Self::Consent,
        Self::ConsentStyle,
        Self::Ws,
        Self::Metrics,
        Self::Health,
        Self::Metadata,
        Self::McpMetadata,
        Self::Token,
        Self::Revoke,
        Self::Keys,
        Self::Issuer,
    ];

    pub fn path(self) -> &'static str {
        match self {
            Self::Mcp => "/mcp",
            Self::Rpc => "/rpc",
            Self::Jsonrpc => "/jsonrpc",
            Self::Api(view) => view.path(),
            Self::ApiHealth => "/api/mcp/health",
            Self::OpenApi => "/openapi.json",
            Self::Docs => "/docs",
            Self::DocsScript => "/docs/viewer.js",
            Self::DocsStyle => "/docs/viewer.css",
            Self::Consent => "/api/mcp/consent/{id}",
            Self::ConsentStyle => "/assets/consent.css",
            Self::Ws => "/ws",
            Self::Metrics => "/metrics",
            Self::Health => "/health",
            Self::Metadata => "/.well-known/oauth-protected-resource",
            Self::McpMetadata => "/.well-known/oauth-protected-resource/mcp",
            Self::Token => "/oauth/token",
            Self::Revoke => "/oauth/revoke",
            Self::Keys => "/oauth/jwks",
            Self::Issuer => "/.well-known/oauth-authorization-server",
        }
    }

    pub fn access(self) -> Access {
        match self {
            // A load balancer has no token, and a client without one has to learn what it needs one for, where to get
            // it, and to get it: there it proves itself with its secret.
            Self::Health
            | Self::ApiHealth
            | Self::Metadata
            | Self::McpMetadata
            | Self::OpenApi
            | Self::Docs
            | Self::DocsScript
            | Self::DocsStyle
            // A page's looks are no secret.
            | Self::ConsentStyle
            | Self::Token
            | Self::Revoke
            | Self::Keys
            | Self::Issuer => Access::Everybody,
            Self::Mcp | Self::Rpc | Self::Jsonrpc | Self::Api(_) | Self::Consent | Self::Ws | Self::Metrics => {
                Access::Token
            }
        }
    }
}

/// What the routes of the main listener end at.
pub(super) struct Endpoints {
    pub(super) standard: Arc<mcp::Endpoint>,
    pub(super) rpc: Arc<rpc::Endpoint>,
    pub(super) jsonrpc: Arc<jsonrpc::Endpoint>,
    pub(super) api: Arc<api::Api>,
    pub(super) document: Bytes,
    pub(super) consent: Arc<consent::Consents>,
    pub(super) ws: Arc<ws::Endpoint>,
}

/// A request has met the guard; here it meets the token check of its route.
pub(super) fn routes(engine: &Engine, endpoints: &Endpoints, authenticator: &Authenticator) -> Router {
    let mut router = Router::new();
    for route in Route::ALL {
        let handler = match route {
            Route::Mcp => any(mcp::serve).with_state(endpoints.standard.clone()),
            Route::Rpc => any(rpc::serve).with_state(endpoints.rpc.clone()),
            Route::Jsonrpc => any(jsonrpc::serve).with_state(endpoints.jsonrpc.clone()),
            Route::ApiHealth => get(api::health).with_state(endpoints.api.clone()),
            Route::Api(view) => get(api::serve).with_state((endpoints.api.clone(), view)),
            Route::OpenApi => get(docs::document).with_state(endpoints.document.clone()),
            Route::Docs => get(docs::page),
            Route::DocsScript => get(docs::script),
            Route::DocsStyle => get(docs::style),
            Route::Consent => get(consent::show).post(consent::decide).with_state(endpoints.consent.clone()),
            Route::ConsentStyle => get(consent::style),
            Route::Ws => get(ws::serve).with_state(endpoints.ws.clone()),
            Route::Metrics => get(health::metrics).with_state(engine.clone()),
            Route::Health => get(health::health).with_state(engine.clone()),
            Route::Metadata | Route::McpMetadata => get(auth::metadata).with_state(authenticator.clone()),
            Route::Token => post(oauth::token).with_state(authenticator.clone()),
            Route::Revoke => post(oauth::revoke).with_state(authenticator.clone()),
            Route::Keys => get(oauth::keys).with_state(authenticator.clone()),
            Route::Issuer => get(oauth::metadata).with_state(authenticator.clone()),
        };
        let handler = match route.access() {
            Access::Token => handler.layer(from_fn_with_state(authenticator.clone(), auth::identify)),
            Access::Everybody => handler,
        };
        let handler =
            if route == Route::Jsonrpc { handler.layer(from_fn(jsonrpc::unauthorized_in_words)) } else { handler };
        let handler = if route == Route::Ws { handler.layer(from_fn(ws::with_token)) } else { handler };
        let handler = if route == Route::Consent {
            handler.layer(from_fn_with_state(endpoints.consent.clone(), consent::with_sign_in))
        } else {
            handler
        };
        router = router.route(route.path(), handler);
    }
    router
}
