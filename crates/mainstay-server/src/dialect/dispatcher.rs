//! The dispatcher: turns a decoded request into calls of the engine, and the outcome into an encoded response.
//!
//! It relies on the transport for the caller, the size limit and the request id, on the dialect for every name, shape and
//! code, and on the engine for every policy. So a request that never reaches a tool (an unknown name, a malformed message)
//! is passed to the engine as well: it has to be counted and recorded like any other.

use std::collections::BTreeMap;
use std::sync::Arc;

use mainstay_core::{
    Call, Caller, CancellationToken, Error, Kind, NoSink, ResourceInfo, ResourceProvider, Result, Scope, Sink,
    ToolInfo, recorded, redacted_uri,
};
use mainstay_engine::Engine;
use mainstay_wire::{
    ConnectionState, Dialect, Encoded, Endpoint, ErrorResponse, Event, HttpError, Id, Operation, Request, ServerState,
    ToolQuery, ToolState, jsonrpc,
};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::mpsc;

use super::chunks::Chunks;
use super::tool_names::ToolNames;
use crate::connection::Connection;
use crate::memory_limit::Counted;

/// The result that says nothing.
const EMPTY: &[u8] = b"{}";

/// Serves the requests of one dialect at one endpoint.
pub(crate) struct Dispatcher {
    pub(crate) engine: Engine,
    pub(crate) dialect: Arc<dyn Dialect>,
    names: ToolNames,
    endpoint: Endpoint,
    /// The version of this program, which some dialects tell in `initialize`.
    version: &'static str,
    /// Of the one client that a dispatcher on stdio serves; over HTTP there is none.
    state: Mutex<ConnectionState>,
}

/// How a tool is called, which decides what its result looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallForm {
    /// By `tools/call`, or in the one way there is.
    Tool,
    /// By a method of its name.
    Method,
}

/// Who makes a request, and how they can be reached while it is carried out.
pub(crate) struct RequestContext {
    pub(crate) connection: Connection,
    /// Connects the log, the audit and the response; over HTTP a client may choose it.
    pub(crate) request_id: Arc<str>,
    /// The session of a connection that is one, as on stdio.
    pub(crate) session: Option<Arc<str>>,
    /// The session a header names. Whether it belongs to the caller is checked when it is used.
    pub(crate) claimed_session: Option<String>,
    /// Whom the client claims to act for: kept in the session, and never trusted.
    pub(crate) claimed_user: Option<String>,
    /// From a header. Stdio has no place for one.
    pub(crate) idempotency_key: Option<String>,
    /// Where chunks of output go, if the client wants them.
    pub(crate) chunks: Option<mpsc::Sender<Counted<Vec<u8>>>>,
    pub(crate) cancel: CancellationToken,
}

/// What goes back to the client.
#[derive(Debug, Default)]
pub(crate) struct Response {
    /// `None` for a request without an id.
    pub(crate) body: Option<Vec<u8>>,
    /// How HTTP reports it.
    pub(crate) http: HttpError,
    /// The session that was opened.
    pub(crate) session: Option<String>,
}

impl Dispatcher {
    pub(crate) fn new(engine: Engine, dialect: Arc<dyn Dialect>, endpoint: Endpoint, version: &'static str) -> Self {
        let names = ToolNames::new(&*dialect, engine.registry());
        Self { engine, dialect, names, endpoint, version, state: Mutex::default() }
    }

    /// Carries out a request that its connection accepts.
    pub(crate) async fn answer(&self, request: Request, context: &RequestContext) -> Response {
        let accepted = self.accept(&request);
        self.answer_accepted(request, accepted, context).await
    }

    /// Whether the connection accepts a request in its present state. A transport on which requests run at once asks in
    /// the order they arrived in.
    pub(crate) fn accept(&self, request: &Request) -> std::result::Result<(), ErrorResponse> {
        match self.endpoint {
            Endpoint::Stdio => self.dialect.accept(&mut self.state.lock(), &request.operation),
            // Requests of many clients arrive here, each on its own.
            Endpoint::Http { .. } => Ok(()),
        }
    }

