//! `mainstay audit`: prints the audit log and verifies its hash chain.

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use mainstay_store::{AuditFault, AuditHead, AuditQuery, AuditReport};

use super::terminal::{exit_code, print_json, print_line};
use crate::Config;
use crate::cli::Audit;
use crate::wiring::open_store;

/// Reads the store directly; a running server does not have to be stopped.
pub(crate) async fn run(config: &Config, command: Audit) -> anyhow::Result<ExitCode> {
    let store = open_store(config).await?;
    match command {
        Audit::Verify { head, json } => {
            let expected = head.as_deref().map(parse_head).transpose()?;
            let verdict = store.audit().verify().await?;
            let found = match &expected {
                Some(head) if verdict.fault.is_none() => contains(&store, head).await?,
                Some(_) | None => true,
            };
            report(&verdict, expected.as_ref().filter(|_| !found), json)
        }
        Audit::Show { limit, session } => {
            let query = AuditQuery { session, limit, ..AuditQuery::default() };
            for row in store.audit().query(query).await? {
                print_line(serde_json::to_string(&row)?);
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Parses NUMBER:HASH, as `verify` prints it.
fn parse_head(text: &str) -> anyhow::Result<AuditHead> {
    let (seq, hash) = text.split_once(':').context("--head must be NUMBER:HASH")?;
    let seq = seq.parse().with_context(|| format!("{seq:?} in --head is not a row number"))?;
    if hash.len() != 64 {
        bail!("{hash:?} in --head is not a hash of 64 hexadecimal digits");
    }
    Ok(AuditHead { seq, hash: hash.to_ascii_lowercase() })
}

/// Whether the chain contains this row. A chain that was rewritten as a whole is consistent in itself; only a head that was
/// saved elsewhere shows it.
async fn contains(store: &mainstay_store::Store, head: &AuditHead) -> anyhow::Result<bool> {
    // Without a next number the newest row is read, which is the right one as well.
    let query = AuditQuery { before: head.seq.checked_add(1), limit: 1, ..AuditQuery::default() };
    let rows = store.audit().query(query).await?;
    Ok(rows.first().is_some_and(|row| row.seq == head.seq && row.hash == head.hash))
}

/// Prints the result and fails if the chain is broken or was rewritten.
fn report(verdict: &AuditReport, rewritten: Option<&AuditHead>, json: bool) -> anyhow::Result<ExitCode> {
    if json {
        let mut value = serde_json::to_value(verdict)?;
        value["noted_head_found"] = rewritten.is_none().into();
        print_json(&value)?;
    } else if let Some(fault) = &verdict.fault {
        print_line(match fault {
            AuditFault::Changed { seq } => format!("BROKEN: row {seq} was changed or moved"),
            AuditFault::Missing { seq } => format!("BROKEN: row {seq} is missing"),
            AuditFault::TailMissing { seq, head } => format!("BROKEN: rows {seq} to {head} at the end are missing"),
            AuditFault::BeyondHead { seq, head } => format!("BROKEN: row {seq} is after the head, which is row {head}"),
        });
    } else if let Some(head) = rewritten {
        print_line(format_args!("BROKEN: row {} does not match --head: the chain was rewritten", head.seq));
    } else {
        print_line(format_args!("intact: {} rows; head {}:{}", verdict.rows, verdict.head.seq, verdict.head.hash));
    }
    Ok(exit_code(verdict.fault.is_none() && rewritten.is_none()))
}
