//! A program run once, from before it is started until it has ended.

use std::pin::pin;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use tokio::process::Command;

use crate::bench_support::message::shown;
use crate::bench_support::process_cost::{Memory, ProcessorTime};
use crate::bench_support::sample::Ratio;

/// How often a running program is asked for its peak. What it takes in its last moments is missed; asking more often
/// would cost it processor time.
const WATCH: Duration = Duration::from_millis(2);

pub(crate) struct ProgramRun {
    pub(crate) took: Duration,
    /// Of the program and of all that it has started and waited for.
    processor_s: f64,
    others_cores: f64,
    pub(crate) peak_bytes: u64,
    pub(crate) stdout: Vec<u8>,
}

impl ProgramRun {
    pub(crate) async fn of(mut command: Command) -> Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let before = ProcessorTime::of_ended()?;
        let started = Instant::now();
        let child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
        let pid = child.id().context("a program has no id")?;
        let mut peak_bytes = 0;
        let mut end = pin!(child.wait_with_output());
        let output = loop {
            // There is nothing to read once it has ended.
            peak_bytes = Memory::peak(pid).unwrap_or(peak_bytes);
            tokio::select! {
                output = &mut end => break output?,
                () = tokio::time::sleep(WATCH) => {}
            }
        };
        let took = started.elapsed();
        let after = ProcessorTime::of_ended()?;
        ensure!(output.status.success(), "{command:?} ended with {}: {}", output.status, shown(&output.stderr));
        Ok(Self {
            took,
            processor_s: after.server_since(before),
            others_cores: after.others_since(before) / took.as_secs_f64(),
            peak_bytes,
            stdout: output.stdout,
        })
    }

    /// The sum of two runs; of output and memory, the last one's.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            took: self.took + other.took,
            processor_s: self.processor_s + other.processor_s,
            others_cores: self.others_cores + other.others_cores,
            ..other
        }
    }

    /// One of so many runs that were added up.
    pub(crate) fn divided_by(self, runs: u32) -> Self {
        let share = f64::from(runs);
        Self {
            took: self.took / runs,
            processor_s: self.processor_s / share,
            others_cores: self.others_cores / share,
            ..self
        }
    }

    pub(crate) fn milliseconds(&self) -> f64 {
        self.took.as_secs_f64() * 1e3
    }
}

/// The same run of one program, round by round.
#[derive(Serialize)]
pub(crate) struct RunSeries {
    pub(crate) who: &'static str,
    pub(crate) rounds_ms: Vec<f64>,
    /// Processor time, of all cores together.
    pub(crate) processor_ms: Vec<f64>,
    pub(crate) others_cores: Vec<f64>,
    pub(crate) peak_bytes: u64,
}

impl RunSeries {
    pub(crate) fn new(who: &'static str) -> Self {
        Self { who, rounds_ms: Vec::new(), processor_ms: Vec::new(), others_cores: Vec::new(), peak_bytes: 0 }
    }

    /// The first round brings the files into memory; its time does not count.
    pub(crate) fn push(&mut self, round: usize, run: &ProgramRun) {
        if round > 0 {
            self.rounds_ms.push(run.milliseconds());
            self.processor_ms.push(run.processor_s * 1e3);
            self.others_cores.push(run.others_cores);
        }
        self.peak_bytes = self.peak_bytes.max(run.peak_bytes);
    }

    /// The processor time of one over that of another, round by round.
    pub(crate) fn processor_ratio(all: &[Self], over: &str, under: &str) -> Option<Ratio> {
        let find = |who: &str| all.iter().find(|runs| runs.who == who);
        Some(Ratio::of_pairs(&find(over)?.processor_ms, &find(under)?.processor_ms))
    }

    /// The time one took over the time another took.
    pub(crate) fn ratio(all: &[Self], over: &str, under: &str) -> Option<Ratio> {
        let find = |who: &str| all.iter().find(|runs| runs.who == who);
        Some(Ratio::of_pairs(&find(over)?.rounds_ms, &find(under)?.rounds_ms))
    }
}
