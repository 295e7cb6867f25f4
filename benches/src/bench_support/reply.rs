//! What a reply to `tools/call` says.

use anyhow::{Context, Result, bail};
use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::bench_support::message::shown;

#[derive(Deserialize)]
struct Reply<'a> {
    #[serde(borrow)]
    result: Option<Body<'a>>,
}

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow, rename = "structuredContent")]
    structured: Option<&'a RawValue>,
}

/// The structured part of a reply, read as far as `T` asks for it.
pub(crate) fn structured<'a, T: Deserialize<'a>>(line: &'a [u8]) -> Result<T> {
    check(line)?;
    let reply: Reply<'a> = serde_json::from_slice(line).with_context(|| shown(line))?;
    let structured = reply.result.and_then(|body| body.structured);
    let structured = structured.with_context(|| format!("a reply without structured content: {}", shown(line)))?;
    serde_json::from_str(structured.get()).with_context(|| shown(line))
}

/// An error, of the protocol or of the tool, ends the benchmark.
pub(crate) fn check(line: &[u8]) -> Result<()> {
    let failed = memmem::find(line, br#""result":"#).is_none() || memmem::find(line, br#""isError":true"#).is_some();
    if failed {
        bail!("wrong answer: {}", shown(line));
    }
    Ok(())
}

/// As `check`, and it must hold `words`. They are looked for from the end: a file's last words are near it.
pub(crate) fn check_says(line: &[u8], words: &[u8]) -> Result<()> {
    check(line)?;
    if memmem::rfind(line, words).is_none() {
        bail!("an answer without {:?}: {}", String::from_utf8_lossy(words), shown(line));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Page {
        next_cursor: Option<String>,
    }

    #[test]
    fn a_page_is_read_from_the_structured_content() {
        let line =
            br#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"next_cursor":"abc","more":[1]}}}"#;
        assert_eq!(structured::<Page>(line).unwrap().next_cursor.as_deref(), Some("abc"));
    }

    #[test]
    fn errors_of_the_tool_and_of_the_protocol_are_wrong_answers() {
        assert!(check(br#"{"id":1,"result":{"isError":true,"content":[]}}"#).is_err());
        assert!(check(br#"{"id":1,"error":{"code":-32602,"message":"no"}}"#).is_err());
        assert!(check_says(br#"{"id":1,"result":{"content":["yes"]}}"#, b"yes").is_ok());
        assert!(check_says(br#"{"id":1,"result":{"content":["yes"]}}"#, b"no").is_err());
    }
}
