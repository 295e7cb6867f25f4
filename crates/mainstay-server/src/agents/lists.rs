//! What the dialect lists. The server has more tools, resources and prompts than its contract does.

use mainstay_core::{Caller, PromptInfo, ResourceInfo, Result};
use mainstay_wire::agents;
use serde_json::Value;

use super::Desk;

/// One resource of the contract; the others are those on the same shelf, in its order.
const ON_THE_SHELF: &str = "db://schema/complete";

impl Desk {
    pub(crate) fn tools(&self, caller: &Caller) -> Result<Vec<Value>> {
        let registry = self.engine.registry();
        let page = registry.tools_where(caller, |tool| registry.is_enabled(tool), None, usize::MAX)?;
        Ok(page.items.iter().filter_map(|tool| agents::tool(tool.info())).collect())
    }

    pub(crate) fn resources(&self) -> Vec<Value> {
        self.shelf().iter().map(agents::resource).collect()
    }

    pub(crate) fn prompts(&self) -> Result<Vec<Value>> {
        let all: Vec<PromptInfo> = self.engine.registry().prompts(None, usize::MAX)?.items;
        Ok(all.iter().filter_map(agents::prompt).collect())
    }

    /// How many tools, resources and prompts this caller finds.
    pub(crate) fn counts(&self, caller: &Caller) -> Result<[usize; 3]> {
        Ok([self.tools(caller)?.len(), self.resources().len(), self.prompts()?.len()])
    }

    pub(super) fn shelf(&self) -> Vec<ResourceInfo> {
        self.engine.registry().shelf(ON_THE_SHELF).map(|shelf| shelf.list()).unwrap_or_default()
    }
}
