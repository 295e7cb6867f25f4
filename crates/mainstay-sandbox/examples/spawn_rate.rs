//! Measures how long a sandboxed `true` takes, compared with a plain one: `cargo run --release -p mainstay-sandbox
//! --example spawn_rate`.

#![expect(clippy::print_stdout, reason = "the result is printed")]
#![expect(clippy::disallowed_methods, reason = "the unsandboxed side starts its process itself")]

use std::time::{Duration, Instant};

use mainstay_sandbox::exec::{Command, ExecSettings, Sandbox};
use mainstay_sandbox::{FilesSettings, Workspace};

const ROUNDS: u32 = 500;

#[tokio::main]
async fn main() -> Result<(), mainstay_core::Error> {
    let directory = std::env::temp_dir();
    let directory = std::env::args().nth(1).map_or(directory, Into::into);
    let workspace = Workspace::open(&directory, &FilesSettings::default())?;
    let sandbox = Sandbox::new(workspace, ExecSettings::default());
    let command = Command { program: "true".into(), ..Command::default() };
    let limit = Duration::from_secs(10);
    for _ in 0..20 {
        sandbox.run(&command, None, limit, None).await?;
        plain().await;
    }
    let (mut sandboxed, mut unsandboxed) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        sandbox.run(&command, None, limit, None).await?;
        sandboxed.push(begun.elapsed());
        let begun = Instant::now();
        plain().await;
        unsandboxed.push(begun.elapsed());
    }
    let (sandboxed, unsandboxed) = (median(sandboxed), median(unsandboxed));
    let ratio = sandboxed.as_secs_f64() / unsandboxed.as_secs_f64();
    println!(
        "sandboxed {sandboxed:?}  plain {unsandboxed:?}  ratio {ratio:.2}  ({})",
        sandbox.protections().await?.level
    );
    Ok(())
}

async fn plain() {
    let _ = tokio::process::Command::new("true").output().await;
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
