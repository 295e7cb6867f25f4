//! Churn against what git itself says of the same repositories.

use std::collections::{BTreeMap, BTreeSet};

use mainstay_code::churn::ChurnReport;
use mainstay_core::Kind;
use mainstay_sandbox::exec::{ExecSettings, SandboxMode};
use serde_json::json;

use super::repository::{SampleRepository, call, text};
use crate::code::analysis::{ChurnOptions, CodeAnalysis};
use crate::code::churn::Churn;
use crate::progress::Progress;
use crate::setup::CodeSettings;

async fn churn(repository: &SampleRepository, path: &str) -> ChurnReport {
    let options = ChurnOptions { path: path.into(), days: 30 };
    repository.analysis().churn(&options, jiff::Timestamp::now(), &Progress::default()).await.unwrap()
}

/// Commits, authors, added and deleted lines.
type Figures = (u64, usize, u64, u64);

/// What git prints for a period, added up line by line in the plainest way there is: by the name at the time.
fn told_by_git(
    repository: &SampleRepository,
    more: &[&str],
) -> (BTreeMap<String, Figures>, u64, BTreeMap<String, u64>) {
    let arguments = [&["log", "--numstat", "-z", "--since=30 days ago", "--format=commit %aN"], more].concat();
    let output = String::from_utf8(repository.git(&arguments)).unwrap();
    let mut files: BTreeMap<String, (u64, BTreeSet<String>, u64, u64)> = BTreeMap::new();
    let (mut commits, mut authors, mut author) = (0, BTreeMap::new(), String::new());
    let mut tokens = output.split('\0');
    while let Some(token) = tokens.next() {
        let token = token.strip_prefix('\n').unwrap_or(token);
        if let Some(name) = token.strip_prefix("commit ") {
            name.clone_into(&mut author);
            commits += 1;
            *authors.entry(author.clone()).or_default() += 1;
        } else if let [added, deleted, path] = token.splitn(3, '\t').collect::<Vec<_>>()[..] {
            let path = if path.is_empty() { tokens.nth(1).unwrap() } else { path };
            let file = files.entry(path.to_owned()).or_default();
            file.0 += 1;
            file.1.insert(author.clone());
            file.2 += added.parse::<u64>().unwrap_or(0);
            file.3 += deleted.parse::<u64>().unwrap_or(0);
        }
    }
    let figures = files.into_iter().map(|(path, file)| (path, (file.0, file.1.len(), file.2, file.3)));
    (figures.collect(), commits, authors)
}

fn figures(report: &ChurnReport) -> BTreeMap<String, Figures> {
    let figures = |file: &mainstay_code::churn::FileChurn| {
        let authors = usize::try_from(file.unique_authors).unwrap();
        (file.path.clone(), (file.commit_count, authors, file.additions, file.deletions))
    };
    report.files.iter().map(figures).collect()
}

#[tokio::test]
async fn figures_equal_those_of_git() {
    let repository = SampleRepository::new();
    let long = (0..300).map(|line| format!("line {line}\n")).collect::<Vec<_>>().concat();
    repository.write("src/a.rs", long.as_bytes());
    repository.write("bin/data", b"\0\x01\x02");
    repository.write("tab\there \"quoted\" \u{fc}ml\nnew line", b"1\n2\n");
    repository.commit("Zo\u{eb} \"O'Neil\" \\ | \u{1f600}");
    repository.write("src/a.rs", long.replace("line 7\n", "LINE 7\nmore\n").as_bytes());
    repository.write("bin/data", b"\0\x01\x03\x04");
    repository.commit("Other = Name; $(x)");
    repository.git(&["checkout", "-q", "-b", "side"]);
    repository.write("side only", b"a\nb\nc");
    repository.write("src/a.rs", long.replace("line 250\n", "side\n").as_bytes());
    repository.commit("S");
    repository.git(&["checkout", "-q", "main"]);
    repository.write("tab\there \"quoted\" \u{fc}ml\nnew line", b"2\n3\n4\n");
    repository.commit("Zo\u{eb} \"O'Neil\" \\ | \u{1f600}");
    repository.commit("nothing changed");
    let merged = repository.git_as("M", &["merge", "-q", "--no-ff", "-X", "theirs", "--no-edit", "side"]);
    assert!(merged.status.success());
    let report = churn(&repository, ".").await;
    let (files, commits, authors) = told_by_git(&repository, &[]);
    assert_eq!(figures(&report), files);
    assert_eq!((report.summary.total_commits, &report.summary.author_contributions), (commits, &authors));
    assert_eq!(commits, 6);
    assert_eq!(files["bin/data"], (2, 2, 0, 0));
}

