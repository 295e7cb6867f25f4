//! The verbs, written once for both engines.
//!
//! Whatever changes something is a [`Deed`](crate::writer::Deed) for the writer; whatever only looks reads beside it.
//! Something expires at its `expires_ms`, not after it.

mod agents;
mod audit;
mod consent;
mod feed;
mod idempotency;
mod nonce;
mod oauth;
mod secret;
mod session;
mod signing;
