//! The protocol's methods, each one a question to the engine.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use mainstay_core::{CancellationToken, Outcome, Target};
use rmcp::ServerHandler;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams, CompleteResult,
    CompletionInfo, CustomRequest, CustomResult, DiscoverResult, ErrorCode, ErrorData, GetPromptRequestParams,
    GetPromptResponse, GetTaskParams, GetTaskResult, InitializeRequestParams, InitializeResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, MetaObject, PaginatedRequestParams,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Reference, ServerConfig,
    SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
    UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use serde_json::Value;
use tokio_util::sync::DropGuard;

use crate::connection::Connection;
use crate::headers::single;

use super::errand::{self, Arrival, Errand, Visit};
use super::sessions::InSession;
use super::sink::{Era, PeerSink, from_wire};
use super::subscriptions::{self, Watched};
use super::{Shared, encode};

/// How many items a page of a list has.
const PAGE: usize = 100;

/// How long a client may keep a list before it asks again; changes are announced besides.
const LIST_TTL_MS: u64 = 30_000;

/// The longest name of a resource that is watched, in bytes: a session keeps many.
const LONGEST_WATCHED: usize = 16 * 1024;

/// The most a client may say of itself, in bytes: it is kept for as long as its session.
const LONGEST_GREETING: usize = 64 * 1024;

type Context = RequestContext<RoleServer>;

/// One connection's side of the protocol: a session, a stdio stream, or a single stateless request.
pub(crate) struct Handler {
    shared: Arc<Shared>,
    /// What is known beforehand on stdio; over HTTP it comes with each request.
    piped: Option<Piped>,
    level: AtomicU8,
    watched: Watched,
    /// Ends the passing on of events when the session ends.
    following: Mutex<Option<DropGuard>>,
}

/// A client at the other end of our standard input and output.
#[derive(Clone)]
pub(crate) struct Piped {
    pub(crate) connection: Connection,
    pub(crate) session: Arc<str>,
    /// Cancelled at the end of input.
    pub(crate) ended: CancellationToken,
}

impl Handler {
    pub(crate) fn over_http(shared: Arc<Shared>) -> Self {
        Self { shared, piped: None, level: AtomicU8::new(0), watched: Watched::default(), following: Mutex::new(None) }
    }

    pub(crate) fn over_stdio(shared: Arc<Shared>, piped: Piped) -> Self {
        Self { piped: Some(piped), ..Self::over_http(shared) }
    }

    fn parts(context: &Context) -> Option<&http::request::Parts> {
        context.extensions.get::<http::request::Parts>()
    }

    fn connection(&self, context: &Context) -> Result<Connection, ErrorData> {
        let from_http = || Self::parts(context).and_then(|parts| parts.extensions.get::<Connection>()).cloned();
        let from_pipe = self.piped.as_ref().map(|piped| piped.connection.clone());
        from_pipe.or_else(from_http).ok_or_else(|| ErrorData::internal_error("The request has no caller.", None))
    }

    /// The caller, if it may look at what there is.
    fn reader(&self, context: &Context) -> Result<Connection, ErrorData> {
        let connection = self.connection(context)?;
        self.shared.engine.admit_reader(&connection.caller).map_err(|error| {
            connection.missing_scope.note(&error);
            encode::protocol_error(error)
        })?;
        Ok(connection)
    }

    /// The caller, if it may look at what there is and has not looked too often.
    fn lister(&self, context: &Context, method: &str) -> Result<Connection, ErrorData> {
        let connection = self.connection(context)?;
        self.shared.engine.admit_listing(&connection.caller, method).map_err(encode::protocol_error)?;
        self.reader(context)
    }

