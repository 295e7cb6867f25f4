//! The content of a resource, or of a resource embedded in a reply.

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    Text(String),
    Bytes(Vec<u8>),
}
