//! The limit: an axum handler that parses the JSON-RPC body and answers the echo, and does nothing else that MCP asks.
//! What it reaches is what HTTP, JSON and the load generator leave room for on this machine.
//!
//! Usage: `bare-axum 127.0.0.1:PORT`

use std::borrow::Cow;

use anyhow::Context;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::serve::ListenerExt;
use axum::{Json, Router, routing::post};
use serde::Deserialize;
use serde_json::{Value, json};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let address = std::env::args().nth(1).context("usage: bare-axum ADDRESS")?;
    let router = Router::new().route("/mcp", post(echo));
    let listener = tokio::net::TcpListener::bind(address).await?.tap_io(|socket| {
        let _ = socket.set_nodelay(true);
    });
    axum::serve(listener, router).await?;
    Ok(())
}

/// Only what the echo needs, borrowed from the body: whatever a server does beyond this is its own to answer for.
#[derive(Deserialize)]
struct Request<'a> {
    id: u64,
    #[serde(borrow)]
    params: Params<'a>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    arguments: Arguments<'a>,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}

async fn echo(body: Bytes) -> Result<Json<Value>, StatusCode> {
    let request: Request = serde_json::from_slice(&body).map_err(|_| StatusCode::BAD_REQUEST)?;
    Ok(Json(json!({
        "jsonrpc": "2.0",
        "id": request.id,
        "result": {
            "resultType": "complete",
            "content": [{ "type": "text", "text": request.params.arguments.text }],
            "isError": false,
        },
    })))
}
