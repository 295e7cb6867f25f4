//! `cargo xtask test`: the steps, in the order they run, and the table at the end.

use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::postgres::{self, Postgres};
use crate::process;
use crate::project::Project;
use crate::tools::{Tool, Tools};
use crate::{conformance, documents};

const DRIVER_LIMIT: Duration = Duration::from_mins(10);

struct Step {
    name: &'static str,
    about: &'static str,
    tools: &'static [Tool],
    run: fn(&Run) -> Result<()>,
}

/// The cheap steps come first, and each builds on what those before it compiled.
const STEPS: &[Step] = &[
    Step { name: "fmt", about: "the code is formatted", tools: &[], run: fmt },
    Step {
        name: "architecture",
        about: "layers, module cycles, sizes of files and folders, comments",
        tools: &[],
        run: architecture,
    },
    Step { name: "clippy", about: "no lint is broken", tools: &[], run: clippy },
    Step {
        name: "unit",
        about: "unit and integration tests, on SQLite and PostgreSQL",
        tools: &[Tool::Node, Tool::Python, Tool::Requests, Tool::Postgres, Tool::Surfpool],
        run: unit,
    },
    Step { name: "unsupported", about: "the sandbox as on systems other than Linux", tools: &[], run: unsupported },
    Step { name: "docs", about: "the reference builds, its examples run, links lead somewhere", tools: &[], run: docs },
    Step {
        name: "training",
        about: "the pipeline of the embedding model, in small, and the shipped model",
        tools: &[Tool::Python, Tool::Numpy],
        run: training,
    },
    Step {
        name: "e2e",
        about: "the real binary, driven by the Python SDK, the MCP Inspector, Schemathesis and a browser",
        tools: &[
            Tool::Node,
            Tool::Inspector,
            Tool::Python,
            Tool::PythonSdk,
            Tool::Schemathesis,
            Tool::Playwright,
            Tool::Browser,
        ],
        run: e2e,
    },
    Step {
        name: "conformance",
        about: "the official MCP conformance suite, both requirement sets",
        tools: &[Tool::Node, Tool::Conformance],
        run: conformance,
    },
];

/// What the steps work with.
struct Run {
    project: Project,
    tools: Tools,
    postgres: Option<Postgres>,
}

enum Outcome {
    Passed(Duration),
    Failed(Duration),
    NotRun,
}

pub(crate) fn test(arguments: &[String]) -> Result<ExitCode> {
    let mut keep_going = false;
    let mut chosen = Vec::new();
    for argument in arguments {
        match argument.as_str() {
            "--list" => {
                for step in STEPS {
                    println!("{:<14} {}", step.name, step.about);
                }
                return Ok(ExitCode::SUCCESS);
            }
            "--keep-going" => keep_going = true,
            name => match STEPS.iter().find(|step| step.name == name) {
                Some(step) => chosen.push(step.name),
                None => bail!("unknown step {name:?}; `cargo xtask test --list` lists them"),
            },
        }
    }
    let steps: Vec<&Step> = STEPS.iter().filter(|step| chosen.is_empty() || chosen.contains(&step.name)).collect();
    let run = {
        let project = Project::find()?;
        let tools = Tools::new(&project.target);
        Run { project, tools, postgres: None }
    };
    let table = run_all(run, &steps, keep_going);
    Ok(summarise(&table))
}

/// Runs set-up and the steps. PostgreSQL, if a step needed it, is stopped before this returns.
fn run_all(mut run: Run, steps: &[&Step], keep_going: bool) -> Vec<(&'static str, Outcome)> {
    let mut table = Vec::new();
    let mut ready = true;
    if steps.iter().any(|step| !step.tools.is_empty()) {
        let outcome = timed("set-up", "what the steps need, under target/tools", || set_up(&mut run, steps));
        ready = matches!(outcome, Outcome::Passed(_));
        table.push(("set-up", outcome));
    }
    let mut going = ready || keep_going;
    for step in steps {
        // A step cannot run without its tools.
        let possible = ready || step.tools.is_empty();
        let outcome =
            if going && possible { timed(step.name, step.about, || (step.run)(&run)) } else { Outcome::NotRun };
        going &= keep_going || matches!(outcome, Outcome::Passed(_));
        table.push((step.name, outcome));
    }
    table
}

fn timed(name: &str, about: &str, run: impl FnOnce() -> Result<()>) -> Outcome {
    println!("\n=== {name}: {about}");
    let begun = Instant::now();
    let result = run();
    let elapsed = begun.elapsed();
    match result {
        Ok(()) => {
            println!("--- {name} passed in {:.1} s", elapsed.as_secs_f64());
            Outcome::Passed(elapsed)
        }
        Err(error) => {
            println!("error: {error:#}\n--- {name} FAILED after {:.1} s", elapsed.as_secs_f64());
            Outcome::Failed(elapsed)
        }
    }
}

