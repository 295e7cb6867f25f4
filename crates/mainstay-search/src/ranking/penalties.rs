//! What puts a file behind others: it is a test, prose, for another platform, or superseded.
//!
//! Such files are about the same things in the same words as the code they belong to, and often in more of them.
//! Without penalties, NDCG@10 falls by 0.07.

use super::constants::{P_ASKED_FOR, P_COMPATIBILITY, P_OLD_VERSION, P_PLATFORM, P_PROSE, P_SUPPORTING, P_TEST};
use super::query::Query;
use crate::chunk::Tags;
use crate::document::{PathFlags, path};
use crate::index::Snapshot;

/// The penalties that apply to one query.
pub(super) struct Penalties<'a> {
    query: &'a Query,
    snapshot: &'a Snapshot,
    /// Paths with one of these are for other platforms.
    foreign: PathFlags,
}

/// The platforms that are foreign to a host, by the name of its operating system.
fn foreign(host: &str) -> PathFlags {
    let rare = PathFlags::RARE_PLATFORM;
    match host {
        "windows" => rare.or(PathFlags::UNIX),
        "macos" => rare.or(PathFlags::WINDOWS).or(PathFlags::LINUX),
        _ => rare.or(PathFlags::WINDOWS),
    }
}

/// The platform that a word of a query names: `windows`, but also `winsock`.
fn platform_in_query(word: &str) -> PathFlags {
    if word.starts_with("win") && word != "window" { PathFlags::WINDOWS } else { PathFlags::of_platform(word) }
}

impl<'a> Penalties<'a> {
    pub(super) fn new(query: &'a Query, snapshot: &'a Snapshot) -> Self {
        Self::on_host(query, snapshot, std::env::consts::OS)
    }

    fn on_host(query: &'a Query, snapshot: &'a Snapshot, host: &str) -> Self {
        let foreign = foreign(host);
        // A question that names one foreign platform is about the difference, so that none is penalised.
        let is_named = query.words.iter().any(|word| platform_in_query(word).intersects(foreign));
        Self { query, snapshot, foreign: if is_named { PathFlags::default() } else { foreign } }
    }

    /// The sum for a file, which is 0 or more. `bits` are those of its record.
    pub(super) fn of(&self, path: &str, bits: u32) -> f32 {
        let flags = PathFlags::from_bits(bits);
        let share = if self.query.asks_for_tests { P_ASKED_FOR } else { 1.0 };
        let mut sum = 0.0;
        let mut add = |applies: bool, penalty: f32| sum += if applies { penalty } else { 0.0 };
        add(path::tags(bits).contains(Tags::TEST), share * P_TEST);
        add(flags.contains(PathFlags::SUPPORTING), share * P_SUPPORTING);
        add(flags.contains(PathFlags::PROSE), P_PROSE);
        add(flags.contains(PathFlags::COMPATIBILITY), P_COMPATIBILITY);
        add(flags.intersects(self.foreign), P_PLATFORM);
        let old = if flags.contains(PathFlags::VERSIONED) { self.snapshot.old_version(path) } else { None };
        add(old.is_some_and(|old| !self.query.words.contains(&old.to_lowercase())), P_OLD_VERSION);
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranking::tests::fixture;

    #[test]
    fn penalties_follow_the_path_the_query_and_the_host() {
        let index = fixture::index(&[("pkg/v1/a.ts", "let a = 1;\n"), ("pkg/v2/a.ts", "let a = 2;\n")]);
        for (host, query, path, expected) in [
            ("linux", "read a file", "src/read.rs", 0.0),
            ("linux", "read a file", "tests/read.rs", P_TEST),
            ("linux", "test of read", "tests/read.rs", P_TEST * P_ASKED_FOR),
            ("linux", "read a file", "examples/read.rs", P_SUPPORTING),
            ("linux", "benchmarks of read", "benches/read.rs", P_SUPPORTING * P_ASKED_FOR),
            ("linux", "read a file", "README.md", P_PROSE),
            ("linux", "read a file", "docs/guide.md", P_PROSE + P_SUPPORTING),
            ("linux", "read a file", "src/legacy/read.rs", P_COMPATIBILITY),
            ("linux", "read a file", "src/win/read.c", P_PLATFORM),
            ("linux", "read on windows", "src/win/read.c", 0.0),
            ("linux", "winsock reads", "src/win/read.c", 0.0),
            ("linux", "sliding window", "src/win/read.c", P_PLATFORM),
            ("linux", "read a file", "src/unix/read.c", 0.0),
            ("linux", "read a file", "src/unix/aix.c", P_PLATFORM),
            ("windows", "read a file", "src/win/read.c", 0.0),
            ("windows", "read a file", "src/unix/read.c", P_PLATFORM),
            ("windows", "posix read", "src/unix/read.c", 0.0),
            ("macos", "read a file", "src/unix/read.c", 0.0),
            ("macos", "read a file", "src/unix/linux.c", P_PLATFORM),
            ("linux", "read a file", "pkg/v1/a.ts", P_OLD_VERSION),
            ("linux", "read a file in v1", "pkg/v1/a.ts", 0.0),
            ("linux", "read a file", "pkg/v2/a.ts", 0.0),
            ("linux", "read a file", "other/v1/a.ts", 0.0),
        ] {
            let query = Query::new(query);
            let (tags, language) = (Tags::of_path(path), if path.contains(".md") { "markdown" } else { "c" });
            let bits = PathFlags::of(path, tags, language).with_tags(tags);
            let found = Penalties::on_host(&query, &index.snapshot(), host).of(path, bits);
            assert!((found - expected).abs() < 1e-6, "{host} {:?} {path}: {found}", query.text);
        }
    }
}
