//! The other side of the wire: asking a server, of the standard protocol or of the dialect `mira`, over HTTP.

mod address;
mod line;
mod refusal;

use std::collections::HashSet;
use std::time::Duration;

use serde_json::{Map, Value, json};

pub use refusal::RemoteError;

use line::{LONGEST, Line};

/// The version a server of the standard protocol is greeted with; it may answer with an older one.
const VERSION: &str = "2025-11-25";

/// The version without a greeting, for a server that knows no other.
const STATELESS: &str = "2026-07-28";

/// A list that has not ended by then is not going to.
const PAGES: usize = 1000;

/// Nor is one with more tools than these.
const TOOLS: usize = 10_000;

/// A whole list may take as long as so many requests.
const LIST_TIMES: u32 = 10;

/// A server that has been asked what it speaks.
pub struct Remote {
    line: Line,
    speech: Speech,
}

enum Speech {
    Standard,
    Mira,
}

/// One tool, as the server lists it.
#[derive(Debug, Clone, PartialEq)]
pub struct RemoteTool {
    pub name: String,
    pub description: String,
    pub enabled: bool,
    pub input_schema: Map<String, Value>,
    /// The whole entry.
    pub listed: Value,
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq)]
pub struct RemoteReply {
    /// The whole result.
    pub result: Value,
    /// The value in it, for a server that has one.
    pub value: Option<Value>,
    /// The content blocks in it, for one that has those.
    pub content: Vec<Value>,
    /// The tool ran and says that it failed.
    pub failed: bool,
}

impl Remote {
    /// Greets the server as the standard has it. One that knows no such greeting may speak the standard's newest
    /// version alone; one that does not either is spoken to in `mira`.
    pub async fn open(url: &str, token: Option<&str>, timeout: Duration) -> Result<Self, RemoteError> {
        let mut line = Line::open(url, token, timeout)?;
        let greeting = json!({
            "protocolVersion": VERSION,
            "capabilities": {},
            "clientInfo": about(),
        });
        match line.ask("initialize", &greeting, None, &mut |_, _| {}).await {
            Ok(agreed) => {
                let version = agreed.get("protocolVersion").and_then(Value::as_str);
                line.agree(version.ok_or_else(|| line.nonsense("its greeting names no protocol version"))?);
                line.tell("notifications/initialized").await?;
                Ok(Self { line, speech: Speech::Standard })
            }
            Err(error) if error.is_unspoken() => {
                line.stand_alone(Some(STATELESS));
                match line.ask("server/discover", &json!({}), None, &mut |_, _| {}).await {
                    Ok(_) => return Ok(Self { line, speech: Speech::Standard }),
                    Err(error @ (RemoteError::TimedOut { .. } | RemoteError::Unreachable { .. })) => return Err(error),
                    Err(_) => line.stand_alone(None),
                }
                Ok(Self { line, speech: Speech::Mira })
            }
            Err(error) => Err(error),
        }
    }

    /// Every tool the server lists, from the first page to the last.
    pub async fn tools(&self) -> Result<Vec<RemoteTool>, RemoteError> {
        self.line.within(LIST_TIMES, self.pages()).await
    }

    async fn pages(&self) -> Result<Vec<RemoteTool>, RemoteError> {
        let (mut tools, mut cursor, mut seen) = (Vec::new(), None::<String>, HashSet::new());
        let mut bytes = 0;
        for _ in 0..PAGES {
            let params = cursor.as_ref().map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
            let page = self.line.ask("tools/list", &params, None, &mut |_, _| {}).await?;
            let listed = page.get("tools").and_then(Value::as_array);
            let listed = listed.ok_or_else(|| self.line.nonsense("its list of tools has no \"tools\""))?;
            bytes += page.to_string().len();
            if bytes > LONGEST || tools.len() + listed.len() > TOOLS {
                let what = format!("its list does not end within {TOOLS} tools and {LONGEST} bytes");
                return Err(self.line.nonsense(&what));
            }
            for entry in listed {
                tools.push(self.read_tool(entry)?);
            }
            let Some(next) = self.next_cursor(&page)? else { return Ok(tools) };
            if !seen.insert(next.clone()) {
                return Err(self.line.nonsense(&format!("its list comes back to the cursor {next:?} and never ends")));
            }
            cursor = Some(next);
        }
        Err(self.line.nonsense(&format!("its list does not end within {PAGES} pages")))
    }

