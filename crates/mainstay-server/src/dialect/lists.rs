//! What a dialect lists. The server may have more tools, resources and prompts than the dialect's contract.

use mainstay_core::{Caller, ResourceInfo, Result, ToolInfo};
use mainstay_wire::{ToolQuery, ToolState};
use serde_json::Value;

use super::dispatcher::{Dispatcher, RequestContext};

impl Dispatcher {
    /// The page of tools that the params of `tools/list` ask for.
    pub(super) fn tool_list(&self, params: Value, context: &RequestContext) -> Result<Value> {
        let query = self.dialect.tool_query(params)?;
        let (entries, next) = self.tools(&query, &context.connection.caller)?;
        Ok(self.dialect.tool_list(entries, next))
    }

    /// One page of the tools within this caller's scopes, and where the next page begins.
    pub(super) fn tools(&self, query: &ToolQuery, caller: &Caller) -> Result<(Vec<Value>, Option<String>)> {
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
            self.dialect.tool_entry(tool, ToolState { enabled, quota, endpoint: &self.endpoint })
        };
        Ok((page.items.iter().filter_map(|tool| entry(tool.info())).collect(), page.next))
    }

    /// The resources of the dialect, in its contract's order.
    pub(crate) fn resources(&self) -> Vec<ResourceInfo> {
        let known = self.dialect.known_resource();
        let registry = self.engine.registry();
        known.and_then(|uri| registry.provider(uri)).map(|provider| provider.list()).unwrap_or_default()
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
}