    /// Carries out a request, or answers with the error for one that was not accepted.
    pub(crate) async fn answer_accepted(
        &self,
        request: Request,
        accepted: std::result::Result<(), ErrorResponse>,
        context: &RequestContext,
    ) -> Response {
        let Request { id, operation } = request;
        let mut session = None;
        let encoded = match accepted {
            // A notification is neither answered nor counted.
            Err(refused) if id.is_none() => Err(refused),
            Err(refused) => {
                let reason = Error::invalid("The connection does not accept this request in its present state.");
                self.rejected("jsonrpc", "jsonrpc", reason, refused, context).await
            }
            Ok(()) => self.perform(operation, id.as_ref(), context, &mut session).await,
        };
        let mut response = self.within_limit(respond(id.as_ref(), encoded), id.as_ref());
        response.session = session;
        response
    }

    /// Something happens to the connection. Returns the state it is in afterwards; an event that cannot happen in a state
    /// changes nothing.
    pub(crate) fn event(&self, event: Event) -> ConnectionState {
        let mut state = self.state.lock();
        if let Err(error) = state.transition(event) {
            tracing::debug!(%error, "the connection keeps its state");
        }
        *state
    }

    pub(crate) fn state(&self) -> ConnectionState {
        *self.state.lock()
    }

    async fn perform(
        &self,
        operation: Operation,
        id: Option<&Id>,
        context: &RequestContext,
        session: &mut Option<String>,
    ) -> Encoded {
        match operation {
            Operation::Initialize(params) => self.initialize(&params, context, session).await,
            Operation::Ping => self.ping(context).await,
            // Never refused for its rate: a client can always say that it is done. The others are notifications, which the
            // transport acts on.
            Operation::Shutdown | Operation::Initialized | Operation::Cancel { .. } | Operation::Exit => {
                Ok(EMPTY.to_vec())
            }
            Operation::ListTools(params) => self.list("tools/list", context, || self.tool_list(params, context)).await,
            Operation::ListResources => {
                let list = async { Ok(self.dialect.resource_list(&self.fresh_resources().await)) };
                let listed = self.query("resources/list", Some(Scope::Read), context, list).await;
                self.encode(listed, "resources/list", context)
            }
            Operation::ListResourceTemplates => {
                let list =
                    || Ok(self.dialect.template_list(&self.provider().map(|p| p.templates()).unwrap_or_default()));
                self.list("resources/templates/list", context, list).await
            }
            Operation::ListPrompts => {
                self.list("prompts/list", context, || Ok(self.dialect.prompt_list(self.prompts()?))).await
            }
            Operation::CallTool { name, args } => self.call_tool(&name, args, CallForm::Tool, id, context).await,
            Operation::CallMethod { name, args } => self.call_tool(&name, args, CallForm::Method, id, context).await,
            Operation::ReadResource { uri } => self.read_resource(&uri, context).await,
            Operation::GetPrompt { name, args } => self.get_prompt(&name, args, context).await,
            Operation::UnknownMethod { method, response } => {
                let reason = Error::unknown("The dialect has no such method.");
                self.rejected(&format!("jsonrpc {}", recorded(&method)), "jsonrpc", reason, response, context).await
            }
            Operation::InvalidParams(response) | Operation::Malformed(response) => {
                let reason = Error::invalid("The message cannot be read.");
                self.rejected("jsonrpc", "jsonrpc", reason, response, context).await
            }
        }
    }

    async fn initialize(&self, params: &Value, context: &RequestContext, session: &mut Option<String>) -> Encoded {
        let work = async {
            let opened = self.open_session(params, context).await?;
            let (tools, _) = self.tools(&ToolQuery::default(), &context.connection.caller)?;
            let (resources, prompts) = (self.resources().len(), self.prompts()?.len());
            let server = ServerState { version: self.version, session: opened.as_deref(), tools, resources, prompts };
            Ok((self.dialect.initialize(params, server), opened))
        };
        // Outside of any session the request names: what opens sessions must not come out of a session's own quota. A
        // connection that is a session has only that one.
        let call = self.call_of(context, context.session.clone());
        let result = self.engine.audited_query("initialize", &call, None, work).await;
        let (result, opened) = result.map_err(|error| self.error(&error, "initialize", context))?;
        // Only now: an `initialize` that a policy rejected does not open the gate.
        self.state.lock().negotiated();
        *session = opened;
        Ok(result.to_string().into_bytes())
    }

