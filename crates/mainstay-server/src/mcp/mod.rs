//! The standard protocol, in every current version, over the official SDK (rmcp).
//!
//! The SDK's types are used in this folder and in the two transports that feed it (`http/mcp.rs`, `stdio/mcp.rs`), and
//! nowhere else in the crate. `handler.rs` implements the SDK's server trait; `invocation.rs` makes the engine's call;
//! `fast_path.rs` serves plain tool calls without the SDK; `encode.rs` holds the tables from our types to the SDK's.
//!
//! What needs state beyond one request has a module of its own: `sessions.rs` (older versions), `stream_replay.rs` (a client
//! that reconnects), `request_state.rs` and `questions.rs` (a call that asks), `tasks.rs` (a call that takes long) and
//! `subscriptions.rs` (changes).
//!
//! The SDK decides about framing, versions, malformed params and response streams. It knows ids but not whose they are:
//! every access to a session or a task is checked against the caller here.
#![expect(deprecated, reason = "logging, sampling and roots are on their way out, and clients of today still use them")]

mod encode;
mod fast_path;
mod handler;
mod invocation;
mod questions;
mod request;
mod request_state;
mod sessions;
mod shared;
mod sink;
mod stream_replay;
mod subscriptions;
mod task_sets;
mod tasks;

pub(crate) use fast_path::PlainCall;
pub(crate) use handler::{Handler, StdioClient};
pub(crate) use sessions::{CALLER, SessionRows, Sessions};
pub(crate) use shared::Shared;
