//! The targets of reads of the chain, compared with what this run has measured.

use crate::bench_support::baseline;
use crate::bench_support::target::Target;
use crate::solana::results::{CACHED_AT_ONCE, Results};

pub(crate) fn judge(results: &Results) -> Vec<Target> {
    let mut targets = Vec::new();
    for part in results.parts.iter().filter(|part| part.delay_ms > 0) {
        let read = part.name();
        targets.push(if part.is_cached() {
            let what = format!("calls per second, mainstay / node, {read}, {CACHED_AT_ONCE} connections");
            Target::at_least(what, 10.0, part.rate_ratio().map(|ratio| ratio.median))
        } else {
            let what = format!("median latency, mainstay, cache off / node, {read}, 1 connection");
            Target::at_most(what, 1.15, part.latency_ratios().map(|[median, _]| median.median))
        });
    }
    targets.extend(baseline::target(&results.comparisons));
    targets
}
