//! The registry: the one table from which lists are made and calls are dispatched.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::{
    AnyTool, Caller, Error, Prompt, PromptInfo, ResourceInfo, ResourceProvider, ResourceTemplate, Result, Tool,
    ToolInfo, erase, hex,
};

/// Everything one family has. Its list is the one place where a tool is added.
#[derive(Default)]
pub struct Family {
    pub name: String,
    pub tools: Vec<Arc<dyn AnyTool>>,
    pub resources: Vec<Arc<dyn ResourceProvider>>,
    pub prompts: Vec<Arc<dyn Prompt>>,
    pub metrics: Vec<MetricsText>,
}

/// Metrics of a family in the text format of Prometheus, as they are now. They are added to those of the server.
pub type MetricsText = Arc<dyn Fn() -> String + Send + Sync>;

impl Family {
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    pub fn tool<T: Tool>(mut self, tool: T) -> Self {
        self.tools.push(erase(tool));
        self
    }

    pub fn tools(mut self, tools: impl IntoIterator<Item = Arc<dyn AnyTool>>) -> Self {
        self.tools.extend(tools);
        self
    }

    pub fn resources(mut self, provider: impl ResourceProvider) -> Self {
        self.resources.push(Arc::new(provider));
        self
    }

    pub fn metrics(mut self, text: impl Fn() -> String + Send + Sync + 'static) -> Self {
        self.metrics.push(Arc::new(text));
        self
    }

    pub fn prompt(mut self, prompt: impl Prompt) -> Self {
        self.prompts.push(Arc::new(prompt));
        self
    }
}

/// One page of a list, and where the next begins.
#[derive(Debug, Clone, PartialEq)]
pub struct Page<T> {
    pub items: Vec<T>,
    pub next: Option<String>,
}

/// Tools by name, resources by URI, prompts by name; every list in a stable order.
#[derive(Default)]
pub struct Registry {
    tools: BTreeMap<String, Arc<dyn AnyTool>>,
    spelled: HashMap<String, Arc<dyn AnyTool>>,
    /// Tools that are there and cannot be called, by their listed names.
    disabled: BTreeSet<String>,
    prompts: BTreeMap<String, Arc<dyn Prompt>>,
    providers: Vec<Arc<dyn ResourceProvider>>,
    metrics: Vec<MetricsText>,
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registry")
            .field("tools", &self.tools.keys())
            .field("prompts", &self.prompts.keys())
            .finish_non_exhaustive()
    }
}

impl Registry {
    /// A name used twice, in any spelling, is an error: which of the two would answer must never depend on order.
    pub fn new(families: Vec<Family>) -> Result<Self> {
        let mut registry = Self::default();
        for family in families {
            for tool in family.tools {
                registry.add_tool(&tool)?;
            }
            for prompt in family.prompts {
                let name = prompt.info().name;
                if registry.prompts.insert(name.clone(), prompt).is_some() {
                    return Err(Error::internal(format!("two prompts are called {name:?}")));
                }
            }
            registry.providers.extend(family.resources);
            registry.metrics.extend(family.metrics);
        }
        Ok(registry)
    }

    fn add_tool(&mut self, tool: &Arc<dyn AnyTool>) -> Result<()> {
        let info = tool.info();
        check_name(&info.listed)?;
        let mut names = BTreeSet::from([info.listed.clone(), format!("{}/{}", info.family, info.verb)]);
        names.extend(info.spellings.iter().map(|spelling| spelling.name.to_owned()));
        for name in names {
            if let Some(other) = self.spelled.insert(name.clone(), tool.clone()) {
                let (one, two) = (&other.info().listed, &info.listed);
                return Err(Error::internal(format!("two tools are called {name:?}: {one} and {two}")));
            }
        }
        self.tools.insert(info.listed.clone(), tool.clone());
        Ok(())
    }

    /// Switches tools off, each named in any of its spellings. A name that is no tool's is an error: a typing mistake
    /// must not leave on what was meant to be off.
    pub fn disable<S: AsRef<str>>(&mut self, names: impl IntoIterator<Item = S>) -> Result<()> {
        for name in names {
            let name = name.as_ref();
            let Some(tool) = self.spelled.get(name) else {
                return Err(Error::invalid(format!(
                    "disabled_tools names {name:?}, and there is no such tool; see `mainstay tools`."
                )));
            };
            self.disabled.insert(tool.info().listed.clone());
        }
        Ok(())
    }

    pub fn is_enabled(&self, tool: &ToolInfo) -> bool {
        !self.disabled.contains(&tool.listed)
    }

