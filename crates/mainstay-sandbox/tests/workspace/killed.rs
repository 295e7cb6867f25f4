//! `kill -9` during changes: afterwards there is the complete old state or the complete new one.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use mainstay_sandbox::{Content, EntryKind, Expect, FilesSettings, Step, Workspace, etag_of};
use serde_json::json;

const ROUNDS: usize = 30;
const PAIRS: usize = 3;

/// Set for the process that is going to be killed.
const WRITER: &str = "MAINSTAY_TEST_WRITER";

/// When the process of `dying` ends.
const DIES_AT: &str = "MAINSTAY_TEST_DIES_AT";

/// Content whose first line says what the rest must be.
fn content(round: u64, size: usize) -> String {
    let body = format!("{round:016}").repeat(size / 16);
    format!("{}\n{body}", etag_of(body.as_bytes()))
}

fn whole(text: &str) -> bool {
    text.split_once('\n').is_some_and(|(tag, body)| tag == etag_of(body.as_bytes()))
}

fn open(base: &Path) -> Workspace {
    Workspace::open(&base.join("ws"), &FilesSettings::default()).unwrap().with_journal(&base.join("journal")).unwrap()
}

fn put(workspace: &Workspace, path: &str, text: String) -> Step {
    let target = workspace.find(path).unwrap().write_target().unwrap();
    Step::Put { target, content: Content::Bytes(text.into()), expect: Expect::Anything, mode: None }
}

/// Not a test of its own: the process that the other test starts and kills.
#[test]
fn writer() {
    let Some(base) = std::env::var_os(WRITER) else { return };
    let workspace = open(base.as_ref());
    for round in 0u64.. {
        workspace.commit(vec![put(&workspace, "single", content(round, 100_000))]).unwrap();
        let pairs = (0..PAIRS).map(|n| put(&workspace, &format!("dir{n}/pair"), content(round, 20_000))).collect();
        workspace.commit(pairs).unwrap();
        let there = workspace.find("moves/a").unwrap().metadata().unwrap().is_some();
        let (from, to) = if there { ("moves/a", "moves/b") } else { ("moves/b", "moves/a") };
        let step = Step::Move {
            from: workspace.find(from).unwrap().entry_target().unwrap(),
            to: workspace.find(to).unwrap().entry_target().unwrap(),
            expect: Expect::Nothing,
        };
        workspace.commit(vec![step, put(&workspace, "moves/log", content(round, 1000))]).unwrap();
        println!("{round}");
    }
}

/// Not a test of its own either.
#[test]
fn copier() {
    let Some(base) = std::env::var_os(WRITER) else { return };
    let workspace = open(base.as_ref());
    for round in 0u64.. {
        let to = workspace.find("new/copy").unwrap().write_target().unwrap();
        let staging = workspace.staging(&to).unwrap();
        let path_in_root = |path: &str| staging.path(path.as_ref());
        workspace
            .commit(vec![Step::MakeDirectory { target: path_in_root("").write_target().unwrap(), mode: None }])
            .unwrap();
        for name in ["a", "b/c"] {
            let (target, content) =
                (path_in_root(name).write_target().unwrap(), Content::Bytes(content(round, 1000).into()));
            workspace.commit(vec![Step::Put { target, content, expect: Expect::Nothing, mode: None }]).unwrap();
        }
        let moved = Step::Move { from: path_in_root("").entry_target().unwrap(), to, expect: Expect::Nothing };
        workspace.commit(vec![moved, put(&workspace, "log", content(round, 1000))]).unwrap();
        drop(staging);
        let target = workspace.find("new").unwrap().entry_target().unwrap();
        let (kind, recursive) = (EntryKind::Directory, true);
        workspace.commit(vec![Step::Remove { target, expect: Expect::Anything, kind, recursive }]).unwrap();
        println!("{round}");
    }
}

/// Not a test of its own either: dies when it is asked for the nth time whether its change is still wanted.
#[test]
fn dying() {
    let (Some(base), Ok(nth)) = (std::env::var_os(WRITER), std::env::var(DIES_AT)) else { return };
    let workspace = open(base.as_ref());
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let wanted = || {
        if asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed).to_string() == nth {
            std::process::abort();
        }
        true
    };
    let steps = ["new/a/x", "new/b/y"].map(|path| put(&workspace, path, content(0, 1000)));
    workspace.commit_while(steps.into(), &wanted).unwrap();
}

#[test]
fn a_change_that_was_cut_off_leaves_no_empty_directory_behind() {
    let directory = tempfile::tempdir().unwrap();
    let base = std::fs::canonicalize(directory.path()).unwrap();
    std::fs::create_dir(base.join("ws")).unwrap();
    for nth in 0.. {
        let mut dying = Command::new(std::env::current_exe().unwrap());
        dying.args(["--exact", "killed::dying"]).env(WRITER, &base).env(DIES_AT, nth.to_string());
        let completed = dying.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success();
        let _recovered = open(&base);
        assert_eq!(records(&base), 0, "{nth}");
        assert_eq!(base.join("ws/new/b/y").exists(), completed, "{nth}");
        if completed {
            assert!(nth > 3, "it was asked {nth} times only");
            return;
        }
        assert_eq!(std::fs::read_dir(base.join("ws")).unwrap().count(), 0, "something was left over at {nth}");
    }
}

/// Starts one of the above and kills it some time after it has begun, at another point every time.
fn kill(name: &str, base: &Path, round: usize) {
    let mut writer = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(WRITER, base)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines();
    let begun = lines.by_ref().map(Result::unwrap).find(|line| line.parse::<u64>().is_ok());
    assert!(begun.is_some(), "the writer did not write");
    for _ in 0..round % 3 {
        lines.next();
    }
    std::thread::sleep(std::time::Duration::from_micros(u64::try_from(round).unwrap() * 173 % 2000));
    writer.kill().unwrap();
    writer.wait().unwrap();
}

