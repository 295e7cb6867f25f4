//! What a tool is: a declaration, its arguments, its output, and the function that runs it.

use std::sync::{Arc, OnceLock};

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::schema::{self, Validator};
use crate::{Context, Effect, Error, Reply, Result, Scope};

/// The standard protocol, where a spelling replaces the usual `family_verb`.
const STANDARD: &str = "mcp";

/// How long a tool may take, and whether it reports while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// It says nothing on its way, neither progress nor log, and asks nothing: its reply needs no stream.
    Instant,
    Quick,
    /// A client that can follow a task is given one as soon as the call turns out to take time.
    Long,
    /// Only as a task: a client that cannot follow one is refused.
    Task,
}

/// The name a tool has in one dialect, where it differs from `family_verb`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spelling {
    pub dialect: &'static str,
    pub name: &'static str,
}

/// A tool's declaration. Start from [`Spec::new`] and override with struct update.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a question of its own, and any may go with any")]
pub struct Spec {
    pub family: &'static str,
    pub verb: &'static str,
    pub title: &'static str,
    /// What it does and when to use it, for the model that reads the list.
    pub description: &'static str,
    pub effect: Effect,
    /// Doing it twice is the same as doing it once.
    pub idempotent: bool,
    /// It reaches beyond this workspace.
    pub open_world: bool,
    pub pace: Pace,
    /// It has an argument `dry_run`; with it set, the call only says what it would do, and counts as reading.
    pub dry_run: bool,
    /// It plans a change before it makes it, and makes only what the call's [`Approval`](crate::Approval) covers.
    pub plans: bool,
    /// Some of its calls do more than its effect says: which, by their arguments.
    pub weigh: Option<fn(&Value) -> Effect>,
    /// Which calls probably ask a person although their effect does not need it, by their arguments. They need a
    /// connection on which they can ask; whether they do ask is decided when they are planned.
    pub may_ask: Option<fn(&Value) -> bool>,
    /// What a caller needs besides the scope of the effect.
    pub scope: Option<Scope>,
    /// It is called by those who know of it and is in no list.
    pub unlisted: bool,
    /// It is listed in dialects and not on the standard endpoint, where every tool costs every client tokens. It can be
    /// called there, too.
    pub dialects_only: bool,
    /// Changes when the meaning of its arguments or its result does.
    pub version: &'static str,
    pub tags: &'static [&'static str],
    pub spellings: &'static [Spelling],
}

impl Spec {
    pub const fn new(family: &'static str, verb: &'static str, effect: Effect) -> Self {
        Self {
            family,
            verb,
            title: "",
            description: "",
            effect,
            idempotent: matches!(effect, Effect::Reads),
            open_world: false,
            pace: Pace::Quick,
            dry_run: false,
            plans: false,
            weigh: None,
            may_ask: None,
            scope: None,
            unlisted: false,
            dialects_only: false,
            version: "1.0.0",
            tags: &[],
            spellings: &[],
        }
    }

    /// The name this tool has in a dialect, if it has one there.
    pub fn spelling(&self, dialect: &str) -> Option<&'static str> {
        self.spellings.iter().find(|spelling| spelling.dialect == dialect).map(|spelling| spelling.name)
    }

    /// The name a contract gives the tool. The spelling of the standard endpoint does not count: it is no contract's.
    pub fn contract_name(&self) -> Option<&'static str> {
        self.spellings.iter().find(|spelling| spelling.dialect != STANDARD).map(|spelling| spelling.name)
    }
}

/// What a tool is made of. One file per tool; its family's list names it once.
pub trait Tool: Send + Sync + 'static {
    const SPEC: Spec;
    type Args: DeserializeOwned + JsonSchema + Send;
    type Output: Output;

    fn call(&self, args: Self::Args, context: &Context) -> impl Future<Output = Result<Self::Output>> + Send;
}

/// What a tool may return: a value with a schema, or a [`Reply`] put together by hand.
pub trait Output: Send {
    fn schema() -> Option<Map<String, Value>>;
    fn into_reply(self) -> Result<Reply>;
}

impl Output for Reply {
    fn schema() -> Option<Map<String, Value>> {
        None
    }

    fn into_reply(self) -> Result<Reply> {
        Ok(self)
    }
}

impl<T: Serialize + JsonSchema + Send> Output for T {
    fn schema() -> Option<Map<String, Value>> {
        let mut schema = schema::of::<T>();
        schema.insert("type".into(), "object".into());
        Some(schema)
    }

