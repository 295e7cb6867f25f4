//! Things that can be read by URI.

use std::collections::BTreeMap;

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

    /// The same, for a shelf that has to look first: on a disk, or elsewhere.
    fn look(&self) -> BoxFuture<'_, Vec<ResourceInfo>> {
        Box::pin(std::future::ready(self.list()))
    }

    fn templates(&self) -> Vec<ResourceTemplate> {
        Vec::new()
    }

    /// Whether this shelf answers for `uri` at all. It promises nothing about whether the resource exists.
    fn owns(&self, uri: &str) -> bool;

    fn read<'a>(&'a self, uri: &'a str, context: &'a Context) -> BoxFuture<'a, Result<Vec<Contents>>>;

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