    /// Counts against the quota of a dialect that has one, because that is the contract's for every request.
    async fn ping(&self, context: &RequestContext) -> Encoded {
        if self.engine.quota(self.dialect.policy()).is_some() {
            let counted = self.query("ping", None, context, std::future::ready(Ok(()))).await;
            counted.map_err(|error| self.error(&error, "ping", context))?;
        }
        Ok(EMPTY.to_vec())
    }

    /// A list is one audited query: it needs the scope to read and counts against the rate limits.
    async fn list(&self, method: &str, context: &RequestContext, list: impl FnOnce() -> Result<Value>) -> Encoded {
        let listed = self.query(method, Some(Scope::Read), context, async { list() }).await;
        self.encode(listed, method, context)
    }

    async fn call_tool(
        &self,
        name: &str,
        args: Option<Value>,
        form: CallForm,
        id: Option<&Id>,
        context: &RequestContext,
    ) -> Encoded {
        let operation = || format!("tools/call {}", recorded(name));
        let registry = self.engine.registry();
        // A tool that the dialect does not expose must not differ from one that does not exist.
        let exposed = registry.tool(name).filter(|tool| {
            let hidden = self.dialect.hides_disabled_tools() && !registry.is_enabled(tool.info());
            !hidden && self.dialect.tool_name(tool.info()).is_some_and(|known| known == name)
        });
        let Some(tool) = exposed else {
            let kind = match form {
                CallForm::Tool => "tool",
                CallForm::Method => "method",
            };
            let response = self.dialect.unknown_name(kind, name, self.now());
            let reason = Error::unknown("The dialect exposes no tool of this name.");
            return self.rejected(&operation(), name, reason, response, context).await;
        };
        // The shape that the dialect's contract demands, before the schema of the tool: its error has another code.
        let args = match self.dialect.arguments(tool.info(), args) {
            Ok(args) => args,
            Err(response) => {
                let reason = Error::invalid("The arguments are not of the dialect's shape.");
                return self.rejected(&operation(), name, reason, response, context).await;
            }
        };
        let mut call = match self.call(&operation(), context).await {
            Ok(call) => call,
            Err(error) => return self.failed_call(&error, name, context),
        };
        // Checked by the engine, after rate and scope, like the schema of the tool itself.
        call.narrowed = self.dialect.narrowed(name);
        // Chunks carry the request's id, so a request without one gets none.
        call.sink = match (&context.chunks, id) {
            (Some(chunks), Some(id)) => {
                Arc::new(Chunks::new(self.dialect.clone(), id.clone(), chunks.clone())) as Arc<dyn Sink>
            }
            (Some(_) | None, _) => Arc::new(NoSink),
        };
        match self.engine.call_tool(name, args, call, &context.connection.lane).await {
            // Dialects differ in what a failed call is: an error of the protocol, or a result that says so.
            Ok(reply) => match form {
                CallForm::Tool => self.dialect.reply(name, reply),
                CallForm::Method => self.dialect.method_reply(name, reply),
            },
            Err(error) => self.failed_call(&error, name, context),
        }
    }

    async fn read_resource(&self, uri: &str, context: &RequestContext) -> Encoded {
        let read = async {
            let call = self.call(&format!("resources/read {}", recorded(&redacted_uri(uri))), context).await?;
            let contents = self.engine.read_resource(uri, call, &context.connection.lane).await?;
            let resources = self.resources();
            // Some dialects repeat in a result what the list says about the resource.
            let listed = resources.iter().find(|resource| resource.uri == uri);
            self.dialect.contents(uri, contents, listed)
        };
        self.encode(read.await, "resources/read", context)
    }

