//! The dialect `mira`: a tool's name is the method, its arguments are the params, its value is the whole result.
//!
//! The contract's own schemas lie in `contracts/mira/schemas` and are used as they stand there.

mod contract;
mod decode;
mod encode;
mod fault;
mod list;

pub use contract::Contract;
pub use decode::{Ask, Refused, Request, decode, refused};
pub use encode::{chunk, failure, reply, result};
pub use fault::Fault;
pub use list::{Filter, ListParams, Place, Quota, Transport, entry, tool_name};
