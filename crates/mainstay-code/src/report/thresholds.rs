//! From which complexity on a function is reported.

use serde::Serialize;

use crate::FunctionMetrics;

/// Two thresholds for one figure; each is the largest value that is still accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    pub warning: u32,
    pub error: u32,
}

impl Limit {
    /// A maximum that the caller gives is the threshold for errors; warnings begin at three quarters of it.
    fn or_maximum(self, maximum: Option<u32>) -> Self {
        let warning = |maximum: u32| maximum - maximum.div_ceil(4);
        maximum.map_or(self, |maximum| Self { warning: warning(maximum), error: maximum })
    }

    /// The threshold that a value is over, and how severe that is.
    fn judge(self, value: u32) -> Option<(Severity, u32)> {
        if value > self.error {
            Some((Severity::Error, self.error))
        } else if value > self.warning {
            Some((Severity::Warning, self.warning))
        } else {
            None
        }
    }
}

/// How far a function is over: past the warning threshold, or past the error threshold too. Ordered by severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Warning,
    Error,
}

impl Severity {
    /// The word that reports and SARIF use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }

    /// The minutes it takes to bring a function one point closer to the threshold.
    pub(super) fn minutes_per_point(self) -> u64 {
        match self {
            Self::Warning => 15,
            Self::Error => 30,
        }
    }
}

/// The figure of a function that is compared with a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Rule {
    #[serde(rename = "cyclomatic-complexity")]
    Cyclomatic,
    #[serde(rename = "cognitive-complexity")]
    Cognitive,
}

impl Rule {
    pub const ALL: [Self; 2] = [Self::Cyclomatic, Self::Cognitive];

    /// The name of the rule in reports; a promise of contract 004.
    pub fn id(self) -> &'static str {
        match self {
            Self::Cyclomatic => "cyclomatic-complexity",
            Self::Cognitive => "cognitive-complexity",
        }
    }

    /// The figure in a sentence.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Cyclomatic => "cyclomatic complexity",
            Self::Cognitive => "cognitive complexity",
        }
    }

    pub(super) fn value(self, function: &FunctionMetrics) -> u32 {
        match self {
            Self::Cyclomatic => function.cyclomatic,
            Self::Cognitive => function.cognitive,
        }
    }
}

/// The thresholds of both figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thresholds {
    pub cyclomatic: Limit,
    pub cognitive: Limit,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { cyclomatic: Limit { warning: 10, error: 20 }, cognitive: Limit { warning: 15, error: 30 } }
    }
}

impl Thresholds {
    /// The default thresholds, with the maxima that a caller gives.
    pub fn with_maxima(cyclomatic: Option<u32>, cognitive: Option<u32>) -> Self {
        let default = Self::default();
        Self {
            cyclomatic: default.cyclomatic.or_maximum(cyclomatic),
            cognitive: default.cognitive.or_maximum(cognitive),
        }
    }

    pub fn limit(&self, rule: Rule) -> Limit {
        match rule {
            Rule::Cyclomatic => self.cyclomatic,
            Rule::Cognitive => self.cognitive,
        }
    }

    /// Whether a function is over a threshold of this rule: how severe it is, its value and the threshold.
    pub(super) fn judge(&self, rule: Rule, function: &FunctionMetrics) -> Option<(Severity, u32, u32)> {
        let value = rule.value(function);
        self.limit(rule).judge(value).map(|(severity, threshold)| (severity, value, threshold))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_given_maximum_is_the_error_threshold_and_three_quarters_of_it_warn() {
        let thresholds = Thresholds::with_maxima(Some(10), None);
        assert_eq!(thresholds.cyclomatic, Limit { warning: 7, error: 10 });
        assert_eq!(thresholds.cognitive, Limit { warning: 15, error: 30 });
        let warning = |maximum| Thresholds::with_maxima(None, Some(maximum)).cognitive.warning;
        assert_eq!([0, 1, 2, 3, 4, 8, 100, u32::MAX].map(warning), [0, 0, 1, 2, 3, 6, 75, 3_221_225_471]);
    }

    #[test]
    fn the_threshold_itself_is_accepted() {
        let limit = Limit { warning: 10, error: 20 };
        let judged = [10, 11, 20, 21].map(|value| limit.judge(value));
        let warning = Some((Severity::Warning, 10));
        assert_eq!(judged, [None, warning, warning, Some((Severity::Error, 20))]);
    }
}