    fn next_cursor(&self, page: &Value) -> Result<Option<String>, RemoteError> {
        let spellings = ["nextCursor", "next_cursor"].into_iter().filter_map(|member| page.get(member));
        match spellings.into_iter().find(|cursor| !cursor.is_null()) {
            None => Ok(None),
            Some(Value::String(cursor)) => Ok(Some(cursor.clone())),
            Some(other) => Err(self.line.nonsense(&format!("the cursor of its list is {other}, which is no text"))),
        }
    }

    /// Where it is asked, as it may be printed.
    pub fn url(&self) -> &str {
        self.line.shown()
    }

    fn read_tool(&self, entry: &Value) -> Result<RemoteTool, RemoteError> {
        let text = |member: &str| entry.get(member).and_then(Value::as_str);
        let schema = entry.get("inputSchema").or_else(|| entry.get("input_schema"));
        Ok(RemoteTool {
            name: text("name").ok_or_else(|| self.line.nonsense("it lists a tool without a name"))?.to_owned(),
            description: text("description").unwrap_or_default().to_owned(),
            enabled: entry.get("enabled").and_then(Value::as_bool).unwrap_or(true),
            input_schema: schema.and_then(Value::as_object).cloned().unwrap_or_default(),
            listed: entry.clone(),
        })
    }

    /// Calls a tool by the name the server lists it under. `hear` is given the output that arrives before the result.
    pub async fn call(
        &self,
        tool: &str,
        args: &Value,
        idempotency_key: Option<&str>,
        hear: &mut (dyn FnMut(&str) + Send),
    ) -> Result<RemoteReply, RemoteError> {
        let mut note = |method: &str, params: &Value| {
            if method == "exec/stream"
                && let Some(chunk) = params.get("chunk").and_then(Value::as_str)
            {
                hear(chunk);
            }
        };
        match self.speech {
            Speech::Standard => {
                let params = json!({"name": tool, "arguments": args});
                let result = self.line.ask("tools/call", &params, idempotency_key, &mut note).await?;
                standard_reply(result).map_err(|what| self.line.nonsense(&what))
            }
            Speech::Mira => {
                let result = self.line.ask(tool, args, idempotency_key, &mut note).await?;
                Ok(RemoteReply { value: Some(result.clone()), content: Vec::new(), failed: false, result })
            }
        }
    }

    /// Ends the session, if there is one. A server that does not care is left alone.
    pub async fn close(self) {
        self.line.close().await;
    }
}

/// How this client introduces itself.
fn about() -> Value {
    json!({"name": "mainstay", "version": env!("CARGO_PKG_VERSION")})
}

/// The reply in a result, or why there is none.
fn standard_reply(result: Value) -> Result<RemoteReply, String> {
    let kind = result.get("resultType").filter(|kind| !kind.is_null());
    if let Some(kind) = kind.filter(|kind| *kind != "complete") {
        return Err(format!("its result is of the type {kind}, and the call was to be complete"));
    }
    let value = result.get("structuredContent").filter(|value| !value.is_null()).cloned();
    let content = result.get("content").and_then(Value::as_array).cloned();
    if value.is_none() && content.is_none() {
        return Err("its result has neither \"content\" nor \"structuredContent\"".to_owned());
    }
    let failed = result.get("isError") == Some(&Value::Bool(true));
    Ok(RemoteReply { value, content: content.unwrap_or_default(), failed, result })
}

impl RemoteError {
    /// Whether a server said that it does not know what it was greeted with.
    fn is_unspoken(&self) -> bool {
        match self {
            Self::Refused { fault, .. } => fault.is_unspoken(),
            Self::Status { status, .. } => matches!(status, 400 | 404 | 405 | 406 | 501),
            Self::Url { .. }
            | Self::Userinfo { .. }
            | Self::Unprotected { .. }
            | Self::Unreachable { .. }
            | Self::TimedOut { .. }
            | Self::Nonsense { .. }
            | Self::TooLong { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_that_is_not_complete_or_has_nothing_in_it_is_no_reply() {
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
