//! The reply of a tool.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::body::Body;

/// Content for the model, and a value for programs.
#[derive(Debug, Clone, Default, PartialEq)]
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Audience {
    User,
    Assistant,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Annotations {
    pub audience: Vec<Audience>,
    /// 0 (may be left out) to 1 (must be read).
    pub priority: Option<f32>,
    pub last_modified: Option<jiff::Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Block {
    Text {
        text: String,
        annotations: Option<Annotations>,
    },
    Image {
        data: Vec<u8>,
        mime: String,
        annotations: Option<Annotations>,
    },
    Audio {
        data: Vec<u8>,
        mime: String,
        annotations: Option<Annotations>,
    },
    /// A resource carried whole.
    Resource {
        uri: String,
        mime: Option<String>,
        body: Body,
        annotations: Option<Annotations>,
    },
    /// A resource the client can read later.
    Link(ResourceLink),
}

impl Block {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), annotations: None }
    }

    pub fn image(data: Vec<u8>, mime: impl Into<String>) -> Self {
        Self::Image { data, mime: mime.into(), annotations: None }
    }

    pub fn audio(data: Vec<u8>, mime: impl Into<String>) -> Self {
        Self::Audio { data, mime: mime.into(), annotations: None }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ResourceLink {
    pub uri: String,
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub mime: Option<String>,
    pub size: Option<u64>,
    pub annotations: Option<Annotations>,
}
