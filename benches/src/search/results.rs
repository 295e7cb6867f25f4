//! Everything one run has found, in the shape that `--json` writes, and the tables people read.

use std::fmt::{self, Display};

use serde::Serialize;

use crate::bench_support::baseline::{Comparison, compare_times, comparison_table};
use crate::bench_support::report::{disturbance, target_table};
use crate::bench_support::target::Target;
use crate::search::freshness::FreshnessResults;
use crate::search::mainstay::{BASELINE, MAINSTAY};
use crate::search::quality::QualityResults;
use crate::search::scale::ScaleResults;
use crate::search::tokio_sources::TokioResults;
use crate::search::vector_scan::ScanResults;

#[derive(Default, Serialize)]
pub(crate) struct Results {
    pub(crate) machine: String,
    pub(crate) rounds: usize,
    pub(crate) quality: Option<QualityResults>,
    pub(crate) tokio: Option<TokioResults>,
    pub(crate) scale: Option<ScaleResults>,
    pub(crate) vectors: Option<ScanResults>,
    pub(crate) freshness: Option<FreshnessResults>,
    pub(crate) comparisons: Vec<Comparison>,
    pub(crate) targets: Vec<Target>,
}

impl Results {
    /// The index and the queries of tokio. Empty without a baseline.
    pub(crate) fn compare_with_baseline(&self) -> Vec<Comparison> {
        let Some(tokio) = &self.tokio else { return Vec::new() };
        let index = || {
            let what = "index of tokio, CPU".to_owned();
            Some(compare_times(what, tokio.processor_ms(MAINSTAY)?, tokio.processor_ms(BASELINE)?))
        };
        let queries = || {
            let what = "query of tokio, p50".to_owned();
            Some(compare_times(what, tokio.query_ms(MAINSTAY)?, tokio.query_ms(BASELINE)?))
        };
        index().into_iter().chain(queries()).collect()
    }
}

impl Display for Results {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = "medians; ratios are medians of each round's own (least to most)";
        writeln!(out, "{}; {} rounds, {how}", self.machine, self.rounds)?;
        if let Some(quality) = &self.quality {
            quality.table(out)?;
        }
        if let Some(tokio) = &self.tokio {
            tokio.table(out)?;
        }
        if let Some(scale) = &self.scale {
            scale.table(out)?;
        }
        if let Some(vectors) = &self.vectors {
            vectors.table(out)?;
        }
        if let Some(freshness) = &self.freshness {
            freshness.table(out)?;
        }
        let tokio = self.tokio.iter().flat_map(TokioResults::others_cores);
        disturbance(out, tokio.chain(self.vectors.iter().flat_map(ScanResults::others_cores)))?;
        comparison_table(out, &self.comparisons)?;
        target_table(out, &self.targets)
    }
}
