//! Templates for the files of new projects (contract 004): nine of ours, and those of users.
//!
//! A template is a directory with a manifest (`manifest.rs`) and a text in a part of Jinja (`language/`). `builtin.rs` has
//! ours, `directories.rs` reads those of users, `catalogue.rs` finds both. `template.rs` checks parameters and generates
//! one file, `project.rs` several, and writes them. The five tools, the resources and the prompts are a file each; the
//! command line works through `command_line.rs`.

mod builtin;
mod catalogue;
mod command_line;
mod directories;
mod generate;
mod language;
mod list;
mod manifest;
mod project;
mod prompts;
mod resources;
mod scaffold;
mod search;
mod template;
#[cfg(test)]
mod tests;
mod uri;
mod validate;
mod view;

use mainstay_core::{Effect, Family, Pace, Spec};

use catalogue::Catalogue;

use crate::planning::{ChangeLimits, Planner};
use crate::setup::Setup;
pub use command_line::{Destination, ScaffoldRequest, WrittenFile, WrittenProject, list_templates};
pub use directories::BrokenTemplate;

/// The dialect in which the tools have the names of their contract.
const DIALECT: &str = "toolkit";

/// What every tool of the family works on.
#[derive(Debug, Clone)]
struct TemplateTools {
    catalogue: Catalogue,
    planner: Planner,
}

/// A declaration with what the tools have in common.
const fn spec(verb: &'static str) -> Spec {
    Spec { pace: Pace::Instant, tags: &["templates"], ..Spec::new("templates", verb, Effect::Reads) }
}

/// The family with its tools in the order of the contract.
pub(crate) fn family(setup: &Setup) -> Family {
    let catalogue = Catalogue::new(setup.templates.directories.clone());
    let planner = Planner { workspace: setup.workspace.clone(), limits: ChangeLimits::new(&setup.files) };
    let tools = TemplateTools { catalogue: catalogue.clone(), planner };
    let family = Family::new("templates")
        .tool(generate::Generate(tools.clone()))
        .tool(list::List(tools.clone()))
        .tool(validate::Validate(tools.clone()))
        .tool(scaffold::Scaffold(tools.clone()))
        .tool(search::Search(tools))
        .resources(resources::TemplateResources(catalogue));
    prompts::PROMPTS.iter().fold(family, |family, prompt| family.prompt(*prompt))
}
