//! Example programs of contracts.

use std::process::Command;

/// Runs a program on a text and returns what it says.
pub(crate) fn run(program: &str, flag: &str, text: &str) -> String {
    // What is asked is on this machine, whatever proxy the machine has.
    let out = Command::new(program).args([flag, text]).env("NO_PROXY", "*").env("no_proxy", "*").output();
    let out = out.unwrap_or_else(|error| panic!("{program} cannot be started: {error}"));
    let said = String::from_utf8(out.stdout).unwrap();
    assert!(out.status.success(), "{program}: {said}{}", String::from_utf8_lossy(&out.stderr));
    said
}

/// An interpreter that the tests were given, or the one of the machine.
pub(crate) fn interpreter(variable: &str, usual: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| usual.to_owned())
}
