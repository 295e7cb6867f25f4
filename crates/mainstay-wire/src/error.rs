//! The error member of a JSON-RPC response, and how HTTP reports it.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use crate::id::Id;

/// An error in the terms of one dialect. Made by the dialect from a typed error; the transport only writes it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ErrorResponse {
    pub code: i32,
    pub message: Cow<'static, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// Status and headers of the HTTP response that carries it.
    #[serde(skip)]
    pub http: HttpError,
}

/// What HTTP adds to an error. Boxed where it is rare, so that results stay small.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpError {
    pub status: u16,
    /// Whether the response has to go out without the request's id.
    pub without_id: bool,
    pub headers: Vec<(&'static str, String)>,
}

impl Default for HttpError {
    /// JSON-RPC over HTTP in its plain form: the error is in the body, and HTTP itself succeeded.
    fn default() -> Self {
        Self { status: 200, without_id: false, headers: Vec::new() }
    }
}

impl ErrorResponse {
    /// With status 200, and under the request's id.
    pub fn new(code: i32, message: impl Into<Cow<'static, str>>, data: Option<Value>) -> Self {
        Self { code, message: message.into(), data, http: HttpError::default() }
    }

    /// The error object; its members are in the order in which contract 002 froze them.
    pub fn to_json(&self) -> String {
        // A number and texts: what could fail to serialize is not in it.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The whole response.
    pub fn response(&self, id: &Id) -> Vec<u8> {
        let id = if self.http.without_id { &Id::null() } else { id };
        format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{}}}"#, self.to_json()).into_bytes()
    }
}
