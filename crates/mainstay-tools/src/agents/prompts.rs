//! The contract's prompts: texts with places to fill in.

use std::collections::BTreeMap;

use mainstay_core::{
    Block, BoxFuture, Context, Prompt, PromptArgument, PromptInfo, PromptMessage, PromptReply, Result,
};

#[derive(Debug, Clone, Copy)]
pub(super) struct Template {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    arguments: &'static [Argument],
    text: &'static str,
}

#[derive(Debug, Clone, Copy)]
struct Argument {
    name: &'static str,
    description: &'static str,
    required: bool,
}

const fn required(name: &'static str, description: &'static str) -> Argument {
    Argument { name, description, required: true }
}

const fn optional(name: &'static str, description: &'static str) -> Argument {
    Argument { name, description, required: false }
}

pub(super) const TEMPLATES: [Template; 3] = [
    Template {
        name: "deploy_system",
        title: "Deploy System",
        description: "Deploy the multi-agent system",
        arguments: &[
            required("environment", "Where to, such as production"),
            optional("version", "What follows directly, such as the version"),
        ],
        text: "Deploy multi-agent system to {environment} environment{version}",
    },
    Template {
        name: "run_tests",
        title: "Run Tests",
        description: "Run a test suite",
        arguments: &[
            required("suite", "Which suite, such as unit"),
            optional("verbose", "What follows directly, such as \" with verbose output\""),
        ],
        text: "Run {suite} test suite{verbose}",
    },
    Template {
        name: "analyze_performance",
        title: "Analyze Performance",
        description: "Analyze the performance of a component",
        arguments: &[
            required("component", "Which component"),
            optional("duration", "What follows directly, such as \" over the last hour\""),
        ],
        text: "Analyze performance of {component}{duration}",
    },
];

impl Template {
    /// In one pass: what was filled in is not looked at again. What is not given is empty.
    fn filled(&self, values: &BTreeMap<String, String>) -> String {
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
        let argument = |argument: &Argument| PromptArgument {
            name: argument.name.into(),
            description: argument.description.into(),
            required: argument.required,
        };
        PromptInfo {
            name: self.name.into(),
            title: Some(self.title.into()),
            description: self.description.into(),
            arguments: self.arguments.iter().map(argument).collect(),
            template: Some(self.text.into()),
        }
    }

    fn render<'a>(
        &'a self,
        arguments: &'a BTreeMap<String, String>,
        _context: &'a Context,
    ) -> BoxFuture<'a, Result<PromptReply>> {
        let messages = vec![PromptMessage::user(Block::text(self.filled(arguments)))];
        Box::pin(std::future::ready(Ok(PromptReply { description: Some(self.description.into()), messages })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(prompt: usize, values: &[(&str, &str)]) -> String {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        TEMPLATES[prompt].filled(&values)
    }

    #[test]
    fn places_are_filled_in_and_those_without_a_value_are_empty() {
        let production = ("environment", "production");
        assert_eq!(
            filled(0, &[production, ("version", "v2.0.0")]),
            "Deploy multi-agent system to production environmentv2.0.0"
        );
        assert_eq!(filled(0, &[production]), "Deploy multi-agent system to production environment");
        assert_eq!(filled(1, &[("suite", "unit")]), "Run unit test suite");
        assert_eq!(filled(2, &[("component", "api"), ("duration", " for 1h")]), "Analyze performance of api for 1h");
    }

    #[test]
    fn a_value_is_text_whatever_is_in_it() {
        assert_eq!(filled(1, &[("suite", "{verbose}"), ("verbose", "{suite}")]), "Run {verbose} test suite{suite}");
    }

    #[test]
    fn every_place_of_a_text_is_an_argument_and_the_other_way_round() {
        for template in TEMPLATES {
            let places: Vec<&str> =
                template.text.split('{').skip(1).filter_map(|rest| rest.split('}').next()).collect();
            assert_eq!(places, template.arguments.iter().map(|argument| argument.name).collect::<Vec<_>>());
        }
    }
}
