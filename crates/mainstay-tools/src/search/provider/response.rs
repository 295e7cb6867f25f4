//! What a response means: vectors, a failure that passes, or a refusal.

use mainstay_search::embedding::EmbedError;
use reqwest::{Response, StatusCode};
use serde_json::Value;

use super::api_key::ApiKey;
use super::retry_after::retry_after;

/// Of a refusal no more is read: it holds one message.
const MAX_REFUSAL_BYTES: usize = 16 << 10;
/// Of that message so many characters are repeated, in one line.
const MAX_MESSAGE: usize = 200;

/// The body of a response with vectors, or the error that another one is. `host` names the service.
pub(super) async fn body(
    response: Response,
    limit: usize,
    host: &str,
    key: Option<&ApiKey>,
) -> Result<Vec<u8>, EmbedError> {
    let status = response.status();
    let code = status.as_u16();
    match code {
        200..=299 => read(response, limit, host).await,
        // Following one would send the key and the texts to a host that nobody has configured.
        300..=399 => Err(refused(format!("{host} redirects (HTTP {code}); set `url` to the address that it leads to"))),
        // The message is left out: it is here that services repeat keys, whole or in part.
        401 | 403 => {
            let what = if key.is_some() {
                "did not accept the API key; check `key_file`"
            } else {
                "needs an API key; set `key_file`"
            };
            Err(refused(format!("{host} {what} (HTTP {code})")))
        }
        // Overloaded or broken for now. Only with these two statuses is the wait that a service names one for this request.
        408 | 429 | 500..=599 => {
            let wait = (code == 429 || code == 503).then(|| retry_after(response.headers())).flatten();
            let what = if code == 429 { "limits the rate of requests" } else { "failed" };
            Err(EmbedError::Unavailable { reason: format!("{host} {what} (HTTP {code})"), retry_after: wait })
        }
        // The request itself is wrong, or its texts are: what the service says tells which.
        _ => {
            let told = read(response, MAX_REFUSAL_BYTES, host).await.unwrap_or_default();
            Err(refused(refusal(host, status, &told, key)))
        }
    }
}

fn refused(reason: String) -> EmbedError {
    EmbedError::Refused { reason }
}

/// Reads a body. One that announces more than the limit is not read at all.
async fn read(mut response: Response, limit: usize, host: &str) -> Result<Vec<u8>, EmbedError> {
    let too_large = || EmbedError::Malformed { reason: format!("{host} sends more than {limit} bytes") };
    let announced = usize::try_from(response.content_length().unwrap_or_default()).unwrap_or(usize::MAX);
    if announced > limit {
        return Err(too_large());
    }
    let mut body = Vec::with_capacity(announced);
    loop {
        let chunk = response.chunk().await.map_err(|_| EmbedError::Unavailable {
            reason: format!("the response of {host} ends early"),
            retry_after: None,
        })?;
        let Some(chunk) = chunk else { return Ok(body) };
        // A body need not announce its length, nor keep to it.
        if body.len() + chunk.len() > limit {
            return Err(too_large());
        }
        body.extend_from_slice(&chunk);
    }
}

/// A refusal with what the service says about it, such as that it has no such model.
fn refusal(host: &str, status: StatusCode, body: &[u8], key: Option<&ApiKey>) -> String {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    // OpenAI has `error.message`, others one of the rest.
    let told = ["/error/message", "/error", "/message", "/detail"];
    let told = told.iter().find_map(|place| body.pointer(place)?.as_str()).unwrap_or_default();
    let told = key.map_or_else(|| told.to_owned(), |key| key.redact(told));
    // Only after that: a key that is cut in two would not be recognised.
    let is_between = |character: char| character.is_whitespace() || character.is_control();
    let words: Vec<&str> = told.split(is_between).filter(|word| !word.is_empty()).collect();
    let line: String = words.join(" ").chars().take(MAX_MESSAGE).collect();
    let code = status.as_u16();
    if line.is_empty() { format!("{host} answers HTTP {code}") } else { format!("{host} answers HTTP {code}: {line}") }
}