    /// The key under which a call happens once, from the request or from its header. A key that cannot be used is an
    /// error: to go on without it would be to run the call a second time.
    fn idempotency_key(context: &Context) -> Result<Option<String>, ErrorData> {
        let wrong = |what: &str| ErrorData::invalid_params(format!("The idempotency key {what}."), None);
        if let Some(key) = context.meta.get("io.mainstay/idempotencyKey") {
            return key.as_str().map(|key| Some(key.to_owned())).ok_or_else(|| wrong("must be a string"));
        }
        let Some(parts) = Self::parts(context) else { return Ok(None) };
        let header = single(&parts.headers, "idempotency-key").map_err(|_| wrong("came twice or is not readable"))?;
        Ok(header.map(str::to_owned))
    }

    fn stamp(&self, context: &Context, meta: &mut Option<MetaObject>) {
        self.shared.stamp(Era::of(context), meta);
    }

    fn cursor(request: Option<PaginatedRequestParams>) -> Option<String> {
        request.and_then(|request| request.cursor)
    }

    fn visit(&self, context: &Context) -> Result<Visit, ErrorData> {
        let era = Era::of(context);
        let in_session = context.extensions.get::<InSession>().map(|session| session.0.clone());
        Ok(Visit {
            connection: self.connection(context)?,
            session: in_session.or_else(|| self.piped.as_ref().map(|piped| piped.session.clone())),
            idempotency_key: Self::idempotency_key(context)?,
            sink: Arc::new(PeerSink::new(context, era, &self.level)),
            cancel: context.ct.clone(),
            capabilities: context.client_capabilities().unwrap_or_default(),
            era,
        })
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(self.shared.capabilities.clone());
        info.server_info = self.shared.implementation.clone();
        info.instructions = Some(self.shared.instructions.clone());
        info
    }

