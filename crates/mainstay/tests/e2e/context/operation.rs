//! What an operator sees: timeouts, the progress of a build, the log.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;

use crate::testing::context_caches::{Caches, SERVERS};
use crate::testing::program::wait_until;

#[test]
fn a_call_past_its_timeout_is_cancelled_and_the_next_is_answered() {
    const WORDS: usize = 400_000;
    let text = |nth: usize| (nth * WORDS..(nth + 1) * WORDS).map(|word| word.to_string()).collect::<Vec<_>>().join(" ");
    let documents: Vec<(String, String)> = (0..6).map(|nth| (format!("{nth}.md"), text(nth))).collect();
    let documents: Vec<(&str, &str)> = documents.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let caches = Caches::with("large", &documents);
    caches.write("small", &[("a.md", "alpha")]);
    caches.build("small");
    let mut command = caches.command(&SERVERS[0]);
    command.env("CONTEXT_TOOL_TIMEOUT_SECS", "1");
    let mut server = caches.server_of(command);
    let large = fs::canonicalize(caches.root().join("large/documents")).unwrap();
    let args = json!({"cache": "large", "query": "x", "budget": 10});
    let answer = server.call_while("context.resolve", &args, |server| {
        wait_until(|| server.has_open(&large));
        // However fast this machine is: the call is not over, and now takes longer than it may.
        server.pause(Duration::from_millis(1500));
    });
    assert_eq!(answer, Err("internal_error".into()));
    assert_eq!(server.resolve("small", "alpha", 10), Ok(caches.resolve("small", "alpha", 10)));
    assert!(
        caches.resolve("large", "x", 10).contains(r#""documents_considered":6,"#),
        "nothing else was wrong with it"
    );
}

#[test]
fn a_build_shows_progress_on_a_terminal() {
    const COUNT: usize = 10_000;
    let caches = Caches::new();
    let folder = caches.path("sources/many");
    fs::create_dir(&folder).unwrap();
    for nth in 0..COUNT {
        fs::write(folder.join(format!("{nth}.md")), format!("text {nth}")).unwrap();
    }
    let build = "bin/context build --force --sources sources/many --cache caches/many";
    let shown = |command: &mut Command| {
        let out = command.current_dir(caches.around()).stdin(Stdio::null()).output();
        let out = out.unwrap_or_else(|error| panic!("this needs `script` of util-linux: {error}"));
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8([out.stdout, out.stderr].concat()).unwrap()
    };
    let watched = shown(Command::new("script").args(["-qec", build, "/dev/null"]));
    let reported: Vec<usize> = watched
        .split('\r')
        .filter_map(|line| line.strip_prefix("Building: ")?.strip_suffix(&format!(" of {COUNT} documents")))
        // After the bar.
        .map(|shown| shown.rsplit(' ').next().unwrap().parse().unwrap())
        .collect();
    assert!(!reported.is_empty() && reported.is_sorted(), "{watched}");
    let (_, last) = watched.rsplit_once("\r\u{1b}[K").unwrap_or_else(|| panic!("{watched}"));
    assert!(last.starts_with(&format!("Built cache: {COUNT} documents, version ")), "{last}");
    let piped = shown(Command::new("sh").args(["-c", build]));
    assert_eq!(piped.lines().count(), 1, "nobody looks on: {piped}");
}

#[test]
fn the_log_has_the_detail_that_the_response_withholds() {
    let caches = Caches::with("guide", &[("a.md", "alpha")]);
    caches.build_as("guide", "half");
    let document = fs::read_dir(caches.root().join("guide/documents")).unwrap().next().unwrap().unwrap().path();
    let spoilt = fs::read_to_string(&document).unwrap().replace("alpha", "alphb");
    fs::write(&document, spoilt).unwrap();
    fs::write(caches.root().join("half/manifest.json"), "{").unwrap();
    let mut command = caches.command(&SERVERS[0]);
    command.env_remove("MAINSTAY_LOG").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    writeln!(input, r#"{{"jsonrpc":"2.0","id":1,"method":"initialize"}}"#).unwrap();
    for cache in ["guide", "half"] {
        let args = format!(r#"{{"cache":"{cache}","query":"","budget":1}}"#);
        let params = format!(r#"{{"name":"context.resolve","arguments":{args}}}"#);
        writeln!(input, r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{params}}}"#).unwrap();
    }
    drop(input);
    let out = child.wait_with_output().unwrap();
    let [answers, log] = [out.stdout, out.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    let file = document.file_name().unwrap().to_str().unwrap();
    assert_eq!(answers.matches("cache_invalid").count(), 2, "{answers}");
    for reason in
        [file, "its content does not match the hash in the manifest", "not a valid manifest", "EOF while parsing"]
    {
        assert!(log.contains(reason), "{reason}: {log}");
        assert!(!answers.contains(reason), "{reason}: {answers}");
    }
}
