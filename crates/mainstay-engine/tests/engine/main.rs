//! The engine through its public API, on its own store, with a clock that does not move by itself.
#![expect(clippy::unwrap_used, reason = "in a test a surprise is a failure")]

mod consent;
mod consent_waits;
mod feed;
mod planned_changes;
mod policies;
mod replicas;
mod retention;
mod stopped_calls;
mod testing;
