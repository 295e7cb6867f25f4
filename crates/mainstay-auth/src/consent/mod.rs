//! A person's consent to single calls: which calls need it, how it is requested, who may decide, and when it expires.
//!
//! `policy.rs` has the rules, `approval.rs` what a call does to get approved, `stored.rs` the requests in the store,
//! which `mainstay consent` uses without a server. Only the stored state lets a call run: no client, page or command is
//! trusted with more than recording a decision there.

mod approval;
mod policy;
mod stored;
mod wait_slots;

pub use approval::{CONSENT_KEY, ConsentRequest};
pub use mainstay_store::ConsentState;
pub use policy::{CONSENT_PATH, ConsentPolicy};
pub use stored::{ConsentStore, ConsentView};