/// Prints the table; its last line stands alone: `N passed, N failed`.
fn summarise(table: &[(&str, Outcome)]) -> ExitCode {
    println!("\n{:<14} {:>8}  result", "step", "seconds");
    for (name, outcome) in table {
        match outcome {
            Outcome::Passed(time) => println!("{name:<14} {:>8.1}  passed", time.as_secs_f64()),
            Outcome::Failed(time) => println!("{name:<14} {:>8.1}  FAILED", time.as_secs_f64()),
            Outcome::NotRun => println!("{name:<14} {:>8}  not run", "-"),
        }
    }
    let passed = table.iter().filter(|(_, outcome)| matches!(outcome, Outcome::Passed(_))).count();
    let failed = table.iter().filter(|(_, outcome)| matches!(outcome, Outcome::Failed(_))).count();
    println!("\n{passed} passed, {failed} failed");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn set_up(run: &mut Run, steps: &[&Step]) -> Result<()> {
    let given = std::env::var_os(postgres::VARIABLE).is_some();
    let mut wanted: Vec<Tool> = Vec::new();
    for tool in steps.iter().flat_map(|step| step.tools) {
        let here = wanted.contains(tool) || (*tool == Tool::Postgres && given);
        if !here {
            wanted.push(*tool);
        }
    }
    run.tools.set_up(&wanted)?;
    if wanted.contains(&Tool::Postgres) {
        let postgres = Postgres::start(&run.tools.postgres()?)?;
        println!("{}={}", postgres::VARIABLE, postgres.url());
        run.postgres = Some(postgres);
    }
    Ok(())
}

fn fmt(run: &Run) -> Result<()> {
    process::run(run.project.cargo().args(["fmt", "--all", "--check"]))
}

fn architecture(run: &Run) -> Result<()> {
    process::run(run.project.cargo().args(["test", "--quiet", "--package", "xtask", "architecture_test"]))
}

fn clippy(run: &Run) -> Result<()> {
    process::run(run.project.cargo().args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))
}

fn unit(run: &Run) -> Result<()> {
    let mut command = run.project.cargo();
    if has_nextest(&run.project) {
        command.args(["nextest", "run", "--workspace", "--config-file", ".ci/nextest.toml"]);
    } else {
        command.args(["test", "--workspace", "--lib", "--bins", "--tests"]);
    }
    // The examples of contracts 001 and 003 are run as tests.
    command.env("MAINSTAY_TEST_PYTHON", run.tools.python()).env("MAINSTAY_TEST_NODE", run.tools.node());
    command.env("MAINSTAY_TEST_SURFPOOL", run.tools.surfpool());
    if let Some(postgres) = &run.postgres {
        command.env(postgres::VARIABLE, postgres.url());
    }
    process::run(&mut command)
}

fn training(run: &Run) -> Result<()> {
    let mut command = Command::new(run.tools.python());
    command.current_dir(&run.project.root).args([
        "-B",
        "-m",
        "unittest",
        "discover",
        "-s",
        "training/tests",
        "-t",
        ".",
    ]);
    command.env("TRAINING_MODEL_DIR", "crates/mainstay-search/model");
    process::run_within(DRIVER_LIMIT, &mut command)
}

/// The build for systems without a sandbox. It has its own target directory: other flags in the same one would rebuild
/// everything each time.
fn unsupported(run: &Run) -> Result<()> {
    let mut command = run.project.cargo();
    command.args(["test", "--quiet", "--package", "mainstay-sandbox", "--lib", "--target-dir"]);
    command.arg(run.project.target.join("unsupported")).env("RUSTFLAGS", "--cfg mainstay_unsupported");
    process::run(&mut command)
}

fn has_nextest(project: &Project) -> bool {
    let mut command = project.cargo();
    command.args(["nextest", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn docs(run: &Run) -> Result<()> {
    documents::check(&run.project)
}

fn e2e(run: &Run) -> Result<()> {
    build_binaries(&run.project)?;
    let drivers = run.project.root.join("tests/e2e");
    let mut python = Command::new(run.tools.python());
    python.arg("-B").arg(drivers.join("python_client.py"));
    python.arg("--mainstay").arg(run.project.debug_binary("mainstay"));
    python.arg("--fixtures").arg(run.project.debug_binary("mainstay-conformance"));
    let mut inspector = Command::new(run.tools.python());
    inspector.arg("-B").arg(drivers.join("inspector.py"));
    inspector.arg("--mainstay").arg(run.project.debug_binary("mainstay"));
    inspector.arg("--node").arg(run.tools.node()).arg("--inspector").arg(run.tools.inspector());
    let mut consent = Command::new(run.tools.python());
    consent.arg("-B").arg(drivers.join("consent_page.py"));
    consent.arg("--mainstay").arg(run.project.debug_binary("mainstay")).arg("--browser").arg(Tools::browser()?);
    let mut rest_api = Command::new(run.tools.python());
    rest_api.arg("-B").arg(drivers.join("rest_api.py"));
    rest_api.arg("--mainstay").arg(run.project.debug_binary("mainstay"));
    // All are run, so that one failing driver does not hide the results of the others.
    let failures: Vec<String> = [&mut python, &mut inspector, &mut rest_api, &mut consent]
        .into_iter()
        .filter_map(|driver| process::run_within(DRIVER_LIMIT, driver).err())
        .map(|error| format!("{error:#}"))
        .collect();
    if failures.is_empty() { Ok(()) } else { bail!(failures.join("\n")) }
}

fn conformance(run: &Run) -> Result<()> {
    build_binaries(&run.project)?;
    conformance::run(&run.project, &run.tools)
}

/// Builds the binaries as the unit tests do (with the tests: they decide the features of
/// shared dependencies), so that nothing is compiled a second time.
fn build_binaries(project: &Project) -> Result<()> {
    process::run(project.cargo().args(["build", "--workspace", "--bins", "--tests"]))
}