    fn into_reply(self) -> Result<Reply> {
        serde_json::to_value(self).map(Reply::structured).map_err(Error::internal)
    }
}

/// A value with a text of its own, for clients that show only text. The content of a file is easier to read, and shorter,
/// than the same content inside JSON.
#[derive(Debug)]
pub struct WithText<T> {
    pub value: T,
    pub text: String,
}

impl<T: Serialize + JsonSchema + Send> Output for WithText<T> {
    fn schema() -> Option<Map<String, Value>> {
        T::schema()
    }

    fn into_reply(self) -> Result<Reply> {
        let value = serde_json::to_value(self.value).map_err(Error::internal)?;
        Ok(Reply { content: vec![crate::Block::text(self.text)], structured: Some(value), failed: false })
    }
}

/// What the registry knows of a tool: its declaration, and what follows from it and from its types.
#[derive(Debug, Clone)]
pub struct ToolInfo {
    spec: Spec,
    /// The name on the standard endpoint.
    pub listed: String,
    /// The same, for the audit and the metrics: every call names it there, and must not copy it.
    pub shared_name: Arc<str>,
    pub input_schema: Arc<Map<String, Value>>,
    pub output_schema: Option<Arc<Map<String, Value>>>,
    /// Whether clients have to repeat arguments in HTTP headers: the schema marks a property with `x-mcp-header`.
    pub has_header_arguments: bool,
}

/// The fields of the declaration are those of the tool.
impl std::ops::Deref for ToolInfo {
    type Target = Spec;

    fn deref(&self) -> &Spec {
        &self.spec
    }
}

impl ToolInfo {
    /// Not generic over the tool, because it would be compiled for each.
    fn new(spec: Spec, input: Map<String, Value>, output: Option<Map<String, Value>>) -> Self {
        let usual = || format!("{}_{}", spec.family, spec.verb);
        let listed = spec.spelling(STANDARD).map_or_else(usual, str::to_owned);
        let (shared_name, has_header_arguments) = (listed.as_str().into(), has_header_argument(&input));
        let (input_schema, output_schema) = (Arc::new(input), output.map(Arc::new));
        Self { spec, listed, shared_name, input_schema, output_schema, has_header_arguments }
    }

    /// The name that people are shown: the one in its contract, or else the listed one.
    pub fn display_name(&self) -> &str {
        self.contract_name().unwrap_or(&self.listed)
    }

    /// What a call with these arguments does to the world.
    pub fn effect_of(&self, args: &Value) -> Effect {
        let dry_run = self.dry_run && args.get("dry_run") == Some(&Value::Bool(true));
        if dry_run { Effect::Reads } else { self.weigh.map_or(self.effect, |weigh| weigh(args)) }
    }
}

/// Whether a property is marked so, nested ones included.
fn has_header_argument(schema: &Map<String, Value>) -> bool {
    schema.contains_key("x-mcp-header")
        || schema
            .get("properties")
            .and_then(Value::as_object)
            .is_some_and(|properties| properties.values().filter_map(Value::as_object).any(has_header_argument))
}

/// A tool whose types have been erased: what the registry holds and the engine calls.
pub trait AnyTool: Send + Sync + 'static {
    fn info(&self) -> &ToolInfo;

    /// Validates the arguments against the schema, before the call is recorded as begun.
    fn check(&self, args: &Value) -> Result<()>;

    /// `args` have passed [`AnyTool::check`].
    fn call<'a>(&'a self, args: Value, context: &'a Context) -> BoxFuture<'a, Result<Reply>>;
}

/// A tool's declaration with the check of its arguments.
struct Declared {
    info: ToolInfo,
    /// Compiled at the first call: compiling those of all tools would be half of the work of a start.
    validator: OnceLock<Validator>,
}

impl Declared {
    fn new(spec: Spec, input: Map<String, Value>, output: Option<Map<String, Value>>) -> Self {
        Self { info: ToolInfo::new(spec, input, output), validator: OnceLock::new() }
    }

    fn check(&self, args: &Value) -> Result<()> {
        if let Some(validator) = self.validator.get() {
            return validator.check(args);
        }
        let compiled = Validator::new(&self.info.input_schema)?;
        self.validator.get_or_init(|| compiled).check(args)
    }
}

struct Erased<T> {
    tool: T,
    declared: Declared,
}

