//! Builds the parts from the configuration and connects them: store, workspace, tool families, engine, background tasks.

use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use mainstay_core::{CancellationToken, Registry, SystemClock};
use mainstay_engine::{Engine, EngineSettings};
use mainstay_sandbox::exec::{Network, SandboxMode};
use mainstay_sandbox::{Guard, Workspace};
use mainstay_server::{About, CONSENT_QUOTAS};
use mainstay_store::{Store, StoreOptions};
use mainstay_tools::{ResourceWatcher, Setup};

use crate::{Config, Extensions, own_files};

/// The version that clients, `--version` and the OpenAPI document are told.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Opens the store, and creates the data directory if the store is in it.
pub(crate) async fn open_store(config: &Config) -> anyhow::Result<Store> {
    if config.store.is_none() {
        make_private_dir(&config.data_dir()?)?;
    }
    let shown = config.redacted().store_url()?;
    let options = StoreOptions { audit_archive: config.audit_archive(), ..StoreOptions::default() };
    let opened = Store::open(&config.store_url()?, options).await;
    opened.with_context(|| format!("cannot open the store {shown}; check --store and --data-dir"))
}

/// Creates a directory that only this user can read: the data directory contains the audit and signing keys.
pub(crate) fn make_private_dir(directory: &Path) -> anyhow::Result<()> {
    let made = own_files::make_private_dir(directory);
    made.with_context(|| format!("cannot create the directory {}", directory.display()))
}

/// Opens the workspace and its roots. Callers and commands can reach none of the server's own files.
pub(crate) fn open_workspace(config: &Config) -> anyhow::Result<Workspace> {
    let data = config.data_dir()?;
    let workspace = Workspace::open(&config.workspace()?, &config.files)?;
    own_files::check_unreachable(config, &workspace)?;
    own_files::check_single_names(config)?;
    let workspace = own_files::close_default_dirs(config, workspace)?;
    make_private_dir(&data)?;
    Ok(workspace.with_closed_dir(&data)?.with_journal(&data.join("journal"))?)
}

/// An empty directory in place of the workspace, for a server whose tools use none: a broken workspace setting must not
/// keep it from starting.
fn empty_workspace(config: &Config) -> anyhow::Result<Workspace> {
    let directory = config.data_dir()?.join("empty");
    make_private_dir(&directory)?;
    Ok(Workspace::open_read_only(&directory)?)
}

/// Builds the engine with all configured tools, and starts the watcher of resources.
pub(crate) async fn open_engine(config: &Config, more: Extensions) -> anyhow::Result<Engine> {
    // Sessions, watched files and commands need more descriptors than the usual soft limit of 1024.
    mainstay_sandbox::raise_open_files();
    let workspace = match config.served_without_workspace() {
        Some(_) => empty_workspace(config)?,
        None => open_workspace(config)?,
    };
    let store = open_store(config).await?;
    if config.context.cache_root.is_none() {
        make_private_dir(&config.cache_root()?)?;
    }
    let watcher = ResourceWatcher::new(&workspace);
    let with_tokens = config.server.auth.is_some();
    let setup = Setup {
        version: VERSION,
        workspace,
        files: config.files.clone(),
        exec: config.exec.clone(),
        agents: config.agents.clone(),
        context: config.context.clone(),
        code: config.code.clone(),
        code_cache: config.data_dir()?.join("code"),
        templates: config.templates.clone(),
        search: config.search.clone(),
        search_indexes: config.data_dir()?.join("search"),
        solana: config.solana.clone(),
        caches: config.cache_root()?,
        store: store.clone(),
        openapi: Arc::new(LazyLock::new(Box::new(move || mainstay_server::openapi(VERSION, with_tokens)))),
        watcher: watcher.clone(),
        started: Instant::now(),
    };
    let mut families = mainstay_tools::families(&setup, &config.tools)?;
    log_broken_templates(config);
    families.extend((more.families)(config));
    // A name that two families use is an error of the program, so its detail is printed instead of the public message.
    let mut registry = Registry::new(families)
        .map_err(|error| anyhow::anyhow!("{}", error.detail.unwrap_or_else(|| error.public.into_owned())))?;
    registry.disable(&config.disabled_tools)?;
    check_dialect_quotas(config, more)?;
    let engine = Engine::new(engine_settings(config), registry, store, Arc::new(SystemClock))?;
    let events = engine.events().clone();
    tokio::spawn(watcher.run(move |event| events.publish(event)));
    Ok(engine)
}

