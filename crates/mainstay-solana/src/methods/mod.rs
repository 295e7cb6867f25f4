//! The methods of the RPC interface, as one table.
//!
//! A method is declared once, in `table/`; its tool, its JSON Schema, its dispatch and its documentation are computed from
//! that declaration, so that what is listed and what can be called cannot differ.

mod base58;
mod check;
mod commitment;
mod definition;
pub mod node_error;
mod params;
mod raw;
mod removed;
mod rules;
mod schema;
mod table;

pub use check::ArgumentProblem;
pub use commitment::Commitment;
pub use definition::{CacheClass, DefaultValue, Group, Kind, Method, MethodEffect, Param, RetryClass};
pub use params::Params;
pub use removed::{removed, replacement};

/// Every method of the table, group by group.
pub fn all() -> &'static [Method] {
    &table::ALL
}

/// The method of this name, spelled as the RPC spells it.
pub fn find(name: &str) -> Option<&'static Method> {
    all().iter().find(|method| method.name == name)
}

#[cfg(test)]
mod tests;
