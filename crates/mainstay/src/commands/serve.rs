//! `mainstay serve` and `mainstay stdio`: run the server until it is stopped.

use std::borrow::Cow;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use mainstay_sandbox::FilesSettings;
use mainstay_sandbox::exec::ExecSettings;
use mainstay_wire::DialectEntry;

use crate::wiring::{about, open_engine, spawn_background_tasks, stop_signal};
use crate::{Config, Extensions};

/// Serves HTTP until a signal. The addresses are bound before anything is logged, so that the log line is a promise.
pub(crate) async fn http(config: &Config, more: Extensions) -> anyhow::Result<ExitCode> {
    let stop = stop_signal()?;
    let engine = open_engine(config, more).await?;
    let dialects: Vec<DialectEntry> = more.all_dialects().copied().collect();
    let bound = mainstay_server::bind(&engine, &about(config)?, &config.server, &dialects, more.dialect_routes).await?;
    spawn_background_tasks(&engine);
    let auth = if config.server.auth.is_some() {
        "with access tokens"
    } else {
        "for this machine only, without authentication"
    };
    tracing::info!("listening on http://{}/mcp {auth}", bound.address());
    if let Some(address) = bound.mira_address() {
        tracing::info!("listening on http://{address}/ for the dialect mira");
    }
    bound.serve(stop).await;
    finish(&engine).await;
    Ok(ExitCode::SUCCESS)
}

/// Serves standard input and output in one dialect, until the end of input or a signal.
pub(crate) async fn stdio(config: &Config, more: Extensions, dialect: &str) -> anyhow::Result<ExitCode> {
    let stop = stop_signal()?;
    let entry = more.dialect(dialect);
    let config = match entry.and_then(|entry| entry.only_family) {
        Some(family) => Cow::Owned(family_only(config, family)?),
        None => Cow::Borrowed(config),
    };
    let engine = open_engine(&config, more).await?;
    spawn_background_tasks(&engine);
    let about = about(&config)?;
    match entry {
        Some(entry) => {
            let tool_timeout = Duration::from_secs(config.context.tool_timeout_secs);
            let dialect = (entry.build)(tool_timeout)?;
            mainstay_server::serve_dialect(&engine, &about, dialect, &config.server, stop).await?;
        }
        None => mainstay_server::serve_stdio(&engine, &about, &config.server, stop).await?,
    }
    finish(&engine).await;
    Ok(ExitCode::SUCCESS)
}

/// The configuration for a dialect that has one family of tools and no others. Settings of other tools are
/// removed, because an invalid one would keep the server from starting.
fn family_only(config: &Config, family: &str) -> anyhow::Result<Config> {
    let mut config = config.clone();
    if family == "context" {
        let caches = config.context.cache_root.as_ref();
        caches.context("the directory of the caches is not set; set CONTEXT_CACHE_ROOT or --cache-root to it")?;
        // Contract 002 has its own time limit, so the engine's must not be shorter.
        for limit in [&mut config.engine.deadline_seconds, &mut config.engine.long_deadline_seconds] {
            *limit = (*limit).max(config.context.tool_timeout_secs);
        }
    }
    config.tools = vec![family.to_owned()];
    (config.workspace, config.files, config.exec) = (None, FilesSettings::default(), ExecSettings::default());
    // A tool's name has a separator after the family, and each dialect uses another one.
    let own = |name: &str| name.strip_prefix(family).is_some_and(|rest| rest.starts_with(['_', '/', '.']));
    config.disabled_tools.retain(|name| own(name));
    config.engine.rate.per_tool.retain(|name, _| own(name));
    config.engine.consent.required_for_tools.retain(|name| own(name));
    Ok(config)
}

/// Waits for running calls and closes the store.
async fn finish(engine: &mainstay_engine::Engine) {
    if !engine.shut_down().await {
        tracing::warn!("some calls did not finish within drain_seconds and were cancelled");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_context_server_keeps_its_own_tools_and_their_settings() {
        let text = "tools = [\"files\"]\nworkspace = \"/no/such\"\n\
            disabled_tools = [\"exec/run\", \"context.resolve\", \"contexts_x\"]\n\
            [context]\ncache_root = \"c\"\ntool_timeout_secs = 300\n\
            [engine.consent]\nrequired_for_tools = [\"files_write\", \"context_list_caches\"]\n\
            [engine.rate.per_tool]\n\"context/resolve\" = {calls = 1}\nserver_echo = {calls = 1}\n\
            [files]\nroots = [{path = \"/no/such\"}]\n[exec]\nsandbox = \"off\"\n";
        let only = family_only(&toml::from_str(text).unwrap(), "context").unwrap();
        assert!(only.served_without_workspace().is_some());
        assert_eq!(
            (&only.workspace, &only.files, &only.exec),
            (&None, &FilesSettings::default(), &ExecSettings::default())
        );
        assert_eq!((only.tools, only.disabled_tools), (vec!["context".to_owned()], vec!["context.resolve".to_owned()]));
        assert_eq!(only.engine.consent.required_for_tools, ["context_list_caches"]);
        assert_eq!(only.engine.rate.per_tool.keys().collect::<Vec<_>>(), ["context/resolve"]);
        assert_eq!(only.engine.deadline_seconds, 300);
    }

    #[test]
    fn the_context_server_does_not_start_without_a_cache_root() {
        let error = family_only(&Config::default(), "context").unwrap_err().to_string();
        assert!(error.contains("CONTEXT_CACHE_ROOT") && error.contains("--cache-root"), "{error}");
    }
}
