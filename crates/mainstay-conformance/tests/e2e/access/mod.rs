//! Who may do what: hosts, origins, tokens and scopes on every route.

pub(crate) mod abuse;
mod exhaustion;
mod hostile_text;
pub(crate) mod oauth;
mod responses;
pub(crate) mod routes;
