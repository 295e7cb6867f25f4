//! Prompts that a person picks to begin a project: one for each toolchain of ours. They tell a model which of these tools
//! to call, and with what.

use std::collections::BTreeMap;

use mainstay_core::{
    Block, BoxFuture, Context, Prompt, PromptArgument, PromptInfo, PromptMessage, PromptReply, Result,
};
use serde_json::{Map, Value};

use super::builtin;
use super::template::{PROJECT_NAME, Template};

/// The prompt of one toolchain.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScaffoldPrompt {
    name: &'static str,
    toolchain: &'static str,
    /// As people write it.
    language: &'static str,
    /// How the source of the project is begun, once its directory is there.
    begin: &'static str,
    /// What is generated. Arguments besides the two required ones are parameters of these templates.
    optional: &'static [(&'static str, &'static str)],
}

const DESCRIPTION: (&str, &str) = ("description", "What the project does, in a sentence or two");

pub(super) const PROMPTS: [ScaffoldPrompt; 3] = [
    ScaffoldPrompt {
        name: "scaffold-rust-project",
        toolchain: "rust",
        language: "Rust",
        begin: "run `cargo init` in that directory, with --lib for a library, and describe the package in Cargo.toml",
        optional: &[DESCRIPTION, ("author", "Author"), ("license", "License, such as MIT")],
    },
    ScaffoldPrompt {
        name: "scaffold-deno-project",
        toolchain: "deno",
        language: "Deno",
        begin: "run `deno init` in that directory, or write main.ts and deno.json",
        optional: &[DESCRIPTION, ("author_name", "Author")],
    },
    ScaffoldPrompt {
        name: "scaffold-python-project",
        toolchain: "python-uv",
        language: "Python",
        begin: "run `uv init --bare` in that directory, with --lib for a library, and write main.py",
        optional: &[DESCRIPTION, ("author_name", "Author"), ("python_version", "Python version, such as 3.12")],
    },
];

impl ScaffoldPrompt {
    /// The parameters of the templates among the arguments. Those that were left empty are left out.
    fn parameters(&self, arguments: &BTreeMap<String, String>) -> Map<String, Value> {
        let given = arguments.iter().filter(|(name, value)| self.is_parameter(name) && !value.trim().is_empty());
        given.map(|(name, value)| (name.clone(), Value::String(value.clone()))).collect()
    }

    fn is_parameter(&self, name: &str) -> bool {
        let is_ours = |template: &&std::sync::Arc<Template>| template.uri.toolchain == self.toolchain;
        name == PROJECT_NAME || builtin::all().iter().filter(is_ours).any(|template| template.takes(name))
    }

    fn text(&self, arguments: &BTreeMap<String, String>) -> String {
        let argument = |name: &str| arguments.get(name).map_or("", |value| value.trim());
        let (name, kind, toolchain) = (argument(PROJECT_NAME), argument("project_type"), self.toolchain);
        let parameters = Value::Object(self.parameters(arguments));
        let (language, begin) = (self.language, self.begin);
        format!(
            "Set up a new {language} project named {name:?}. Kind of project: {kind}.\n\n\
             1. Call templates_list with toolchain {toolchain:?} to see the templates and their parameters.\n\
             2. Call templates_scaffold with toolchain {toolchain:?}, parameters {parameters} and what else fits this kind \
             of project, write_to \".\" and dry_run true. If files exist already, ask before you overwrite them.\n\
             3. Make the same call without dry_run. It writes the files into the directory {name:?}.\n\
             4. Begin the source: {begin}.\n\
             5. In that directory run `make help`, then `make all`, and repair what fails.\n\n\
             Report the files that were created and what `make all` said."
        )
    }
}

impl Prompt for ScaffoldPrompt {
    fn info(&self) -> PromptInfo {
        let argument = |(name, description): (&str, &str), required: bool| PromptArgument {
            name: name.into(),
            description: description.into(),
            required,
        };
        let required = [
            (PROJECT_NAME, "Name of the project and of its directory"),
            ("project_type", "Kind of project, such as CLI, library or web service"),
        ];
        let arguments = required.into_iter().map(|required| argument(required, true));
        PromptInfo {
            name: self.name.into(),
            title: Some(format!("New {} project", self.language)),
            description: format!("Set up a new {} project with Makefile, README and .gitignore", self.language),
            arguments: arguments.chain(self.optional.iter().map(|optional| argument(*optional, false))).collect(),
            template: None,
        }
    }

    fn render<'a>(
        &'a self,
        arguments: &'a BTreeMap<String, String>,
        _context: &'a Context,
    ) -> BoxFuture<'a, Result<PromptReply>> {
        let messages = vec![PromptMessage::user(Block::text(self.text(arguments)))];
        let description = Some(self.info().description);
        Box::pin(std::future::ready(Ok(PromptReply { description, messages })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompt_passes_on_what_the_templates_take_and_no_more() {
        let arguments = [("project_name", "demo"), ("project_type", "CLI"), ("license", "MIT"), ("author", " ")];
        let arguments = arguments.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let text = PROMPTS[0].text(&arguments);
        assert!(
            text.contains(r#"parameters {"license":"MIT","project_name":"demo","project_type":"CLI"} and"#),
            "{text}"
        );
        assert!(text.contains("Kind of project: CLI."), "{text}");
        // No template of Deno takes it.
        assert!(PROMPTS[1].text(&arguments).contains(r#"parameters {"project_name":"demo"} and"#));
    }

    #[test]
    fn optional_arguments_are_parameters_of_the_templates() {
        for prompt in PROMPTS {
            for (name, _) in prompt.optional {
                assert!(prompt.is_parameter(name), "{}: {name}", prompt.name);
            }
        }
    }
}
