//! Search over small indexes.

mod damage;
pub(in crate::ranking) mod fixture;
mod golden;
mod limits;
mod names;
mod scope;
mod similar;
mod statistics;

use super::{Answer, Request, search};
use crate::embedding::built_in;
use crate::index::Snapshot;

fn ask(snapshot: &Snapshot, query: &str) -> Answer {
    find(snapshot, &Request { query, ..request() })
}

fn find(snapshot: &Snapshot, request: &Request<'_>) -> Answer {
    search(snapshot, built_in().unwrap(), request).unwrap()
}

fn request<'a>() -> Request<'a> {
    Request { top_k: 20, rerank: true, ..Request::default() }
}

/// The files of an answer in the order of their first chunks.
fn files(answer: &Answer) -> Vec<&str> {
    let mut files: Vec<&str> = Vec::new();
    for hit in &answer.hits {
        if !files.contains(&hit.path.as_str()) {
            files.push(&hit.path);
        }
    }
    files
}

fn names(answer: &Answer) -> Vec<&str> {
    answer.hits.iter().map(|hit| hit.name.as_str()).collect()
}
