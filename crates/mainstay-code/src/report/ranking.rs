//! Files in the order of how much their complexity deserves attention.

use serde::Serialize;

use super::measurement::{MeasuredFile, Measurement};

/// A file's place among all files.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ranking {
    pub rank: usize,
    pub file: String,
    pub function_count: usize,
    pub max_cyclomatic: u32,
    pub avg_cognitive: f64,
    pub halstead_effort: f64,
    pub total_score: f64,
}

/// 0 to 90: up to 40 for the most complex function, 40 for the average cognitive complexity, 10 for the number of
/// functions. Two decimals.
pub fn total_score(max_cyclomatic: u32, avg_cognitive: f64, function_count: usize) -> f64 {
    let cyclomatic = 40.0 * f64::from(max_cyclomatic.min(50)) / 50.0;
    let cognitive = 40.0 * avg_cognitive.min(100.0) / 100.0;
    let functions = u32::try_from(function_count.min(100)).unwrap_or(100);
    round(cyclomatic + cognitive + 10.0 * f64::from(functions) / 100.0)
}

/// All files with functions, the highest score first. Equal scores are in the order of their paths.
pub fn rank(measurement: &Measurement) -> Vec<Ranking> {
    let with_functions = measurement.files.iter().filter(|file| !file.metrics.functions.is_empty());
    let mut rankings: Vec<Ranking> = with_functions.map(ranking).collect();
    rankings.sort_by(|a, b| b.total_score.total_cmp(&a.total_score).then_with(|| a.file.cmp(&b.file)));
    for (rank, ranking) in (1..).zip(&mut rankings) {
        ranking.rank = rank;
    }
    rankings
}

/// A file before it has its place.
pub(super) fn ranking(file: &MeasuredFile) -> Ranking {
    let functions = &file.metrics.functions;
    let max_cyclomatic = functions.iter().map(|function| function.cyclomatic).max().unwrap_or(0);
    let avg_cognitive = average(functions.iter().map(|function| function.cognitive));
    Ranking {
        rank: 0,
        file: file.path.clone(),
        function_count: functions.len(),
        max_cyclomatic,
        avg_cognitive: round(avg_cognitive),
        halstead_effort: round(file.metrics.halstead.effort),
        total_score: total_score(max_cyclomatic, avg_cognitive, functions.len()),
    }
}

/// The average of some figures; 0 if there are none.
#[expect(clippy::cast_precision_loss, reason = "sums and counts are far below 2^53")]
pub(super) fn average(figures: impl Iterator<Item = u32>) -> f64 {
    let (sum, count) = figures.fold((0_u64, 0_u64), |(sum, count), figure| (sum + u64::from(figure), count + 1));
    if count == 0 { 0.0 } else { sum as f64 / count as f64 }
}

/// Two decimals: the third would only tell how a machine rounds.
pub(super) fn round(figure: f64) -> f64 {
    (figure * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::float_cmp, reason = "two decimals are exact")]
    fn the_contracts_own_row_gives_its_own_score() {
        assert_eq!(total_score(32, 5.8, 30), 30.92);
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "whole numbers")]
    fn every_part_of_the_score_is_limited() {
        assert_eq!(total_score(5000, 1e9, usize::MAX), 90.0);
        assert_eq!(total_score(0, 0.0, 0), 0.0);
    }
}
