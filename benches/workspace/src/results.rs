//! Everything one run has found, in the shape that `--json` writes.

use serde::Serialize;
use yardstick::cell::{Cell, MemoryRow};
use yardstick::target::Target;

use crate::calls::Reads;
use crate::ground::Counts;
use crate::timing::Timing;

#[derive(Default, Serialize)]
pub(crate) struct Results {
    pub(crate) machine: String,
    pub(crate) rounds: usize,
    pub(crate) seconds_a_round: f64,
    pub(crate) files: Counts,
    pub(crate) reads: Vec<Reads>,
    pub(crate) edits: Vec<Cell>,
    pub(crate) tree: Vec<Timing>,
    pub(crate) searches: Vec<Timing>,
    pub(crate) commands: Vec<Cell>,
    /// What the sandbox's own benchmark says, with no server around it.
    pub(crate) bare_sandbox: Option<String>,
    pub(crate) memory: Vec<MemoryRow>,
    pub(crate) targets: Vec<Target>,
}
