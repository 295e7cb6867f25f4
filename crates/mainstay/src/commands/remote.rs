//! `mainstay tools --url` and `mainstay call --url`: the same questions, put to a server.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{anyhow, bail};
use mainstay_server::client::{RemoteError, RemoteReply, RemoteServer, RemoteTool};
use serde_json::Value;

use super::call::{Order, read_arguments};
use super::tools::first_sentence;
use super::{printable, say};

pub(crate) async fn tools(url: &str, timeout: u64, as_json: bool) -> anyhow::Result<ExitCode> {
    let server = open(url, timeout).await?;
    let tools = server.tools().await;
    server.close().await;
    let tools = tools.map_err(|error| harmless(&error))?;
    if as_json {
        let all: Vec<&Value> = tools.iter().map(|tool| &tool.listed).collect();
        say(printable::json(&serde_json::to_string_pretty(&all)?));
        return Ok(ExitCode::SUCCESS);
    }
    let width = tools.iter().map(|tool| tool.name.len()).max().unwrap_or(0);
    for tool in &tools {
        let disabled = if tool.enabled { "" } else { "(disabled) " };
        let (name, about) = (printable::line(&tool.name), printable::line(first_sentence(&tool.description)));
        say(format_args!("{name:width$}  {disabled}{about}"));
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn call(url: &str, timeout: u64, order: Order) -> anyhow::Result<ExitCode> {
    let server = open(url, timeout).await?;
    let reply = make(&server, &order).await;
    server.close().await;
    let reply = reply?;
    print(&reply, order.json)?;
    Ok(if reply.failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

async fn open(url: &str, timeout: u64) -> anyhow::Result<RemoteServer> {
    let token = std::env::var("MAINSTAY_TOKEN").ok().filter(|token| !token.is_empty());
    RemoteServer::connect(url, token.as_deref(), Duration::from_secs(timeout)).await.map_err(|error| harmless(&error))
}

/// What a server refuses with is its text, not ours.
fn harmless(error: &RemoteError) -> anyhow::Error {
    anyhow!(printable::text(&error.to_string()))
}

async fn make(server: &RemoteServer, order: &Order) -> anyhow::Result<RemoteReply> {
    let (tools, url) = (server.tools().await.map_err(|error| harmless(&error))?, server.url());
    let tool = match find(&tools, &order.tool).as_slice() {
        [one] => *one,
        [] => bail!("{url} lists no tool {:?}; see `mainstay tools --url {url}`", order.tool),
        several => {
            let names: Vec<&str> = several.iter().map(|tool| tool.name.as_str()).collect();
            bail!("{url} lists several tools that {:?} may mean: {names:?}; give the name of one", order.tool)
        }
    };
    let args = read_arguments(&tool.input_schema, &order.arguments)?;
    let mut show = |chunk: &str| {
        let _ = write!(std::io::stderr(), "{}", printable::text(chunk));
    };
    let made = server.call(&tool.name, &args, order.idempotency_key.as_deref(), &mut show).await;
    made.map_err(|error| harmless(&error))
}

/// The tools of this name; or those whose names are spelled with the other of `/` and `_`.
fn find<'a>(tools: &'a [RemoteTool], name: &str) -> Vec<&'a RemoteTool> {
    let plain = |name: &str| name.replace('/', "_");
    let exact: Vec<&RemoteTool> = tools.iter().filter(|tool| tool.name == name).collect();
    if exact.is_empty() { tools.iter().filter(|tool| plain(&tool.name) == plain(name)).collect() } else { exact }
}

fn print(reply: &RemoteReply, as_json: bool) -> anyhow::Result<()> {
    let whole = if as_json { Some(&reply.result) } else { reply.value.as_ref() };
    if let Some(value) = whole {
        say(printable::json(&serde_json::to_string_pretty(value)?));
        return Ok(());
    }
    for block in &reply.content {
        match block.get("text").and_then(Value::as_str) {
            Some(text) => say(printable::text(text)),
            None => say(printable::json(&block.to_string())),
        }
    }
    Ok(())
}
