//! `mainstay serve` and `mainstay stdio`.

use std::process::ExitCode;

use crate::cli::Dialect;
use crate::house::{about, keep_house, open_engine, stop_signal};
use crate::{Config, MoreFamilies};

pub(crate) async fn http(config: &Config, more: MoreFamilies) -> anyhow::Result<ExitCode> {
    let stop = stop_signal()?;
    let engine = open_engine(config, more).await?;
    let bound = mainstay_server::bind(&engine, &about(config)?, &config.server).await?;
    keep_house(&engine);
    let auth = if config.server.auth.is_some() {
        "with access tokens"
    } else {
        "for this machine only, without authentication"
    };
    tracing::info!("listening on http://{}/mcp {auth}", bound.address());
    if let Some(address) = bound.mira_address() {
        tracing::info!("speaking mira on http://{address}/ too");
    }
    bound.serve(stop).await;
    finish(&engine).await;
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn stdio(config: &Config, more: MoreFamilies, dialect: Dialect) -> anyhow::Result<ExitCode> {
    let stop = stop_signal()?;
    let engine = open_engine(config, more).await?;
    keep_house(&engine);
    let dialect = match dialect {
        Dialect::Mcp => mainstay_server::Dialect::Mcp,
        Dialect::Mira => mainstay_server::Dialect::Mira,
    };
    mainstay_server::serve_stdio(&engine, &about(config)?, dialect, config.server.message_bytes, stop).await?;
    finish(&engine).await;
    Ok(ExitCode::SUCCESS)
}

async fn finish(engine: &mainstay_engine::Engine) {
    if !engine.shut_down().await {
        tracing::warn!("some calls did not finish in time and were cut off");
    }
}
