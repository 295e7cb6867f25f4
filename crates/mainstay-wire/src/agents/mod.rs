//! The dialect `agents`: the standard's methods with results of its own, bare and in snake case, and ten error codes,
//! each with its HTTP status.

mod decode;
mod encode;
mod fault;
mod listed;

pub use decode::{Ask, Greeting, Refused, Request, decode, refused};
pub use encode::{capabilities, contents, failure, greeting, prompt, prompt_result, reply, resource, result};
pub use fault::{Fault, QuotaStatus};
pub use listed::tool;

/// The name of the dialect, as tools' spellings and the limits know it.
pub const DIALECT: &str = "agents";

/// The version of the protocol that the contract names.
pub const VERSION: &str = "2025-06-18";

/// What can be asked for in a session.
pub const SUPPORTS: [&str; 3] = ["tools", "resources", "prompts"];
