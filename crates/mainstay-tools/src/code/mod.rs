//! The family `code`: how complex source code is, how it has changed, and where it is duplicated. One file per tool.
//!
//! The figures come from mainstay-code, which works on bytes; here files are found and read through the sandbox, and
//! git is run. [`CodeAnalysis`] does both, independent of any call, so that the command line gives the same figures.

mod churn;
mod complexity;
mod duplicates;
mod functions;

mod analysis;
mod command_line;
mod duplicate_search;

mod measure;
mod metrics_store;

#[cfg(test)]
mod tests;

use mainstay_core::{Block, Error, Family, Reply, Result};
use serde::Serialize;

pub use crate::progress::Progress;
use crate::setup::Setup;
pub use analysis::{ChurnOptions, CodeAnalysis, SourceOptions};
pub use churn::ChurnFormat;
pub use command_line::{NamedProject, ProjectSettings};
pub use complexity::{ComplexityFormat, ComplexityRequest};

/// The dialect in which tools of this family have names of their own.
const DIALECT: &str = "toolkit";

/// The family with all its tools, in the order in which they are listed.
pub(crate) fn family(setup: &Setup) -> Family {
    let analysis = CodeAnalysis::new(&setup.workspace, &setup.exec, &setup.code, Some(&setup.code_cache));
    Family::new("code")
        .tool(complexity::Complexity { analysis: analysis.clone(), version: setup.version })
        .tool(functions::Functions(analysis.clone()))
        .tool(churn::Churn(analysis.clone()))
        .tool(duplicates::DuplicatedCode(analysis))
}

/// A report for programs, and as text in the format that the caller has chosen. It has no schema in the list of tools:
/// that would cost every model more than the report.
fn reply(report: &impl Serialize, text: String) -> Result<Reply> {
    let value = serde_json::to_value(report).map_err(Error::internal)?;
    Ok(Reply { content: vec![Block::text(text)], structured: Some(value), failed: false })
}

/// A report as JSON, without the white space that a model would pay for.
fn json_text(report: &impl Serialize) -> Result<String> {
    serde_json::to_string(report).map_err(Error::internal)
}

/// The default of an argument: every language there is.
fn every_toolchain() -> String {
    "all".to_owned()
}
