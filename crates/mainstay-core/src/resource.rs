//! Things that can be read by URI.

use futures::future::BoxFuture;

use crate::{Context, Result};

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    Text(String),
    Bytes(Vec<u8>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
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

/// A shelf of resources. One family may bring several.
pub trait Resources: Send + Sync + 'static {
    /// What the shelf shows; long shelves show templates instead of every item.
    fn list(&self) -> Vec<ResourceInfo>;

    fn templates(&self) -> Vec<ResourceTemplate> {
        Vec::new()
    }

    /// Whether this shelf answers for `uri` at all. It promises nothing about whether the resource exists.
    fn owns(&self, uri: &str) -> bool;

    fn read<'a>(&'a self, uri: &'a str, context: &'a Context) -> BoxFuture<'a, Result<Vec<Contents>>>;

    /// Values for one variable of one of the templates, best first.
    fn complete(&self, _template: &str, _variable: &str, _typed: &str) -> Vec<String> {
        Vec::new()
    }
}
