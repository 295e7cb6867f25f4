//! `mainstay doctor`: what works here, and what to do about what does not.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use mainstay_auth::AuthSettings;
use mainstay_core::CacheFailure;
use mainstay_tools::context::count_caches_at;

use super::say;
use crate::house::{open_engine, open_store, open_workspace};
use crate::{Config, MoreFamilies};

/// What one look found.
enum Finding {
    Good(String),
    /// Works, but somebody should know.
    Note(String),
    /// Does not work: what, and what to do.
    Bad {
        what: String,
        remedy: String,
    },
}

use Finding::{Bad, Good, Note};

pub(crate) async fn run(config: &Config, file: Option<&Path>, more: MoreFamilies) -> anyhow::Result<ExitCode> {
    let mut findings = vec![
        ("program", program()),
        ("configuration", configuration(file)),
        ("workspace", workspace(config)),
        ("store", store(config).await),
        ("audit", audit(config).await),
        ("tools", tools(config, more).await),
        ("caches", caches(config)),
        ("listener", listener(config.server.listen, "--listen").await),
        ("authentication", authentication(config)),
    ];
    if let Some(address) = config.server.mira_listen {
        findings.push(("mira listener", listener(address, "server.mira_listen").await));
    }
    findings.extend(sandbox(config).await);
    let mut report = String::new();
    let mut broken = 0;
    for (name, finding) in &findings {
        match finding {
            Good(text) => writeln!(report, "ok    {name:15} {text}")?,
            Note(text) => writeln!(report, "note  {name:15} {text}")?,
            Bad { what, remedy } => {
                broken += 1;
                writeln!(report, "BAD   {name:15} {what}\n{:22}{remedy}", "")?;
            }
        }
    }
    say(report.trim_end());
    Ok(if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn bad(what: impl std::fmt::Display, remedy: &str) -> Finding {
    Bad { what: what.to_string(), remedy: remedy.to_owned() }
}

fn program() -> Finding {
    Good(format!("mainstay {} on {} {}", env!("CARGO_PKG_VERSION"), std::env::consts::OS, std::env::consts::ARCH))
}

fn configuration(file: Option<&Path>) -> Finding {
    match file {
        Some(file) => Good(format!("{} is read", file.display())),
        None => Good("no file; the defaults are in force".into()),
    }
}

fn workspace(config: &Config) -> Finding {
    let directory = match config.workspace() {
        Ok(directory) => directory,
        Err(error) => return bad(format_args!("{error:#}"), "Give an existing directory with --workspace."),
    };
    match std::fs::read_dir(&directory) {
        Err(error) => bad(
            format_args!("{} cannot be read: {error}", directory.display()),
            "Give the user who runs mainstay access to it.",
        ),
        Ok(_) if std::fs::metadata(&directory).is_ok_and(|facts| facts.permissions().readonly()) => {
            Note(format!("{} is read-only", directory.display()))
        }
        Ok(_) => Good(directory.display().to_string()),
    }
}

async fn store(config: &Config) -> Finding {
    let begun = Instant::now();
    match open_store(config).await {
        Err(error) => bad(
            format_args!("{error:#}"),
            "Check --store and --data-dir: the directory must be writable, the server reachable.",
        ),
        Ok(store) => {
            let engine = store.engine();
            let finding = match store.ping().await {
                Ok(()) => Good(format!("{engine} opens and answers ({} ms)", begun.elapsed().as_millis())),
                Err(error) => bad(error, "The store opens but does not answer; look at its disk or its server."),
            };
            let _ = store.close().await;
            finding
        }
    }
}

async fn audit(config: &Config) -> Finding {
    let Ok(store) = open_store(config).await else { return Note("not looked at: the store does not open".into()) };
    let finding = match store.audit().verify().await {
        Ok(verdict) if verdict.fault.is_none() => Good(format!("whole: {} rows", verdict.rows)),
        Ok(_) => bad(
            "the chain is broken",
            "Run `mainstay audit verify` to see where; keep a copy of the store before anything else.",
        ),
        Err(error) => bad(error, "The audit cannot be read; look at the store."),
    };
    let _ = store.close().await;
    finding
}

async fn tools(config: &Config, more: MoreFamilies) -> Finding {
    match open_engine(config, more).await {
        Ok(engine) => {
            let count = engine.registry().all_tools().count();
            engine.shut_down().await;
            Good(format!("{count} tools"))
        }
        Err(error) => bad(format_args!("{error:#}"), "Check --tools and --workspace."),
    }
}

fn caches(config: &Config) -> Finding {
    let directory = match config.cache_root() {
        Ok(directory) => directory,
        Err(error) => return bad(format_args!("{error:#}"), "Say where caches are with --cache-root."),
    };
    let shown = directory.display();
    match count_caches_at(&directory) {
        Ok(1) => Good(format!("1 in {shown}")),
        Ok(count) => Good(format!("{count} in {shown}")),
        Err(error) if CacheFailure::of(&error) == CacheFailure::CacheMissing => Note(format!(
            "{shown} is not there or is no directory; `mainstay context build --cache` makes the first cache in it"
        )),
        Err(error) => bad(
            format_args!("{shown} cannot be read: {}", error.detail.as_deref().unwrap_or(&error.public)),
            "Give the user who runs mainstay access to it, or name another directory with --cache-root.",
        ),
    }
}

async fn listener(address: std::net::SocketAddr, setting: &str) -> Finding {
    match tokio::net::TcpListener::bind(address).await {
        Ok(_) => Good(format!("{address} is free")),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
            Note(format!("{address} is in use; if that is not this server, choose another with {setting}"))
        }
        Err(error) => {
            bad(format_args!("{address}: {error}"), &format!("Choose an address of this machine with {setting}."))
        }
    }
}

/// What commands are held by on this machine. What is missing is bad only if commands are refused for it.
async fn sandbox(config: &Config) -> Vec<(&'static str, Finding)> {
    let Ok(workspace) = open_workspace(config) else { return Vec::new() };
    let found = mainstay_sandbox::exec::diagnose(&workspace, &config.exec).await;
    let finding = |found: mainstay_sandbox::exec::Finding| match (found.enforced, found.remedy) {
        (true, _) => (found.name, Good(found.what)),
        (false, Some(remedy)) if found.name == "commands" => (found.name, bad(found.what, remedy)),
        (false, remedy) => (found.name, Note(format!("{} {}", found.what, remedy.unwrap_or_default()))),
    };
    found.into_iter().map(finding).collect()
}

fn authentication(config: &Config) -> Finding {
    match &config.server.auth {
        None if config.server.listen.ip().is_loopback() => {
            Good("off: only programs on this machine can connect".into())
        }
        None => bad("off, on an address others can reach", "Set [server.auth], or listen on 127.0.0.1."),
        Some(AuthSettings::External(auth)) if !auth.keys.exists() => bad(
            format_args!("the key file {} is not there", auth.keys.display()),
            "Put the issuer's JWK set or public key there.",
        ),
        Some(AuthSettings::External(auth)) => Good(format!("tokens of {}", auth.issuer)),
        Some(AuthSettings::Local(_)) => {
            Good("tokens of this server; `mainstay client list` shows who gets them".into())
        }
    }
}
