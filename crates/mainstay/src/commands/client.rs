//! `mainstay client`: who gets access tokens from this server.

use std::io::Read as _;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use mainstay_auth::oauth::{ClientRegistry, NewClient, OldKeys};
use mainstay_core::{Scope, Scopes, SystemClock};
use serde_json::{Value, json};

use super::{printable, say};
use crate::Config;
use crate::cli::Client;
use crate::house::open_store;

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
    store.close().await?;
    done.map(|()| ExitCode::SUCCESS)
}

async fn add(clients: &ClientRegistry, new: NewClient, as_json: bool) -> anyhow::Result<()> {
    let (scopes, own) = (new.scopes.to_string(), new.secret.is_some());
    let made = clients.add(new).await?;
    if as_json {
        let secret = (!own).then_some(made.secret);
        say(json!({"client_id": made.id, "client_secret": secret, "scope": scopes}));
        return Ok(());
    }
    say(format_args!("client id      {}", made.id));
    if own {
        say("client secret  the one you gave");
    } else {
        say(format_args!("client secret  {}", made.secret));
    }
    say(format_args!("scope          {scopes}"));
    if !own {
        say("Keep the secret now: it is not stored and cannot be shown again.");
    }
    Ok(())
}

async fn list(clients: &ClientRegistry, as_json: bool) -> anyhow::Result<()> {
    let all = clients.list().await?;
    if as_json {
        let shown = |client: &mainstay_store::Client| {
            json!({"client_id": client.id, "name": client.name, "scope": client.scopes,
                "created_ms": client.created_ms, "disabled": client.disabled})
        };
        let all: Vec<Value> = all.iter().map(shown).collect();
        say(printable::json(&serde_json::to_string_pretty(&all)?));
        return Ok(());
    }
    for client in &all {
        let state = if client.disabled { "disabled" } else { "active" };
        say(format_args!("{}  {state:8}  {}  ({})", client.id, printable::line(&client.name), client.scopes));
    }
    if all.is_empty() {
        say("There are no clients; `mainstay client add NAME --scope \"read write\"` makes one.");
    }
    Ok(())
}

async fn disable(clients: &ClientRegistry, id: &str) -> anyhow::Result<()> {
    clients.disable(id).await?;
    say(format_args!("{} is disabled; its tokens stop working within seconds.", printable::line(id)));
    Ok(())
}

async fn rotate_key(clients: &ClientRegistry, old: OldKeys) -> anyhow::Result<()> {
    let key = clients.rotate_key(old).await?;
    let fate = match old {
        OldKeys::Expire => "those of the old one are good until they expire",
        OldKeys::Revoke => "those of every older one stop working within seconds",
    };
    say(format_args!("Tokens are signed with the key {key} from now on; {fate}."));
    Ok(())
}

/// All that was asked for, each of which has to exist.
fn scopes(asked: &[String]) -> anyhow::Result<Scopes> {
    let words = asked.iter().flat_map(|words| words.split_ascii_whitespace());
    let found = words.map(|word| {
        let scope = Scope::ALL.into_iter().find(|scope| scope.as_str() == word);
        scope.with_context(|| format!("{word:?} is no scope; there are: {}", Scopes::all()))
    });
    found.collect()
}

fn read_secret() -> anyhow::Result<String> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).context("the secret cannot be read from standard input")?;
    let secret = text.trim_end_matches(['\r', '\n']);
    if secret.is_empty() {
        bail!("there is no secret on standard input");
    }
    Ok(secret.to_owned())
}