impl<T: Tool> AnyTool for Erased<T> {
    fn info(&self) -> &ToolInfo {
        &self.declared.info
    }

    fn check(&self, args: &Value) -> Result<()> {
        self.declared.check(args)
    }

    fn call<'a>(&'a self, args: Value, context: &'a Context) -> BoxFuture<'a, Result<Reply>> {
        Box::pin(async move { self.tool.call(read(args)?, context).await?.into_reply() })
    }
}

/// The schema comes from the same type, so what is left for serde to refuse are the limits a schema cannot say (a number
/// past u64, a bad enum in a flattened struct). What it says then is about our types, and nothing for callers.
fn read<T: DeserializeOwned>(mut args: Value) -> Result<T> {
    schema::spell_integers(&mut args);
    serde_json::from_value(args).map_err(|error| {
        Error::invalid(
            "The arguments do not fit this tool, although they have the shape of its schema. Look for a number that is \
             too large, or for members that do not go together, and call it again.",
        )
        .with_detail(error)
    })
}

/// Turns a typed tool into what a family's list holds.
pub fn erase<T: Tool>(tool: T) -> Arc<dyn AnyTool> {
    let declared = Declared::new(T::SPEC, schema::of_args::<T::Args>(), T::Output::schema());
    Arc::new(Erased { tool, declared })
}

/// A tool whose arguments are described by a schema that is made when the program runs, and not by a type: many tools of
/// the same kind, one for each row of a table.
pub trait UntypedTool: Send + Sync + 'static {
    /// `args` have passed the check against the schema.
    fn call<'a>(&'a self, args: Map<String, Value>, context: &'a Context) -> BoxFuture<'a, Result<Reply>>;
}

struct Untyped<T> {
    tool: T,
    declared: Declared,
}

impl<T: UntypedTool> AnyTool for Untyped<T> {
    fn info(&self) -> &ToolInfo {
        &self.declared.info
    }

    fn check(&self, args: &Value) -> Result<()> {
        self.declared.check(args)
    }

    fn call<'a>(&'a self, mut args: Value, context: &'a Context) -> BoxFuture<'a, Result<Reply>> {
        schema::spell_integers(&mut args);
        match args {
            Value::Object(args) => self.tool.call(args, context),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                Box::pin(std::future::ready(Err(Error::invalid("The arguments must be an object."))))
            }
        }
    }
}

/// Turns a tool with these schemas into what a family's list holds.
pub fn untyped(
    spec: Spec,
    input: Map<String, Value>,
    output: Option<Map<String, Value>>,
    tool: impl UntypedTool,
) -> Arc<dyn AnyTool> {
    Arc::new(Untyped { tool, declared: Declared::new(spec, input, output) })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Kind;

    struct Double;

    #[derive(serde::Deserialize, JsonSchema)]
    struct Args {
        count: u64,
        #[serde(default)]
        factor: f64,
    }

    impl Tool for Double {
        const SPEC: Spec = Spec::new("test", "double", Effect::Reads);
        type Args = Args;
        type Output = Reply;

        async fn call(&self, args: Args, _context: &Context) -> Result<Reply> {
            Ok(Reply::structured(json!({ "count": args.count * 2, "factor": args.factor * 2.0 })))
        }
    }

    async fn call(args: Value) -> Result<Value> {
        let tool = erase(Double);
        tool.check(&args)?;
        tool.call(args, &Context::detached()).await.map(|reply| reply.structured.unwrap())
    }

    #[tokio::test]
    async fn an_integer_may_be_spelled_as_a_fraction() {
        assert_eq!(call(json!({"count": 50.0, "factor": 3.0})).await.unwrap(), json!({"count": 100, "factor": 6.0}));
        assert_eq!(call(json!({"count": 50, "factor": 1.5})).await.unwrap(), json!({"count": 100, "factor": 3.0}));
        assert_eq!(call(json!({"count": 50.5})).await.unwrap_err().kind, Kind::Invalid);
    }

    #[tokio::test]
    async fn what_only_our_types_refuse_is_told_without_them() {
        let refused = call(json!({"count": 1e30})).await.unwrap_err();
        assert_eq!((refused.kind, refused.reason), (Kind::Invalid, None));
        assert!(refused.public.contains("too large") && !refused.public.contains("u64"), "{}", refused.public);
        assert!(refused.detail.unwrap().contains("u64"));
    }
}
