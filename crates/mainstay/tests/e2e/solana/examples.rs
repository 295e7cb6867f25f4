//! The examples of contract 003, run as published except for the port.

use std::path::Path;

use crate::testing::examples::{interpreter, run};
use crate::testing::program::Server;

use super::{node, with_node};

fn example(name: &str, server: &Server) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contracts/solana/examples");
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    assert!(text.contains("localhost:3000"), "{name}");
    text.replace("localhost:3000", &format!("localhost:{}", server.address.port()))
}

#[test]
fn the_python_example_works() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::from(with_node(data.path(), &["serve", "--listen", "127.0.0.1:0"], &node()));
    let said = run(&interpreter("MAINSTAY_TEST_PYTHON", "python3"), "-c", &example("client.py", &server));
    assert!(said.contains("'protocolVersion': '2024-11-05'") && said.contains("'solana-mcp-server'"), "{said}");
}

#[test]
fn the_javascript_example_works() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::from(with_node(data.path(), &["serve", "--listen", "127.0.0.1:0"], &node()));
    let said = run(&interpreter("MAINSTAY_TEST_NODE", "node"), "-e", &example("client.js", &server));
    assert!(said.contains("jsonrpc: '2.0'") && said.contains("content:"), "{said}");
}
