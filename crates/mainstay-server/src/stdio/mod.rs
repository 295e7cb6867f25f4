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

use crate::{About, ServerSettings, StartError};

/// Serves the standard protocol until the end of input or until `stop`.
pub fn serve_stdio<'a>(
    engine: &'a Engine,
    about: &'a About,
    settings: &'a ServerSettings,
    stop: CancellationToken,
) -> BoxFuture<'a, Result<(), StartError>> {
    Box::pin(mcp::serve(engine, about, settings, stop))
}

/// Serves a dialect until the end of input or until `stop`. The longest message is that of the settings, unless the
/// dialect's contract has a limit of its own.
pub fn serve_dialect<'a>(
    engine: &'a Engine,
    about: &'a About,
    dialect: Arc<dyn Dialect>,
    settings: &'a ServerSettings,
    stop: CancellationToken,
) -> BoxFuture<'a, Result<(), StartError>> {
    Box::pin(dialect::serve(engine, about, dialect, settings, stop))
}
