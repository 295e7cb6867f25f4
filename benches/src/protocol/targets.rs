//! The targets of an echo call, compared with what this run has measured.

use crate::bench_support::baseline;
use crate::bench_support::cell::Cell;
use crate::bench_support::target::{Target, megabytes};
use crate::protocol::results::{
    BARE_RMCP, EVERYTHING, MAINSTAY, MAINSTAY_SESSION, MAINSTAY_STDIO, MAINSTAY_STDIO_NEW, Results,
};

const MOST_IDLE_MEGABYTES: f64 = 35.0;

pub(crate) fn judge(results: &Results) -> Vec<Target> {
    let mut targets = Vec::new();
    let each = ["1 connection", "32 connections"].into_iter().zip([1, 32]);
    let rate = |over, under, connections| {
        let ratio = Cell::ratio(&results.http, over, under, connections);
        ratio.map(|ratio| ratio.median)
    };
    for (with, connections) in each.clone() {
        targets.push(Target::at_least(
            format!("calls per second, mainstay / bare rmcp, {with}"),
            0.85,
            rate(MAINSTAY, BARE_RMCP, connections),
        ));
    }
    for (with, connections) in each.clone() {
        targets.push(Target::at_least(
            format!("calls per second, mainstay / server-everything, {with}"),
            15.0,
            rate(MAINSTAY, EVERYTHING, connections),
        ));
    }
    for (with, connections) in each {
        targets.push(Target::at_most(
            format!("calls per second, stateless / session, {with}"),
            1.5,
            rate(MAINSTAY, MAINSTAY_SESSION, connections),
        ));
    }
    for server in [MAINSTAY_STDIO, MAINSTAY_STDIO_NEW] {
        targets.push(Target::at_most(
            format!("start to first answer, {server} / server-everything"),
            0.05,
            results.start_ratio(server).map(|ratio| ratio.median),
        ));
    }
    for server in ["mainstay serve", MAINSTAY_STDIO] {
        targets.push(Target::at_most(
            format!("idle memory (RSS) of {server}, MB"),
            MOST_IDLE_MEGABYTES,
            results.idle_memory(server).map(|memory| megabytes(memory.rss_bytes)),
        ));
    }
    targets.extend(baseline::target(&results.comparisons));
    targets
}
