//! A full disk: a write that cannot be audited is not executed.

use std::process::Command;

use serde_json::json;

use crate::PROGRAM;
use crate::testing::program::{Server, workspace};

#[test]
fn a_write_that_cannot_be_audited_is_rejected_and_reads_are_served() {
    let data = tempfile::tempdir().unwrap();
    let directory = data.path().to_str().unwrap();
    // A limit on the size of files is a full disk that needs no privileges to make.
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; ulimit -f 800; exec \"$0\" \"$@\"", PROGRAM]);
    command.args([
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--data-dir",
        directory,
        "--workspace",
        workspace(),
        "--log",
        "warn,mainstay=info",
    ]);
    command.env("XDG_CONFIG_HOME", directory);
    let server = Server::from(command);
    let mut http = server.connect();
    let (mut ran, mut refused_in_a_row) = (0, 0);
    // One file may reach its limit before the other, so a change may go through once more after a refusal.
    for _ in 0..100_000 {
        let answer = http.call("probe_append", &json!({"file": "a", "line": "x"}));
        if answer["result"]["isError"] == false {
            (ran, refused_in_a_row) = (ran + 1, 0);
            continue;
        }
        assert_eq!(answer["result"]["_meta"]["io.mainstay/error"]["kind"], "unavailable", "{answer}");
        if answer["result"]["content"][0]["text"].as_str().unwrap().contains("The call ran") {
            ran += 1;
        }
        refused_in_a_row += 1;
        if refused_in_a_row == 20 {
            break;
        }
    }
    assert_eq!(refused_in_a_row, 20, "the disk never filled up");
    // What was confirmed ran, what was said to have run ran, and nothing else did.
    let lines = std::fs::read_to_string(data.path().join("probe/a")).unwrap().lines().count();
    assert_eq!(lines, ran);
    assert_eq!(http.call("probe_echo", &json!({"text": "on"}))["result"]["structuredContent"]["text"], "on");
}
