//! How the cost of a command grows with the directories of the workspace: one server for each size, in turns.

use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

use crate::bench_support::cell::Cell;
use crate::bench_support::corpus::Corpus;
use crate::bench_support::options::Settings;
use crate::bench_support::sample::Ratio;
use crate::bench_support::servers::{Build, Programs};
use crate::bench_support::stdio::{Load, StdioServer};
use crate::bench_support::{progress, turns};
use crate::workspace::calls::command_load;
use crate::workspace::contenders::{MAINSTAY, named_for};

/// Directories in the workspace.
const SIZES: [usize; 3] = [0, 3_000, 50_000];

/// Renew it with every change to what is made here, so that older data is not taken for this.
const EDITION: u32 = 1;
const DIRECTORIES_IN_A_PART: usize = 100;

#[derive(Serialize)]
pub(crate) struct Size {
    pub(crate) directories: usize,
    /// The server's first command, for which it looks at the whole workspace.
    pub(crate) first_ms: f64,
    pub(crate) later: Cell,
}

struct Contestant {
    server: StdioServer,
    load: Load,
    size: Size,
}

/// Measures every build that takes part. `data` is where generated files are kept between runs.
pub(crate) async fn run(programs: &Programs, scratch: &Path, data: &Path, settings: &Settings) -> Result<Vec<Size>> {
    let mut servers = Vec::new();
    for build in settings.builds.iter().copied() {
        for directories in SIZES {
            servers.push(start(programs, build, scratch, data, directories).await?);
        }
    }
    for round in 0..settings.rounds {
        progress(&format!("growth, round {} of {}", round + 1, settings.rounds));
        for at in turns(round, servers.len()) {
            let Contestant { server, load, size } = &mut servers[at];
            size.later.push(server.measure_whole_calls(load, settings.length).await?);
        }
    }
    Ok(servers.into_iter().map(|contestant| contestant.size).collect())
}

async fn start(
    programs: &Programs,
    build: Build,
    scratch: &Path,
    data: &Path,
    directories: usize,
) -> Result<Contestant> {
    let root = data.join(format!("directories-{directories}-{EDITION}"));
    let Corpus { root, .. } = Corpus::prepare(&root, |root| make(root, directories))?;
    let name = named_for(build, MAINSTAY);
    let scratch = scratch.join(format!("growth-{name}-{directories}"));
    let command = programs.mainstay(build, "stdio", &scratch.join("data"), &root)?;
    let (mut server, _) = StdioServer::start(name, command, &scratch).await?;
    let mut load = command_load();
    let first = server.time_one(&mut load).await?;
    let size = Size { directories, first_ms: first.as_secs_f64() * 1e3, later: Cell::new(name, 1) };
    Ok(Contestant { server, load, size })
}

/// Makes exactly as many directories, in two levels.
fn make(root: &Path, directories: usize) -> Result<usize> {
    for number in 0..directories {
        let mut path = root.join(format!("part{:03}", number / DIRECTORIES_IN_A_PART));
        if !number.is_multiple_of(DIRECTORIES_IN_A_PART) {
            path.push(format!("directory{number:06}"));
        }
        std::fs::create_dir(&path).with_context(|| format!("cannot make {}", path.display()))?;
    }
    Ok(directories)
}

impl Size {
    pub(crate) fn p50s(&self) -> Vec<f64> {
        self.later.rounds.iter().map(|sample| sample.p50_us).collect()
    }

    /// How many times as long a command takes as in an empty workspace.
    pub(crate) fn growth(&self, all: &[Self]) -> Option<Ratio> {
        let empty = all.iter().find(|size| size.directories == 0 && size.later.server == self.later.server)?;
        Some(Ratio::of_pairs(&self.p50s(), &empty.p50s()))
    }

    /// That of the largest workspace, with the current build.
    pub(crate) fn largest_growth(all: &[Self]) -> Option<Ratio> {
        let ours = all.iter().filter(|size| size.later.server == MAINSTAY);
        ours.max_by_key(|size| size.directories)?.growth(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench_support::sample::Sample;

    fn size(server: &'static str, directories: usize, p50_us: f64) -> Size {
        let mut later = Cell::new(server, 1);
        let (calls_per_second, p99_us) = (1e6 / p50_us, p50_us);
        later.push(Sample { calls_per_second, p50_us, p99_us, server_cpu_us: 0.0, others_cores: 0.0 });
        Size { directories, first_ms: 0.0, later }
    }

    #[test]
    fn growth_is_over_the_same_builds_empty_workspace() {
        let all = [size(MAINSTAY, 0, 2.0), size(MAINSTAY, 9, 3.0), size("baseline", 0, 1.0), size("baseline", 9, 8.0)];
        let ratio = |ratio: f64| Some(Ratio { median: ratio, least: ratio, most: ratio });
        assert_eq!((Size::largest_growth(&all), all[3].growth(&all)), (ratio(1.5), ratio(8.0)));
    }

    #[test]
    fn as_many_directories_are_made_as_the_size_says() {
        let scratch = tempfile::tempdir().unwrap();
        assert_eq!(make(scratch.path(), 250).unwrap(), 250);
        let parts = std::fs::read_dir(scratch.path()).unwrap().map(|part| part.unwrap().path());
        let inside = parts.map(|part| 1 + std::fs::read_dir(part).unwrap().count()).sum::<usize>();
        assert_eq!(inside, 250);
    }
}
