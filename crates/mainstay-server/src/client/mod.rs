//! A client for other servers over HTTP: of the standard protocol in any version, or of the dialect `mira`. It serves
//! `mainstay tools --url` and `mainstay call --url`.
//!
//! The server is not trusted: responses, lists and times are limited, and tokens go to the given URL alone.

mod address;
mod error;
mod http;

use std::collections::HashSet;
use std::time::Duration;

use serde_json::{Map, Value, json};

pub use error::RemoteError;

use http::{HttpClient, MAX_RESPONSE, Version};

/// The version offered in the handshake; the server may answer with an older one.
const SESSION_VERSION: &str = "2025-11-25";

/// The version without a handshake, for a server that supports no other.
const STATELESS_VERSION: &str = "2026-07-28";

/// The most tools in a list. Together with the limits on bytes and time it ends a list that never ends by itself.
const MAX_TOOLS: usize = 10_000;

/// A whole list may take as long as this many requests.
const LIST_TIMES: u32 = 10;

/// A server whose protocol is known: that of its client's version, or the dialect `mira` if it has none.
pub struct RemoteServer {
    http: HttpClient,
}

/// One tool, as the server lists it.
#[derive(Debug, Clone, PartialEq)]
pub struct RemoteTool {
    pub name: String,
    pub description: String,
    /// Only the dialect `mira` lists disabled tools, and marks them.
    pub enabled: bool,
    /// Empty if the server lists none; arguments are then parsed without it.
    pub input_schema: Map<String, Value>,
    /// The whole entry of the list.
    pub listed: Value,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct RemoteReply {
    /// The whole result.
    pub result: Value,
    /// Its value: `structuredContent`, or the result of the dialect `mira`.
    pub value: Option<Value>,
    /// Its content blocks.
    pub content: Vec<Value>,
    /// Whether the tool reports that it failed.
    pub failed: bool,
}

impl RemoteServer {
    /// Finds out what the server speaks: the standard protocol with a handshake, the standard protocol without one, or
    /// otherwise the dialect `mira`.
    pub async fn connect(url: &str, token: Option<&str>, timeout: Duration) -> Result<Self, RemoteError> {
        let mut http = HttpClient::new(url, token, timeout)?;
        let offer = json!({"protocolVersion": SESSION_VERSION, "capabilities": {}, "clientInfo": client_info()});
        match http.request("initialize", &offer).await {
            Ok(agreed) => {
                let version = agreed.get("protocolVersion").and_then(Value::as_str);
                let version = version.ok_or_else(|| http.violation("its handshake names no protocol version"))?;
                http.version = Version::Agreed(version.to_owned());
                http.notify("notifications/initialized").await?;
            }
            // A server of the stateless protocol alone does not know `initialize`, and neither does `mira`.
            Err(error) if error.is_unsupported_method() => {
                http.version = Version::Stateless(STATELESS_VERSION);
                match http.request("server/discover", &json!({})).await {
                    Ok(_) => {}
                    // No answer says nothing about the protocol; an answer of any other kind does.
                    Err(error @ (RemoteError::TimedOut { .. } | RemoteError::Unreachable { .. })) => return Err(error),
                    Err(_) => http.version = Version::None,
                }
            }
            Err(error) => return Err(error),
        }
        Ok(Self { http })
    }

    /// All tools the server lists, from all pages.
    pub async fn tools(&self) -> Result<Vec<RemoteTool>, RemoteError> {
        self.http.within(LIST_TIMES, self.pages()).await
    }

    /// Reads pages until there is no next cursor. A cursor that comes back would be an endless list.
    async fn pages(&self) -> Result<Vec<RemoteTool>, RemoteError> {
        let (mut tools, mut params, mut cursors, mut bytes) = (Vec::new(), json!({}), HashSet::new(), 0);
        loop {
            let page = self.http.request("tools/list", &params).await?;
            let listed = page.get("tools").and_then(Value::as_array);
            let listed = listed.ok_or_else(|| self.http.violation("its list of tools has no \"tools\""))?;
            bytes += page.to_string().len();
            if bytes > MAX_RESPONSE || tools.len() + listed.len() > MAX_TOOLS {
                let what = format!("its list does not end within {MAX_TOOLS} tools and {MAX_RESPONSE} bytes");
                return Err(self.http.violation(&what));
            }
            for entry in listed {
                tools.push(self.read_tool(entry)?);
            }
            let Some(cursor) = self.next_cursor(&page)? else { return Ok(tools) };
            if !cursors.insert(cursor.clone()) {
                return Err(self.http.violation(&format!("its list repeats the cursor {cursor:?} and never ends")));
            }
            params = json!({ "cursor": cursor });
        }
    }

