//! What a caller gets: the reply of a tool, the contents of a resource, the messages of a prompt.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Context, Event, Result};

/// The reply of a tool: content for the model, and a value for programs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    pub content: Vec<Block>,
    /// The value the tool's output schema describes.
    pub structured: Option<Value>,
    /// The tool ran and says itself that it failed; `content` tells why.
    pub failed: bool,
}

impl Reply {
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Block::text(text)], ..Self::default() }
    }

    pub fn failure(text: impl Into<String>) -> Self {
        Self { failed: true, ..Self::text(text) }
    }

    pub fn blocks(content: Vec<Block>) -> Self {
        Self { content, ..Self::default() }
    }

    /// The value, with a copy as text for clients that read only text.
    pub fn structured(value: Value) -> Self {
        Self { content: vec![Block::text(value.to_string())], structured: Some(value), failed: false }
    }
}

/// One piece of content, for the model or for the person behind it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Block {
    #[serde(flatten)]
    pub content: Content,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Annotations>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    Text {
        text: String,
    },
    Image {
        data: Vec<u8>,
        mime: String,
    },
    Audio {
        data: Vec<u8>,
        mime: String,
    },
    /// A resource carried whole.
    Resource(Contents),
}

/// What a client may do with a piece of content: whom to show it to, and what to leave out first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Annotations {
    /// Empty means everybody.
    pub audience: Vec<Role>,
    /// From 0, the least important, to 1.
    pub priority: Option<f64>,
    pub last_modified: Option<Timestamp>,
}

impl Block {
    pub fn text(text: impl Into<String>) -> Self {
        Content::Text { text: text.into() }.into()
    }

    pub fn image(data: Vec<u8>, mime: impl Into<String>) -> Self {
        Content::Image { data, mime: mime.into() }.into()
    }

    pub fn audio(data: Vec<u8>, mime: impl Into<String>) -> Self {
        Content::Audio { data, mime: mime.into() }.into()
    }

    pub fn resource(contents: Contents) -> Self {
        Content::Resource(contents).into()
    }

    pub fn annotated(mut self, annotations: Annotations) -> Self {
        self.annotations = Some(annotations);
        self
    }

    /// The text of a block that is text.
    pub fn as_text(&self) -> Option<&str> {
        match &self.content {
            Content::Text { text } => Some(text),
            Content::Image { .. } | Content::Audio { .. } | Content::Resource(_) => None,
        }
    }
}

impl From<Content> for Block {
    fn from(content: Content) -> Self {
        Self { content, annotations: None }
    }
}

/// The content of a resource, or of a resource embedded in a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    Text(String),
    Bytes(Vec<u8>),
}

/// One part of a resource that was read. A resource may have several, each with a URI of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents {
    pub uri: String,
    pub mime: Option<String>,
    pub body: Body,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourceInfo {
    pub uri: String,
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub mime: Option<String>,
    pub size: Option<u64>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourceTemplate {
    /// RFC 6570, for instance `file:///{path}`.
    pub uri: String,
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub mime: Option<String>,
}

/// Keeps a resource watched for as long as it lives.
pub type Watch = Box<dyn std::any::Any + Send + Sync>;

/// Where changes of a watched resource are told.
pub type Announce = Arc<dyn Fn(Event) + Send + Sync>;

/// A provider of resources, which clients read by URI. A family may have several; each answers for a part of the URI space.
pub trait ResourceProvider: Send + Sync + 'static {
    /// The resources in memory; a provider with very many lists templates instead.
    fn list(&self) -> Vec<ResourceInfo>;

    /// The same for a provider that has to do I/O first.
    fn list_fresh(&self) -> BoxFuture<'_, Vec<ResourceInfo>> {
        Box::pin(std::future::ready(self.list()))
    }

    fn templates(&self) -> Vec<ResourceTemplate> {
        Vec::new()
    }

    /// Whether this provider answers for `uri`. It says nothing about whether the resource exists.
    fn owns(&self, uri: &str) -> bool;

    fn read<'a>(&'a self, uri: &'a str, context: &'a Context) -> BoxFuture<'a, Result<Vec<Contents>>>;

    /// A client wants to hear of changes of this resource, for as long as the watch lives. Nothing is returned by a provider
    /// that finds out by itself what has changed.
    fn watch<'a>(&'a self, _uri: &'a str, _announce: Announce) -> BoxFuture<'a, Result<Option<Watch>>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Values for one variable of one of the templates, best first. `others` are variables that have a value already.
    fn complete<'a>(
        &'a self,
        _template: &'a str,
        _variable: &'a str,
        _typed: &'a str,
        _others: &'a BTreeMap<String, String>,
    ) -> BoxFuture<'a, Vec<String>> {
        Box::pin(std::future::ready(Vec::new()))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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

/// A prompt of a family: a template that a person picks by name.
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
