//! The protocol's methods, implemented on the engine: the SDK's server trait.

use std::collections::BTreeMap;
use std::sync::Arc;

use mainstay_core::CancellationToken;
use parking_lot::Mutex;
use rmcp::ServerHandler;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams, CompleteResult,
    CompletionInfo, CustomRequest, CustomResult, DiscoverResult, ErrorCode, ErrorData, GetPromptRequestParams,
    GetPromptResponse, GetTaskParams, GetTaskResult, InitializeRequestParams, InitializeResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, LoggingLevel, PaginatedRequestParams,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Reference, RequestId,
    ServerConfig, SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
    UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RoleServer, SubscriptionContext};
use rmcp::task_manager::TaskManager;
use serde_json::{Value, json};
use tokio_util::sync::DropGuard;

use crate::connection::{Connection, client_name};
use crate::headers::{request_id, single};

use super::encode;
use super::invocation::{self, CallResult, invoke};
use super::request::{Era, RequestContext};
use super::sessions::InSession;
use super::shared::Shared;
use super::sink::PeerSink;
use super::subscriptions::{self, SubscribedResources};

/// How many items a page of a list has. More than the tools of any server: some clients read the first page alone, and the
/// conformance suite is one of them.
const PAGE: usize = 200;

/// How long a client may cache a list; it is notified of changes as well.
const LIST_TTL_MS: u64 = 30_000;

/// The longest URI that can be subscribed to, in bytes: a session keeps up to a thousand of them in memory.
const MAX_SUBSCRIBED_URI: usize = 16 * 1024;

/// The longest params of `initialize`, in bytes: they are kept for as long as the session.
const MAX_INITIALIZE: usize = 64 * 1024;

/// The SDK's context of a request; ours ([`RequestContext`]) is made from it.
type Context = rmcp::service::RequestContext<RoleServer>;

/// The params of a list: where the page begins.
type Paging = Option<PaginatedRequestParams>;

/// The result of a method. Its error is one of the protocol, whose codes [`encode::protocol_error`] decides.
type Result<T> = std::result::Result<T, ErrorData>;

/// Serves one session, one stdio client, or a single stateless request.
pub(crate) struct Handler {
    shared: Arc<Shared>,
    /// The client on stdio; over HTTP each request carries its own connection and session.
    stdio: Option<StdioClient>,
    /// What the client set with `logging/setLevel`.
    /// Debug until then: the protocol leaves the default to the server, and a client that wants less says so.
    level: Mutex<LoggingLevel>,
    /// The URIs of `resources/subscribe`, which only the older protocol has; `subscriptions/listen` has its own.
    subscribed: SubscribedResources,
    /// Stops the notifications about changes when the session ends.
    notifying: Mutex<Option<DropGuard>>,
}

/// Reserves memory for the response to a request, of this length; an error says why there is none.
pub(crate) type ReserveMemory = dyn Fn(&RequestId, usize) -> std::result::Result<(), String> + Send + Sync;

/// The program that started this one and speaks through its standard input and output.
#[derive(Clone)]
pub(crate) struct StdioClient {
    pub(crate) connection: Connection,
    pub(crate) session: Arc<str>,
    /// Cancelled at the end of input.
    pub(crate) ended: CancellationToken,
    /// The SDK keeps responses until it sends them, however many there are.
    pub(crate) reserve: Arc<ReserveMemory>,
}

/// Sets the fields that every list has. A macro, because the SDK has a type of its own for each list.
macro_rules! complete_list {
    ($handler:expr, $context:expr, $result:expr, $next:expr) => {{
        let mut result = $result;
        result.next_cursor = $next;
        (result.ttl_ms, result.cache_scope) = (Some(LIST_TTL_MS), Some(CacheScope::Private));
        $handler.shared.stamp(Era::of(&$context), &mut result.meta);
        Ok(result)
    }};
}

