//! One server under one load, round by round.

use serde::Serialize;

use crate::process_cost::Memory;
use crate::sample::{Ratio, Sample};

#[derive(Serialize)]
pub struct Cell {
    pub server: &'static str,
    /// Connections over HTTP, calls in flight over stdio.
    pub at_once: usize,
    pub median: Option<Sample>,
    pub rounds: Vec<Sample>,
}

impl Cell {
    pub fn new(server: &'static str, at_once: usize) -> Self {
        Self { server, at_once, median: None, rounds: Vec::new() }
    }

    pub fn push(&mut self, sample: Sample) {
        self.rounds.push(sample);
        self.median = Some(Sample::median(&self.rounds));
    }

    /// Of every round, the cores that other work took.
    pub fn others_cores(&self) -> impl Iterator<Item = f64> {
        self.rounds.iter().map(|sample| sample.others_cores)
    }

    /// Calls per second of one server over another's; `None` when either was left out of this run.
    pub fn ratio(cells: &[Self], over: &str, under: &str, at_once: usize) -> Option<Ratio> {
        let find = |server: &str| cells.iter().find(|cell| cell.server == server && cell.at_once == at_once);
        Some(Ratio::of_rates(&find(over)?.rounds, &find(under)?.rounds))
    }
}

#[derive(Serialize)]
pub struct MemoryRow {
    pub server: String,
    pub idle: Memory,
    pub after_load: Memory,
}
