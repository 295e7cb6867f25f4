//! The dispatcher that carries out the requests of every dialect, on every transport.
//!
//! What a dialect is lies in mainstay-wire. Here its requests become calls of the engine; nothing here knows which dialect
//! it serves. The transports are in `stdio/dialect.rs` and `http/dialect.rs`.

mod chunks;
mod dispatcher;
mod sessions;
#[cfg(test)]
mod tests;
mod tool_names;

pub(crate) use dispatcher::{Dispatcher, RequestContext, Response, respond};
