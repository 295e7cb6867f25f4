//! `mainstay tools --url` and `mainstay call --url`: the same commands for another server. Its texts are not trusted, so
//! everything that is printed goes through [`super::terminal`].

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{anyhow, bail};
use mainstay_server::client::{RemoteError, RemoteReply, RemoteServer, RemoteTool};
use serde_json::Value;

use super::call::parse_arguments;
use super::terminal::{self, exit_code, print_json, print_line};
use super::tools::first_sentence;
use crate::cli::CallArgs;

/// Lists the tools of a server.
pub(crate) async fn tools(url: &str, timeout: u64, as_json: bool) -> anyhow::Result<ExitCode> {
    let server = connect(url, timeout).await?;
    // Closed in any case: a session left open would occupy a place on the server.
    let tools = server.tools().await;
    server.close().await;
    let tools = tools.map_err(|error| printable(&error))?;
    if as_json {
        let all: Vec<&Value> = tools.iter().map(|tool| &tool.listed).collect();
        print_json(&all)?;
        return Ok(ExitCode::SUCCESS);
    }
    let width = tools.iter().map(|tool| tool.name.len()).max().unwrap_or(0);
    for tool in &tools {
        let disabled = if tool.enabled { "" } else { "(disabled) " };
        let (name, about) = (terminal::line(&tool.name), terminal::line(first_sentence(&tool.description)));
        print_line(format_args!("{name:width$}  {disabled}{about}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Calls a tool of a server.
pub(crate) async fn call(url: &str, request: &CallArgs) -> anyhow::Result<ExitCode> {
    let server = connect(url, request.server.timeout).await?;
    let reply = find_and_call(&server, request).await;
    server.close().await;
    let reply = reply?;
    print(&reply, request.json)?;
    Ok(exit_code(!reply.failed))
}

/// The token comes from the environment and not from an option, which other users could see in the process list.
async fn connect(url: &str, timeout: u64) -> anyhow::Result<RemoteServer> {
    let token = std::env::var("MAINSTAY_TOKEN").ok().filter(|token| !token.is_empty());
    RemoteServer::connect(url, token.as_deref(), Duration::from_secs(timeout)).await.map_err(|error| printable(&error))
}

/// An error may contain text of the server.
fn printable(error: &RemoteError) -> anyhow::Error {
    anyhow!(terminal::text(&error.to_string()))
}

/// Finds the tool in the server's list, whose schema says how to parse the arguments, and calls it.
async fn find_and_call(server: &RemoteServer, request: &CallArgs) -> anyhow::Result<RemoteReply> {
    let (tools, url) = (server.tools().await.map_err(|error| printable(&error))?, server.url());
    let tool = match find(&tools, &request.tool).as_slice() {
        [one] => *one,
        [] => bail!("{url} has no tool {:?}; see `mainstay tools --url {url}`", request.tool),
        several => {
            let names: Vec<&str> = several.iter().map(|tool| tool.name.as_str()).collect();
            bail!("{:?} matches several tools of {url}: {names:?}; use one of these names", request.tool)
        }
    };
    let args = parse_arguments(&tool.input_schema, &request.arguments)?;
    let mut print_output = |chunk: &str| {
        let _ = write!(std::io::stderr(), "{}", terminal::text(chunk));
    };
    let reply = server.call(&tool.name, &args, request.idempotency_key.as_deref(), &mut print_output).await;
    reply.map_err(|error| printable(&error))
}

/// The tools with this name. If there are none, those whose name differs only in `/` and `_`, because the dialects spell
/// the same tool `files/read` and `files_read`.
fn find<'a>(tools: &'a [RemoteTool], name: &str) -> Vec<&'a RemoteTool> {
    let normal = |name: &str| name.replace('/', "_");
    let exact: Vec<&RemoteTool> = tools.iter().filter(|tool| tool.name == name).collect();
    if exact.is_empty() { tools.iter().filter(|tool| normal(&tool.name) == normal(name)).collect() } else { exact }
}

/// Prints a reply like that of a local call.
fn print(reply: &RemoteReply, as_json: bool) -> anyhow::Result<()> {
    let whole = if as_json { Some(&reply.result) } else { reply.value.as_ref() };
    if let Some(value) = whole {
        return print_json(value);
    }
    for block in &reply.content {
        match block.get("text").and_then(Value::as_str) {
            Some(text) => print_line(terminal::text(text)),
            None => print_line(terminal::json(&block.to_string())),
        }
    }
    Ok(())
}
