//! A step of a fixture that is an HTTP exchange.

use serde_json::{Map, Value, json};

use crate::testing::expected_response::Captures;
use crate::testing::program::Http;

/// A request that is sent until it is answered with a certain status is sent no more often than this.
const MANY: usize = 1000;

/// Where and how the response differs from the expected one, if it does. Headers that are not expected may be there.
pub(crate) fn compare(captures: &mut Captures<'_>, expected: &Value, actual: &Value, at: &str) -> Result<(), String> {
    // The body first: a header may name a value captured from it.
    for part in ["body", "status", "headers"] {
        let mut expected = expected.get(part).cloned().unwrap_or_else(|| json!({}));
        if part == "headers" {
            expected["..."] = "<any>".into();
        }
        captures.compare(&expected, &actual[part], &format!("{at}/{part}"))?;
    }
    Ok(())
}

/// Sends a request of a fixture, as often as it wants. Returns status, headers and body.
pub(crate) fn exchange(http: &mut Http, request: &Value) -> Value {
    let mut last = Value::Null;
    for _ in 0..MANY {
        last = send(http, request);
        if request.get("until").is_none_or(|until| *until == last["status"]) {
            break;
        }
    }
    last
}

fn send(http: &mut Http, request: &Value) -> Value {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let query: Vec<String> =
        members(request, "query").iter().map(|(key, value)| format!("{key}={}", text(value))).collect();
    let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
    let line = format!("{} {}{query}", text(&request["method"]), text(&request["path"]));
    let own = members(request, "headers");
    let mut headers = vec![("Host".to_owned(), http.host())];
    if !own.contains_key("Content-Type") {
        headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
    }
    // Null leaves a header out that would be sent otherwise.
    headers.extend(own.iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| (name.clone(), text(value))));
    headers.extend(request.get("bearer").map(|token| ("Authorization".to_owned(), format!("Bearer {}", text(token)))));
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let body =
        request.get("body").map_or_else(|| request["text"].as_str().unwrap_or_default().to_owned(), Value::to_string);
    let reply = http.send(&line, &headers, body.as_bytes()).unwrap();
    let headers: Map<String, Value> =
        reply.headers.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
    let body = serde_json::from_str(&reply.body).unwrap_or_else(|_| match reply.body.as_str() {
        "" => Value::Null,
        text => text.into(),
    });
    json!({"status": reply.status, "headers": headers, "body": body})
}

fn members(request: &Value, name: &str) -> Map<String, Value> {
    request.get(name).and_then(Value::as_object).cloned().unwrap_or_default()
}
