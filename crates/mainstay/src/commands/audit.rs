//! `mainstay audit`: what was recorded, and whether it is still what was recorded.

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use mainstay_store::{AuditFault, AuditHead, AuditQuery, AuditReport};

use super::say;
use crate::Config;
use crate::cli::Audit;
use crate::house::open_store;

pub(crate) async fn run(config: &Config, command: Audit) -> anyhow::Result<ExitCode> {
    let store = open_store(config).await?;
    match command {
        Audit::Verify { head, json } => {
            let expected = head.as_deref().map(read_head).transpose()?;
            let verdict = store.audit().verify().await?;
            let noted = match &expected {
                Some(head) if verdict.fault.is_none() => still_there(&store, head).await?,
                Some(_) | None => true,
            };
            report(&verdict, expected.as_ref().filter(|_| !noted), json)
        }
        Audit::Show { limit, session } => {
            let query = AuditQuery { session, limit, ..AuditQuery::default() };
            for row in store.audit().query(query).await? {
                say(serde_json::to_string(&row)?);
            }
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn read_head(text: &str) -> anyhow::Result<AuditHead> {
    let (seq, hash) = text.split_once(':').context("a head is written NUMBER:HASH")?;
    let seq = seq.parse().with_context(|| format!("{seq:?} is not a row's number"))?;
    if hash.len() != 64 {
        bail!("{hash:?} is not a row's hash: it has 64 hexadecimal digits");
    }
    Ok(AuditHead { seq, hash: hash.to_ascii_lowercase() })
}

/// Rows that verify among themselves may all have been rewritten; a head noted elsewhere shows that.
async fn still_there(store: &mainstay_store::Store, head: &AuditHead) -> anyhow::Result<bool> {
    // After the last number there is nothing to look before.
    let query = AuditQuery { before: head.seq.checked_add(1), limit: 1, ..AuditQuery::default() };
    let rows = store.audit().query(query).await?;
    Ok(rows.first().is_some_and(|row| row.seq == head.seq && row.hash == head.hash))
}

fn report(verdict: &AuditReport, rewritten: Option<&AuditHead>, json: bool) -> anyhow::Result<ExitCode> {
    if json {
        let mut value = serde_json::to_value(verdict)?;
        value["noted_head_found"] = rewritten.is_none().into();
        say(serde_json::to_string_pretty(&value)?);
    } else if let Some(fault) = &verdict.fault {
        say(match fault {
            AuditFault::Changed { seq } => format!("BROKEN: row {seq} is not what was recorded, or not in its place"),
            AuditFault::Missing { seq } => format!("BROKEN: row {seq} is missing"),
            AuditFault::TailMissing { seq, head } => {
                format!("BROKEN: the rows from {seq} to {head} are missing at the end")
            }
            AuditFault::BeyondHead { seq, head } => {
                format!("BROKEN: row {seq} lies beyond the head, which is at {head}")
            }
        });
    } else if let Some(head) = rewritten {
        say(format_args!("BROKEN: row {} is not the one that was noted; the chain has been rewritten", head.seq));
    } else {
        say(format_args!("whole: {} rows; head {}:{}", verdict.rows, verdict.head.seq, verdict.head.hash));
    }
    let good = verdict.fault.is_none() && rewritten.is_none();
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
