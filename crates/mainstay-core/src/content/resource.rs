//! Resources: content that clients read by URI.

use std::collections::BTreeMap;

use futures::future::BoxFuture;

use serde::{Deserialize, Serialize};

use crate::{Context, Result};

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

/// A provider of resources. A family may have several; each answers for a part of the URI space.
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
