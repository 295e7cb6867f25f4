//! The history of a repository, read by Mainstay, which runs git, and by git alone.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::analysis::contenders::{Contender, Contenders, GIT};
use crate::analysis::results::ChurnRuns;
use crate::bench_support::program_run::{ProgramRun, RunSeries};
use crate::bench_support::servers::Build;
use crate::bench_support::{progress, turns};

pub(crate) async fn run(contenders: &Contenders, repository: &Path, rounds: usize) -> Result<ChurnRuns> {
    let builds = contenders.builds.iter().copied().map(Some);
    // Git itself is `None`.
    let all: Vec<Option<Build>> = builds.chain(contenders.peers.then_some(None)).collect();
    let name = |who: Option<Build>| who.map_or(GIT, |build| Contender::Mainstay(build).name());
    let mut runs: Vec<RunSeries> = all.iter().map(|who| RunSeries::new(name(*who))).collect();
    let mut commits = None;
    // The first round brings the repository into memory.
    for round in 0..=rounds {
        progress(&format!("churn, round {round} of {rounds}"));
        for at in turns(round, all.len()) {
            let command = match all[at] {
                Some(build) => contenders.churn(build, repository)?,
                None => Contenders::git_log(repository)?,
            };
            let run = ProgramRun::of(command).await?;
            let found = match all[at] {
                Some(_) => reported_commits(&run.stdout)?,
                None => printed_commits(&run.stdout),
            };
            let expected = *commits.get_or_insert(found);
            ensure!(found == expected, "{} has found {found} commits, another {expected}", name(all[at]));
            runs[at].push(round, &run);
        }
    }
    Ok(ChurnRuns { commits: commits.unwrap_or(0), runs })
}

fn reported_commits(report: &[u8]) -> Result<u64> {
    let report: Value = serde_json::from_slice(report).context("the report is no JSON")?;
    report["summary"]["total_commits"].as_u64().context("the report has no commits")
}

/// Messages are indented, so only the first line of an entry begins with the word.
fn printed_commits(log: &[u8]) -> u64 {
    log.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"commit ")).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_counted_by_their_first_lines() {
        assert_eq!(printed_commits(b"commit 1\nAuthor: A\n\n    commit x\n\n1\t0\ta\ncommit 2\n"), 2);
    }
}
