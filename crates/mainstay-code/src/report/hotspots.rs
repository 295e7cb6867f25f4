//! Hotspots: files that are both complex and changed often. Work on them pays off first.

use std::collections::HashMap;

use serde::Serialize;

use super::measurement::{Measurement, Unmeasured};
use super::ranking::{ranking, round};
use crate::churn::ChurnReport;

/// A file with its churn and its complexity.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hotspot {
    /// Relative to the repository.
    pub path: String,
    /// 0 to 1: churn times complexity, each relative to the highest there is.
    pub hotspot_score: f64,
    pub churn_score: f64,
    pub commit_count: u64,
    pub complexity_score: f64,
    pub max_cyclomatic: u32,
    pub function_count: usize,
    /// Lines with code in them.
    pub code_lines: u32,
    /// The function with the highest cognitive complexity, and where it begins.
    pub worst_function: String,
    pub worst_line: u32,
}

/// All hotspots of a repository, the highest score first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HotspotReport {
    /// False if there was nothing to rank: `reason` says why.
    pub measured: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub period_days: u32,
    pub repository_root: String,
    pub total_commits: u64,
    pub hotspots: Vec<Hotspot>,
    /// Files with both figures that are not in `hotspots`.
    pub omitted: usize,
    /// What has no complexity, of files that have changed.
    #[serde(flatten)]
    pub unmeasured: Unmeasured,
}

impl HotspotReport {
    /// Joins both reports. The paths of the measurement must be relative to the repository, as those of the churn are.
    pub fn new(churn: &ChurnReport, measurement: &Measurement, limit: usize) -> Self {
        let changed: HashMap<&str, _> = churn.files.iter().map(|file| (file.path.as_str(), file)).collect();
        let mut hotspots: Vec<Hotspot> = Vec::new();
        for file in measurement.files.iter().filter(|file| !file.metrics.functions.is_empty()) {
            let Some(churn) = changed.get(file.path.as_str()) else { continue };
            let ranking = ranking(file);
            // The first of several that are equally complex.
            let worst = file.metrics.functions.iter().rev().max_by_key(|function| function.cognitive);
            hotspots.push(Hotspot {
                path: file.path.clone(),
                hotspot_score: 0.0,
                churn_score: churn.churn_score,
                commit_count: churn.commit_count,
                complexity_score: ranking.total_score,
                max_cyclomatic: ranking.max_cyclomatic,
                function_count: ranking.function_count,
                code_lines: file.metrics.lines.code,
                worst_function: worst.map(|function| function.name.clone()).unwrap_or_default(),
                worst_line: worst.map_or(0, |function| function.span.start_line),
            });
        }
        // Relative to what is there: the absolute score says little about which file to begin with.
        let highest = hotspots.iter().map(|hotspot| hotspot.complexity_score).fold(0.0, f64::max);
        for hotspot in &mut hotspots {
            let complexity = if highest > 0.0 { hotspot.complexity_score / highest } else { 0.0 };
            hotspot.hotspot_score = round(hotspot.churn_score * complexity);
        }
        hotspots.sort_by(|a, b| b.hotspot_score.total_cmp(&a.hotspot_score).then_with(|| a.path.cmp(&b.path)));
        let omitted = hotspots.len().saturating_sub(limit);
        let reason = match &churn.reason {
            Some(reason) => Some(reason.clone()),
            None if hotspots.is_empty() => {
                Some(format!("No source file with functions has changed in {} days.", churn.period_days))
            }
            None => None,
        };
        hotspots.truncate(limit);
        Self {
            measured: reason.is_none(),
            reason,
            period_days: churn.period_days,
            repository_root: churn.repository_root.clone(),
            total_commits: churn.summary.total_commits,
            hotspots,
            omitted,
            unmeasured: measurement.unmeasured(|file| changed.contains_key(file), None),
        }
    }
}