fn records(base: &Path) -> usize {
    let records = std::fs::read_dir(base.join("journal")).unwrap().flatten().map(|entry| entry.path());
    records.filter(|path| path.extension().unwrap() != "lock").count()
}

#[test]
fn a_killed_copy_of_a_directory_leaves_all_of_it_or_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let base = std::fs::canonicalize(directory.path()).unwrap();
    let inside = base.join("ws");
    std::fs::create_dir(&inside).unwrap();
    for round in 0..ROUNDS {
        kill("killed::copier", &base, round);
        let _recovered = open(&base);
        let names: Vec<_> = std::fs::read_dir(&inside).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert!(names.iter().all(|name| name == "new" || name == "log"), "round {round}: {names:?}");
        let read = |path: &str| std::fs::read_to_string(inside.join(path)).unwrap();
        assert!(whole(&read("log")), "round {round}");
        if inside.join("new/copy").exists() {
            assert!(whole(&read("new/copy/a")) && whole(&read("new/copy/b/c")), "round {round}");
        }
        let _ = std::fs::remove_dir_all(inside.join("new"));
        assert_eq!(records(&base), 0, "round {round}");
    }
}

#[test]
fn a_killed_writer_leaves_every_file_whole_and_every_change_made_or_not_made() {
    let directory = tempfile::tempdir().unwrap();
    let base = std::fs::canonicalize(directory.path()).unwrap();
    let inside = base.join("ws");
    std::fs::create_dir_all(inside.join("moves")).unwrap();
    std::fs::write(inside.join("moves/a"), content(0, 1000)).unwrap();
    for round in 0..ROUNDS {
        kill("killed::writer", &base, round);
        let _recovered = open(&base);
        let read = |path: &str| std::fs::read_to_string(inside.join(path)).unwrap();
        assert!(whole(&read("single")), "round {round}");
        let pairs: Vec<String> = (0..PAIRS).map(|n| read(&format!("dir{n}/pair"))).collect();
        assert!(
            pairs.iter().all(|pair| whole(pair) && *pair == pairs[0]),
            "round {round}: a change was made by halves"
        );
        let (a, b) = (inside.join("moves/a").exists(), inside.join("moves/b").exists());
        assert!(a != b, "round {round}: a {a}, b {b}");
        for n in 0..PAIRS {
            let names: Vec<_> =
                std::fs::read_dir(inside.join(format!("dir{n}"))).unwrap().flatten().map(|e| e.file_name()).collect();
            assert_eq!(names, ["pair"], "round {round}: something was left over");
        }
        assert_eq!(records(&base), 0, "round {round}");
    }
}

fn name(name: &str) -> serde_json::Value {
    json!({ "Unix": name.as_bytes() })
}

/// A journal record of one step in the workspace.
fn record(base: &Path, act: &str, target: &str, backup: &str) -> serde_json::Value {
    json!({
        "act": act,
        "at": {"root": base.join("ws"), "names": []},
        "name": name(target),
        "to": null,
        "backup": name(backup),
        "temporary": name(&format!(".mainstay-{:032}.new", 0)),
        "was": null,
        "new": null,
        "tag": null,
        "mode": null,
    })
}

#[test]
fn a_copy_that_was_moved_back_because_its_change_was_cut_off_is_cleared_away() {
    let directory = tempfile::tempdir().unwrap();
    let base = std::fs::canonicalize(directory.path()).unwrap();
    std::fs::create_dir_all(base.join("journal")).unwrap();
    // In whichever order they are found.
    for number in 0..16 {
        let (staged, copy) = (format!(".mainstay-{number:032}.old"), format!("copy{number}"));
        std::fs::create_dir_all(base.join("ws").join(&copy).join("deep")).unwrap();
        let metadata = std::fs::metadata(base.join("ws").join(&copy)).unwrap();
        let mut moved = record(&base, "Move", &staged, ".mainstay-x.old");
        moved["to"] = json!([moved["at"], name(&copy)]);
        moved["new"] = json!({"device": metadata.dev(), "inode": metadata.ino()});
        std::fs::write(base.join(format!("journal/{number}.begun")), json!([moved]).to_string()).unwrap();
        let leftover = json!([record(&base, "Remove", &staged, &staged)]);
        std::fs::write(base.join(format!("journal/{number}.done")), leftover.to_string()).unwrap();
    }
    open(&base);
    assert_eq!(std::fs::read_dir(base.join("ws")).unwrap().count(), 0);
    assert_eq!(records(&base), 0);
}

#[test]
fn a_record_that_no_server_made_is_not_obeyed() {
    let directory = tempfile::tempdir().unwrap();
    let base = std::fs::canonicalize(directory.path()).unwrap();
    std::fs::create_dir_all(base.join("ws/.git")).unwrap();
    std::fs::create_dir_all(base.join("victim/deep")).unwrap();
    std::fs::create_dir_all(base.join("journal")).unwrap();
    let old = format!(".mainstay-{:032}.old", 0);
    let made_up = [("x", "../victim"), ("../victim", old.as_str()), (".git", old.as_str())];
    for (number, (target, backup)) in made_up.into_iter().enumerate() {
        for end in ["done", "begun"] {
            let record = record(&base, "Remove", target, backup);
            std::fs::write(base.join(format!("journal/{number}.{end}")), json!([record]).to_string()).unwrap();
        }
    }
    open(&base);
    assert!(base.join("victim/deep").exists() && base.join("ws/.git").exists());
    assert_eq!(std::fs::read_dir(base.join("journal")).unwrap().count(), 0, "they are gone, unobeyed");
}
