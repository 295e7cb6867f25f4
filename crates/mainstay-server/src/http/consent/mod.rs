//! `/api/mcp/consent/{id}`: a request for consent, as JSON for programs and as a page for people.
//!
//! The rules are in `mainstay_auth::consent`. Here are the handlers (`decide.rs`), the page without scripts (`page.rs`),
//! protection against forged forms (`csrf.rs`), and signing in with a token that a cookie keeps (`sign_in.rs`).

mod cookie;
mod csrf;
mod decide;
mod page;
mod sign_in;
mod state;

pub(crate) use decide::{decide, show};
pub(crate) use page::STYLE;
pub(crate) use sign_in::with_sign_in;
pub(crate) use state::Consents;
