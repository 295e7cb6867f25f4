//! Prompts: templates that a person picks by name.

use std::collections::BTreeMap;

use futures::future::BoxFuture;

use crate::{Block, Context, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    User,
    Assistant,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PromptMessage {
    pub role: Role,
    pub content: Block,
}

impl PromptMessage {
    pub fn user(content: Block) -> Self {
        Self { role: Role::User, content }
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct PromptReply {
    pub description: Option<String>,
    pub messages: Vec<PromptMessage>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptArgument {
    pub name: String,
    pub description: String,
    pub required: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptInfo {
    pub name: String,
    pub title: Option<String>,
    pub description: String,
    pub arguments: Vec<PromptArgument>,
    /// The text with its arguments as `{name}`, where the prompt is nothing more than that.
    pub template: Option<String>,
}

/// A prompt of a family.
pub trait Prompt: Send + Sync + 'static {
    fn info(&self) -> PromptInfo;

    /// The engine has checked that all required arguments are present and no others.
    fn render<'a>(
        &'a self,
        arguments: &'a BTreeMap<String, String>,
        context: &'a Context,
    ) -> BoxFuture<'a, Result<PromptReply>>;

    /// Values for one argument, best first.
    fn complete(&self, _argument: &str, _typed: &str) -> Vec<String> {
        Vec::new()
    }
}
