//! Who may do what: hosts, origins, tokens and scopes on every route.

pub(crate) mod abuse;
pub(crate) mod oauth;
pub(crate) mod routes;
