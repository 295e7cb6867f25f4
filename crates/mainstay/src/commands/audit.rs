//! `mainstay audit`: prints the audit log and verifies its hash chain.

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use mainstay_store::{AuditFault, AuditHead, AuditQuery, AuditReport};

use super::terminal::{exit_code, json, print_json, print_line};
use crate::Config;
use crate::cli::Audit;
use crate::wiring::open_store;

/// Reads the store directly; a running server does not have to be stopped.
pub(crate) async fn run(config: &Config, command: Audit) -> anyhow::Result<ExitCode> {
    let store = open_store(config).await?;
    match command {
        Audit::Verify { head, json } => {
            let verdict = match head.as_deref().map(parse_head).transpose()? {
                Some(noted) => store.audit().verify_against(&noted).await?,
                None => store.audit().verify().await?,
            };
            report(&verdict, json)
        }
        Audit::Show { limit, session } => {
            let query = AuditQuery { session, limit, ..AuditQuery::default() };
            for row in store.audit().query(query).await? {
                print_line(json(&serde_json::to_string(&row)?));
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

/// Prints the result and fails if the chain is broken, or is not the one that was noted.
fn report(verdict: &AuditReport, as_json: bool) -> anyhow::Result<ExitCode> {
    if as_json {
        let mut value = serde_json::to_value(verdict)?;
        let other = matches!(verdict.fault, Some(AuditFault::Rewritten { .. } | AuditFault::NotKept { .. }));
        value["noted_head_found"] = (!other).into();
        print_json(&value)?;
    } else {
        print_line(verdict.fault.as_ref().map_or_else(|| intact(verdict), broken));
    }
    Ok(exit_code(verdict.fault.is_none()))
}

fn broken(fault: &AuditFault) -> String {
    match fault {
        AuditFault::Changed { seq } => format!("BROKEN: row {seq} was changed or moved"),
        AuditFault::Missing { seq } => format!("BROKEN: row {seq} is missing"),
        AuditFault::TailMissing { seq, head } => format!("BROKEN: rows {seq} to {head} at the end are missing"),
        AuditFault::BeyondHead { seq, head } => format!("BROKEN: row {seq} is after the head, which is row {head}"),
        AuditFault::SegmentMissing { first, last, file } => format!(
            "BROKEN: rows {first} to {last} are archived in {file}, which is not in the archive; put it back, or set engine.retention.audit_archive to the directory that has it"
        ),
        AuditFault::Rewritten { seq } => format!("BROKEN: row {seq} does not match --head: the chain was rewritten"),
        AuditFault::NotKept { seq } => format!(
            "NOT CHECKED: row {seq} of --head is older than what engine.retention keeps; the rows after it are intact. Note a newer head"
        ),
    }
}

/// Rows in the database, in the archive, and no longer kept.
pub(super) fn intact(verdict: &AuditReport) -> String {
    let AuditReport { rows, archived, removed, head, .. } = verdict;
    let archived = if *archived > 0 { format!(", {archived} of them archived") } else { String::new() };
    let removed = if *removed > 0 { format!("; {removed} older ones are no longer kept") } else { String::new() };
    format!("intact: {rows} rows{archived}{removed}; head {}:{}", head.seq, head.hash)
}
