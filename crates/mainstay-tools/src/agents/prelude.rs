//! What every tool of the family imports: the declaration of a tool, the shared types, and what the tools work on.

pub(super) use mainstay_core::{Context, Effect, Error, Kind, Result, Spec, Spelling, Tool, iso8601};
pub(super) use schemars::JsonSchema;
pub(super) use serde::{Deserialize, Serialize};
pub(super) use serde_json::{Map, Value};

pub(super) use super::types::*;
pub(super) use super::{AgentTools, spec};
pub(super) use crate::pagination::PageArgs;