    /// Finds a tool by any of its spellings, whether it is switched on or not.
    pub fn tool(&self, name: &str) -> Option<&Arc<dyn AnyTool>> {
        self.spelled.get(name)
    }

    pub fn prompt(&self, name: &str) -> Option<&Arc<dyn Prompt>> {
        self.prompts.get(name)
    }

    /// The provider that answers for this URI.
    pub fn provider(&self, uri: &str) -> Option<&Arc<dyn ResourceProvider>> {
        self.providers.iter().find(|provider| provider.owns(uri))
    }

    pub fn providers(&self) -> &[Arc<dyn ResourceProvider>] {
        &self.providers
    }

    /// The metrics of all families.
    pub fn metrics(&self) -> impl Iterator<Item = String> {
        self.metrics.iter().map(|text| text())
    }

    /// All tools, unlisted ones included: for the operator, not for callers.
    pub fn all_tools(&self) -> impl Iterator<Item = &ToolInfo> {
        self.tools.values().map(|tool| tool.info())
    }

    /// The enabled tools of the standard endpoint within this caller's scopes, ordered by name.
    pub fn tools_for(&self, caller: &Caller, cursor: Option<&str>, limit: usize) -> Result<Page<Arc<dyn AnyTool>>> {
        self.tools_where(caller, |tool| self.is_enabled(tool) && !tool.dialects_only, cursor, limit)
    }

    /// The listed tools within this caller's scopes that `wanted` selects, whether they are enabled or not.
    pub fn tools_where(
        &self,
        caller: &Caller,
        wanted: impl Fn(&ToolInfo) -> bool,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<Page<Arc<dyn AnyTool>>> {
        let shown = self.tools.iter().filter(|(_, tool)| {
            let info = tool.info();
            let allowed = std::iter::once(info.effect.scope()).chain(info.scope).all(|s| caller.scopes.allows(s));
            allowed && !info.unlisted && wanted(info)
        });
        page(shown.map(|(name, tool)| (name.clone(), tool.clone())), cursor, limit)
    }

    /// One page of the prompts, ordered by name.
    pub fn prompts(&self, cursor: Option<&str>, limit: usize) -> Result<Page<PromptInfo>> {
        page(self.prompts.iter().map(|(name, prompt)| (name.clone(), prompt.info())), cursor, limit)
    }

    /// One page of the resources of all providers, ordered by URI.
    pub async fn resources(&self, cursor: Option<&str>, limit: usize) -> Result<Page<ResourceInfo>> {
        let mut sorted = BTreeMap::new();
        for provider in &self.providers {
            sorted.extend(provider.list_fresh().await.into_iter().map(|resource| (resource.uri.clone(), resource)));
        }
        page(sorted.into_iter(), cursor, limit)
    }

    /// One page of the resource templates, ordered by URI.
    pub fn templates(&self, cursor: Option<&str>, limit: usize) -> Result<Page<ResourceTemplate>> {
        let sorted: BTreeMap<_, _> =
            self.providers.iter().flat_map(|provider| provider.templates()).map(|t| (t.uri.clone(), t)).collect();
        page(sorted.into_iter(), cursor, limit)
    }
}

/// The names every client accepts.
fn check_name(name: &str) -> Result<()> {
    let fits =
        (1..=128).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b));
    if fits {
        Ok(())
    } else {
        Err(Error::internal(format!("{name:?} cannot be a tool's name: use 1 to 128 of A-Z a-z 0-9 _ . -")))
    }
}

/// Cuts one page out of a list ordered by key. The cursor is the last key seen, so a list that changes between two
/// pages neither repeats nor skips what stayed.
fn page<T>(sorted: impl Iterator<Item = (String, T)>, cursor: Option<&str>, limit: usize) -> Result<Page<T>> {
    let after = cursor.map(decode_cursor).transpose()?;
    let mut rest = sorted.skip_while(|(key, _)| after.as_ref().is_some_and(|after| key <= after));
    let mut items = Vec::new();
    let mut last = None;
    for (key, item) in rest.by_ref().take(limit.max(1)) {
        items.push(item);
        last = Some(key);
    }
    // In hex: a cursor is opaque to clients, and keys are URIs of any characters.
    let next = last.filter(|_| rest.next().is_some()).map(|key| format!("k{}", hex(key.as_bytes())));
    Ok(Page { items, next })
}