/// Says at start which templates of the operator do not load: clients see only that they are missing.
fn log_broken_templates(config: &Config) {
    let directories = &config.templates.directories;
    if directories.is_empty() {
        return;
    }
    match mainstay_tools::templates::list_templates(directories, None) {
        Ok((_, broken)) => broken.iter().for_each(|broken| tracing::warn!("template left out: {broken}")),
        Err(error) => tracing::warn!(detail = error.detail, "cannot read templates.directories: {error}"),
    }
}

/// A misspelt name must not leave a dialect without the limit that was meant for it.
fn check_dialect_quotas(config: &Config, more: Extensions) -> anyhow::Result<()> {
    let is_known = |name: &str| more.dialect(name).is_some() || CONSENT_QUOTAS.contains(&name);
    match config.engine.rate.per_dialect.keys().find(|name| !is_known(name)) {
        Some(name) => anyhow::bail!("engine.rate.per_dialect names {name:?}, and there is no such dialect"),
        None => Ok(()),
    }
}

/// The engine's settings. If commands can reach this server's port, requests without a token must not approve calls: a
/// command could approve the call that started it.
fn engine_settings(config: &Config) -> EngineSettings {
    let mut settings = config.engine.clone();
    let reachable = config.exec.network == Network::On || config.exec.sandbox == SandboxMode::Off;
    settings.consent.without_token &= !reachable;
    settings
}

/// What the server tells clients about itself.
pub(crate) fn about(config: &Config) -> anyhow::Result<About> {
    let serves = match config.served_without_workspace() {
        Some(what) => what.to_owned(),
        None => format!("the workspace {}", config.workspace()?.display()),
    };
    Ok(About {
        version: VERSION,
        instructions: format!("Mainstay serves {serves}. Every call is checked, limited and recorded."),
        protected: Guard::new(&config.files.protect, &config.files.unprotect).names(),
    })
}

/// Cancelled by the first interrupt or termination signal; a second one ends the process at once.
pub(crate) fn stop_signal() -> anyhow::Result<CancellationToken> {
    use tokio::signal::unix::{SignalKind, signal};
    let stop = CancellationToken::new();
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let stopping = stop.clone();
    tokio::spawn(async move {
        for nth in 1.. {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            // 130 is what shells report for a process ended by an interrupt.
            if nth > 1 {
                std::process::exit(130);
            }
            tracing::info!("stopping: waiting for running calls; a second signal exits at once");
            stopping.cancel();
        }
    });
    Ok(stop)
}

/// Starts the background tasks of a server: the event feed, and every ten minutes the removal of what has expired or is
/// not kept any longer.
pub(crate) fn spawn_background_tasks(engine: &Engine) {
    let engine = engine.clone();
    let feed = engine.clone();
    tokio::spawn(async move { feed.run_feed().await });
    tokio::spawn(async move {
        // Not at once, which would compete with starting, but soon: a server that is started for each session of an agent
        // may never run for ten minutes.
        let first = tokio::time::Instant::now() + Duration::from_secs(30);
        let mut every = tokio::time::interval_at(first, Duration::from_mins(10));
        loop {
            every.tick().await;
            if let Err(error) = engine.sweep().await {
                tracing::warn!(detail = error.detail, "cannot remove or archive what is not kept any longer");
            }
        }
    });
}
