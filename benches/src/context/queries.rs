//! What is asked of a cache, and how an answer is known to be right.

use std::cell::Cell;

use anyhow::{Context, Result, ensure};
use memchr::memmem;
use serde::Deserialize;
use serde_json::json;

use crate::bench_support::message::{shown, tool_call};
use crate::bench_support::stdio::{Load, StdioServer};
use crate::context::text_corpus::word;

pub(crate) struct Query {
    pub(crate) query: String,
    pub(crate) budget: u64,
}

/// Asked in turns. No term stands twice in a query: how often its words then count is where the peer and the contract
/// differ.
pub(crate) fn queries() -> Vec<Query> {
    let words = |ranks: &[usize]| ranks.iter().map(|rank| word(*rank)).collect::<Vec<_>>().join(" ");
    let rare = words(&[20_000]);
    let common = words(&[0]);
    let several = words(&[3, 150, 2_500, 9_000]);
    // Two of these begin with a letter that is not ASCII.
    let shouted = words(&[104, 5, 13 * 700]).to_uppercase();
    let many = words(&[0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024]);
    [
        (rare, 4_000),
        (common, 4_000),
        (several, 4_000),
        ("xylophone".to_owned(), 4_000),
        (shouted, 1_000),
        (many, 20_000),
    ]
    .map(|(query, budget)| Query { query, budget })
    .into()
}

pub(crate) fn calls(cache: &str) -> Vec<String> {
    let call = |query: Query| {
        let Query { query, budget } = query;
        tool_call("context.resolve", &json!({ "cache": cache, "query": query, "budget": budget }))
    };
    queries().into_iter().map(call).collect()
}

/// What a server has answered to each of the queries.
pub(crate) struct Answers {
    calls: Vec<String>,
    results: Vec<Vec<u8>>,
    texts: Vec<String>,
}

impl Answers {
    pub(crate) async fn of(server: &mut StdioServer, cache: &str) -> Result<Self> {
        let mut answers = Self { calls: calls(cache), results: Vec::new(), texts: Vec::new() };
        for call in &answers.calls {
            let line = server.ask(call).await?;
            answers.texts.push(text(&line)?);
            answers.results.push(result(&line)?.to_owned());
        }
        Ok(answers)
    }

    /// The texts must be the same to the byte, or the servers were not measured at the same work.
    pub(crate) fn ensure_same(&self, other: &Self) -> Result<()> {
        for ((call, one), another) in self.calls.iter().zip(&self.texts).zip(&other.texts) {
            ensure_same_text(call, one.as_bytes(), another.as_bytes())?;
        }
        Ok(())
    }

    /// The same queries over and over, each of which must be answered as it was before.
    pub(crate) fn load(self) -> Load {
        let turn = Cell::new(0);
        Load::new(&self.calls, move |line, _| {
            let at = turn.replace((turn.get() + 1) % self.results.len());
            ensure!(result(line)? == self.results[at], "not what was answered before: {}", shown(line));
            Ok(())
        })
    }
}

/// The queries for a server whose answers are compared with nobody's; they must speak of that many documents.
pub(crate) fn load_over(cache: &str, documents: usize) -> Load {
    let considered = format!(r#"\"documents_considered\":{documents},"#);
    Load::new(&calls(cache), move |line, _| {
        let right = memmem::rfind(line, considered.as_bytes()).is_some();
        ensure!(right, "an answer that does not speak of {documents} documents: {}", shown(line));
        Ok(())
    })
}

pub(crate) fn ensure_same_text(query: &str, one: &[u8], another: &[u8]) -> Result<()> {
    let at = one.iter().zip(another).take_while(|(one, another)| one == another).count();
    ensure!(
        one == another,
        "different answers to {query}; from byte {at} on they are\n  {}\n  {}",
        shown(&one[at..]),
        shown(&another[at..])
    );
    Ok(())
}

/// What follows the id in a reply, the same every time a query is asked.
fn result(line: &[u8]) -> Result<&[u8]> {
    let at = memmem::find(line, br#""result":"#).with_context(|| format!("wrong answer: {}", shown(line)))?;
    Ok(line[at..].trim_ascii_end())
}

#[derive(Deserialize)]
struct Reply {
    result: Outcome,
}

#[derive(Deserialize)]
struct Outcome {
    content: [Content; 1],
    #[serde(default, rename = "isError")]
    is_error: bool,
}

#[derive(Deserialize)]
struct Content {
    text: String,
}

fn text(line: &[u8]) -> Result<String> {
    let Reply { result: Outcome { content: [Content { text }], is_error } } =
        serde_json::from_slice(line).with_context(|| format!("wrong answer: {}", shown(line)))?;
    ensure!(!is_error, "wrong answer: {}", shown(line));
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::context::text_corpus::document;

    #[test]
    fn no_term_stands_twice_in_a_query() {
        for Query { query, .. } in queries() {
            let terms: Vec<String> = query.to_lowercase().split_whitespace().map(str::to_owned).collect();
            assert_eq!(terms.iter().collect::<HashSet<_>>().len(), terms.len(), "{query}");
        }
    }

    #[test]
    fn one_query_matches_nothing_and_the_others_do() {
        let words: HashSet<String> = (0..1_500)
            .flat_map(|number| {
                document(number).to_lowercase().split_whitespace().map(str::to_owned).collect::<Vec<_>>()
            })
            .collect();
        let found = queries()
            .iter()
            .filter(|query| query.query.to_lowercase().split_whitespace().any(|term| words.contains(term)))
            .count();
        assert_eq!(found, queries().len() - 1);
    }

    #[test]
    fn an_error_of_the_tool_is_a_wrong_answer() {
        assert_eq!(text(br#"{"id":1,"result":{"content":[{"text":"a\n","type":"text"}]}}"#).unwrap(), "a\n");
        assert!(text(br#"{"id":1,"result":{"content":[{"text":"a","type":"text"}],"isError":true}}"#).is_err());
        assert!(text(br#"{"id":1,"error":{"code":-32602,"message":"no"}}"#).is_err());
    }

    #[test]
    fn a_difference_is_shown_from_where_it_begins() {
        assert!(ensure_same_text("q", b"abc", b"abc").is_ok());
        assert!(ensure_same_text("q", b"abc", b"abcd").is_err());
        let error = ensure_same_text("q", b"abc", b"axc").unwrap_err().to_string();
        assert!(error.contains("byte 1 on") && error.ends_with("\n  bc\n  xc"), "{error}");
    }
}