    async fn get_prompt(&self, name: &str, args: BTreeMap<String, String>, context: &RequestContext) -> Encoded {
        let operation = format!("prompts/get {}", recorded(name));
        let exposed = |prompt: &Arc<dyn mainstay_core::Prompt>| self.dialect.prompt_entry(&prompt.info()).is_some();
        if !self.engine.registry().prompt(name).is_some_and(exposed) {
            let response = self.dialect.unknown_name("prompt", name, self.now());
            let reason = Error::unknown("The dialect exposes no prompt of this name.");
            return self.rejected(&operation, name, reason, response, context).await;
        }
        let rendered = async {
            let call = self.call(&operation, context).await?;
            let mut reply = self.engine.get_prompt(name, args, call, &context.connection.lane).await?;
            // A text with placeholders is the contract's own; any other may tell a model which tools to call.
            if self.engine.registry().prompt(name).is_some_and(|prompt| prompt.info().template.is_none()) {
                self.names.respell_prompt(&mut reply);
            }
            self.dialect.prompt(name, reply, self.now())
        };
        self.encode(rendered.await, "prompts/get", context)
    }

    /// The page of tools that the params of `tools/list` ask for.
    fn tool_list(&self, params: Value, context: &RequestContext) -> Result<Value> {
        let query = self.dialect.tool_query(params)?;
        let (entries, next) = self.tools(&query, &context.connection.caller)?;
        Ok(self.dialect.tool_list(entries, next))
    }

    /// One page of the tools within this caller's scopes, and where the next page begins.
    fn tools(&self, query: &ToolQuery, caller: &Caller) -> Result<(Vec<Value>, Option<String>)> {
        let registry = self.engine.registry();
        let wanted = |tool: &ToolInfo| {
            let name = self.dialect.tool_name(tool);
            name.is_some_and(|name| query.matches(&name, tool, registry.is_enabled(tool)))
        };
        let page = registry.tools_where(caller, wanted, query.cursor.as_deref(), query.limit)?;
        // Some dialects list each tool's quota; the settings have them under the listed names.
        let quotas = &self.engine.settings().rate.per_tool;
        let entry = |tool: &ToolInfo| {
            let (enabled, quota) = (registry.is_enabled(tool), quotas.get(&tool.listed).copied());
            let mut entry = self.dialect.tool_entry(tool, ToolState { enabled, quota, endpoint: &self.endpoint })?;
            self.names.respell(&mut entry);
            Some(entry)
        };
        Ok((page.items.iter().filter_map(|tool| entry(tool.info())).collect(), page.next))
    }

    /// The provider of the dialect's resources.
    fn provider(&self) -> Option<&Arc<dyn ResourceProvider>> {
        self.dialect.known_resource().and_then(|uri| self.engine.registry().provider(uri))
    }

    /// The resources of the dialect, in its contract's order.
    pub(crate) fn resources(&self) -> Vec<ResourceInfo> {
        self.provider().map(|provider| provider.list()).unwrap_or_default()
    }

    /// The same as they are now, where some of them are files that may change.
    async fn fresh_resources(&self) -> Vec<ResourceInfo> {
        match self.provider() {
            Some(provider) => provider.list_fresh().await,
            None => Vec::new(),
        }
    }

    /// The prompts that the dialect's contract knows, as its list shows them.
    pub(crate) fn prompts(&self) -> Result<Vec<Value>> {
        let prompts = self.engine.registry().prompts(None, usize::MAX)?.items;
        Ok(prompts.iter().filter_map(|prompt| self.dialect.prompt_entry(prompt)).collect())
    }

    /// How many tools, resources and prompts this caller finds.
    pub(crate) fn counts(&self, caller: &Caller) -> Result<[usize; 3]> {
        let (tools, _) = self.tools(&ToolQuery::default(), caller)?;
        Ok([tools.len(), self.resources().len(), self.prompts()?.len()])
    }

    /// A call on behalf of a request. Fails if its session is not the caller's; then the attempt is recorded as
    /// `operation`.
    async fn call(&self, operation: &str, context: &RequestContext) -> Result<Call> {
        let (session, client) = match self.session(context).await {
            Ok(session) => session,
            Err(error) => {
                let failed = std::future::ready(Err(error));
                return self.query(operation, None, context, failed).await;
            }
        };
        let mut call = self.call_of(context, session);
        call.client = client;
        call.idempotency_key.clone_from(&context.idempotency_key);
        call.cancel = context.cancel.clone();
        Ok(call)
    }

