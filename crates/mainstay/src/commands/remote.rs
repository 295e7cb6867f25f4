//! `mainstay tools --url` and `mainstay call --url`: the same questions, put to a server.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use mainstay_server::client::{Remote, RemoteReply, RemoteTool};
use serde_json::Value;

use super::call::{Order, read_arguments};
use super::say;
use super::tools::first_sentence;

pub(crate) async fn tools(url: &str, timeout: u64, as_json: bool) -> anyhow::Result<ExitCode> {
    let server = open(url, timeout).await?;
    let tools = server.tools().await;
    server.close().await;
    let tools = tools?;
    if as_json {
        let all: Vec<&Value> = tools.iter().map(|tool| &tool.listed).collect();
        say(serde_json::to_string_pretty(&all)?);
        return Ok(ExitCode::SUCCESS);
    }
    let width = tools.iter().map(|tool| tool.name.len()).max().unwrap_or(0);
    for tool in &tools {
        let disabled = if tool.enabled { "" } else { "(disabled) " };
        say(format_args!("{:width$}  {disabled}{}", tool.name, first_sentence(&tool.description)));
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn call(url: &str, timeout: u64, order: Order) -> anyhow::Result<ExitCode> {
    let server = open(url, timeout).await?;
    let reply = make(&server, url, &order).await;
    server.close().await;
    let reply = reply?;
    print(&reply, order.json)?;
    Ok(if reply.failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

async fn open(url: &str, timeout: u64) -> anyhow::Result<Remote> {
    let token = std::env::var("MAINSTAY_TOKEN").ok().filter(|token| !token.is_empty());
    Ok(Remote::open(url, token.as_deref(), Duration::from_secs(timeout)).await?)
}

async fn make(server: &Remote, url: &str, order: &Order) -> anyhow::Result<RemoteReply> {
    let tools = server.tools().await?;
    let tool = find(&tools, &order.tool)
        .with_context(|| format!("{url} lists no tool {:?}; see `mainstay tools --url {url}`", order.tool))?;
    let args = read_arguments(&tool.input_schema, &order.arguments)?;
    let mut show = |chunk: &str| {
        let _ = write!(std::io::stderr(), "{chunk}");
    };
    Ok(server.call(&tool.name, &args, order.idempotency_key.as_deref(), &mut show).await?)
}

/// The tool of this name; or the one whose name is spelled with the other of `/` and `_`.
fn find<'a>(tools: &'a [RemoteTool], name: &str) -> Option<&'a RemoteTool> {
    let plain = |name: &str| name.replace('/', "_");
    tools.iter().find(|tool| tool.name == name).or_else(|| tools.iter().find(|tool| plain(&tool.name) == plain(name)))
}

fn print(reply: &RemoteReply, as_json: bool) -> anyhow::Result<()> {
    let whole = if as_json { Some(&reply.result) } else { reply.value.as_ref() };
    if let Some(value) = whole {
        say(serde_json::to_string_pretty(value)?);
        return Ok(());
    }
    for block in &reply.content {
        match block.get("text").and_then(Value::as_str) {
            Some(text) => say(text),
            None => say(block),
        }
    }
    Ok(())
}
