//! The contract's three prompts: fixed texts with arguments to fill in.
//!
//! Clients get the text as one message of the user. In the dialect `agents` they also get the template, to fill it in
//! themselves.

use std::collections::BTreeMap;

use mainstay_core::{
    Block, BoxFuture, Context, Prompt, PromptArgument, PromptInfo, PromptMessage, PromptReply, Result,
};

/// A prompt with one required and one optional argument.
#[derive(Debug, Clone, Copy)]
pub(super) struct Template {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    /// Name and description of each.
    required: (&'static str, &'static str),
    optional: (&'static str, &'static str),
    /// `{name}` stands for an argument. The optional one follows without a space, as in the contract.
    text: &'static str,
}

pub(super) const TEMPLATES: [Template; 3] = [
    Template {
        name: "deploy_system",
        title: "Deploy System",
        description: "Deploy the multi-agent system",
        required: ("environment", "Target environment, such as production"),
        optional: ("version", "Text appended to the prompt, such as a version"),
        text: "Deploy multi-agent system to {environment} environment{version}",
    },
    Template {
        name: "run_tests",
        title: "Run Tests",
        description: "Run a test suite",
        required: ("suite", "Name of the suite, such as unit"),
        optional: ("verbose", "Text appended to the prompt, such as \" with verbose output\""),
        text: "Run {suite} test suite{verbose}",
    },
    Template {
        name: "analyze_performance",
        title: "Analyze Performance",
        description: "Analyze the performance of a component",
        required: ("component", "Name of the component"),
        optional: ("duration", "Text appended to the prompt, such as \" over the last hour\""),
        text: "Analyze performance of {component}{duration}",
    },
];

impl Template {
    /// Fills in the arguments in one pass, so that a value with `{name}` in it stays as it is. A missing value is empty.
    fn fill_in(&self, values: &BTreeMap<String, String>) -> String {
        let mut filled = String::new();
        let mut rest = self.text;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').unwrap_or((after, ""));
            filled.push_str(before);
            filled.push_str(values.get(name).map_or("", String::as_str));
            rest = after;
        }
        filled + rest
    }
}

impl Prompt for Template {
    fn info(&self) -> PromptInfo {
        let argument = |(name, description): (&str, &str), required: bool| PromptArgument {
            name: name.into(),
            description: description.into(),
            required,
        };
        PromptInfo {
            name: self.name.into(),
            title: Some(self.title.into()),
            description: self.description.into(),
            arguments: vec![argument(self.required, true), argument(self.optional, false)],
            template: Some(self.text.into()),
        }
    }

    fn render<'a>(
        &'a self,
        arguments: &'a BTreeMap<String, String>,
        _context: &'a Context,
    ) -> BoxFuture<'a, Result<PromptReply>> {
        let messages = vec![PromptMessage::user(Block::text(self.fill_in(arguments)))];
        Box::pin(std::future::ready(Ok(PromptReply { description: Some(self.description.into()), messages })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill_in(prompt: usize, values: &[(&str, &str)]) -> String {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        TEMPLATES[prompt].fill_in(&values)
    }

    #[test]
    fn arguments_are_filled_in_and_missing_ones_are_empty() {
        let production = ("environment", "production");
        assert_eq!(
            fill_in(0, &[production, ("version", "v2.0.0")]),
            "Deploy multi-agent system to production environmentv2.0.0"
        );
        assert_eq!(fill_in(0, &[production]), "Deploy multi-agent system to production environment");
        assert_eq!(fill_in(1, &[("suite", "unit")]), "Run unit test suite");
        assert_eq!(fill_in(2, &[("component", "api"), ("duration", " for 1h")]), "Analyze performance of api for 1h");
    }

    #[test]
    fn placeholder_in_a_value_is_not_replaced() {
        assert_eq!(fill_in(1, &[("suite", "{verbose}"), ("verbose", "{suite}")]), "Run {verbose} test suite{suite}");
    }

    #[test]
    fn placeholders_of_each_text_are_its_arguments() {
        for template in TEMPLATES {
            let placeholders: Vec<&str> =
                template.text.split('{').skip(1).filter_map(|rest| rest.split('}').next()).collect();
            assert_eq!(placeholders, [template.required.0, template.optional.0]);
        }
    }
}
