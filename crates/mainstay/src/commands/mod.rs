//! The commands, one file each.

mod audit;
mod call;
mod client;
mod config;
mod consent;
pub(crate) mod context;
mod doctor;
mod printable;
mod remote;
mod serve;
mod tools;

use std::io::Write;
use std::process::ExitCode;

use clap::CommandFactory as _;
use clap_complete::Shell as Script;

use crate::cli::{Cli, Command, Elsewhere, Shell};
use crate::{MoreFamilies, log};

pub(crate) fn run(cli: Cli, more: MoreFamilies) -> anyhow::Result<ExitCode> {
    if let Command::Completions { shell } = cli.command {
        clap_complete::generate(script(shell), &mut Cli::command(), "mainstay", &mut std::io::stdout());
        return Ok(ExitCode::SUCCESS);
    }
    // A cache is a directory and nothing else: no configuration, no store.
    if let Command::Context(command) = &cli.command {
        return Ok(context::run(command));
    }
    let variables =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let loaded = crate::config::load(&cli.flags, variables)?;
    if let Command::Config(command) = cli.command {
        return config::run(&command, &loaded);
    }
    log::start(&loaded.config.log)?;
    let config = loaded.config;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let code = runtime.block_on(async {
        match cli.command {
            Command::Serve => serve::http(&config, more).await,
            Command::Stdio { dialect } => Box::pin(serve::stdio(&config, more, dialect)).await,
            Command::Tools { server: Elsewhere { url: Some(url), timeout }, json } => {
                remote::tools(&url, timeout, json).await
            }
            Command::Tools { server: Elsewhere { url: None, .. }, json } => tools::run(&config, more, json).await,
            Command::Call { server, tool, arguments, idempotency_key, json } => {
                let order = call::Order { tool, arguments, idempotency_key, json };
                match server.url {
                    Some(url) => remote::call(&url, server.timeout, order).await,
                    None => call::run(&config, more, order).await,
                }
            }
            Command::Doctor => doctor::run(&config, loaded.file.as_deref(), more).await,
            Command::Audit(command) => audit::run(&config, command).await,
            Command::Client(command) => client::run(&config, command).await,
            Command::Consent(command) => consent::run(&config, command).await,
            Command::Config(_) | Command::Completions { .. } | Command::Context(_) => Ok(ExitCode::SUCCESS),
        }
    });
    // A thread that still waits for input must not keep a finished program alive.
    runtime.shutdown_background();
    code
}

/// What a command prints for people and pipes. A reader that has gone away is not an error.
fn say(text: impl std::fmt::Display) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

fn script(shell: Shell) -> Script {
    match shell {
        Shell::Bash => Script::Bash,
        Shell::Elvish => Script::Elvish,
        Shell::Fish => Script::Fish,
        Shell::Powershell => Script::PowerShell,
        Shell::Zsh => Script::Zsh,
    }
}