impl Handler {
    /// A handler for one session, or for one request without a session.
    pub(crate) fn over_http(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            stdio: None,
            level: Mutex::new(LoggingLevel::Debug),
            subscribed: SubscribedResources::default(),
            notifying: Mutex::default(),
        }
    }

    /// The handler of the process's one client.
    pub(crate) fn over_stdio(shared: Arc<Shared>, client: StdioClient) -> Self {
        Self { stdio: Some(client), ..Self::over_http(shared) }
    }

    /// Reserves the memory of a response on stdio. Over HTTP it is counted when the SDK hands it over.
    fn reserve(&self, context: &Context, result: &impl serde::Serialize) -> Result<()> {
        let Some(client) = &self.stdio else { return Ok(()) };
        (client.reserve)(&context.id, encode::size(result)).map_err(|why| ErrorData::internal_error(why, None))
    }

    /// The HTTP request that carried this one; the SDK keeps it in the extensions.
    fn parts(context: &Context) -> Option<&http::request::Parts> {
        context.extensions.get::<http::request::Parts>()
    }

    /// The connection of a request. Without one nothing is served: there would be nobody to check and to record.
    fn connection(&self, context: &Context) -> Result<Connection> {
        let from_http = || Self::parts(context).and_then(|parts| parts.extensions.get::<Connection>()).cloned();
        let from_stdio = self.stdio.as_ref().map(|client| client.connection.clone());
        from_stdio.or_else(from_http).ok_or_else(|| ErrorData::internal_error("The request has no caller.", None))
    }

    /// The connection, if its caller has the scope to read.
    fn reader(&self, context: &Context) -> Result<Connection> {
        let connection = self.connection(context)?;
        connection.admit_reader(&self.shared.engine).map_err(encode::protocol_error)?;
        Ok(connection)
    }

    /// The connection, if its caller has the scope to read and is within the rate limit of lists.
    async fn lister(&self, context: &Context, method: &str) -> Result<Connection> {
        let connection = self.connection(context)?;
        // Counted before the scope is checked, as in the pipeline: a rejected request costs work, too.
        self.shared.engine.admit_listing(&connection.caller, method).await.map_err(encode::protocol_error)?;
        self.reader(context)
    }

    /// The idempotency key, from the request's `_meta` or its header. An unreadable key is an error: without the key a
    /// retry would run the call a second time.
    fn idempotency_key(context: &Context) -> Result<Option<String>> {
        let wrong = |what: &str| invalid(format!("The idempotency key {what}."));
        if let Some(key) = context.meta.get("io.mainstay/idempotencyKey") {
            return key.as_str().map(|key| Some(key.to_owned())).ok_or_else(|| wrong("must be a string"));
        }
        let Some(parts) = Self::parts(context) else { return Ok(None) };
        let header = single(&parts.headers, "idempotency-key").map_err(|_| wrong("came twice or is not readable"))?;
        Ok(header.map(str::to_owned))
    }

    /// The tasks of the request's principal.
    fn tasks(&self, context: &Context) -> Result<TaskManager> {
        Ok(self.shared.tasks.of(&self.connection(context)?.caller.principal))
    }

    /// The cursor is opaque here; the registry made it, and rejects one that it did not make.
    fn cursor(request: Paging) -> Option<String> {
        request.and_then(|request| request.cursor)
    }

    /// What the other modules need to know of a request.
    fn request(&self, context: &Context) -> Result<RequestContext> {
        let era = Era::of(context);
        let in_session = context.extensions.get::<InSession>().map(|session| session.0.clone());
        Ok(RequestContext {
            connection: self.connection(context)?,
            request_id: Self::parts(context).and_then(|parts| request_id(&parts.headers)),
            session: in_session.or_else(|| self.stdio.as_ref().map(|client| client.session.clone())),
            client: context.client_info().map(|client| client_name(&client.name, &client.version)),
            idempotency_key: Self::idempotency_key(context)?,
            sink: Arc::new(PeerSink::new(context, era, *self.level.lock())),
            cancel: context.ct.clone(),
            capabilities: context.client_capabilities().unwrap_or_default(),
            era,
        })
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        self.shared.info.clone()
    }

    /// Every version the SDK knows, of both eras.
    fn supported_protocol_versions(&self) -> std::borrow::Cow<'static, [ProtocolVersion]> {
        std::borrow::Cow::Borrowed(ProtocolVersion::KNOWN_VERSIONS)
    }

    /// The handshake of the older protocol. It counts against the rate limit like a list: each one opens a session.
    async fn initialize(&self, request: InitializeRequestParams, context: Context) -> Result<InitializeResult> {
        let caller = self.connection(&context)?.caller;
        self.shared.engine.admit_listing(&caller, "initialize").await.map_err(encode::protocol_error)?;
        let length = serde_json::to_vec(&request).map_or(usize::MAX, |params| params.len());
        if length > MAX_INITIALIZE {
            let message = format!("The params of initialize have {length} bytes; the limit is {MAX_INITIALIZE}.");
            return Err(invalid(message));
        }
        // What the default implementation of the trait does as well; this one only adds the checks before it.
        context.peer.set_peer_info(request.clone());
        self.negotiate_initialize(&request)
    }

    /// From here on the session is told about changes. Dropping the handler drops the guard, which stops the task.
    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let end = CancellationToken::new();
        let changes = self.shared.engine.events().changes();
        subscriptions::notify_session(changes, context.peer, self.subscribed.clone(), end.clone());
        *self.notifying.lock() = Some(end.drop_guard());
    }

    /// What 2026-07-28 has instead of the handshake. It needs no scope, so that any client can find out what is served.
    async fn discover(&self, context: Context) -> Result<DiscoverResult> {
        let versions = self.supported_protocol_versions().into_owned();
        let mut result = DiscoverResult::from_server_info(versions, self.get_info());
        // The same for every caller, so that a shared cache may keep it. Lists are not: they depend on scopes.
        result.ttl_ms = LIST_TTL_MS;
        result.cache_scope = CacheScope::Public;
        self.shared.stamp(Era::of(&context), &mut result.meta);
        Ok(result)
    }

    /// The tools that the caller's scopes allow; others it could not call anyway.
    async fn list_tools(&self, request: Paging, context: Context) -> Result<ListToolsResult> {
        let connection = self.lister(&context, "tools/list").await?;
        let registry = self.shared.engine.registry();
        let page = registry
            .tools_for(&connection.caller, Self::cursor(request).as_deref(), PAGE)
            .map_err(encode::protocol_error)?;
        let tools = page.items.iter().map(|tool| encode::tool(tool.info())).collect();
        complete_list!(self, context, ListToolsResult::with_all_items(tools), page.next)
    }

    /// The SDK asks for this to check which arguments of a call have to be repeated in headers.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.shared.engine.registry().tool(name).map(|tool| encode::tool(tool.info()))
    }

    /// Most failures are results that the model can read; see [`encode::tool_error`] for those that are not.
    async fn call_tool(&self, request: CallToolRequestParams, context: Context) -> Result<CallToolResponse> {
        let response = invocation::call_tool(&self.shared, self.request(&context)?, request).await?;
        if let CallToolResponse::Complete(result) = &response {
            self.reserve(&context, result)?;
        }
        Ok(response)
    }

    /// Asks the resource providers in turn, which may read files; the cursor says where to go on.
    async fn list_resources(&self, request: Paging, context: Context) -> Result<ListResourcesResult> {
        self.lister(&context, "resources/list").await?;
        let registry = self.shared.engine.registry();
        let page = registry.resources(Self::cursor(request).as_deref(), PAGE).await.map_err(encode::protocol_error)?;
        let resources = page.items.into_iter().map(encode::resource).collect();
        complete_list!(self, context, ListResourcesResult::with_all_items(resources), page.next)
    }

    /// Templates are in memory, so no provider is waited for.
    async fn list_resource_templates(&self, request: Paging, context: Context) -> Result<ListResourceTemplatesResult> {
        self.lister(&context, "resources/templates/list").await?;
        let registry = self.shared.engine.registry();
        let page = registry.templates(Self::cursor(request).as_deref(), PAGE).map_err(encode::protocol_error)?;
        let templates = page.items.into_iter().map(encode::template).collect();
        complete_list!(self, context, ListResourceTemplatesResult::with_all_items(templates), page.next)
    }

    /// Goes through the same pipeline as a tool call: scopes, limits and audit apply, and it may have questions.
    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: Context,
    ) -> Result<ReadResourceResponse> {
        let ReadResourceRequestParams { uri, request_state, input_responses, .. } = request;
        let (shared, request) = (&self.shared, self.request(&context)?);
        let read = |call| shared.engine.read_resource(&uri, call, &request.connection.lane);
        let asked = json!(["resources/read", uri]);
        let contents = match invoke(shared, &request, asked, request_state, input_responses, read).await? {
            CallResult::Output(contents, _) => contents,
            CallResult::InputRequired(questions) => return Ok(ReadResourceResponse::InputRequired(questions)),
            CallResult::Error(error, _) => return Err(encode::protocol_error(error)),
        };
        let mut result = ReadResourceResult::new(contents.into_iter().map(encode::contents).collect());
        // A resource can change at any time, and one caller's must not be served to another.
        (result.ttl_ms, result.cache_scope) = (Some(0), Some(CacheScope::Private));
        self.shared.stamp(Era::of(&context), &mut result.meta);
        self.reserve(&context, &result)?;
        Ok(ReadResourceResponse::Complete(result))
    }

    /// All prompts, for everybody with the scope to read: prompts have no scopes of their own.
    async fn list_prompts(&self, request: Paging, context: Context) -> Result<ListPromptsResult> {
        self.lister(&context, "prompts/list").await?;
        let registry = self.shared.engine.registry();
        let page = registry.prompts(Self::cursor(request).as_deref(), PAGE).map_err(encode::protocol_error)?;
        let prompts = page.items.into_iter().map(encode::prompt).collect();
        complete_list!(self, context, ListPromptsResult::with_all_items(prompts), page.next)
    }

    /// Renders a prompt, through the same pipeline as a tool call.
    async fn get_prompt(&self, mut request: GetPromptRequestParams, context: Context) -> Result<GetPromptResponse> {
        // The SDK accepts any JSON here; the protocol allows strings only.
        let mut args = BTreeMap::new();
        for (name, value) in request.arguments.take().unwrap_or_default() {
            let Value::String(value) = value else {
                return Err(invalid(format!("The prompt argument {name:?} must be a string.")));
            };
            args.insert(name, value);
        }
        let GetPromptRequestParams { name, request_state, input_responses, .. } = request;
        let asked = json!(["prompts/get", name, args]);
        let (shared, request) = (&self.shared, self.request(&context)?);
        let get = |call| shared.engine.get_prompt(&name, args, call, &request.connection.lane);
        let mut result = match invoke(shared, &request, asked, request_state, input_responses, get).await? {
            CallResult::Output(reply, _) => encode::prompt_reply(reply),
            CallResult::InputRequired(questions) => return Ok(GetPromptResponse::InputRequired(questions)),
            CallResult::Error(error, _) => return Err(encode::protocol_error(error)),
        };
        self.shared.stamp(Era::of(&context), &mut result.meta);
        Ok(GetPromptResponse::Complete(result))
    }

    /// Suggests values for an argument of a prompt or of a resource template.
    async fn complete(&self, request: CompleteRequestParams, context: Context) -> Result<CompleteResult> {
        self.lister(&context, "completion/complete").await?;
        let registry = self.shared.engine.registry();
        let (argument, typed) = (&request.argument.name, &request.argument.value);
        let mut values = match &request.r#ref {
            Reference::Prompt(prompt) => {
                let unknown = || invalid(format!("There is no prompt called {:?}.", prompt.name));
                registry.prompt(&prompt.name).ok_or_else(unknown)?.complete(argument, typed)
            }
            Reference::Resource(resource) => {
                let others = request.context.and_then(|context| context.arguments).unwrap_or_default();
                let others = others.into_iter().collect();
                let mut values = Vec::new();
                // A provider that does not know the template suggests nothing, so there is no need to find the right one.
                for provider in registry.providers() {
                    values.extend(provider.complete(&resource.uri, argument, typed, &others).await);
                }
                values
            }
            _ => return Err(invalid("Only prompts and resource templates can be completed.")),
        };
        // The protocol limits the values of one answer; `total` and `has_more` say what was left out.
        let total = values.len();
        values.truncate(CompletionInfo::MAX_VALUES);
        let mut completion = CompletionInfo::new(values).map_err(|error| ErrorData::internal_error(error, None))?;
        completion.total = u32::try_from(total).ok();
        completion.has_more = Some(total > CompletionInfo::MAX_VALUES);
        let mut result = CompleteResult::new(completion);
        self.shared.stamp(Era::of(&context), &mut result.meta);
        Ok(result)
    }

    /// Applies to the requests that arrive after it in this session; those that run keep the level they started with.
    async fn set_level(&self, request: SetLevelRequestParams, context: Context) -> Result<()> {
        // Stateless requests name their level in `_meta`; there is no session to keep one.
        if Era::of(&context) == Era::Stateless {
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "logging/setLevel", None));
        }
        *self.level.lock() = request.level;
        Ok(())
    }

    /// The resource does not have to exist yet, but a provider has to be responsible for its URI.
    async fn subscribe(&self, request: SubscribeRequestParams, context: Context) -> Result<()> {
        self.lister(&context, "resources/subscribe").await?;
        if request.uri.len() > MAX_SUBSCRIBED_URI {
            let message = format!("The URI has {} bytes; the limit is {MAX_SUBSCRIBED_URI}.", request.uri.len());
            return Err(invalid(message));
        }
        if self.shared.engine.registry().provider(&request.uri).is_none() {
            return Err(ErrorData::resource_not_found(format!("There is no resource {:?}.", request.uri), None));
        }
        let full = || ErrorData::invalid_request("This session has reached its limit of resource subscriptions.", None);
        if !self.subscribed.has_room(&request.uri) {
            return Err(full());
        }
        let watch = self.shared.engine.watch_resource(&request.uri).await;
        let watch = watch.map_err(encode::protocol_error)?;
        if self.subscribed.add(request.uri, watch) { Ok(()) } else { Err(full()) }
    }

    /// Succeeds for a resource without a subscription as well.
    async fn unsubscribe(&self, request: UnsubscribeRequestParams, _context: Context) -> Result<()> {
        self.subscribed.remove(&request.uri);
        Ok(())
    }

    /// Every kind of notification is supported, so the filter is accepted as it is.
    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    /// Holds the response stream open for as long as the client wants; on stdio, until the end of input.
    async fn listen(&self, context: SubscriptionContext) -> Result<()> {
        self.reader(context.request_context())?;
        let ended = self.stdio.as_ref().map(|client| client.ended.clone()).unwrap_or_default();
        let uris = context.accepted().resource_subscriptions.iter().flatten();
        // Beside it, because a node may take its time to accept a subscription.
        let watching = subscriptions::watch(&self.shared.engine, uris);
        tokio::select! {
            () = watching => {}
            () = subscriptions::listen(self.shared.engine.events().changes(), &context, &ended) => {}
        }
        Ok(())
    }

    /// Another principal's task is not in this set, so it is not found. The same holds for the next two methods.
    async fn get_task(&self, request: GetTaskParams, context: Context) -> Result<GetTaskResult> {
        self.tasks(&context)?.get_task(&request.task_id).map(GetTaskResult::new)
    }

    /// Brings the answers to the questions in a task's state; the call that waits for them goes on.
    async fn update_task(&self, request: UpdateTaskParams, context: Context) -> Result<()> {
        self.tasks(&context)?.update_task(&request.task_id, request.input_responses)
    }

    /// Ends the call behind the task as well (`tasks.rs`), which is then recorded as cancelled.
    async fn cancel_task(&self, request: CancelTaskParams, context: Context) -> Result<()> {
        self.tasks(&context)?.cancel_task(&request.task_id)
    }

    /// The SDK calls this for methods it does not know, and for those whose params it could not read.
    /// The two get different errors: a client with a mistake in its params must not conclude that the method is missing.
    async fn on_custom_request(&self, request: CustomRequest, context: Context) -> Result<CustomResult> {
        let method = request.method.as_str();
        let has_session_methods = Era::of(&context) == Era::Session;
        if METHODS.contains(&method) || (has_session_methods && SESSION_METHODS.contains(&method)) {
            return Err(invalid(format!("The params of {} are malformed.", request.method)));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("There is no method {:?}.", request.method), None))
    }
}

/// The error for params that the protocol or this server does not accept.
fn invalid(message: impl Into<std::borrow::Cow<'static, str>>) -> ErrorData {
    ErrorData::invalid_params(message, None)
}

/// Methods that 2026-07-28 no longer has.
const SESSION_METHODS: [&str; 5] =
    ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"];

/// Every other method of the protocol, in any version.
/// A method that is missing here would be reported as unknown when its params are malformed.
const METHODS: [&str; 13] = [
    "server/discover",
    "completion/complete",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "subscriptions/listen",
    "tools/call",
    "tools/list",
    "tasks/get",
    "tasks/update",
    "tasks/cancel",
];
