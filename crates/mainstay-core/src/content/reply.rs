//! The reply of a tool.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Contents;

/// Content for the model, and a value for programs.
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Block {
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

impl Block {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    pub fn image(data: Vec<u8>, mime: impl Into<String>) -> Self {
        Self::Image { data, mime: mime.into() }
    }

    pub fn audio(data: Vec<u8>, mime: impl Into<String>) -> Self {
        Self::Audio { data, mime: mime.into() }
    }
}
