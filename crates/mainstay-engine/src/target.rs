//! What a call is directed at, once its name has been looked up: a tool, a resource or a prompt. The pipeline is written
//! once for all three; what differs between them is here.

use std::borrow::Cow;
use std::sync::Arc;

use mainstay_core::{
    AnyTool, BoxFuture, Contents, Context, Effect, Error, Pace, Prompt, PromptReply, Reason, Registry, Reply,
    ResourceProvider, Result, Scope, ToolInfo, quoted, recorded, redacted_brief, redacted_uri,
};
use serde_json::Value;

use crate::feed::Called;

/// A target that exists and may be called. The defaults are those of something that only reads.
pub(crate) trait ResolvedTarget: Sized + Send + Sync + 'static {
    type Output: Send + Sync + 'static;

    /// The standard's method, which names calls of targets that do not exist.
    const METHOD: &'static str;

    fn resolve(registry: &Registry, name: &str, args: &Value) -> Result<Self>;

    /// What may be recorded of the name of a target that does not exist.
    fn recorded_name(name: &str) -> Cow<'_, str> {
        Cow::Borrowed(name)
    }

    /// The name in the audit, and the one policies are keyed on, whichever spelling the caller used.
    fn label(&self) -> &str;

    /// Validates the arguments. A resource has none.
    fn check(&self, _args: &Value) -> Result<()> {
        Ok(())
    }

    fn run<'a>(&'a self, args: Value, context: &'a Context) -> BoxFuture<'a, Result<Self::Output>>;

    /// What the event about the finished call says.
    fn called(&self, args: &Value) -> Called;

    /// The declaration, if it is a tool.
    fn tool(&self) -> Option<&ToolInfo> {
        None
    }

    /// The name in the audit. That of a tool is not copied for each call.
    fn shared_label(&self) -> Arc<str> {
        self.tool().map_or_else(|| self.label().into(), |tool| tool.shared_name.clone())
    }

    /// The name in the metrics. A URI that a caller made up must not become a time series.
    fn metric(&self) -> Arc<str> {
        self.tool().map_or_else(|| Self::METHOD.into(), |tool| tool.shared_name.clone())
    }

    fn display_name(&self) -> &str {
        self.tool().map_or(self.label(), ToolInfo::display_name)
    }

    fn effect(&self) -> Effect {
        Effect::Reads
    }

    /// What the caller has to be allowed.
    fn scopes(&self) -> [Option<Scope>; 3] {
        [Some(Scope::Read), None, None]
    }

    /// Whether this call plans a change, and makes it only if it is approved.
    fn plans(&self) -> bool {
        self.effect().changes() && self.tool().is_some_and(|tool| tool.plans)
    }

    fn pace(&self) -> Pace {
        self.tool().map_or(Pace::Quick, |tool| tool.pace)
    }

    /// The reply to keep under an idempotency key. Only tools have one: reading twice needs no memory.
    fn as_reply(_output: &Self::Output) -> Option<&Reply> {
        None
    }

    /// A kept reply as this target's output.
    fn from_reply(_reply: Reply) -> Option<Self::Output> {
        None
    }
}

/// A call of a tool, with these arguments.
pub(crate) struct ToolTarget {
    tool: Arc<dyn AnyTool>,
    /// Of a call with these arguments.
    effect: Effect,
}

impl ResolvedTarget for ToolTarget {
    type Output = Reply;
    const METHOD: &'static str = "tools/call";

    fn resolve(registry: &Registry, name: &str, args: &Value) -> Result<Self> {
        match registry.tool(name) {
            Some(tool) if !registry.is_enabled(tool.info()) => Err(Error::unavailable(format!(
                "The tool {} is switched off on this server (disabled_tools in its configuration).",
                quoted(name)
            ))),
            Some(tool) => Ok(Self { tool: tool.clone(), effect: tool.info().effect_of(args) }),
            None => Err(Error::unknown(format!("There is no tool called {}.", quoted(name)))),
        }
    }

    fn label(&self) -> &str {
        &self.tool.info().listed
    }

    fn check(&self, args: &Value) -> Result<()> {
        self.tool.check(args)
    }

    fn run<'a>(&'a self, args: Value, context: &'a Context) -> BoxFuture<'a, Result<Reply>> {
        self.tool.call(args, context)
    }

    fn called(&self, _args: &Value) -> Called {
        Called::Tool
    }

    fn effect(&self) -> Effect {
        self.effect
    }

