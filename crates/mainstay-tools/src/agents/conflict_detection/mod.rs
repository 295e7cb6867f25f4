//! Finds agents that work on the same thing. `targets.rs` reads from an activity's details what it works on; `detect.rs`
//! compares the agents.

mod detect;
mod targets;

pub(crate) use detect::find;
