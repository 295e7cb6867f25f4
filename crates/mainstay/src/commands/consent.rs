//! `mainstay consent`: lists the calls that wait for a person's consent, and records the decision of the local user.

use std::process::ExitCode;
use std::sync::Arc;

use mainstay_auth::consent::{ConsentStore, ConsentView};
use mainstay_core::{Caller, Principal, SystemClock};
use serde_json::json;

use super::terminal::{self, print_line};
use crate::Config;
use crate::cli::{Consent, Decision};
use crate::wiring::open_store;

/// The most requests in a list: more than a person reads.
const LISTED: u32 = 200;

/// Works on the store directly; a waiting call of a running server sees the decision there.
pub(crate) async fn run(config: &Config, command: Consent) -> anyhow::Result<ExitCode> {
    let store = open_store(config).await?;
    let requests = ConsentStore::new(store.clone(), Arc::new(SystemClock));
    let done = match command {
        Consent::List { json } => list(&requests, json).await,
        Consent::Approve(decision) => decide(&requests, &decision, true).await,
        Consent::Deny(decision) => decide(&requests, &decision, false).await,
    };
    store.close().await?;
    done.map(|()| ExitCode::SUCCESS)
}

/// Summaries and arguments come from callers, so they are made safe for the terminal.
async fn list(requests: &ConsentStore, as_json: bool) -> anyhow::Result<()> {
    let waiting = requests.pending(LISTED).await?;
    if waiting.is_empty() && !as_json {
        print_line("no call waits for consent");
    }
    for consent in waiting {
        if as_json {
            print_line(terminal::json(&described(&consent).to_string()));
        } else {
            let ConsentView { id, summary, preview, arguments, expires_at, .. } = consent;
            let indented = |text: &str| format!("\n    {}", terminal::text(text).replace('\n', "\n    "));
            let preview = preview.as_deref().map(indented).unwrap_or_default();
            let (summary, arguments) = (terminal::line(&summary), indented(&arguments));
            print_line(format_args!("{id}  until {expires_at}\n    {summary}{preview}{arguments}"));
        }
    }
    Ok(())
}

/// The fields of `--json`. Scripts read them, so names stay.
fn described(consent: &ConsentView) -> serde_json::Value {
    json!({
        "consent_id": consent.id,
        "operation": consent.operation,
        "arguments": consent.arguments,
        "requester": consent.requester,
        "preview": consent.preview,
        "requested_by": consent.requested_by,
        "expires_at": consent.expires_at,
    })
}

/// Records a decision. Whoever can open the store may decide: it could be changed by hand as well.
async fn decide(requests: &ConsentStore, decision: &Decision, approve: bool) -> anyhow::Result<()> {
    let by = Caller { principal: Principal::from_stored(&format!("cli:{}", user())), ..Caller::local(None) };
    let decided = requests.decide(&decision.id, &by, approve, decision.reason.as_deref()).await?;
    let what = if approve { "approved: the same call may run once until" } else { "denied; the request expires at" };
    print_line(format_args!("{} {what} {}", terminal::line(&decided.operation), decided.expires_at));
    Ok(())
}

/// The name recorded in the audit. It is not verified: whoever runs this command can write to the store anyway.
fn user() -> String {
    std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).unwrap_or_else(|_| "unknown".into())
}