    /// The standard spells the member `nextCursor`, the dialect `mira` spells it `next_cursor`.
    fn next_cursor(&self, page: &Value) -> Result<Option<String>, RemoteError> {
        let spellings = ["nextCursor", "next_cursor"].into_iter().filter_map(|member| page.get(member));
        match spellings.into_iter().find(|cursor| !cursor.is_null()) {
            None => Ok(None),
            Some(Value::String(cursor)) => Ok(Some(cursor.clone())),
            Some(other) => Err(self.http.violation(&format!("the cursor of its list is {other}, not a string"))),
        }
    }

    /// The server's URL without secrets.
    pub fn url(&self) -> &str {
        &self.http.shown
    }

    /// Reads an entry of the list. Only the name is required: servers differ in the rest.
    fn read_tool(&self, entry: &Value) -> Result<RemoteTool, RemoteError> {
        let text = |member: &str| entry.get(member).and_then(Value::as_str);
        let schema = entry.get("inputSchema").or_else(|| entry.get("input_schema"));
        Ok(RemoteTool {
            name: text("name").ok_or_else(|| self.http.violation("it lists a tool without a name"))?.to_owned(),
            description: text("description").unwrap_or_default().to_owned(),
            enabled: entry.get("enabled").and_then(Value::as_bool).unwrap_or(true),
            input_schema: schema.and_then(Value::as_object).cloned().unwrap_or_default(),
            listed: entry.clone(),
        })
    }

    /// Calls a tool by the name the server lists it under. `on_output` receives the output that arrives before the result.
    pub async fn call(
        &self,
        tool: &str,
        args: &Value,
        idempotency_key: Option<&str>,
        on_output: &mut (dyn FnMut(&str) + Send),
    ) -> Result<RemoteReply, RemoteError> {
        let mut on_notification = |method: &str, params: &Value| {
            if method == "exec/stream"
                && let Some(chunk) = params.get("chunk").and_then(Value::as_str)
            {
                on_output(chunk);
            }
        };
        match self.http.version {
            Version::Agreed(_) | Version::Stateless(_) => {
                let params = json!({"name": tool, "arguments": args});
                let result = self.http.call("tools/call", &params, idempotency_key, &mut on_notification).await?;
                standard_reply(result).map_err(|what| self.http.violation(&what))
            }
            Version::None => {
                let result = self.http.call(tool, args, idempotency_key, &mut on_notification).await?;
                Ok(RemoteReply { value: Some(result.clone()), content: Vec::new(), failed: false, result })
            }
        }
    }

    /// Ends the session, if there is one.
    pub async fn close(self) {
        self.http.close().await;
    }
}

/// The name and version of this client, as the protocol wants them.
fn client_info() -> Value {
    json!({"name": "mainstay", "version": env!("CARGO_PKG_VERSION")})
}

/// Reads a result of `tools/call`, or says what is wrong with it.
fn standard_reply(result: Value) -> Result<RemoteReply, String> {
    let kind = result.get("resultType").filter(|kind| !kind.is_null());
    if let Some(kind) = kind.filter(|kind| *kind != "complete") {
        return Err(format!("its result is of the type {kind}, and only complete results are supported"));
    }
    let value = result.get("structuredContent").filter(|value| !value.is_null()).cloned();
    let content = result.get("content").and_then(Value::as_array).cloned();
    if value.is_none() && content.is_none() {
        return Err("its result has neither \"content\" nor \"structuredContent\"".to_owned());
    }
    let failed = result.get("isError") == Some(&Value::Bool(true));
    Ok(RemoteReply { value, content: content.unwrap_or_default(), failed, result })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_that_is_incomplete_or_empty_is_an_error() {
        for (result, why) in [
            (json!({"resultType": "input_required", "content": []}), "input_required"),
            (json!({"resultType": 1, "content": []}), "type 1"),
            (json!({}), "neither"),
            (json!({"content": "text", "structuredContent": null}), "neither"),
        ] {
            let refused = standard_reply(result.clone()).unwrap_err();
            assert!(refused.contains(why), "{result}: {refused}");
        }
        for result in [
            json!({"content": []}),
            json!({"resultType": "complete", "content": [], "isError": true}),
            json!({"structuredContent": {"a": 1}}),
        ] {
            assert_eq!(standard_reply(result.clone()).unwrap().failed, result["isError"] == true, "{result}");
        }
    }
}
