//! Standard input and output: a dialect reads and writes one message a line, for whoever started this process.

mod lines;
mod mcp;
mod mira;

use mainstay_core::CancellationToken;
use mainstay_engine::Engine;

use crate::{About, StartError};

/// What is spoken on a pipe. Over HTTP each dialect has a path of its own instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    Mcp,
    Mira,
}

/// Serves whoever started this process, until the end of input or until `stop`.
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
    }
}