    fn supported_protocol_versions(&self) -> std::borrow::Cow<'static, [ProtocolVersion]> {
        std::borrow::Cow::Borrowed(ProtocolVersion::KNOWN_VERSIONS)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: Context,
    ) -> Result<InitializeResult, ErrorData> {
        let caller = self.connection(&context)?.caller;
        self.shared.engine.admit_listing(&caller, "initialize").map_err(encode::protocol_error)?;
        let long = serde_json::to_vec(&request).map_or(usize::MAX, |said| said.len());
        if long > LONGEST_GREETING {
            let told = format!("The params of initialize have {long} bytes; at most {LONGEST_GREETING} are taken.");
            return Err(ErrorData::invalid_params(told, None));
        }
        context.peer.set_peer_info(request.clone());
        self.negotiate_initialize(&request)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let end = CancellationToken::new();
        let events = self.shared.engine.events().changes();
        subscriptions::follow(events, context.peer, self.watched.clone(), end.clone());
        *self.following.lock().unwrap_or_else(PoisonError::into_inner) = Some(end.drop_guard());
    }

    async fn discover(&self, context: Context) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        let mut result = DiscoverResult::from_server_info(versions, self.get_info());
        result.ttl_ms = LIST_TTL_MS;
        result.cache_scope = CacheScope::Public;
        self.stamp(&context, &mut result.meta);
        Ok(result)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        let connection = self.lister(&context, "tools/list")?;
        let registry = self.shared.engine.registry();
        let page = registry
            .tools_for(&connection.caller, Self::cursor(request).as_deref(), PAGE)
            .map_err(encode::protocol_error)?;
        let mut result =
            ListToolsResult::with_all_items(page.items.iter().map(|tool| encode::tool(tool.info())).collect());
        result.next_cursor = page.next;
        (result.ttl_ms, result.cache_scope) = (Some(LIST_TTL_MS), Some(CacheScope::Private));
        self.stamp(&context, &mut result.meta);
        Ok(result)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.shared.engine.registry().tool(name).map(|tool| encode::tool(tool.info()))
    }

    async fn call_tool(&self, request: CallToolRequestParams, context: Context) -> Result<CallToolResponse, ErrorData> {
        errand::call_tool(&self.shared, self.visit(&context)?, request).await
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.lister(&context, "resources/list")?;
        let registry = self.shared.engine.registry();
        let page = registry.resources(Self::cursor(request).as_deref(), PAGE).await.map_err(encode::protocol_error)?;
        let mut result = ListResourcesResult::with_all_items(page.items.into_iter().map(encode::resource).collect());
        result.next_cursor = page.next;
        (result.ttl_ms, result.cache_scope) = (Some(LIST_TTL_MS), Some(CacheScope::Private));
        self.stamp(&context, &mut result.meta);
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        self.lister(&context, "resources/templates/list")?;
        let registry = self.shared.engine.registry();
        let page = registry.templates(Self::cursor(request).as_deref(), PAGE).map_err(encode::protocol_error)?;
        let mut result =
            ListResourceTemplatesResult::with_all_items(page.items.into_iter().map(encode::template).collect());
        result.next_cursor = page.next;
        (result.ttl_ms, result.cache_scope) = (Some(LIST_TTL_MS), Some(CacheScope::Private));
        self.stamp(&context, &mut result.meta);
        Ok(result)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let errand = Errand {
            method: "resources/read",
            target: Target::Resource { uri: request.uri },
            args: Value::Null,
            state: request.request_state,
            responses: request.input_responses,
        };
        let contents = match errand::travel(&self.shared, self.visit(&context)?, errand).await? {
            Arrival::Outcome(Outcome::Contents(contents), _) => contents,
            Arrival::Outcome(..) | Arrival::Task(_) => return Err(errand::mismatch()),
            Arrival::Asks(asking) => return Ok(ReadResourceResponse::InputRequired(asking)),
            Arrival::Error(error, _) => return Err(encode::protocol_error(error)),
        };
        let mut result = ReadResourceResult::new(contents.into_iter().map(encode::contents).collect());
        (result.ttl_ms, result.cache_scope) = (Some(0), Some(CacheScope::Private));
        self.stamp(&context, &mut result.meta);
        Ok(ReadResourceResponse::Complete(result))
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.lister(&context, "prompts/list")?;
        let registry = self.shared.engine.registry();
        let page = registry.prompts(Self::cursor(request).as_deref(), PAGE).map_err(encode::protocol_error)?;
        let mut result = ListPromptsResult::with_all_items(page.items.into_iter().map(encode::prompt).collect());
        result.next_cursor = page.next;
        (result.ttl_ms, result.cache_scope) = (Some(LIST_TTL_MS), Some(CacheScope::Private));
        self.stamp(&context, &mut result.meta);
        Ok(result)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        let mut args = BTreeMap::new();
        for (name, value) in request.arguments.unwrap_or_default() {
            let Value::String(value) = value else {
                return Err(ErrorData::invalid_params(format!("The prompt argument {name:?} must be a string."), None));
            };
            args.insert(name, value);
        }
        let errand = Errand {
            method: "prompts/get",
            args: args.iter().map(|(name, value)| (name.clone(), Value::String(value.clone()))).collect(),
            target: Target::Prompt { name: request.name, args },
            state: request.request_state,
            responses: request.input_responses,
        };
        let mut result = match errand::travel(&self.shared, self.visit(&context)?, errand).await? {
            Arrival::Outcome(Outcome::Prompt(reply), _) => encode::prompt_reply(reply),
            Arrival::Outcome(..) | Arrival::Task(_) => return Err(errand::mismatch()),
            Arrival::Asks(asking) => return Ok(GetPromptResponse::InputRequired(asking)),
            Arrival::Error(error, _) => return Err(encode::protocol_error(error)),
        };
        self.stamp(&context, &mut result.meta);
        Ok(GetPromptResponse::Complete(result))
    }

    async fn complete(&self, request: CompleteRequestParams, context: Context) -> Result<CompleteResult, ErrorData> {
        self.lister(&context, "completion/complete")?;
        let registry = self.shared.engine.registry();
        let (argument, typed) = (&request.argument.name, &request.argument.value);
        let mut values = match &request.r#ref {
            Reference::Prompt(prompt) => match registry.prompt(&prompt.name) {
                Some(known) => known.complete(argument, typed),
                None => {
                    return Err(ErrorData::invalid_params(
                        format!("There is no prompt called {:?}.", prompt.name),
                        None,
                    ));
                }
            },
            Reference::Resource(resource) => {
                let others = request.context.and_then(|context| context.arguments).unwrap_or_default();
                let others = others.into_iter().collect();
                let mut values = Vec::new();
                for shelf in registry.shelves() {
                    values.extend(shelf.complete(&resource.uri, argument, typed, &others).await);
                }
                values
            }
            _ => return Err(ErrorData::invalid_params("Only prompts and resource templates can be completed.", None)),
        };
        let total = values.len();
        values.truncate(CompletionInfo::MAX_VALUES);
        let mut completion = CompletionInfo::new(values).map_err(|error| ErrorData::internal_error(error, None))?;
        completion.total = u32::try_from(total).ok();
        completion.has_more = Some(total > CompletionInfo::MAX_VALUES);
        let mut result = CompleteResult::new(completion);
        self.stamp(&context, &mut result.meta);
        Ok(result)
    }

    async fn set_level(&self, request: SetLevelRequestParams, context: Context) -> Result<(), ErrorData> {
        if Era::of(&context) == Era::Stateless {
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "logging/setLevel", None));
        }
        self.level.store(from_wire(request.level) as u8, Ordering::Relaxed);
        Ok(())
    }

    async fn subscribe(&self, request: SubscribeRequestParams, context: Context) -> Result<(), ErrorData> {
        self.lister(&context, "resources/subscribe")?;
        if request.uri.len() > LONGEST_WATCHED {
            let told = format!("The uri has {} bytes; at most {LONGEST_WATCHED} can be watched.", request.uri.len());
            return Err(ErrorData::invalid_params(told, None));
        }
        if self.shared.engine.registry().shelf(&request.uri).is_none() {
            return Err(ErrorData::resource_not_found(format!("There is no resource {:?}.", request.uri), None));
        }
        if self.watched.add(request.uri) {
            return Ok(());
        }
        Err(ErrorData::invalid_request("This session watches as many resources as it may.", None))
    }

    async fn unsubscribe(&self, request: UnsubscribeRequestParams, _context: Context) -> Result<(), ErrorData> {
        self.watched.remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.reader(context.request_context())?;
        let ended = self.piped.as_ref().map(|piped| piped.ended.clone()).unwrap_or_default();
        subscriptions::listen(self.shared.engine.events().changes(), &context, &ended).await;
        Ok(())
    }

    async fn get_task(&self, request: GetTaskParams, context: Context) -> Result<GetTaskResult, ErrorData> {
        let tasks = self.shared.tasks.of(&self.connection(&context)?.caller.principal);
        tasks.get_task(&request.task_id).map(GetTaskResult::new)
    }

    async fn update_task(&self, request: UpdateTaskParams, context: Context) -> Result<(), ErrorData> {
        let tasks = self.shared.tasks.of(&self.connection(&context)?.caller.principal);
        tasks.update_task(&request.task_id, request.input_responses)
    }

    async fn cancel_task(&self, request: CancelTaskParams, context: Context) -> Result<(), ErrorData> {
        let tasks = self.shared.tasks.of(&self.connection(&context)?.caller.principal);
        tasks.cancel_task(&request.task_id)
    }

    /// The SDK brings here what it does not know, and what it knows but could not read.
    async fn on_custom_request(&self, request: CustomRequest, context: Context) -> Result<CustomResult, ErrorData> {
        let method = request.method.as_str();
        let gone = Era::of(&context) == Era::Stateless && GONE.contains(&method);
        if KNOWN.contains(&method) && !gone {
            return Err(ErrorData::invalid_params(format!("The params of {} are malformed.", request.method), None));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("There is no method {:?}.", request.method), None))
    }
}

/// Methods that 2026-07-28 no longer has.
const GONE: [&str; 5] = ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"];

const KNOWN: [&str; 18] = [
    "initialize",
    "server/discover",
    "ping",
    "completion/complete",
    "logging/setLevel",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "subscriptions/listen",
    "tools/call",
    "tools/list",
    "tasks/get",
    "tasks/update",
    "tasks/cancel",
];
