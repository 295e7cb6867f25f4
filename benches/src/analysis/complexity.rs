//! The complexity of all functions of a tree, from the start of each program to its end.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::analysis::contenders::{Contender, Contenders, SECOND_RUN};
use crate::analysis::results::TreeRuns;
use crate::analysis::tree::Tree;
use crate::bench_support::program_run::{ProgramRun, RunSeries};
use crate::bench_support::servers::Build;
use crate::bench_support::{progress, turns};

/// Second runs in a round. One is over in a few hundredths of a second, and processor time is counted in hundredths.
const SECOND_RUNS: u32 = 20;

pub(crate) async fn run(contenders: &Contenders, tree: &Tree, rounds: usize) -> Result<TreeRuns> {
    let language = tree.language.name();
    let all = contenders.of(tree.language);
    let mut runs: Vec<RunSeries> = all.iter().map(|contender| RunSeries::new(contender.name())).collect();
    let mut second = RunSeries::new(SECOND_RUN);
    for round in 1..=rounds {
        progress(&format!("complexity, {language}, round {round} of {rounds}"));
        for at in turns(round, all.len()) {
            let contender = all[at];
            let place = format!("{language}-{}-{round}", contender.name().replace(' ', "-"));
            let run = ProgramRun::of(contenders.complexity(contender, tree, &place)?).await?;
            check(contender, &run, tree)?;
            runs[at].push(round, &run);
            if contender == Contender::Mainstay(Build::Current) {
                second.push(round, &again(contenders, contender, tree, &place).await?);
            }
        }
    }
    if !second.rounds_ms.is_empty() {
        runs.push(second);
    }
    Ok(TreeRuns { language, files: tree.files, runs })
}

/// The average of several runs that find what the first one has left.
async fn again(contenders: &Contenders, contender: Contender, tree: &Tree, place: &str) -> Result<ProgramRun> {
    let mut average: Option<ProgramRun> = None;
    for _ in 0..SECOND_RUNS {
        let run = ProgramRun::of(contenders.complexity(contender, tree, place)?).await?;
        check(contender, &run, tree)?;
        average = Some(match average {
            None => run,
            Some(sum) => sum.and(run),
        });
    }
    average.map(|sum| sum.divided_by(SECOND_RUNS)).context("there was no second run")
}

/// Who left files out would be fast. Lizard, radon and complexipy tell no number of files, so something is all they have
/// to print.
fn check(contender: Contender, run: &ProgramRun, tree: &Tree) -> Result<()> {
    let name = contender.name();
    ensure!(!run.stdout.is_empty(), "{name} has printed nothing");
    if !matches!(contender, Contender::Mainstay(_)) {
        return Ok(());
    }
    let report: Value = serde_json::from_slice(&run.stdout).context("the report is no JSON")?;
    let summary = &report["summary"];
    let measured = summary["total_files"].as_u64().unwrap_or(0);
    let failed = summary["files_failed"].as_array().map_or(0, Vec::len);
    ensure!(
        measured + failed as u64 == tree.files as u64 && measured > 0,
        "{name} has measured {measured} files and failed to measure {failed}, of {}",
        tree.files
    );
    Ok(())
}
