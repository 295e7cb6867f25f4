//! Test only: the tools, resources and prompts that the official MCP conformance suite expects on a server, declared
//! through our own registry, so that the suite drives our call pipeline and not only the SDK's. No shipped binary links
//! this crate.
//!
//! Names, texts and schemas are the suite's (`@modelcontextprotocol/conformance@0.2.0-alpha.12`); where the name does not
//! tell which scenario needs a fixture, its doc does.
//!
//! [`probe_family`] is ours: small tools whose effects our end-to-end tests can count.

mod client_requests;
mod content;
mod multi_round;
mod notifications;
mod probe;
mod prompts;
mod resources;
mod schemas;
mod tasks;
#[cfg(test)]
mod testing;

use mainstay_core::{Effect, Family, Spec};

pub use probe::probe_family;

/// Every fixture of the suite.
pub fn family() -> Family {
    let resources = resources::TestResources::default();
    Family::new("conformance")
        .tool(content::SimpleText)
        .tool(content::ImageContent)
        .tool(content::AudioContent)
        .tool(content::EmbeddedResource)
        .tool(content::MultipleContentTypes)
        .tool(content::ErrorHandling)
        .tool(notifications::WithLogging)
        .tool(notifications::LoggingTool)
        .tool(notifications::WithProgress)
        .tool(notifications::Reconnection)
        .tool(notifications::TriggerToolChange)
        .tool(notifications::TriggerPromptChange)
        .tool(resources::TriggerResourceChange(resources.clone()))
        .tool(client_requests::Sampling)
        .tool(client_requests::Elicitation)
        .tool(client_requests::Defaults)
        .tool(client_requests::Enums)
        .tool(client_requests::MissingCapability)
        .tool(client_requests::StreamingElicitation)
        .tool(multi_round::Elicitation)
        .tool(multi_round::Sampling)
        .tool(multi_round::ListRoots)
        .tool(multi_round::RequestState)
        .tool(multi_round::TamperedState)
        .tool(multi_round::MultipleInputs)
        .tool(multi_round::MultiRound)
        .tool(multi_round::Capabilities)
        .tool(schemas::Dialect)
        .tool(schemas::CustomHeader)
        .tool(tasks::Greet)
        .tool(tasks::SlowCompute)
        .tool(tasks::FailingJob)
        .tool(tasks::ProtocolErrorJob)
        .tool(tasks::ConfirmDelete)
        .tool(tasks::MultiInput)
        .tool(tasks::WithTask)
        .resources(resources)
        .prompt(prompts::Simple)
        .prompt(prompts::WithArguments)
        .prompt(prompts::WithEmbeddedResource)
        .prompt(prompts::WithImage)
        .prompt(prompts::InputRequired)
}

/// The declaration of the fixture `test_<verb>`.
const fn fixture(verb: &'static str, description: &'static str) -> Spec {
    Spec { description, ..Spec::new("test", verb, Effect::Reads) }
}

/// For fixtures that take none.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
struct NoArgs {}

#[cfg(test)]
mod tests {
    use super::*;
    use mainstay_core::{Caller, Registry};

    #[test]
    fn the_first_page_lists_every_name_the_suite_calls() {
        let registry = Registry::new(vec![family(), probe_family(std::env::temp_dir())]).unwrap();
        let page = registry.tools_for(&Caller::local(None), None, 100).unwrap();
        let listed: Vec<String> = page.items.iter().map(|tool| tool.info().listed.clone()).collect();
        for name in [
            "confirm_delete",
            "failing_job",
            "greet",
            "json_schema_2020_12_tool",
            "multi_input",
            "protocol_error_job",
            "slow_compute",
            "test_audio_content",
            "test_custom_header",
            "test_elicitation",
            "test_elicitation_sep1034_defaults",
            "test_elicitation_sep1330_enums",
            "test_embedded_resource",
            "test_error_handling",
            "test_image_content",
            "test_input_required_result_capabilities",
            "test_input_required_result_elicitation",
            "test_input_required_result_list_roots",
            "test_input_required_result_multi_round",
            "test_input_required_result_multiple_inputs",
            "test_input_required_result_request_state",
            "test_input_required_result_sampling",
            "test_input_required_result_tampered_state",
            "test_logging_tool",
            "test_missing_capability",
            "test_multiple_content_types",
            "test_reconnection",
            "test_sampling",
            "test_simple_text",
            "test_streaming_elicitation",
            "test_tool_with_logging",
            "test_tool_with_progress",
            "test_tool_with_task",
            "test_trigger_prompt_change",
            "test_trigger_tool_change",
        ] {
            assert!(listed.iter().any(|other| other == name), "{name} is not listed");
        }
        assert!(page.next.is_none());
    }

    /// `true` is a schema too, but clients of 2025-11-25 and before take only objects for a property's.
    #[test]
    fn every_property_is_described_by_an_object() {
        let registry = Registry::new(vec![family(), probe_family(std::env::temp_dir())]).unwrap();
        for tool in registry.all_tools() {
            for schema in [Some(&tool.input_schema), tool.output_schema.as_ref()].into_iter().flatten() {
                for (name, property) in schema["properties"].as_object().unwrap() {
                    assert!(property.is_object(), "{}: {name} is {property}", tool.listed);
                }
            }
        }
    }

    #[test]
    fn every_fixture_has_a_description() {
        let registry = Registry::new(vec![family(), probe_family(std::env::temp_dir())]).unwrap();
        for tool in registry.all_tools() {
            assert!(!tool.description.is_empty(), "{}", tool.listed);
        }
        for prompt in registry.prompts(None, 100).unwrap().items {
            assert!(!prompt.description.is_empty(), "{}", prompt.name);
        }
    }
}