fn decode_cursor(cursor: &str) -> Result<String> {
    let wrong = || {
        let reason =
            format!("The cursor {cursor:?} is not one this server gave; leave it out to start from the beginning.");
        Error::field("cursor", reason)
    };
    let hex = cursor.strip_prefix('k').filter(|hex| hex.len() % 2 == 0 && hex.is_ascii()).ok_or_else(wrong)?;
    let bytes = (0..hex.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&hex[i..i + 2], 16))
        .collect::<Result<Vec<u8>, _>>()
        .map_err(|_| wrong())?;
    String::from_utf8(bytes).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Context, Effect, Reply, Scope, Spec, Spelling};

    struct Named<const N: usize>;

    const NAMES: [&str; 3] = ["alpha", "beta", "gamma"];

    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct NoArgs {}

    impl<const N: usize> Tool for Named<N> {
        const SPEC: Spec = Spec {
            spellings: &[Spelling { dialect: "other", name: ["o.alpha", "o.beta", "o.gamma"][N] }],
            ..Spec::new("test", NAMES[N], if N == 2 { Effect::Destroys } else { Effect::Reads })
        };
        type Args = NoArgs;
        type Output = Reply;

        async fn call(&self, _args: NoArgs, _context: &Context) -> Result<Reply> {
            Ok(Reply::text(NAMES[N]))
        }
    }

    fn all() -> Registry {
        Registry::new(vec![Family::new("test").tool(Named::<2>).tool(Named::<0>).tool(Named::<1>)]).unwrap()
    }

    #[test]
    fn pages_follow_in_order_and_end() {
        let (registry, caller) = (all(), Caller::local(None));
        let mut cursor = None;
        let mut seen = Vec::new();
        loop {
            let page = registry.tools_for(&caller, cursor.as_deref(), 1).unwrap();
            seen.extend(page.items.iter().map(|tool| tool.info().listed.clone()));
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen, ["test_alpha", "test_beta", "test_gamma"]);
    }

    #[test]
    fn a_caller_sees_only_what_it_may_call() {
        let mut caller = Caller::local(None);
        caller.scopes = [Scope::Read].into_iter().collect();
        assert_eq!(all().tools_for(&caller, None, 50).unwrap().items.len(), 2);
    }

    #[test]
    fn a_tool_that_is_switched_off_is_known_and_not_listed() {
        let (mut registry, caller) = (all(), Caller::local(None));
        registry.disable(["test/beta"]).unwrap();
        let listed = registry.tools_for(&caller, None, 50).unwrap().items;
        assert!(listed.iter().all(|tool| tool.info().listed != "test_beta") && listed.len() == 2);
        assert_eq!(registry.tools_where(&caller, |_| true, None, 50).unwrap().items.len(), 3);
        assert!(!registry.is_enabled(registry.tool("o.beta").unwrap().info()));
        let refused = registry.disable(["test_alpha", "no_such"]).unwrap_err();
        assert!(refused.public.contains("\"no_such\""), "{refused}");
    }

    struct Unlisted;

    impl Tool for Unlisted {
        const SPEC: Spec =
            Spec { unlisted: true, scope: Some(Scope::Admin), ..Spec::new("test", "hidden", Effect::Reads) };
        type Args = NoArgs;
        type Output = Reply;

        async fn call(&self, _args: NoArgs, _context: &Context) -> Result<Reply> {
            Ok(Reply::default())
        }
    }

    #[test]
    fn an_unlisted_tool_is_found_by_name_and_is_in_no_list() {
        let registry = Registry::new(vec![Family::new("test").tool(Unlisted).tool(Named::<0>)]).unwrap();
        let listed = registry.tools_where(&Caller::local(None), |_| true, None, 50).unwrap().items;
        assert_eq!(listed.iter().map(|tool| tool.info().listed.as_str()).collect::<Vec<_>>(), ["test_alpha"]);
        assert!(registry.tool("test_hidden").is_some());
    }

    #[test]
    fn every_spelling_finds_the_tool() {
        let registry = all();
        for name in ["test_beta", "test/beta", "o.beta"] {
            assert_eq!(registry.tool(name).unwrap().info().verb, "beta", "{name}");
        }
        assert!(registry.tool("beta").is_none());
    }

    #[test]
    fn a_name_used_twice_is_refused() {
        let twice = Registry::new(vec![Family::new("a").tool(Named::<0>), Family::new("b").tool(Named::<0>)]);
        assert!(twice.unwrap_err().detail.unwrap().contains("two tools are called"));
    }

    #[test]
    fn a_cursor_of_somebody_else_is_refused() {
        for cursor in ["x", "k0", "kzz", "kff", "k€€"] {
            assert!(all().tools_for(&Caller::local(None), Some(cursor), 1).is_err(), "{cursor}");
        }
    }
}
