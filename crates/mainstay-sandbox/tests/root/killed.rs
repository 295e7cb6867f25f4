//! kill -9 in the middle of changes: what is there afterwards is the old or the new, whole.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use mainstay_sandbox::{Content, Expect, FilesSettings, Step, Workspace, etag_of};

const ROUNDS: usize = 30;
const PAIRS: usize = 3;

/// Set for the process that is going to be killed.
const WRITER: &str = "MAINSTAY_TEST_WRITER";

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
    let place = workspace.find(path).unwrap().place().unwrap();
    Step::Put { place, content: Content::Bytes(text.into()), expect: Expect::Anything, mode: None }
}

/// Not a test of its own: what the other one starts and kills.
#[test]
fn writer() {
    let Some(base) = std::env::var_os(WRITER) else { return };
    let workspace = open(base.as_ref());
    for round in 0u64.. {
        workspace.commit(vec![put(&workspace, "single", content(round, 100_000))]).unwrap();
        let pairs = (0..PAIRS).map(|n| put(&workspace, &format!("dir{n}/pair"), content(round, 20_000))).collect();
        workspace.commit(pairs).unwrap();
        let there = workspace.find("moves/a").unwrap().look().unwrap().is_some();
        let (from, to) = if there { ("moves/a", "moves/b") } else { ("moves/b", "moves/a") };
        let step = Step::Move {
            from: workspace.find(from).unwrap().entry().unwrap(),
            to: workspace.find(to).unwrap().entry().unwrap(),
            expect: Expect::Nothing,
        };
        workspace.commit(vec![step, put(&workspace, "moves/log", content(round, 1000))]).unwrap();
        println!("{round}");
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
        let mut writer = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "killed::writer", "--nocapture"])
            .env(WRITER, &base)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // It is killed at some point after it has begun, a different one every time.
        let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines();
        let begun = lines.by_ref().map(Result::unwrap).find(|line| line.parse::<u64>().is_ok());
        assert!(begun.is_some(), "the writer did not write");
        for _ in 0..round % 3 {
            lines.next();
        }
        std::thread::sleep(std::time::Duration::from_micros(u64::try_from(round).unwrap() * 173 % 2000));
        writer.kill().unwrap();
        writer.wait().unwrap();
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
        let records = std::fs::read_dir(base.join("journal")).unwrap().flatten().map(|entry| entry.path());
        assert_eq!(records.filter(|path| path.extension().unwrap() != "lock").count(), 0, "round {round}");
    }
}

#[test]
fn a_record_that_no_server_made_is_not_obeyed() {
    let directory = tempfile::tempdir().unwrap();
    let base = std::fs::canonicalize(directory.path()).unwrap();
    std::fs::create_dir_all(base.join("ws/.git")).unwrap();
    std::fs::create_dir_all(base.join("victim/deep")).unwrap();
    std::fs::create_dir_all(base.join("journal")).unwrap();
    let name = |name: &str| serde_json::json!({ "Unix": name.as_bytes() });
    let (old, new) = (format!(".mainstay-{:032}.old", 0), format!(".mainstay-{:032}.new", 0));
    let made_up = [("x", "../victim"), ("../victim", old.as_str()), (".git", old.as_str())];
    for (number, (target, backup)) in made_up.into_iter().enumerate() {
        for end in ["done", "begun"] {
            let record = serde_json::json!([{
                "act": "Remove",
                "at": {"root": base.join("ws"), "names": []},
                "name": name(target),
                "to": null,
                "backup": name(backup),
                "temporary": name(&new),
                "was": null,
                "new": null,
                "tag": null,
                "mode": null,
            }]);
            std::fs::write(base.join(format!("journal/{number}.{end}")), record.to_string()).unwrap();
        }
    }
    open(&base);
    assert!(base.join("victim/deep").exists() && base.join("ws/.git").exists());
    assert_eq!(std::fs::read_dir(base.join("journal")).unwrap().count(), 0, "they are gone, unobeyed");
}
