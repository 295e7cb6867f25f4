//! What was measured of a tree of files, and what could not be.

use std::sync::Arc;

use serde::Serialize;

use crate::{FileMetrics, FunctionMetrics};

/// The metrics of one file. Shared with the cache they came from.
#[derive(Debug, Clone)]
pub struct MeasuredFile {
    /// As callers see it.
    pub path: String,
    pub metrics: Arc<FileMetrics>,
}

/// A source file without figures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailedFile {
    pub file: String,
    pub reason: String,
}

/// All files of an analysis, by path.
#[derive(Debug, Clone, Default)]
pub struct Measurement {
    pub files: Vec<MeasuredFile>,
    pub failed: Vec<FailedFile>,
}

impl Measurement {
    /// Every function with its file.
    pub fn functions(&self) -> impl Iterator<Item = (&MeasuredFile, &FunctionMetrics)> {
        self.files.iter().flat_map(|file| file.metrics.functions.iter().map(move |function| (file, function)))
    }

    /// Why there are no figures; `None` if there are some. `sought` names what was looked for, such as `Rust files`.
    pub fn nothing_measured(&self, sought: &str) -> Option<String> {
        match (self.files.len(), self.failed.len()) {
            (0, 0) => Some(format!("There are no {sought}.")),
            (0, failed) => Some(format!("None of the {failed} {sought} could be measured.")),
            (files, _) if self.functions().next().is_none() => Some(format!("The {files} {sought} have no functions.")),
            _ => None,
        }
    }
}