#[tokio::test]
async fn a_directory_inside_is_measured_as_git_does_with_its_path() {
    let repository = SampleRepository::new();
    for path in ["a/b/x", "a/y", "-c/x"] {
        repository.write(path, b"1\n");
        repository.commit("A");
    }
    for path in ["a", "a/b", "-c"] {
        let (files, commits, _) = told_by_git(&repository, &["--", path]);
        let report = churn(&repository, path).await;
        assert_eq!((figures(&report), report.summary.total_commits), (files, commits), "{path}");
    }
}

#[tokio::test]
async fn renames_are_followed_through_branches() {
    let repository = SampleRepository::new();
    let lines = (0..60).map(|line| format!("{line}\n")).collect::<Vec<_>>().concat();
    repository.write("old.rs", lines.as_bytes());
    repository.commit("A");
    repository.git(&["branch", "side"]);
    std::fs::create_dir(repository.workspace.path().join("dir")).unwrap();
    repository.git(&["mv", "old.rs", "dir/new.rs"]);
    repository.commit("B");
    // Newer than the rename, and under the old name.
    repository.git(&["checkout", "-q", "side"]);
    repository.write("old.rs", lines.replace("50\n", "fifty\n").as_bytes());
    repository.commit("C");
    repository.git(&["checkout", "-q", "main"]);
    repository.merge("side");
    let report = churn(&repository, ".").await;
    assert_eq!(figures(&report), BTreeMap::from([("dir/new.rs".to_owned(), (3, 3, 61, 1))]));
    // A new file under the old name is another one.
    repository.write("old.rs", b"new\n");
    repository.commit("D");
    let report = figures(&churn(&repository, ".").await);
    assert_eq!(report["old.rs"], (2, 2, 2, 1));
    assert_eq!(report["dir/new.rs"], (2, 2, 60, 0));
}

#[tokio::test]
async fn authors_are_those_of_the_mailmap() {
    let repository = SampleRepository::new();
    repository.write(".mailmap", b"Proper Name <a@example.org> Typo <a@example.org>\n");
    repository.commit("Typo");
    repository.commit("Proper Name");
    let report = churn(&repository, ".").await;
    assert_eq!(report.summary.author_contributions, BTreeMap::from([("Proper Name".to_owned(), 2)]));
}

#[tokio::test]
async fn attributes_of_the_repository_hold_as_they_do_for_git() {
    let repository = SampleRepository::new();
    repository.write(".gitattributes", b"*.svg binary\n");
    repository.write("a.svg", b"1\n2\n");
    repository.commit("A");
    let report = churn(&repository, ".").await;
    assert_eq!(figures(&report), told_by_git(&repository, &[]).0);
    assert_eq!(figures(&report)["a.svg"], (1, 1, 0, 0));
}

#[tokio::test]
async fn a_repository_cannot_make_git_run_its_programs() {
    let repository = SampleRepository::new();
    let mark = repository.workspace.path().join("ran");
    let run = format!("touch {}; cat", mark.display());
    for (key, value) in [
        ("core.fsmonitor", run.as_str()),
        ("core.pager", &run),
        ("pager.log", &run),
        ("diff.external", &run),
        ("diff.evil.command", &run),
        ("diff.evil.textconv", &run),
        ("log.showSignature", "true"),
        ("gpg.program", &run),
        ("alias.log", &format!("!{run}")),
    ] {
        repository.git(&["config", key, value]);
    }
    repository.write(".gitattributes", b"* diff=evil\n");
    repository.write("a.rs", b"1\n");
    repository.git_as("A", &["add", "-A"]);
    let committed = repository.git_as("A", &["-c", "core.fsmonitor=false", "commit", "-qm", "x"]);
    assert!(committed.status.success(), "{committed:?}");
    let _ = std::fs::remove_file(&mark);
    let report = churn(&repository, ".").await;
    assert_eq!(figures(&report)["a.rs"], (1, 1, 1, 0));
    assert!(!mark.exists());
}

