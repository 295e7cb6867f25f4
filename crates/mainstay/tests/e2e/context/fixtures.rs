//! Every fixture under contracts/context, against the real program, under each of its names.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::testing::context_caches::{COMMANDS, Caches, Invocation, SERVERS, leak, tree};
use crate::testing::fixture::{Fixture, copy, run_all};

const CONTRACT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contracts/context");

/// What may lie in a fixture that is a conversation, and in one that is a command.
const CONVERSATION: [&str; 4] = ["sources", "caches", "requests.txt", "responses.txt"];
const COMMAND: [&str; 7] = ["sources", "caches", "command.txt", "exit.txt", "stdout.txt", "stderr.txt", "cache"];

/// Those whose folder has this file in it.
fn those_with(file: &str) -> Vec<Fixture> {
    let mut all = Fixture::all(CONTRACT);
    all.retain(|fixture| fixture.folder.join(file).exists());
    all
}

fn read(fixture: &Fixture, file: &str) -> Vec<u8> {
    fs::read(fixture.folder.join(file)).unwrap_or_default()
}

/// Lines without their newline; the last has one, too.
fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.strip_suffix(b"\n").map(|text| text.split(|byte| *byte == b'\n').collect()).unwrap_or_default()
}

fn unknown(fixture: &Fixture, known: &[&str]) -> Result<(), String> {
    let names = fs::read_dir(&fixture.folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let unused: Vec<String> = names.filter(|name| !known.contains(&name.as_str())).collect();
    if unused.is_empty() { Ok(()) } else { Err(format!("{unused:?} are never looked at")) }
}

/// Sources and caches as they lie in the fixture, and every cache that is to be built of its sources.
fn prepare(fixture: &Fixture, builds: bool) -> Caches {
    let caches = Caches::new();
    copy(&fixture.folder.join("caches"), &caches.root());
    copy(&fixture.folder.join("sources"), &caches.path("sources"));
    if builds {
        for entry in fs::read_dir(caches.path("sources")).unwrap().map(|entry| entry.unwrap()) {
            caches.build(entry.file_name().to_str().unwrap());
        }
    }
    caches
}

fn greeting() -> String {
    fs::read_to_string(format!("{CONTRACT}/001-initialize/responses.txt")).unwrap().trim_end().to_owned()
}

/// Sends every request and ends; all that comes back.
fn converse(caches: &Caches, invocation: &Invocation, requests: &[u8]) -> (i32, String) {
    let mut command = caches.command(invocation);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut received = String::new();
    std::thread::scope(|scope| {
        scope.spawn(move || input.write_all(requests).unwrap());
        output.read_to_string(&mut received).unwrap();
    });
    (child.wait().unwrap().code().unwrap_or(-1), received)
}

/// Whether a line is the one that is shown, where `<words>` stands for text of one character at least.
fn fits(shown: &str, line: &str) -> bool {
    let mut pieces = shown.split("<words>");
    let mut rest = line.strip_prefix(pieces.next().unwrap_or_default());
    for piece in pieces {
        rest = rest.and_then(|rest| {
            let words = rest.len() - rest.trim_start_matches(|c: char| c != '"').len();
            (words > 0).then(|| rest[words..].strip_prefix(piece)).flatten()
        });
    }
    rest == Some("")
}

fn compare(fixture: &Fixture, received: &str) -> Result<(), String> {
    let shown = String::from_utf8(read(fixture, "responses.txt")).unwrap();
    let shown = shown.replace("<greeting>", &greeting()).replace("<version>", env!("CARGO_PKG_VERSION"));
    let (shown, received) = (lines(shown.as_bytes()), lines(received.as_bytes()));
    let text = |line: &[u8]| String::from_utf8(line.to_vec()).unwrap();
    for (nth, (shown, received)) in shown.iter().zip(&received).enumerate() {
        if !fits(&text(shown), &text(received)) {
            return Err(format!("line {}:\n    expected {}\n    got      {}", nth + 1, text(shown), text(received)));
        }
    }
    if shown.len() == received.len() { Ok(()) } else { Err(format!("{} lines, not {}", received.len(), shown.len())) }
}

fn converses(fixture: &Fixture) -> Result<(), String> {
    unknown(fixture, &CONVERSATION)?;
    let requests = read(fixture, "requests.txt");
    let mut first = None;
    for invocation in &SERVERS {
        let caches = prepare(fixture, true);
        let (code, received) = converse(&caches, invocation, &requests);
        compare(fixture, &received)?;
        let mut mistakes = received.lines().filter(|line| line.contains("\"error\":") || line.contains("\"isError\":"));
        if let Some(reported) = mistakes.find_map(|line| leak(line, caches.around())) {
            return Err(format!("an error tells {reported:?}"));
        }
        if code != 0 || first.get_or_insert(received.clone()) != &received {
            return Err(format!("it ended with {code}, or not with the same bytes"));
        }
    }
    Ok(())
}

fn commands(fixture: &Fixture) -> Result<(), String> {
    unknown(fixture, &COMMAND)?;
    let command = read(fixture, "command.txt");
    let args: Vec<&OsStr> = lines(&command).into_iter().map(OsStr::from_bytes).collect();
    for invocation in &COMMANDS {
        let caches = prepare(fixture, args.first().is_none_or(|first| *first != "build"));
        let before = tree(&caches.root());
        let out = caches.command(invocation).args(&args).stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        let exit: i32 = String::from_utf8(read(fixture, "exit.txt")).unwrap().trim().parse().unwrap();
        if out.status.code() != Some(exit) {
            return Err(format!("it ended with {:?}, not {exit}: {said}", out.status.code()));
        }
        if out.stdout != read(fixture, "stdout.txt") {
            return Err(format!("it printed {}", String::from_utf8_lossy(&out.stdout)));
        }
        let words = String::from_utf8(read(fixture, "stderr.txt")).unwrap();
        if let Some(word) = words.lines().find(|word| !said.contains(word)) {
            return Err(format!("{word:?} is not in what it says: {said}"));
        }
        check_workspace(fixture, &caches, &args, before)?;
    }
    Ok(())
}

/// The cache that the command names is as shown; nothing else has changed, and without one nothing at all.
fn check_workspace(
    fixture: &Fixture,
    caches: &Caches,
    args: &[&OsStr],
    mut before: BTreeMap<PathBuf, Vec<u8>>,
) -> Result<(), String> {
    let mut after = tree(&caches.root());
    let shown = tree(&fixture.folder.join("cache"));
    if !shown.is_empty() {
        let named = args.iter().skip_while(|arg| **arg != "--cache").nth(1).unwrap();
        let target = Path::new(named).strip_prefix("caches").unwrap();
        before.retain(|path, _| !path.starts_with(target));
        before.extend(shown.into_iter().map(|(path, bytes)| (target.join(path), bytes)));
    }
    after.retain(|path, bytes| before.get(path) != Some(bytes) || before.remove(path).is_none());
    if !before.is_empty() || !after.is_empty() {
        return Err(format!("{:?} are not as they should be, {:?} are", before.keys(), after.keys()));
    }
    if caches.left_over().is_empty() { Ok(()) } else { Err(format!("{:?} are left over", caches.left_over())) }
}

#[test]
fn every_conversation_passes_under_either_program_name() {
    let all = those_with("requests.txt");
    assert!(all.len() > 60, "only {} fixtures were found", all.len());
    run_all(&all, converses);
}

#[test]
fn every_command_passes_under_either_program_name() {
    let all = those_with("command.txt");
    assert!(all.len() > 45, "only {} fixtures were found", all.len());
    run_all(&all, commands);
}

#[test]
fn every_fixture_is_a_conversation_or_a_command() {
    let is = |fixture: &Fixture, file: &str| fixture.folder.join(file).exists();
    for fixture in Fixture::all(CONTRACT) {
        let (asks, runs) = (is(&fixture, "requests.txt"), is(&fixture, "command.txt"));
        assert!(asks != runs, "{}", fixture.name);
        assert_eq!((is(&fixture, "responses.txt"), is(&fixture, "exit.txt")), (asks, runs), "{}", fixture.name);
    }
}

#[test]
fn expected_words_occur_in_the_output() {
    assert!(fits(r#"{"a":"<words>","b":"<words>"}"#, r#"{"a":"x y","b":"z"}"#));
    for other in [r#"{"a":"","b":"z"}"#, r#"{"a":"x","b":"z"} "#, r#"{"a":"x","c":"z"}"#, r#"{"a":"x"}"#] {
        assert!(!fits(r#"{"a":"<words>","b":"<words>"}"#, other), "{other}");
    }
}
