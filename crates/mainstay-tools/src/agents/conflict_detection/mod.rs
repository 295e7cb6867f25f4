//! Finds agents that work on the same thing: `targets.rs` reads what an activity touches, `detect.rs` compares agents.

mod detect;
mod targets;

pub(crate) use detect::find;
