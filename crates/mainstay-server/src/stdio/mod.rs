//! Standard input and output: one message a line, for the program that started this one.

mod dialect;
mod lines;
mod mcp;

pub use dialect::serve_dialect;
pub use mcp::serve as serve_stdio;
