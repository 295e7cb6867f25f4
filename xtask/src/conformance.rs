//! The official conformance suite against our test-only binary, without a list of expected failures.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::postgres::free_port;
use crate::process;
use crate::project::Project;
use crate::scratch::Scratch;
use crate::tools::Tools;

const REQUIREMENTS: [&str; 2] = ["2025-11-25", "2026-07-28"];
const START_LIMIT: Duration = Duration::from_secs(30);
const SUITE_LIMIT: Duration = Duration::from_mins(10);

/// Runs both requirement sets, each against a server of its own, and reports every failed check of both.
pub(crate) fn run(project: &Project, tools: &Tools) -> Result<()> {
    let mut problems = Vec::new();
    for revision in REQUIREMENTS {
        let outcome = run_one(project, tools, revision).with_context(|| format!("requirements {revision}"))?;
        outcome.print(revision);
        problems.extend(outcome.problem().map(|problem| format!("{revision}: {problem}")));
    }
    ensure!(problems.is_empty(), "the suite is not satisfied: {}", problems.join("; "));
    Ok(())
}

fn run_one(project: &Project, tools: &Tools, revision: &str) -> Result<Outcome> {
    let logs = project.target.join("conformance");
    let scratch = Scratch::new("conformance")?;
    let server_log = logs.join(format!("server-{revision}.log"));
    let server = Server::start(&project.debug_binary("mainstay-conformance"), &scratch, &server_log)?;
    let results = scratch.path().join("results");
    let log = logs.join(format!("suite-{revision}.log"));
    let mut suite = Command::new(tools.node());
    suite.current_dir(scratch.path()).arg(tools.conformance_suite());
    suite.args(["server", "--url", &server.url, "--requirements", revision, "--output-dir"]).arg(&results);
    let status = process::logged(SUITE_LIMIT, &mut suite, &log)?;
    let text = String::from_utf8_lossy(&std::fs::read(&log)?).into_owned();
    let outcome = Outcome::read(&text, &results, status.success())?;
    if outcome.problem().is_some() {
        println!("the suite's output is in {}, the server's in {}", log.display(), server_log.display());
    }
    Ok(outcome)
}

/// The test-only binary, serving until dropped.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(binary: &Path, scratch: &Scratch, log: &Path) -> Result<Self> {
        let port = free_port()?;
        let mut command = Command::new(binary);
        command.current_dir(scratch.path()).args(["--listen", &format!("127.0.0.1:{port}"), "--data-dir"]);
        command.arg(scratch.path().join("data"));
        // Apart from the data: the server does not work where it keeps its own files.
        let workspace = scratch.path().join("workspace");
        std::fs::create_dir_all(&workspace)?;
        command.arg("--workspace").arg(workspace);
        // The user's own server settings must not affect the test.
        command.env("XDG_CONFIG_HOME", scratch.path());
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("MAINSTAY_") {
                command.env_remove(name);
            }
        }
        let child = process::start_logged(&mut command, log)?;
        let mut server = Self { child, url: format!("http://127.0.0.1:{port}/mcp") };
        process::wait_ready(&mut server.child, START_LIMIT, || healthy(port))
            .with_context(|| format!("the server did not start; the end of its log:\n{}", process::tail(log)))?;
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Err(error) = process::stop(&mut self.child) {
            println!("warning: the server (process {}) could not be stopped: {error:#}", self.child.id());
        }
    }
}

/// Whether `GET /health` answers 200.
fn healthy(port: u16) -> bool {
    let ask = || -> std::io::Result<bool> {
        let second = Duration::from_secs(1);
        let mut stream = TcpStream::connect_timeout(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)), second)?;
        stream.set_read_timeout(Some(second))?;
        write!(stream, "GET /health HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n")?;
        let mut head = [0; 12];
        stream.read_exact(&mut head)?;
        Ok(head.ends_with(b" 200"))
    };
    ask().unwrap_or(false)
}

/// The results of one run of the suite.
#[derive(Debug, Default, PartialEq, Eq)]
struct Outcome {
    announced: usize,
    scenarios: usize,
    passed: usize,
    failed: usize,
    warnings: usize,
    skipped: usize,
    failures: Vec<String>,
    satisfied: bool,
}

impl Outcome {
    fn read(text: &str, results: &Path, satisfied: bool) -> Result<Self> {
        let mut outcome = Self { satisfied, ..Self::from_summary(text) };
        outcome.failures.extend(failed_to_run(text));
        if results.is_dir() {
            let mut directories = std::fs::read_dir(results)?.collect::<std::io::Result<Vec<_>>>()?;
            directories.sort_by_key(std::fs::DirEntry::file_name);
            for directory in directories {
                let name = directory.file_name().to_string_lossy().into_owned();
                match std::fs::read(directory.path().join("checks.json")) {
                    Ok(checks) => outcome.add_checks(&scenario_of(&name), &serde_json::from_slice(&checks)?),
                    Err(_) => outcome.failures.push(format!("{}: it left no checks", scenario_of(&name))),
                }
            }
        }
        Ok(outcome)
    }

