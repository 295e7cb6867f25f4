//! The commands, one file each.

mod analyze;
mod audit;
mod call;
mod client;
mod config;
mod consent;
pub(crate) mod context;
mod doctor;
mod progress;
mod remote;
mod scaffold;
mod search;
mod serve;
mod terminal;
mod tools;

use std::process::ExitCode;

use clap::CommandFactory as _;

use crate::cli::{Cli, Command, Flags, RemoteArgs};
use crate::{Config, Extensions, log};

/// Runs a command. Those that need no configuration, no log or no runtime run before these are set up.
pub(crate) fn run(cli: Cli, more: Extensions) -> anyhow::Result<ExitCode> {
    if let Command::Completions { shell } = cli.command {
        clap_complete::generate(shell, &mut Cli::command(), "mainstay", &mut std::io::stdout());
        return Ok(ExitCode::SUCCESS);
    }
    // A cache is a directory and nothing else: no configuration, no store.
    if let Command::Context(command) = &cli.command {
        return Ok(context::run(command));
    }
    // Its exit codes tell errors, those of the configuration too, from findings.
    if let Command::Analyze(command) = &cli.command {
        return Ok(analyze::run(&cli.flags, command));
    }
    if let Command::Search(args) = &cli.command {
        return Ok(search::search(&cli.flags, args));
    }
    let config = load_config(&cli.flags)?;
    if let Command::Config(command) = cli.command {
        return config::run(&command, &config);
    }
    log::start(&config.log)?;
    if let Command::Index(args) = &cli.command {
        return search::index(&config, args);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let code = runtime.block_on(async {
        match cli.command {
            Command::Serve => serve::http(&config, more).await,
            Command::Stdio { dialect } => serve::stdio(&config, more, &dialect).await,
            Command::Tools { server: RemoteArgs { url: Some(url), timeout }, json } => {
                remote::tools(&url, timeout, json).await
            }
            Command::Tools { server: RemoteArgs { url: None, .. }, json } => tools::run(&config, more, json).await,
            Command::Call(request) => match &request.server.url {
                Some(url) => remote::call(url, &request).await,
                None => call::run(&config, more, request).await,
            },
            Command::Scaffold(request) => scaffold::run(&config, request).await,
            Command::Doctor => doctor::run(&config, more).await,
            Command::Audit(command) => audit::run(&config, command).await,
            Command::Client(command) => client::run(&config, command).await,
            Command::Consent(command) => consent::run(&config, command).await,
            // Handled above, before the runtime was started.
            Command::Config(_)
            | Command::Completions { .. }
            | Command::Context(_)
            | Command::Analyze(_)
            | Command::Search(_)
            | Command::Index(_) => Ok(ExitCode::SUCCESS),
        }
    });
    // Does not wait for a thread that is blocked reading standard input.
    runtime.shutdown_background();
    code
}

/// The configuration from file, environment and options.
fn load_config(flags: &Flags) -> anyhow::Result<Config> {
    // Names and values that are not UTF-8 cannot be settings of ours.
    let variables =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    crate::config::load(flags, variables)
}
