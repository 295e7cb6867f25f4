//! The dialect `context`: five methods of the standard, three tools, and six words for what can go wrong with them. No
//! path, no reason of the system and no text of an error crosses it: what is said is said in the contract's words alone.

mod code;
mod decode;
mod encode;
mod fault;
mod listed;

pub use decode::{Ask, Order, Refused, Request, arguments, decode, too_long};
pub use encode::{failed, failure, greeting, reply, result, tools};
pub use fault::{Fault, shown};
pub use listed::{TOOLS, tool};

/// The name of the dialect, as tools' spellings and the limits know it.
pub const DIALECT: &str = "context";

/// The longest message, without the newline that ends it.
pub const MESSAGE_BYTES: usize = 1024 * 1024;
