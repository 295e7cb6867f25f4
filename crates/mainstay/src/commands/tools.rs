//! `mainstay tools`: prints the registry that the server serves.

use std::process::ExitCode;

use mainstay_core::ToolInfo;
use serde_json::{Value, json};

use super::terminal::print_line;
use crate::wiring::open_engine;
use crate::{Config, Extensions};

/// Lists all tools of the configuration, those that are disabled included.
pub(crate) async fn run(config: &Config, more: Extensions, as_json: bool) -> anyhow::Result<ExitCode> {
    let engine = open_engine(config, more).await?;
    let registry = engine.registry();
    if as_json {
        let all: Vec<Value> = registry.all_tools().map(|tool| describe(tool, registry.is_enabled(tool))).collect();
        print_line(serde_json::to_string_pretty(&all)?);
    } else {
        let width = registry.all_tools().map(|tool| tool.listed.len()).max().unwrap_or(0);
        for tool in registry.all_tools() {
            let first = first_sentence(tool.description);
            let effect = if registry.is_enabled(tool) { tool.effect.as_str() } else { "disabled" };
            print_line(format_args!("{:width$}  {effect:8}  {first}", tool.listed));
        }
    }
    engine.shut_down().await;
    Ok(ExitCode::SUCCESS)
}

/// The first sentence of a description, for lists with one line per tool.
pub(super) fn first_sentence(description: &str) -> &str {
    description.lines().next().unwrap_or_default().split_inclusive(". ").next().unwrap_or_default().trim()
}

/// The fields of `--json`. Scripts read them, so names stay.
fn describe(tool: &ToolInfo, enabled: bool) -> Value {
    json!({
        "name": tool.listed,
        "family": tool.family,
        "title": tool.title,
        "description": tool.description,
        "effect": tool.effect,
        "idempotent": tool.idempotent,
        "version": tool.version,
        "tags": tool.tags,
        "enabled": enabled,
        "input_schema": *tool.input_schema,
        "output_schema": tool.output_schema.as_deref(),
    })
}
