//! Standard input and output: a dialect reads and writes one message a line, for whoever started this process.

mod context;
mod dialect;
mod lines;
mod mcp;
mod mira;

use std::time::Duration;

use mainstay_core::CancellationToken;
use mainstay_engine::Engine;

use crate::{About, StartError};

/// What is spoken on a pipe, with what only that dialect needs. Over HTTP each dialect has a path of its own instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    Mcp,
    Mira,
    Context {
        /// How long one call of a tool may take.
        tool_timeout: Duration,
    },
}

/// Serves whoever started this process, until the end of input or until `stop`. A dialect whose contract says how long a
/// message may be keeps to that instead of `message_bytes`.
pub async fn serve_stdio(
    engine: &Engine,
    about: &About,
    dialect: Dialect,
    message_bytes: usize,
    stop: CancellationToken,
) -> Result<(), StartError> {
    match dialect {
        Dialect::Mcp => mcp::serve(engine, about, message_bytes, stop).await,
        Dialect::Mira => mira::serve(engine, message_bytes, stop).await,
        Dialect::Context { tool_timeout } => context::serve(engine, about, tool_timeout, stop).await,
    }
}
