//! How the parts are put together.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use anyhow::Context as _;
use mainstay_core::{CancellationToken, Registry, SystemClock};
use mainstay_engine::{Engine, EngineSettings};
use mainstay_sandbox::exec::{Network, SandboxMode};
use mainstay_sandbox::{Guard, Workspace};
use mainstay_server::About;
use mainstay_store::{Store, StoreOptions};
use mainstay_tools::{ResourceWatcher, Setup};

use crate::{Config, MoreFamilies};

const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(crate) async fn open_store(config: &Config) -> anyhow::Result<Store> {
    if config.store.is_none() {
        make_private_dir(&config.data_dir()?)?;
    }
    let named = config.redacted().store_url()?;
    let opened = Store::open(&config.store_url()?, StoreOptions::default()).await;
    opened.with_context(|| format!("the store {named} cannot be used; see --store and --data-dir"))
}

/// The data directory holds the audit and keys: nobody else's business.
fn make_private_dir(directory: &Path) -> anyhow::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory).with_context(|| format!("cannot create the data directory {}", directory.display()))
}

/// The workspace and its roots. The server's own files are never among what callers reach: neither its data, nor the
/// file that says what is allowed.
pub(crate) fn open_workspace(config: &Config) -> anyhow::Result<Workspace> {
    let data = config.data_dir()?;
    make_private_dir(&data)?;
    let mut files = config.files.clone();
    let primary = config.workspace()?;
    if let Some(file) = config.file.as_deref().and_then(|file| std::fs::canonicalize(file).ok()) {
        let roots = files.roots.iter().filter_map(|root| std::fs::canonicalize(&root.path).ok());
        let within = std::iter::once(primary.clone()).chain(roots).any(|root| file.starts_with(root));
        // A file that an agent may change must not be the one that says what it may do.
        let name = file.file_name().and_then(|name| name.to_str()).filter(|_| within);
        files.protect.extend(name.map(str::to_owned));
    }
    let workspace = Workspace::open(&primary, &files)?.with_closed_dir(&data)?;
    keep_store_apart(config, &workspace)?;
    Ok(workspace.with_journal(&data.join("journal"))?)
}

/// Whoever can change the store can approve, and make tokens. In the data directory it is closed; elsewhere nothing hides
/// it.
fn keep_store_apart(config: &Config, workspace: &Workspace) -> anyhow::Result<()> {
    let Some(file) = mainstay_store::sqlite_file(&config.store_url()?) else { return Ok(()) };
    let commands =
        (config.tools.is_empty() || config.tools.iter().any(|family| family == "exec")).then_some(&config.exec);
    let Some(place) = workspace.exposure(&file, commands)? else { return Ok(()) };
    anyhow::bail!(
        "the store {} lies in {}, where callers or commands could read and change it. Leave --store (the setting `store`) out to keep it in the data directory, or name a file that is neither in a root nor in what commands may reach",
        file.display(),
        place.display()
    )
}

/// Stands in for the workspace where nothing works on one: then what is wrong with the user's must not matter.
fn nothing_to_work_on(config: &Config) -> anyhow::Result<Workspace> {
    let directory = config.data_dir()?.join("empty");
    make_private_dir(&directory)?;
    Ok(Workspace::open_read_only(&directory)?)
}

pub(crate) async fn open_engine(config: &Config, more: MoreFamilies) -> anyhow::Result<Engine> {
    mainstay_sandbox::raise_open_files();
    let workspace = if config.caches_alone() { nothing_to_work_on(config)? } else { open_workspace(config)? };
    let store = open_store(config).await?;
    if config.context.cache_root.is_none() {
        make_private_dir(&config.cache_root()?)?;
    }
    let watcher = ResourceWatcher::new(&workspace);
    let setup = Setup {
        version: VERSION,
        workspace,
        files: config.files.clone(),
        exec: config.exec.clone(),
        agents: config.agents.clone(),
        context: config.context.clone(),
        caches: config.cache_root()?,
        store: store.clone(),
        openapi: Arc::new(OnceLock::from(mainstay_server::openapi(VERSION))),
        watcher: watcher.clone(),
        started: Instant::now(),
    };
    let mut families = mainstay_tools::families(&setup, &config.tools)?;
    families.extend(more(config));
    let mut registry = Registry::new(families)
        .map_err(|error| anyhow::anyhow!("{}", error.detail.unwrap_or_else(|| error.public.into_owned())))?;
    registry.disable(&config.disabled_tools)?;
    let engine = Engine::new(engine_settings(config), registry, store, Arc::new(SystemClock))?;
    let events = engine.events().clone();
    tokio::spawn(watcher.run(move |event| events.publish(event)));
    Ok(engine)
}

/// A command that can reach this server could approve what it was started for: then a request without a token does not.
fn engine_settings(config: &Config) -> EngineSettings {
    let mut settings = config.engine.clone();
    let reached = config.exec.network == Network::On || config.exec.sandbox == SandboxMode::Off;
    settings.consent.without_token &= !reached;
    settings
}

pub(crate) fn about(config: &Config) -> anyhow::Result<About> {
    let served = if config.caches_alone() {
        "context caches".to_owned()
    } else {
        format!("the workspace {}", config.workspace()?.display())
    };
    Ok(About {
        version: VERSION,
        instructions: format!("Mainstay serves {served}. Every call is checked, limited and recorded."),
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
            if nth > 1 {
                std::process::exit(130);
            }
            tracing::info!("stopping; calls under way are given time to finish, a second signal ends them");
            stopping.cancel();
        }
    });
    Ok(stop)
}

/// What goes on beside the calls for as long as the server runs: those who listen are told, and what has expired is
/// forgotten.
pub(crate) fn keep_house(engine: &Engine) {
    let engine = engine.clone();
    let telling = engine.clone();
    tokio::spawn(async move { telling.run_feed().await });
    tokio::spawn(async move {
        let mut every = tokio::time::interval(std::time::Duration::from_mins(10));
        every.tick().await;
        loop {
            every.tick().await;
            if let Err(error) = engine.sweep().await {
                tracing::warn!(detail = error.detail, "what has expired could not be removed");
            }
        }
    });
}