    /// Who makes a request, and under which policies.
    fn call_of(&self, context: &RequestContext, session: Option<Arc<str>>) -> Call {
        let mut call = Call::new(context.connection.caller.clone());
        call.request_id = context.request_id.clone();
        call.session = session;
        call.policy = self.dialect.policy();
        call
    }

    /// Counts and records a request that cannot be carried out. `response` is what the dialect says about it, unless a
    /// policy rejects the request first.
    async fn rejected(
        &self,
        operation: &str,
        name: &str,
        reason: Error,
        response: ErrorResponse,
        context: &RequestContext,
    ) -> Encoded {
        // A policy that rejects the request gives another kind of error than the reason it came with.
        let kind = reason.kind;
        let work = std::future::ready(Err::<(), _>(reason));
        match self.query(operation, None, context, work).await {
            Err(error) if error.kind != kind => Err(self.error(&error, name, context)),
            Ok(()) | Err(_) => Err(response),
        }
    }

    /// Does `work` under the policies of a query, and records it as `operation`. One that needs a scope shows data, and
    /// fails if it names a session which is not the caller's; any other does not depend on a session and ignores it.
    pub(crate) async fn query<T>(
        &self,
        operation: &str,
        scope: Option<Scope>,
        context: &RequestContext,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let (session, checked) = match self.session(context).await {
            Ok((session, _)) => (session, Ok(())),
            Err(error) if scope.is_some() => (None, Err(error)),
            Err(_) => (None, Ok(())),
        };
        let work = async {
            checked?;
            work.await
        };
        self.engine.audited_query(operation, &self.call_of(context, session), scope, work).await
    }

    fn encode(&self, result: Result<Value>, operation: &str, context: &RequestContext) -> Encoded {
        result.map(|value| value.to_string().into_bytes()).map_err(|error| self.error(&error, operation, context))
    }

    /// The error in the dialect's terms. Where those include the status 403, HTTP adds the challenge for a missing scope.
    pub(crate) fn error(&self, error: &Error, operation: &str, context: &RequestContext) -> ErrorResponse {
        let response = self.dialect.error(error, operation, self.now());
        if response.http.status == 403 {
            context.connection.missing_scope.note(error);
        }
        response
    }

    fn failed_call(&self, error: &Error, tool: &str, context: &RequestContext) -> Encoded {
        let encoded = self.dialect.failed_call(error, tool, self.now());
        if encoded.as_ref().is_err_and(|response| response.http.status == 403) {
            context.connection.missing_scope.note(error);
        }
        encoded
    }

    /// Replaces a response that is larger than the dialect sends.
    /// Measured after encoding, because the limit is one of bytes on the wire.
    fn within_limit(&self, response: Response, id: Option<&Id>) -> Response {
        let length = response.body.as_ref().map_or(0, Vec::len);
        match self.dialect.policy().response_bytes {
            Some(limit) if length > limit => {
                // Not held any longer while the error is made.
                drop(response);
                let message = format!("The response has {length} bytes; at most {limit} are sent.");
                self.failed(&Error::new(Kind::TooLarge, message), id)
            }
            Some(_) | None => response,
        }
    }

    /// The response to a request whose own response cannot be sent.
    pub(crate) fn failed(&self, error: &Error, id: Option<&Id>) -> Response {
        respond(id, Err(self.dialect.error(error, "response", self.now())))
    }

    fn now(&self) -> jiff::Timestamp {
        self.engine.clock().now()
    }
}

/// The response under this id; nothing is sent for a request without one.
pub(crate) fn respond(id: Option<&Id>, encoded: Encoded) -> Response {
    let Some(id) = id else {
        // What HTTP answers to a message that has no response.
        let http = HttpError { status: 202, ..HttpError::default() };
        return Response { http, ..Response::default() };
    };
    match encoded {
        Ok(result) => Response { body: Some(jsonrpc::result(id, result)), ..Response::default() },
        Err(error) => Response { body: Some(error.response(id)), http: error.http, session: None },
    }
}