    /// Reads the head (`Running … (33 scenarios) against …`) and the lines between `=== SUMMARY ===` and `Total:`.
    fn from_summary(text: &str) -> Self {
        let mut outcome = Self::default();
        let announced = text.lines().find_map(|line| line.strip_prefix("Running requirements")?.split('(').nth(1));
        outcome.announced = announced.and_then(|rest| rest.split(' ').next()?.parse().ok()).unwrap_or(0);
        for line in text.lines().skip_while(|line| *line != "=== SUMMARY ===").skip(1) {
            if let Some(total) = line.strip_prefix("Total: ") {
                (outcome.passed, outcome.failed) = counts(total).unwrap_or_default();
                break;
            }
            outcome.scenarios += usize::from(line.starts_with(['✓', '✗']));
        }
        outcome
    }

    fn add_checks(&mut self, scenario: &str, checks: &Value) {
        for check in checks.as_array().into_iter().flatten() {
            match check["status"].as_str() {
                Some("FAILURE") => {
                    let word = |key: &str| check[key].as_str().unwrap_or_default().to_owned();
                    let (id, description, error) = (word("id"), word("description"), word("errorMessage"));
                    self.failures.push(format!("{scenario} / {id}: {description}\n      {error}"));
                }
                Some("WARNING") => self.warnings += 1,
                Some("SKIPPED") => self.skipped += 1,
                _ => {}
            }
        }
    }

    /// The failed checks. Those that the suite runs without scoring them count, too.
    fn problem(&self) -> Option<String> {
        if self.announced == 0 || self.scenarios == 0 {
            return Some("no scenario was run".to_owned());
        }
        if self.scenarios != self.announced {
            return Some(format!("{} of {} scenarios were run", self.scenarios, self.announced));
        }
        if self.passed == 0 {
            return Some("no check passed".to_owned());
        }
        let failed = self.failed.max(self.failures.len());
        if failed > 0 {
            return Some(format!("{failed} checks failed"));
        }
        if self.satisfied { None } else { Some("the suite itself reports a failure".to_owned()) }
    }

    fn print(&self, revision: &str) {
        let Self { scenarios, passed, failed, warnings, skipped, .. } = self;
        println!(
            "requirements {revision}: {scenarios} scenarios, {passed} checks passed, {failed} failed \
             ({warnings} warnings, {skipped} skipped)"
        );
        for failure in &self.failures {
            println!("  ✗ {failure}");
        }
    }
}

/// A scenario that ends before it has any checks leaves no file, only a line.
fn failed_to_run(text: &str) -> impl Iterator<Item = String> {
    text.lines().filter(|line| line.starts_with("Failed to run scenario")).map(ToOwned::to_owned)
}

/// `47 passed, 22 failed`
fn counts(total: &str) -> Option<(usize, usize)> {
    let (passed, failed) = total.split_once(" passed, ")?;
    Some((passed.parse().ok()?, failed.split(' ').next()?.parse().ok()?))
}

/// `server-tools-list-2026-11-15T02-16-39-773Z` → `tools-list`
fn scenario_of(directory: &str) -> String {
    let name = directory.strip_prefix("server-").unwrap_or(directory);
    let stamp = "-2026-11-15T02-16-39-773Z".len();
    match name.len().checked_sub(stamp).and_then(|end| name.get(..end)) {
        Some(scenario) if name.ends_with('Z') => scenario.to_owned(),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
Running requirements 2025-11-25 (2 scenarios) against http://127.0.0.1:1/mcp

=== Running scenario: ping ===

=== SUMMARY ===
✓ ping: 2 passed, 0 failed
✗ tools-call-image: 1 passed, 1 failed

Total: 3 passed, 1 failed

Not scored for 2025-11-25: 1 scenario(s) run, 1 failing. These do not affect conformance.
  ✗ tools-call-image (pending)
";

    #[test]
    fn the_summary_is_read() {
        let outcome = Outcome::from_summary(LOG);
        assert_eq!((outcome.announced, outcome.scenarios, outcome.passed, outcome.failed), (2, 2, 3, 1));
    }

    #[test]
    fn a_failed_check_fails_the_run_even_when_the_suite_does_not_score_it() {
        let outcome = Outcome { satisfied: true, ..Outcome::from_summary(LOG) };
        assert_eq!(outcome.problem().as_deref(), Some("1 checks failed"));
    }

    #[test]
    fn a_run_of_nothing_is_a_failure() {
        let outcome = Outcome { satisfied: true, ..Outcome::from_summary("") };
        assert_eq!(outcome.problem().as_deref(), Some("no scenario was run"));
    }

    #[test]
    fn a_run_cut_short_is_a_failure() {
        let outcome = Outcome { satisfied: true, ..Outcome::from_summary(&LOG.replace("(2 sc", "(3 sc")) };
        assert_eq!(outcome.problem().as_deref(), Some("2 of 3 scenarios were run"));
    }

    #[test]
    fn failed_checks_are_named() {
        let mut outcome = Outcome::default();
        let checks = serde_json::json!([
            { "id": "a", "status": "SUCCESS" },
            { "id": "b", "status": "FAILURE", "description": "d", "errorMessage": "e" },
            { "id": "c", "status": "WARNING" },
        ]);
        outcome.add_checks("ping", &checks);
        assert_eq!(
            (outcome.failures.as_slice(), outcome.warnings),
            (["ping / b: d\n      e".to_owned()].as_slice(), 1)
        );
    }

    #[test]
    fn a_result_directory_names_its_scenario() {
        assert_eq!(scenario_of("server-tools-list-2026-11-15T02-16-39-773Z"), "tools-list");
    }
}
