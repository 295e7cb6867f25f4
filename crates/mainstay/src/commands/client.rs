//! `mainstay client`: manages the OAuth clients that get access tokens from this server, and its signing key.

use std::io::Read as _;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use mainstay_auth::oauth::{ClientRegistry, NewClient, OldKeys};
use mainstay_core::{Scope, Scopes, SystemClock};
use serde_json::{Value, json};

use super::terminal::{self, print_json, print_line};
use crate::Config;
use crate::cli::Client;
use crate::wiring::open_store;

/// Works on the store directly, so that it works while a server runs and without one.
pub(crate) async fn run(config: &Config, command: Client) -> anyhow::Result<ExitCode> {
    let store = open_store(config).await?;
    let user = std::env::var("USER").unwrap_or_else(|_| "unknown".into());
    let clients = ClientRegistry::new(store.clone(), Arc::new(SystemClock), format!("cli:{user}"));
    let done = match command {
        Client::Add { name, scope, id, secret_stdin, json } => {
            let (scopes, secret) = (scopes(&scope)?, secret_stdin.then(read_secret).transpose()?);
            add(&clients, NewClient { name, scopes, id, secret }, json).await
        }
        Client::List { json } => list(&clients, json).await,
        Client::Disable { id } => disable(&clients, &id).await,
        Client::RotateKey { now } => rotate_key(&clients, if now { OldKeys::Revoke } else { OldKeys::Expire }).await,
    };
    // Waits until what was written is on disk.
    store.close().await?;
    done.map(|()| ExitCode::SUCCESS)
}

/// Creates a client. A secret that was given on standard input is not printed back.
async fn add(clients: &ClientRegistry, new: NewClient, as_json: bool) -> anyhow::Result<()> {
    let (scopes, given) = (new.scopes.to_string(), new.secret.is_some());
    let created = clients.add(new).await?;
    if as_json {
        let secret = (!given).then_some(created.secret);
        print_line(json!({"client_id": created.id, "client_secret": secret, "scope": scopes}));
        return Ok(());
    }
    print_line(format_args!("client id      {}", created.id));
    if given {
        print_line("client secret  as given on standard input");
    } else {
        print_line(format_args!("client secret  {}", created.secret));
    }
    print_line(format_args!("scope          {scopes}"));
    if !given {
        print_line("Save the secret now: it is not stored and cannot be printed again.");
    }
    Ok(())
}

/// Names come from whoever created the client, so they are made safe for the terminal.
async fn list(clients: &ClientRegistry, as_json: bool) -> anyhow::Result<()> {
    let all = clients.list().await?;
    if as_json {
        let shown = |client: &mainstay_store::Client| {
            json!({"client_id": client.id, "name": client.name, "scope": client.scopes,
                "created_ms": client.created_ms, "disabled": client.disabled})
        };
        let all: Vec<Value> = all.iter().map(shown).collect();
        return print_json(&all);
    }
    for client in &all {
        let state = if client.disabled { "disabled" } else { "active" };
        print_line(format_args!("{}  {state:8}  {}  ({})", client.id, terminal::line(&client.name), client.scopes));
    }
    if all.is_empty() {
        print_line("There are no clients; `mainstay client add NAME --scope \"read write\"` creates one.");
    }
    Ok(())
}

/// Servers cache the status of a client for two seconds, so it takes effect within seconds.
async fn disable(clients: &ClientRegistry, id: &str) -> anyhow::Result<()> {
    clients.disable(id).await?;
    print_line(format_args!("{} is disabled; its tokens stop working within seconds.", terminal::line(id)));
    Ok(())
}

/// Replaces the signing key. The store has the keys, so all replicas use the new one.
async fn rotate_key(clients: &ClientRegistry, old: OldKeys) -> anyhow::Result<()> {
    let key = clients.rotate_key(old).await?;
    let effect = match old {
        OldKeys::Expire => "tokens of the old key stay valid until they expire",
        OldKeys::Revoke => "tokens of older keys stop working within seconds",
    };
    print_line(format_args!("New tokens are signed with the key {key}; {effect}."));
    Ok(())
}

/// Parses the scopes; an unknown one is an error.
fn scopes(asked: &[String]) -> anyhow::Result<Scopes> {
    let words = asked.iter().flat_map(|words| words.split_ascii_whitespace());
    let found = words.map(|word| {
        let scope = Scope::ALL.into_iter().find(|scope| scope.as_str() == word);
        scope.with_context(|| format!("{word:?} is not a scope; the scopes are: {}", Scopes::all()))
    });
    found.collect()
}

/// Reads a secret without the line end that `echo` and editors add.
fn read_secret() -> anyhow::Result<String> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).context("cannot read the secret from standard input")?;
    let secret = text.trim_end_matches(['\r', '\n']);
    if secret.is_empty() {
        bail!("standard input is empty, but --secret-stdin needs a secret");
    }
    Ok(secret.to_owned())
}