#[tokio::test]
async fn without_a_sandbox_git_still_looks_nowhere_else() {
    let repository = SampleRepository::new();
    repository.write("a.rs", b"1\n");
    repository.write("inner/.git/HEAD", b"no repository\n");
    repository.write("inner/b.rs", b"1\n");
    repository.commit("A");
    let exec = ExecSettings { sandbox: SandboxMode::Off, ..ExecSettings::default() };
    let analysis = CodeAnalysis::new(repository.workspace.workspace(), &exec, &CodeSettings::default(), None);
    let churn = async |path: &str| {
        let options = ChurnOptions { path: path.into(), days: 30 };
        analysis.churn(&options, jiff::Timestamp::now(), &Progress::default()).await
    };
    assert_eq!(figures(&churn(".").await.unwrap()), told_by_git(&repository, &[]).0);
    // Git by itself would go on upwards and tell the history of another repository.
    assert!(churn("inner").await.unwrap_err().public.contains("inner has a .git"));
}

#[tokio::test]
async fn a_period_leaves_out_what_is_older() {
    let repository = SampleRepository::new();
    repository.write("a", b"1\n");
    repository.commit("A");
    let options = ChurnOptions { path: ".".into(), days: 1 };
    let report = repository.analysis().churn(&options, jiff::Timestamp::now(), &Progress::default()).await.unwrap();
    assert!(report.measured && report.files.is_empty() && report.summary.total_commits == 0);
    let ever = ChurnOptions { path: ".".into(), days: 36_500 };
    let report = repository.analysis().churn(&ever, jiff::Timestamp::now(), &Progress::default()).await.unwrap();
    assert_eq!(report.summary.total_commits, 1);
}

#[tokio::test]
async fn a_repository_without_commits_is_not_measured() {
    let repository = SampleRepository::new();
    let report = churn(&repository, ".").await;
    assert!(!report.measured && report.reason.unwrap().contains("no commits"));
    let told = call(&Churn(repository.analysis()), json!({ "project_path": "." })).await.unwrap();
    assert!(text(&told).starts_with("Nothing was measured"), "{told:?}");
}

#[tokio::test]
async fn a_damaged_repository_is_a_clear_error() {
    let repository = SampleRepository::new();
    repository.write("broken/.git", b"gitdir: /nowhere\n");
    repository.write("a", b"1\n");
    let tool = Churn(repository.analysis());
    let error = call(&tool, json!({ "project_path": "broken" })).await.unwrap_err();
    assert!(error.kind == Kind::Invalid && error.public.contains("broken has a .git"), "{error}");
    assert!(!error.public.contains("nowhere"));
    repository.commit("A");
    std::fs::remove_dir_all(repository.workspace.path().join(".git/objects")).unwrap();
    std::fs::create_dir(repository.workspace.path().join(".git/objects")).unwrap();
    let error = call(&tool, json!({ "project_path": "." })).await.unwrap_err();
    assert!(error.public.contains("git fsck"), "{error}");
}

#[tokio::test]
async fn every_format_tells_the_same_files() {
    let repository = SampleRepository::new();
    repository.write("src/a.rs", b"1\n");
    repository.write("src/b.rs", b"1\n2\n");
    repository.commit("A");
    let tool = Churn(repository.analysis());
    for format in ["summary", "json", "markdown", "csv"] {
        let reply = call(&tool, json!({ "project_path": ".", "format": format })).await.unwrap();
        assert!(text(&reply).contains("src/a.rs") && text(&reply).contains("src/b.rs"), "{format}");
        assert_eq!(reply.structured.as_ref().unwrap()["summary"]["total_files_changed"], 2, "{format}");
        let shorter = call(&tool, json!({ "project_path": ".", "format": format, "limit": 1 })).await.unwrap();
        assert!(!text(&shorter).contains("src/a.rs") || format == "json", "{format}");
        assert_eq!(shorter.structured.unwrap()["files_omitted"], 1, "{format}");
    }
}
