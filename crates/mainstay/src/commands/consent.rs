//! `mainstay consent`: the calls that wait for a person, decided by the one at this terminal.

use std::process::ExitCode;
use std::sync::Arc;

use mainstay_auth::consent::{ConsentStore, ConsentView, Decider};
use mainstay_core::SystemClock;
use serde_json::json;

use super::{printable, say};
use crate::Config;
use crate::cli::{Consent, Verdict};
use crate::house::open_store;

/// As many as a person can look at.
const SHOWN: u32 = 200;

pub(crate) async fn run(config: &Config, command: Consent) -> anyhow::Result<ExitCode> {
    let store = open_store(config).await?;
    let requests = ConsentStore::new(store.clone(), Arc::new(SystemClock));
    let done = match command {
        Consent::List { json } => list(&requests, json).await,
        Consent::Approve(verdict) => decide(&requests, &verdict, true).await,
        Consent::Deny(verdict) => decide(&requests, &verdict, false).await,
    };
    store.close().await?;
    done.map(|()| ExitCode::SUCCESS)
}

async fn list(requests: &ConsentStore, as_json: bool) -> anyhow::Result<()> {
    let waiting = requests.pending(SHOWN).await?;
    if waiting.is_empty() && !as_json {
        say("nothing waits for consent");
    }
    for consent in waiting {
        if as_json {
            say(printable::json(&described(&consent).to_string()));
        } else {
            let ConsentView { id, summary, arguments, expires_at, .. } = consent;
            let arguments = printable::text(&arguments).replace('\n', "\n    ");
            say(format_args!("{id}  until {expires_at}\n    {}\n    {arguments}", printable::line(&summary)));
        }
    }
    Ok(())
}

fn described(consent: &ConsentView) -> serde_json::Value {
    json!({
        "consent_id": consent.id,
        "operation": consent.operation,
        "arguments": consent.arguments,
        "requested_by": consent.requested_by,
        "expires_at": consent.expires_at,
    })
}

async fn decide(requests: &ConsentStore, verdict: &Verdict, approve: bool) -> anyhow::Result<()> {
    let by = Decider { name: format!("cli:{}", user()), ip: None };
    let decided = requests.decide(&verdict.id, &by, approve, verdict.reason.as_deref()).await?;
    let what = if approve { "approved: the same call now runs, once, until" } else { "denied. The request ends at" };
    say(format_args!("{} {what} {}", printable::line(&decided.operation), decided.expires_at));
    Ok(())
}

/// Who the record says decided. Anybody who can write to the store could have written it.
fn user() -> String {
    std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).unwrap_or_else(|_| "unknown".into())
}
