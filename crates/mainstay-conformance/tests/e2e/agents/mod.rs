//! The dialect `agents`: rules that need probe tools or the events of a call.

pub(crate) mod accounting;
mod idempotency_keys;
pub(crate) mod rules;
pub(crate) mod websocket;
