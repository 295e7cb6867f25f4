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

/// A function without figures in a file that has some: C, C++ and C# may have functions that only the preprocessor makes
/// valid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnmeasuredFunction {
    pub file: String,
    pub line: u32,
    pub function: String,
}

/// Everything without figures, by name, so that no report looks more complete than it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Unmeasured {
    pub files_failed: Vec<FailedFile>,
    /// Files without figures that are not in the list.
    #[serde(skip_serializing_if = "is_zero")]
    pub files_failed_omitted: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub functions_skipped: Vec<UnmeasuredFunction>,
    #[serde(skip_serializing_if = "is_zero")]
    pub functions_skipped_omitted: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Unmeasured {
    /// Keeps so many of each list, and counts the others.
    fn truncate(&mut self, most: usize) {
        self.files_failed_omitted = self.files_failed.len().saturating_sub(most);
        self.files_failed.truncate(most);
        self.functions_skipped_omitted = self.functions_skipped.len().saturating_sub(most);
        self.functions_skipped.truncate(most);
    }
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

    /// What has no figures, of files whose paths are wanted; at most `most` of each kind.
    pub(super) fn unmeasured(&self, wanted: impl Fn(&str) -> bool, most: Option<usize>) -> Unmeasured {
        let functions = self.files.iter().filter(|file| wanted(&file.path)).flat_map(|file| {
            file.metrics.skipped.iter().map(|skipped| UnmeasuredFunction {
                file: file.path.clone(),
                line: skipped.line,
                function: skipped.name.clone(),
            })
        });
        let mut all = Unmeasured {
            files_failed: self.failed.iter().filter(|failed| wanted(&failed.file)).cloned().collect(),
            functions_skipped: functions.collect(),
            ..Unmeasured::default()
        };
        if let Some(most) = most {
            all.truncate(most);
        }
        all
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
