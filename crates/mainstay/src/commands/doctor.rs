//! `mainstay doctor`: checks each part of the setup, and says how to fix what does not work.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Instant;

use mainstay_auth::AuthSettings;
use mainstay_core::CacheFailure;
use mainstay_store::StoreSizes;
use mainstay_tools::context::count_caches_at;
use mainstay_tools::templates::{BrokenTemplate, list_templates};

use super::audit::intact;
use super::terminal::{exit_code, print_line};
use crate::wiring::{open_engine, open_store, open_workspace};
use crate::{Config, Extensions};

/// The result of one check.
enum Finding {
    Good(String),
    /// Works, but the operator should know.
    Note(String),
    /// Does not work: what, and how to fix it.
    Bad(String, String),
}

use Finding::{Bad, Good, Note};

/// Runs all checks, prints their results and fails if one of them found something that does not work.
pub(crate) async fn run(config: &Config, more: Extensions) -> anyhow::Result<ExitCode> {
    let [store, sizes, audit] = store_findings(config).await;
    let mut findings = vec![
        ("program", program()),
        ("configuration", configuration(config)),
        ("workspace", workspace(config)),
        ("store", store),
        ("sizes", sizes),
        ("audit", audit),
        ("tools", tools(config, more).await),
        ("caches", caches(config)),
        ("templates", templates(config)),
        ("listener", listener(config.server.listen, "--listen").await),
        ("authentication", authentication(config)),
    ];
    if let Some(address) = config.server.mira_listen {
        findings.push(("mira listener", listener(address, "server.mira_listen").await));
    }
    // Last, because the protections of the sandbox are many lines.
    findings.extend(sandbox(config).await);
    let mut report = String::new();
    let mut healthy = true;
    for (name, finding) in &findings {
        match finding {
            Good(text) => writeln!(report, "ok    {name:15} {text}")?,
            Note(text) => writeln!(report, "note  {name:15} {text}")?,
            Bad(what, remedy) => {
                healthy = false;
                writeln!(report, "BAD   {name:15} {what}\n{:22}{remedy}", "")?;
            }
        }
    }
    print_line(report.trim_end());
    Ok(exit_code(healthy))
}

/// A finding that needs a fix; the remedy is a full sentence.
fn bad(what: impl std::fmt::Display, remedy: &str) -> Finding {
    Bad(what.to_string(), remedy.to_owned())
}

fn program() -> Finding {
    Good(format!("mainstay {} on {} {}", env!("CARGO_PKG_VERSION"), std::env::consts::OS, std::env::consts::ARCH))
}

fn configuration(config: &Config) -> Finding {
    match &config.file {
        Some(file) => Good(format!("read from {}", file.display())),
        None => Good("no file; defaults are used".into()),
    }
}

/// Whether the workspace exists and can be read and written.
fn workspace(config: &Config) -> Finding {
    let directory = match config.workspace() {
        Ok(directory) => directory,
        Err(error) => return bad(format_args!("{error:#}"), "Set --workspace to an existing directory."),
    };
    match std::fs::read_dir(&directory) {
        Err(error) => bad(
            format_args!("{} cannot be read: {error}", directory.display()),
            "Give the user who runs mainstay read access.",
        ),
        // Reading works without it, so it is no error.
        Ok(_) if std::fs::metadata(&directory).is_ok_and(|facts| facts.permissions().readonly()) => {
            Note(format!("{} is read-only", directory.display()))
        }
        Ok(_) => Good(directory.display().to_string()),
    }
}

/// Whether the store opens and answers, how long that takes, how large it is, and whether the hash chain of the audit is
/// whole.
async fn store_findings(config: &Config) -> [Finding; 3] {
    let started = Instant::now();
    let store = match open_store(config).await {
        Ok(store) => store,
        Err(error) => {
            let remedy =
                "Check --store and --data-dir: the directory must be writable, or the database server reachable.";
            let unknown = || Note("not checked: the store does not open".into());
            return [bad(format_args!("{error:#}"), remedy), unknown(), unknown()];
        }
    };
    let engine = store.engine();
    let answers = match store.ping().await {
        Ok(()) => Good(format!("{engine} opens and answers ({} ms)", started.elapsed().as_millis())),
        Err(error) => bad(error, "The store opens but does not answer; check its disk or its server."),
    };
    let sizes = match store.sizes().await {
        Ok(sizes) => Good(size_line(&sizes)),
        Err(error) => bad(error, "The sizes cannot be read; check the store."),
    };
    let audit = match store.audit().verify().await {
        Ok(verdict) if verdict.fault.is_none() => Good(intact(&verdict)),
        Ok(_) => bad(
            "the hash chain is broken",
            "Copy the store and the archive first, then run `mainstay audit verify` to see where.",
        ),
        Err(error) => bad(error, "The audit cannot be read; check the store."),
    };
    let _ = store.close().await;
    [answers, sizes, audit]
}

