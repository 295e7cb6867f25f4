//! Everything one run has found, in the shape that `--json` writes.

use serde::Serialize;
use yardstick::cell::{Cell, MemoryRow};
use yardstick::target::Target;

use crate::deed::Deeds;
use crate::growth::Size;
use crate::shelf::Built;

#[derive(Default, Serialize)]
pub(crate) struct Results {
    pub(crate) machine: String,
    pub(crate) rounds: usize,
    pub(crate) seconds_a_round: f64,
    pub(crate) documents: usize,
    pub(crate) builds: Vec<Deeds>,
    pub(crate) resolves: Vec<Cell>,
    pub(crate) memory: Vec<MemoryRow>,
    pub(crate) command_line: Vec<Deeds>,
    pub(crate) growth: Vec<Size>,
    /// The caches that were resolved from, each built once.
    pub(crate) caches: Vec<Built>,
    pub(crate) targets: Vec<Target>,
}
