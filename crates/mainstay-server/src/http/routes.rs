//! The route table. A route is one entry of it: router, token check, OpenAPI document and the tests that send requests
//! to every route follow from the table.

use std::sync::Arc;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{MethodRouter, any, get, post};
use bytes::Bytes;
use mainstay_auth::Authenticator;
use mainstay_engine::Engine;
use mainstay_wire::{agents, mira, solana};
use serde_json::{Value, json};

use super::api::{self, View};
use super::body::{FORM, JSON};
use super::dialect::{self, DialectEndpoint};
use super::route::{Access, Operation, document, health, message};
use super::{auth, consent, mcp, oauth, operator, ws};
use crate::StartError;

/// The state of all handlers.
pub(super) struct Services<'a> {
    pub(super) engine: Engine,
    pub(super) authenticator: Authenticator,
    pub(super) mcp: Arc<mcp::Endpoint>,
    /// Makes the endpoint of a dialect, from its name and the URL under which clients reach it.
    pub(super) dialect: &'a (dyn Fn(&'static str, Option<String>) -> Result<Arc<DialectEndpoint>, StartError> + Sync),
    /// Where clients reach the listener, if that is known.
    pub(super) origin: Option<String>,
    pub(super) api: Arc<api::Api>,
    pub(super) consents: Arc<consent::Consents>,
    pub(super) ws: Arc<ws::Endpoint>,
    pub(super) openapi: Bytes,
}

