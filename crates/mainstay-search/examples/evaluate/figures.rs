//! NDCG, percentiles and memory.

use std::collections::BTreeMap;
use std::time::Duration;

const DEPTH: usize = 10;

/// The gain of results at these places, from 0, as a share of the greatest possible.
pub(crate) fn ndcg(places: impl Iterator<Item = usize>, relevant: usize) -> f64 {
    let gain = |place: usize| 1.0 / f64::from(u32::try_from(place).unwrap_or(u32::MAX) + 2).log2();
    let ideal: f64 = (0..relevant.min(DEPTH)).map(gain).sum();
    let found: f64 = places.filter(|place| *place < DEPTH).map(gain).sum();
    if ideal > 0.0 { found / ideal } else { 0.0 }
}

/// Figures by category.
#[derive(Clone, Default)]
pub(crate) struct Figures {
    by_category: BTreeMap<String, Vec<f64>>,
    /// Of repositories.
    means: Vec<f64>,
}

impl Figures {
    pub(crate) fn is_empty(&self) -> bool {
        self.by_category.is_empty()
    }

    pub(crate) fn add(&mut self, category: &str, figure: f64) {
        self.by_category.entry(category.to_owned()).or_default().push(figure);
    }

    pub(crate) fn extend(&mut self, other: &Self) {
        for (category, figures) in &other.by_category {
            self.by_category.entry(category.clone()).or_default().extend(figures);
        }
    }

    pub(crate) fn add_mean(&mut self, of: &Self) {
        self.means.push(of.mean());
    }

    fn mean(&self) -> f64 {
        mean(self.by_category.values().flatten())
    }

    pub(crate) fn summary(&self, name: &str) -> String {
        let all = if self.means.is_empty() { self.mean() } else { mean(&self.means) };
        let of_category = |(category, figures): (&String, &Vec<f64>)| {
            format!("  {category} {:.3} ({})", mean(figures), figures.len())
        };
        format!("{name:20} {all:.4}{}", self.by_category.iter().map(of_category).collect::<String>())
    }
}

fn mean<'f>(figures: impl IntoIterator<Item = &'f f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for figure in figures {
        sum += figure;
        count += 1.0;
    }
    if count > 0.0 { sum / count } else { 0.0 }
}

pub(crate) fn percentiles(times: &mut [Duration]) -> String {
    times.sort_unstable();
    let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default().as_secs_f64() * 1e3;
    format!("p50 {:.2} ms, p99 {:.2} ms", at(50), at(99))
}

/// What the process has needed at most, where the system tells.
pub(crate) fn most_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or("unknown", str::trim).to_owned()
}
