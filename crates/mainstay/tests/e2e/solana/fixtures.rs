//! Every fixture under contracts/solana, against the real program with a node that answers the same each time.

use std::path::Path;

use crate::testing::expected_response::Captures;
use crate::testing::fixture::{Fixture, Request, run_all};
use crate::testing::http_exchange::{compare, exchange};
use crate::testing::program::Server;

use super::{node, with_node};

const CONTRACT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contracts/solana");

#[test]
fn every_fixture_passes() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::from(with_node(data.path(), &["serve", "--listen", "127.0.0.1:0"], &node()));
    let all = Fixture::all(CONTRACT);
    assert!(all.len() >= 19, "only {} fixtures were found", all.len());
    run_all(&all, |fixture| {
        let unused = fixture.unused(&[]);
        if !unused.is_empty() {
            return Err(format!("{unused:?} belong to no step"));
        }
        let mut http = server.connect();
        let mut captures = Captures::new(Path::new(CONTRACT));
        for suffix in fixture.steps() {
            let Some(Request::Message(request)) = fixture.request(&suffix) else {
                return Err(format!("request{suffix} is not JSON"));
            };
            let expected = fixture.response(&suffix).pop().ok_or_else(|| format!("there is no response{suffix}"))?;
            let actual = exchange(&mut http, &captures.fill(request));
            compare(&mut captures, &expected, &actual, &format!("answer{suffix}"))?;
        }
        Ok(())
    });
}
