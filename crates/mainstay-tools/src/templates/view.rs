//! How templates appear in replies: as values for programs, and as lines for a model.

use serde::Serialize;
use serde_json::{Map, Value};

use super::template::Template;

/// A template of a list.
#[derive(Debug, Serialize)]
pub(super) struct TemplateView {
    uri: String,
    name: String,
    description: String,
    category: String,
    toolchain: String,
    /// JSON Schema of the parameters.
    parameters: Map<String, Value>,
    /// How well it fits a query.
    #[serde(skip_serializing_if = "Option::is_none")]
    relevance: Option<u32>,
}

impl TemplateView {
    pub(super) fn new(template: &Template) -> Self {
        let manifest = &template.manifest;
        Self {
            uri: template.uri.to_string(),
            name: manifest.name.clone(),
            description: manifest.description.clone(),
            category: manifest.category.clone(),
            toolchain: manifest.toolchain.clone(),
            parameters: manifest.parameters.clone(),
            relevance: None,
        }
    }

    pub(super) fn with_relevance(template: &Template, relevance: u32) -> Self {
        Self { relevance: Some(relevance), ..Self::new(template) }
    }
}

/// One line: the URI, what it is, and its parameters with their defaults; the required ones are first and have a star.
pub(super) fn line(template: &Template) -> String {
    let manifest = &template.manifest;
    let parameter = |(name, schema): (&str, &Value)| {
        let star = if manifest.is_required(name) { "*" } else { "" };
        let default = schema.get("default").map(|default| format!(" = {default}")).unwrap_or_default();
        format!("{name}{star}{default}")
    };
    let (required, optional): (Vec<_>, Vec<_>) =
        manifest.properties().partition(|(name, _)| manifest.is_required(name));
    let parameters: Vec<String> = required.into_iter().chain(optional).map(parameter).collect();
    let parameters = if parameters.is_empty() { String::new() } else { format!(" ({})", parameters.join(", ")) };
    format!("{} {}{parameters}", template.uri, manifest.name)
}
