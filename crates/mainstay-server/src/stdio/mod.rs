//! Standard input and output: one message a line, for the program that started this one.
//!
//! Both functions return boxed futures, so that the SDK and the dispatcher are compiled in this crate alone and not again
//! in the one that awaits them.

mod dialect;
mod lines;
mod mcp;

use std::sync::Arc;

use mainstay_core::{BoxFuture, CancellationToken};
use mainstay_engine::Engine;
use mainstay_wire::Dialect;

use crate::{About, StartError};

/// Serves the standard protocol until the end of input or until `stop`.
pub fn serve_stdio<'a>(
    engine: &'a Engine,
    about: &'a About,
    message_bytes: usize,
    stop: CancellationToken,
) -> BoxFuture<'a, Result<(), StartError>> {
    Box::pin(mcp::serve(engine, about, message_bytes, stop))
}

/// Serves a dialect until the end of input or until `stop`. `message_bytes` is the longest message, unless the dialect's
/// contract has a limit of its own.
pub fn serve_dialect<'a>(
    engine: &'a Engine,
    about: &'a About,
    dialect: Arc<dyn Dialect>,
    message_bytes: usize,
    stop: CancellationToken,
) -> BoxFuture<'a, Result<(), StartError>> {
    Box::pin(dialect::serve(engine, about, dialect, message_bytes, stop))
}