    /// A call that does more than the tool's declared effect needs the scopes of both.
    fn scopes(&self) -> [Option<Scope>; 3] {
        let info = self.tool.info();
        [Some(self.effect.scope()), self.effect.changes().then(|| info.effect.scope()), info.scope]
    }

    fn tool(&self) -> Option<&ToolInfo> {
        Some(self.tool.info())
    }

    fn as_reply(output: &Reply) -> Option<&Reply> {
        Some(output)
    }

    fn from_reply(reply: Reply) -> Option<Reply> {
        Some(reply)
    }
}

/// A read of a resource. Whether it exists is found out by its provider.
pub(crate) struct ResourceTarget {
    provider: Arc<dyn ResourceProvider>,
    uri: String,
    /// The URI as it is recorded: without credentials, and cut.
    label: String,
}

impl ResolvedTarget for ResourceTarget {
    type Output = Vec<Contents>;
    const METHOD: &'static str = "resources/read";

    fn resolve(registry: &Registry, uri: &str, _args: &Value) -> Result<Self> {
        let shown = redacted_uri(uri);
        match registry.provider(uri) {
            Some(provider) => {
                let (uri, label) = (uri.to_owned(), recorded(&shown).to_owned());
                Ok(Self { provider: provider.clone(), uri, label })
            }
            None => Err(Error::not_found(format!("There is no resource {}.", quoted(&shown)))
                .with_reason(Reason::uri(recorded(&shown)))),
        }
    }

    /// What is recorded of the name, too, where there is no such resource.
    fn recorded_name(name: &str) -> Cow<'_, str> {
        redacted_uri(name)
    }

    fn label(&self) -> &str {
        &self.label
    }

    fn run<'a>(&'a self, _args: Value, context: &'a Context) -> BoxFuture<'a, Result<Vec<Contents>>> {
        let read = self.provider.read(&self.uri, context);
        Box::pin(async move { read.await.map_err(|error| without_credentials(error, &self.uri)) })
    }

    fn called(&self, _args: &Value) -> Called {
        Called::Resource
    }
}

/// The error of a read, which may repeat the URI or a part of it. One with credentials in it gets a message of its own.
fn without_credentials(error: Error, uri: &str) -> Error {
    let shown = redacted_uri(uri);
    if shown == uri {
        return error;
    }
    let word = match error.reason.as_deref() {
        Some(Reason::Resource { reason, .. }) => reason.clone(),
        _ => None,
    };
    let message = format!("The resource {} cannot be read: {}.", quoted(&shown), error.kind.as_str().replace('_', " "));
    Error::new(error.kind, message).with_reason(Reason::Resource { uri: recorded(&shown).to_owned(), reason: word })
}

/// A prompt to render.
pub(crate) struct PromptTarget {
    prompt: Arc<dyn Prompt>,
    name: String,
}

impl ResolvedTarget for PromptTarget {
    type Output = PromptReply;
    const METHOD: &'static str = "prompts/get";

    fn resolve(registry: &Registry, name: &str, _args: &Value) -> Result<Self> {
        match registry.prompt(name) {
            Some(prompt) => Ok(Self { prompt: prompt.clone(), name: name.to_owned() }),
            None => Err(Error::unknown(format!("There is no prompt called {}.", quoted(name)))),
        }
    }

    fn label(&self) -> &str {
        &self.name
    }

    /// Every required argument is present and no other; all problems are reported at once, as for tools.
    fn check(&self, args: &Value) -> Result<()> {
        let declared = self.prompt.info().arguments;
        let missing = declared
            .iter()
            .filter(|a| a.required && args.get(&a.name).is_none())
            .map(|a| format!("{} is required", a.name));
        let given = args.as_object().into_iter().flatten().map(|(key, _)| key);
        let unknown = given
            .filter(|key| declared.iter().all(|a| a.name != **key))
            .map(|key| format!("{} is not an argument of it", quoted(key)));
        let problems: Vec<String> = missing.chain(unknown).collect();
        if problems.is_empty() {
            return Ok(());
        }
        Err(Error::invalid(format!("The prompt {:?} cannot be made: {}.", self.name, problems.join("; "))))
    }

    fn run<'a>(&'a self, args: Value, context: &'a Context) -> BoxFuture<'a, Result<PromptReply>> {
        Box::pin(async move {
            let args = serde_json::from_value(args).map_err(Error::internal)?;
            self.prompt.render(&args, context).await
        })
    }

    fn called(&self, args: &Value) -> Called {
        Called::Prompt(redacted_brief(args))
    }
}