/// What serves the requests of a route.
enum Handler {
    Service(Box<dyn Fn(&Services<'_>) -> MethodRouter>),
    /// The dialect of this name. Its endpoint is made from the list of dialects when the server starts.
    Dialect(&'static str),
}

/// Wraps a route outside its token check.
type Middleware = Box<dyn Fn(&Services<'_>, MethodRouter) -> MethodRouter>;

/// An entry of the route table.
pub struct Route {
    pub path: &'static str,
    pub access: Access,
    pub operations: Vec<Operation>,
    handler: Handler,
    outside: Option<Middleware>,
}

impl Route {
    /// A route whose requests need a token when authentication is on.
    fn with_token(
        path: &'static str,
        handler: impl Fn(&Services<'_>) -> MethodRouter + 'static,
        operations: impl Into<Vec<Operation>>,
    ) -> Self {
        let (operations, handler) = (operations.into(), Handler::Service(Box::new(handler)));
        Self { path, access: Access::Token, operations, handler, outside: None }
    }

    /// A route for clients that cannot have a token yet or never have one: how to get a token, health checks, docs.
    fn public(
        path: &'static str,
        handler: impl Fn(&Services<'_>) -> MethodRouter + 'static,
        operation: Operation,
    ) -> Self {
        Self { access: Access::Public, ..Self::with_token(path, handler, [operation]) }
    }

    /// Middleware that runs before the token check: it may supply the token, or change the response to a request that
    /// failed the check.
    fn outside(self, middleware: impl Fn(&Services<'_>, MethodRouter) -> MethodRouter + 'static) -> Self {
        Self { outside: Some(Box::new(middleware)), ..self }
    }

    /// The route of a dialect.
    pub(super) fn dialect(path: &'static str, name: &'static str, operation: Operation) -> Self {
        let (operations, handler) = (vec![operation], Handler::Dialect(name));
        Self { path, access: Access::Token, operations, handler, outside: None }
    }
}

/// Every route of the main listener.
pub fn routes() -> Vec<Route> {
    let mut routes = protocol_routes();
    routes.extend(agents_routes());
    routes.extend(operator_routes());
    routes.extend(oauth_routes());
    routes
}

/// The endpoints that speak MCP and its dialects.
fn protocol_routes() -> Vec<Route> {
    let too_large = "The message is longer than server.message_bytes.";
    let not_json = "The message is not application/json.";
    let no_session = "The session does not exist, or belongs to another principal.";
    vec![
        Route::with_token(
            mcp::PATH,
            |services| any(mcp::serve).with_state(services.mcp.clone()),
            [
                message("mcp", "Send a message of the Model Context Protocol")
                    .describe(
                        "Streamable HTTP in every version from 2024-11-05 to 2026-07-28. The response is JSON or a \
                         stream of events.",
                    )
                    .responds(400, "The message or one of its headers is not valid.")
                    .responds(404, no_session)
                    .responds(406, "The header Accept has to name application/json and text/event-stream.")
                    .responds(413, too_large)
                    .responds(415, not_json)
                    .responds(422, "A first message other than initialize."),
                Operation::get("mcp", "Open the event stream of a session")
                    .describe("Messages that the server sends on its own, in sessions of versions before 2026-07-28.")
                    .parameters(&["McpSessionId"])
                    .responds_with(200, "text/event-stream", "A stream of events.")
                    .responds(400, "A header is missing or not valid.")
                    .responds(404, no_session)
                    .responds(405, "Without a session there is no stream.")
                    .responds(406, "The header Accept has to name text/event-stream.")
                    .responds(409, "The session's stream is open already."),
                Operation::new("DELETE", "mcp", "End a session")
                    .describe("Needs the header Mcp-Session-Id.")
                    .parameters(&["McpSessionId"])
                    .responds(204, "The session has ended.")
                    .responds(400, "A header is missing or not valid.")
                    .responds(404, no_session)
                    .responds(405, "Without a session there is nothing to end."),
            ],
        ),
        Route::dialect(
            "/rpc",
            mira::NAME,
            message("mira", "Call a tool by JSON-RPC")
                .describe(
                    "The method is the tool's name, params are its arguments, the result is its value. A call with \
                     stream=true can be answered as a stream of events.",
                )
                .responds(413, too_large)
                .responds(415, not_json),
        ),
        Route::dialect("/jsonrpc", agents::NAME, jsonrpc_operation()),
        Route::dialect("/api/mcp", solana::NAME, solana_operation()),
    ]
}

/// The dialect `agents`: HTTP statuses follow from its error codes, unlike in other dialects.
fn jsonrpc_operation() -> Operation {
    let request = |method: &str, params: Value| json!({"jsonrpc": "2.0", "method": method, "params": params, "id": 1});
    let client = json!({"clientInfo": {"name": "Your Client", "version": "1.0.0"},
        "capabilities": ["tools", "resources", "prompts"]});
    let activity = json!({"name": "log_activity",
        "arguments": {"agent": "backend-api", "activity": "Processing request", "category": "task"}});
    let prompt = json!({"name": "deploy_system", "arguments": {"environment": "production"}});
    let invalid = "Parse error (-32700), invalid request or message too long (-32600), method not found (-32601), \
        invalid params (-32602).";
    message("agents", "Coordinate agents by JSON-RPC")
        .describe(
            "Methods: initialize, tools/list, tools/call, resources/list, resources/read, prompts/list, \
             prompts/execute. A call with an Idempotency-Key that was used in the last 24 hours returns the first result.",
        )
        .parameters(&["SessionId", "UserId", "RequestId", "IdempotencyKey"])
        .shows("initialize", "Open a session", &request("initialize", client))
        .shows("tools/list", "List the tools", &request("tools/list", json!({})))
        .shows("tools/call", "Call a tool", &request("tools/call", activity))
        .shows("resources/read", "Read a resource", &request("resources/read", json!({"uri": "db://schema/complete"})))
        .shows("prompts/execute", "Fill in a prompt", &request("prompts/execute", prompt))
        .errors(
            "Response",
            &[
                (400, invalid),
                (401, "Unauthorized (-32001): the access token is missing or not valid."),
                (403, "Consent required (-32003) or access denied (-32004)."),
                (405, "A method other than POST (-32600)."),
                (415, "The message is not application/json (-32600)."),
                (429, "Rate limit exceeded (-32002). See Retry-After and X-RateLimit-Limit, -Remaining and -Reset."),
                (500, "Internal error (-32603) or server error (-32000)."),
            ],
        )
}

/// The dialect `solana`. Errors are in the body of a response with status 200, unless HTTP rejects the request.
fn solana_operation() -> Operation {
    let request = |method: &str, params: Value| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let client = json!({"protocolVersion": "2024-11-05", "capabilities": {},
        "clientInfo": {"name": "my-client", "version": "1.0.0"}});
    let balance = json!({"name": "getBalance", "arguments": {"pubkey": "11111111111111111111111111111112"}});
    message("solana", "Read the Solana chain by JSON-RPC")
        .describe(
            "MCP 2024-11-05 without a session. Methods: initialize, ping, tools/list, tools/call, resources/list, \
             resources/templates/list, resources/read, and every tool by its own name. Every response has the headers \
             X-MCP-Version and Cache-Control: no-cache.",
        )
        .shows("initialize", "Negotiate the version", &request("initialize", client))
        .shows("tools/call", "Call a tool", &request("tools/call", balance))
        .errors(
            "Response",
            &[
                (401, "The access token is missing or not valid (-32600)."),
                (405, "A method other than POST (-32600)."),
                (413, "The message is longer than server.message_bytes (-32600)."),
                (415, "The message is not application/json (-32600)."),
            ],
        )
}

/// The REST API of contract 001, its events and the consent pages.
fn agents_routes() -> Vec<Route> {
    let status = Operation::get("agents", "Get the status of agents and server")
        .describe("The first 50 agents by name and the 50 latest activities. The counts include all.");
    let audit = Operation::get("agents", "List the latest audit rows")
        .describe("A caller sees its own rows, an administrator all.")
        .parameters(&["AuditSession", "AuditLimit"]);
    let resources = Operation::get("agents", "List the resources");
    let prompts = Operation::get("agents", "List the prompts");
    let capabilities = Operation::get("agents", "Get protocol version and features");
    let security = Operation::get("agents", "Get the security settings");
    vec![
        view("/api/mcp/status", "Status", status, |api, context, _| Box::pin(api.status(context))),
        view("/api/mcp/resources", "Resources", resources, |api, _, _| Box::pin(async move { Ok(api.resources()) })),
        view("/api/mcp/prompts", "Prompts", prompts, |api, _, _| Box::pin(async move { api.prompts() })),
        view("/api/mcp/capabilities", "Capabilities", capabilities, |api, context, _| {
            Box::pin(api.capabilities(context))
        }),
        view("/api/mcp/security", "Security", security, |api, _, _| Box::pin(async move { Ok(api.security()) })),
        view("/api/mcp/audit", "Audit", audit, |api, context, uri| Box::pin(api.audit(context, uri))),
        Route::public(
            "/api/mcp/health",
            |services| get(api::health).with_state(services.api.clone()),
            health("agents", "ApiHealth"),
        ),
        Route::with_token(
            "/ws",
            |services| get(ws::serve).with_state(services.ws.clone()),
            [Operation::get("agents", "Receive events over a WebSocket")
                .describe(
                    "Events tool_executed, prompt_used and resource_updated, each as {id, event, data}. Send \
                     {\"subscribe\": {\"events\": […], \"tools\": […]}} to receive fewer, {\"resume\": \"ID\"} to \
                     receive the events after that one. A browser sends its token as the subprotocol `bearer, TOKEN`.",
                )
                .parameters(&["LastEventId"])
                .responds(101, "The WebSocket is open.")
                .responds(400, "Not a WebSocket handshake, or last_event_id is not a number.")
                .responds(426, "The connection cannot become a WebSocket.")
                .responds(403, "The token does not have the scope \"read\".")
                .responds(503, "WebSocket connection limit reached, for all clients or for this one.")],
        )
        .outside(|_, route| route.layer(from_fn(ws::with_token))),
        Route::with_token(
            "/api/mcp/consent/{id}",
            |services| get(consent::show).post(consent::decide).with_state(services.consents.clone()),
            consent_operations(),
        )
        .outside(|services, route| route.layer(from_fn_with_state(services.consents.clone(), consent::with_sign_in))),
        asset("/assets/consent.css", "Style sheet of the consent pages", "text/css", consent::STYLE),
    ]
}

/// A view of the REST API. All of them have the same headers and errors.
fn view(path: &'static str, schema: &str, operation: Operation, view: View) -> Route {
    let operation =
        operation.parameters(&["SessionId", "UserId", "RequestId"]).responds_json(200, schema, "Success.").errors(
            "ApiError",
            &[
                (400, "The session does not exist, or a header or parameter is not valid."),
                (403, "The token does not have the scope \"read\"."),
                (429, "Too many requests. See Retry-After and X-RateLimit-Limit, -Remaining and -Reset."),
                (500, "Internal error."),
            ],
        );
    let handler = move |services: &Services<'_>| get(api::serve).with_state((services.api.clone(), path, view));
    Route::with_token(path, handler, [operation])
}

/// Both methods of a consent request.
fn consent_operations() -> [Operation; 2] {
    let not_found = (404, "The request does not exist, or you may not see it.");
    let (rate, store) = ((429, "Too many requests. See Retry-After."), (503, "The store is not available."));
    let bad_id = (400, "The id is not valid.");
    [
        Operation::get("agents", "Show a call that waits for consent")
            .describe("A browser gets a page, or the sign-in page if it needs a token.")
            .parameters(&["ConsentId"])
            .responds_with(200, "text/html", "The request, as JSON or as a page.")
            .responds_json(200, "Consent", "The request, as JSON or as a page.")
            .errors("ApiError", &[bad_id, not_found, rate, store]),
        Operation::new("POST", "agents", "Approve or deny a call")
            .describe("With authentication this needs the scope \"consent\", and another principal than the caller's.")
            .parameters(&["ConsentId"])
            .accepts(JSON, "ConsentDecision", r#"{"decision": "denied", "reason": "not now"}"#)
            .responds_json(200, "ConsentDecided", "The decision is recorded.")
            .errors(
                "ApiError",
                &[
                    (400, "The decision or the id is malformed."),
                    (403, "You may not decide this request."),
                    not_found,
                    (409, "The request is already decided."),
                    (410, "The request has expired."),
                    (413, "The decision is too long."),
                    (415, "The decision is not application/json."),
                    rate,
                    store,
                ],
            ),
    ]
}

/// Health, metrics and documentation.
fn operator_routes() -> Vec<Route> {
    vec![
        Route::public(
            "/health",
            |services| get(operator::health).with_state(services.engine.clone()),
            health("operation", "Health"),
        ),
        Route::with_token(
            "/metrics",
            |services| get(operator::metrics).with_state(services.engine.clone()),
            [document("Metrics for Prometheus", "application/openmetrics-text")
                .responds_json(403, "Problem", "The token does not have the scope \"read\".")
                .responds_json(500, "Problem", "The metrics cannot be written.")],
        ),
        Route::public(
            "/openapi.json",
            |services| get(operator::document).with_state(services.openapi.clone()),
            document("This OpenAPI document", JSON),
        ),
        asset("/", "What this server is, with links", "text/html", operator::START),
        asset("/docs", "This document as a page", "text/html", operator::PAGE),
        asset("/docs/viewer.js", "Script of the page", "text/javascript", operator::SCRIPT),
        asset("/docs/viewer.css", "Style sheet of the page", "text/css", operator::STYLE),
    ]
}

/// A text that is part of the program.
fn asset(path: &'static str, summary: &str, media_type: &'static str, text: &'static str) -> Route {
    Route::public(path, move |_| get(async move || operator::asset(media_type, text)), document(summary, media_type))
}

/// The authorization server, and where clients learn about it.
fn oauth_routes() -> Vec<Route> {
    let errors = [
        (400, "The request is malformed, or the grant, scope or resource is not valid."),
        (401, "Client authentication failed."),
        (413, "The request is too long."),
        (429, "Too many failed attempts. See Retry-After."),
        (503, "The authorization server is temporarily unavailable."),
    ];
    let not_here = "Another server issues the tokens.";
    let route = |path, handler: MethodRouter<Authenticator>, operation: Operation| {
        Route::public(path, move |services| handler.clone().with_state(services.authenticator.clone()), operation)
    };
    let described = |summary: &str, description: &str| {
        Operation::get("authorization", summary).describe(description).responds_json(200, "Object", "Success.")
    };
    let posted = |summary: &str, schema: &str, example: &'static str| {
        Operation::new("POST", "authorization", summary)
            .accepts(FORM, schema, example)
            .also_accepts(JSON, schema)
            .errors("OAuthError", &errors)
            .responds_json(404, "Problem", not_here)
    };
    let resource = "RFC 9728: which authorization server issues tokens for this server.";
    let resource =
        described("Protected resource metadata", resource).responds_json(404, "Problem", "No token is required.");
    vec![
        route(auth::METADATA_PATH, get(auth::metadata), resource.clone()),
        route("/.well-known/oauth-protected-resource/mcp", get(auth::metadata), resource),
        route(
            oauth::TOKEN_PATH,
            post(oauth::token),
            posted("Get an access token", "TokenRequest", "grant_type=client_credentials")
                .describe("OAuth 2.1. A client authenticates with its secret, in the body or by HTTP Basic.")
                .responds_json(200, "TokenResponse", "Success."),
        ),
        route(
            oauth::REVOKE_PATH,
            post(oauth::revoke),
            posted("Revoke a token", "RevokeRequest", "token=x")
                .describe("RFC 7009: an access token, or a refresh token with all tokens that came from it.")
                .responds(200, "The token is not valid any more. Also the response for an unknown token."),
        ),
        route(
            oauth::KEYS_PATH,
            get(oauth::keys),
            described("List the public signing keys", "A JWK set (RFC 7517).").responds_json(404, "Problem", not_here),
        ),
        route(
            "/.well-known/oauth-authorization-server",
            get(oauth::metadata),
            described("Authorization server metadata", "RFC 8414.").responds_json(404, "Problem", not_here),
        ),
    ]
}

/// The router of these routes. Every route that needs a token gets the check here, so that none can leave it out. What no
/// route has is answered with a body that says so.
pub(super) fn router(routes: Vec<Route>, services: &Services<'_>) -> Result<Router, StartError> {
    let router = routes.into_iter().try_fold(Router::new(), |router, route| {
        let checked = |handler: MethodRouter| match route.access {
            Access::Token => handler.layer(from_fn_with_state(services.authenticator.clone(), auth::identify)),
            Access::Public => handler,
        };
        let handler = match (route.handler, route.outside) {
            (Handler::Service(handler), Some(outside)) => outside(services, checked(handler(services))),
            (Handler::Service(handler), None) => checked(handler(services)),
            (Handler::Dialect(name), _) => {
                let endpoint = (services.dialect)(name, services.origin.clone().map(|origin| origin + route.path))?;
                checked(any(dialect::serve).with_state(endpoint.clone()))
                    .layer(from_fn_with_state(endpoint.clone(), dialect::describe_unauthorized))
                    .layer(from_fn_with_state(endpoint, dialect::add_headers))
            }
        };
        Ok::<_, StartError>(router.route(route.path, handler))
    })?;
    Ok(router.fallback(operator::not_found).method_not_allowed_fallback(operator::method_not_allowed))
}
