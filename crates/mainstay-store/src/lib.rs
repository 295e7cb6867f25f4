//! Storage verbs, each a whole deed, on two engines that pass one conformance suite.
//!
//! Only this crate knows SQL. The engine is chosen by URL when the program runs: `sqlite:PATH` or `postgres://…`.
//! Every write goes through one writer that groups commits, and is on disk when its future resolves.

mod agents;
mod audit;
mod consent;
mod error;
mod feed;
mod idempotency;
mod ledger;
mod migrate;
mod nonce;
mod oauth;
mod options;
mod secret;
mod session;
mod signing;
mod sql;
mod store;
mod url;
mod verbs;
mod writer;

pub use agents::{
    Activity, ActivityQuery, AgentState, Agents, Changed, Collaboration, CollaborationQuery, Column, Component,
    ComponentQuery, Conflict, Dispute, Headcount, Intent, NewActivity, NewCollaboration, NewComponent, NewProposal,
    Proposal, Registration, Vote,
};
pub use audit::{AuditEntry, AuditLog, AuditQuery, AuditRow, Fault, Head, Phase, Verdict};
pub use consent::{Binding, Consent, ConsentState, Consents, Decision, Filed, NewConsent, Ruling, Taken};
pub use error::{Result, StoreError};
pub use feed::{FEED_MEMORY_MS, Feed, FeedHead, FeedPage, NewFeedPage};
pub use idempotency::{Begin, Begun, Held, Idempotency};
pub use nonce::Nonces;
pub use oauth::{Client, NewRefresh, OAuth, Refresh, Rotation};
pub use options::StoreOptions;
pub use secret::Secrets;
pub use session::{Session, Sessions};
pub use signing::{SigningKey, SigningKeys};
pub use store::Store;
pub use url::sqlite_file;