/// What grows, so that an operator sees what to limit with `engine.retention`.
fn size_line(sizes: &StoreSizes) -> String {
    let topics: Vec<String> =
        sizes.topics.iter().map(|(topic, bytes)| format!("{topic} {}", readable(*bytes))).collect();
    let free = if sizes.free > 0 { format!(", {} of it free", readable(sizes.free)) } else { String::new() };
    let (files, bytes) = sizes.archive;
    let archive = format!("archive {} in {files} files", readable(bytes));
    format!("store {}{free} ({}); {archive}", readable(sizes.total), topics.join(", "))
}

/// In the largest unit of which there is at least one.
fn readable(bytes: u64) -> String {
    let (unit, divisor) = match bytes {
        0..0x400 => return format!("{bytes} B"),
        0x400..0x10_0000 => ("KB", 0x400),
        0x10_0000..0x4000_0000 => ("MB", 0x10_0000),
        _ => ("GB", 0x4000_0000),
    };
    format!("{}.{} {unit}", bytes / divisor, bytes % divisor * 10 / divisor)
}

/// Builds the engine as `mainstay serve` does, which checks all settings about tools.
async fn tools(config: &Config, more: Extensions) -> Finding {
    match open_engine(config, more).await {
        Ok(engine) => {
            let count = engine.registry().all_tools().count();
            engine.shut_down().await;
            Good(format!("{count} tools"))
        }
        Err(error) => bad(format_args!("{error:#}"), "Check --tools and --workspace."),
    }
}

/// Counts the context caches. A directory that does not exist yet is normal.
fn caches(config: &Config) -> Finding {
    let directory = match config.cache_root() {
        Ok(directory) => directory,
        Err(error) => return bad(format_args!("{error:#}"), "Set --cache-root to the directory of the caches."),
    };
    let shown = directory.display();
    match count_caches_at(&directory) {
        Ok(1) => Good(format!("1 in {shown}")),
        Ok(count) => Good(format!("{count} in {shown}")),
        Err(error) if CacheFailure::of(&error) == CacheFailure::CacheMissing => Note(format!(
            "{shown} does not exist or is not a directory; `mainstay context build --cache` creates the first cache in it"
        )),
        Err(error) => bad(
            format_args!("{shown} cannot be read: {}", error.detail.as_deref().unwrap_or(&error.public)),
            "Give the user who runs mainstay read access, or set --cache-root to another directory.",
        ),
    }
}

/// Whether every template of the operator loads.
fn templates(config: &Config) -> Finding {
    let directories = &config.templates.directories;
    match list_templates(directories, None) {
        Ok((lines, broken)) if broken.is_empty() => {
            Good(format!("{} (templates.directories: {})", lines.len(), directories.len()))
        }
        Ok((_, broken)) => {
            let lines: Vec<String> = broken.iter().map(BrokenTemplate::to_string).collect();
            bad(lines.join("; "), "Repair or remove them, or change templates.directories.")
        }
        Err(error) => bad(error, "Check templates.directories."),
    }
}

/// Whether the address can be bound. An address in use is only a note: the server may be running already.
async fn listener(address: std::net::SocketAddr, setting: &str) -> Finding {
    match tokio::net::TcpListener::bind(address).await {
        Ok(_) => Good(format!("{address} is free")),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
            Note(format!("{address} is in use; if not by this server, choose another address with {setting}"))
        }
        Err(error) => {
            bad(format_args!("{address}: {error}"), &format!("Choose an address of this machine with {setting}."))
        }
    }
}

/// The protections of the sandbox on this machine. A missing one is an error only if commands do not run without it.
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

/// Whether the server may listen where it is configured to: `serve` refuses a public address without tokens.
fn authentication(config: &Config) -> Finding {
    match &config.server.auth {
        None if config.server.listen.ip().is_loopback() => {
            Good("off: only programs on this machine can connect".into())
        }
        None => bad("off, on an address that others can reach", "Set [server.auth], or listen on 127.0.0.1."),
        Some(AuthSettings::External(auth)) if !auth.keys.exists() => bad(
            format_args!("the key file {} does not exist", auth.keys.display()),
            "Put the issuer's JWK set or public key there.",
        ),
        Some(AuthSettings::External(auth)) => Good(format!("tokens of {}", auth.issuer)),
        Some(AuthSettings::Local { .. }) => {
            Good("tokens of this server; `mainstay client list` prints the clients".into())
        }
    }
}
