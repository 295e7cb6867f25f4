//! Who may call, and what a person has to approve.
//!
//! [`Authenticator`] turns an access token into a caller, with tokens of this server ([`oauth`]) or of another issuer.
//! [`consent`] holds single calls until a person approved them. This crate knows neither HTTP nor the engine: the
//! server adds headers, statuses and pages, and the engine asks for consent as one step of a call.

mod authenticator;
mod backend;
pub mod consent;
mod external_issuer;
mod failure_limit;
mod identity;
pub mod oauth;
mod settings;

pub use authenticator::Authenticator;
pub use backend::{Backend, Observer};
pub use failure_limit::{FailureLimit, FailureSource, ip_prefix};
pub use identity::{AuthError, Identity, Issuer};
pub use settings::{AuthConfigError, AuthSettings, ConsentSettings, ExternalAuth, url_origin};
