//! What a process costs the machine, read from `/proc`.

use std::fs;

use anyhow::{Context, Result};
use serde::Serialize;

/// The unit of processor time in `/proc`; Linux fixes it at 100 a second for programs, whatever the kernel's own tick.
const TICKS_PER_SECOND: f64 = 100.0;

const THIS_PROCESS: &str = "/proc/self/stat";

#[derive(Clone, Copy, Debug, Serialize)]
#[expect(clippy::struct_field_names, reason = "a figure in the JSON names its unit")]
pub(crate) struct Memory {
    /// Everything resident, pages shared with other processes included.
    pub(crate) rss_bytes: u64,
    /// The same with shared pages divided among those who share them.
    pub(crate) pss_bytes: u64,
    /// What is in memory alone and not in a file as well: the rest can be dropped when others need memory.
    pub(crate) anonymous_bytes: u64,
    /// The most that was ever resident.
    pub(crate) peak_bytes: u64,
}

impl Memory {
    pub(crate) fn of(pid: u32) -> Result<Self> {
        let rollup = format!("/proc/{pid}/smaps_rollup");
        Ok(Self {
            rss_bytes: bytes(&rollup, "Rss:")?,
            pss_bytes: bytes(&rollup, "Pss:")?,
            anonymous_bytes: bytes(&rollup, "Anonymous:")?,
            peak_bytes: Self::peak(pid)?,
        })
    }

    /// The most that was ever resident, alone: cheap enough to be asked for over and over.
    pub(crate) fn peak(pid: u32) -> Result<u64> {
        bytes(&format!("/proc/{pid}/status"), "VmHWM:")
    }
}

/// The value of a line such as `Rss:  1234 kB`.
fn bytes(path: &str, key: &str) -> Result<u64> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
    let kibibytes: u64 = text
        .lines()
        .find_map(|line| line.strip_prefix(key)?.split_whitespace().next())
        .with_context(|| format!("{path} has no {key}"))?
        .parse()
        .with_context(|| format!("{path}: {key} is not a number"))?;
    Ok(kibibytes * 1024)
}

/// Processor time spent so far, in seconds: by the server, by this program, and by everything on the machine.
#[derive(Clone, Copy)]
pub(crate) struct ProcessorTime {
    server: f64,
    generator: f64,
    machine: f64,
}

impl ProcessorTime {
    pub(crate) fn now(server: u32) -> Result<Self> {
        Ok(Self {
            server: of_process(&format!("/proc/{server}/stat"), ITSELF)?,
            generator: of_process(THIS_PROCESS, ITSELF)?,
            machine: of_machine()?,
        })
    }

    /// The same, where the server is a program that runs once: whatever this program has started and seen the end of.
    pub(crate) fn of_ended() -> Result<Self> {
        Ok(Self {
            server: of_process(THIS_PROCESS, ITS_CHILDREN)?,
            generator: of_process(THIS_PROCESS, ITSELF)?,
            machine: of_machine()?,
        })
    }

    pub(crate) fn server_since(self, earlier: Self) -> f64 {
        self.server - earlier.server
    }

    /// What neither the server nor this program used: other people's work, which disturbs the figures.
    pub(crate) fn others_since(self, earlier: Self) -> f64 {
        let ours = self.server_since(earlier) + self.generator - earlier.generator;
        (self.machine - earlier.machine - ours).max(0.0)
    }
}

/// Where user and system time stand behind the name: those of a process, and of its children that have ended.
const ITSELF: usize = 11;
const ITS_CHILDREN: usize = 13;

fn of_process(path: &str, whose: usize) -> Result<f64> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
    // The program's name stands in brackets and may itself hold spaces, so count from the closing one.
    let after_name = text.rsplit_once(')').context("no process name in its stat")?.1;
    ticks(after_name.split_whitespace().skip(whose).take(2))
}

/// User, nice and system time. Interrupts are left out: on loopback they are the load's own, yet no process's.
fn of_machine() -> Result<f64> {
    let text = fs::read_to_string("/proc/stat").context("cannot read /proc/stat")?;
    ticks(text.split_whitespace().skip(1).take(3))
}

fn ticks<'a>(fields: impl Iterator<Item = &'a str>) -> Result<f64> {
    let mut sum = 0.0;
    for field in fields {
        sum += field.parse::<f64>()?;
    }
    Ok(sum / TICKS_PER_SECOND)
}
