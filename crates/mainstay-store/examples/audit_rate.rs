//! What one row of the audit costs: `audit_rate ROWS CALLERS`.
//!
//! First the store as it is: every caller notes rows, the writer chains them and commits them in groups. Then the
//! alternative it was measured against: one table row for each audit row, in statements of 50 rows, with the indexes
//! an operator would want. CPU time is that of the whole process, because a server on two cores has no core to spare
//! for the writer.
#![expect(clippy::print_stdout, reason = "it prints what it measured")]
#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on has failed")]

use std::time::{Duration, Instant};

use mainstay_store::{AuditEntry, Phase, Store, StoreOptions};
use sha2::{Digest as _, Sha256};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{AssertSqlSafe, ConnectOptions as _};

/// Rows that one commit takes along at 20,000 rows a second and the default wait of 10 ms.
const GROUP: usize = 200;
/// Rows in one INSERT: 13 values each stay below SQLite's limit for variables, and more did not get faster.
const STATEMENT_ROWS: usize = 50;

const TABLE: &str = "CREATE TABLE audit (seq INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, phase TEXT NOT NULL, \
     request_id TEXT NOT NULL, principal TEXT NOT NULL, session TEXT, ip TEXT, target TEXT NOT NULL, \
     effect TEXT NOT NULL, args_digest TEXT NOT NULL, outcome TEXT NOT NULL, duration_us INTEGER NOT NULL, \
     hash BLOB NOT NULL) STRICT";
const INDEXES: &str = "CREATE INDEX audit_principal ON audit (principal); CREATE INDEX audit_target ON audit (target); \
     CREATE INDEX audit_at ON audit (at_ms); CREATE INDEX audit_outcome ON audit (outcome) WHERE outcome <> 'ok'";

fn entry(number: usize) -> AuditEntry {
    AuditEntry {
        at_ms: 1_700_000_000_000 + i64::try_from(number / 40).unwrap(),
        phase: Phase::Ended,
        request_id: format!("0190f5c8-7d3a-7c4e-8000-{number:012x}").into(),
        principal: format!("client-{}", number % 5).into(),
        session: None,
        ip: Some("127.0.0.1".into()),
        target: "files_read".into(),
        effect: "reads".into(),
        args_digest: format!("{number:064x}"),
        outcome: "ok".into(),
        duration_us: 250,
    }
}

/// User and system time of this process; the kernel counts in hundredths of a second.
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    let ticks: u64 = fields[11..13].iter().map(|field| field.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 10)
}

fn report(what: &str, rows: usize, started: Instant, before: Duration) {
    let (took, used) = (started.elapsed().as_secs_f64(), cpu().saturating_sub(before).as_secs_f64());
    let rows = f64::from(u32::try_from(rows).unwrap());
    println!("{what:32} {:8.0} rows/s  {:5.2} us of CPU per row", rows / took, used * 1e6 / rows);
}

async fn store(rows: usize, callers: usize) {
    let dir = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", dir.path().join("store.db").display());
    let store = Store::open(&url, StoreOptions::default()).await.unwrap();
    let (started, before) = (Instant::now(), cpu());
    let callers: Vec<_> = (0..callers)
        .map(|caller| {
            let store = store.clone();
            tokio::spawn(async move {
                for number in 0..rows / callers {
                    while store.audit().enqueue(&entry(number * callers + caller)).is_err() {
                        tokio::time::sleep(Duration::from_millis(1)).await;
                    }
                    if number % 25 == 24 {
                        tokio::time::sleep(Duration::from_millis(1)).await;
                    }
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
    store.audit().flush().await.unwrap();
    report("the store", rows, started, before);
    store.close().await.unwrap();
}

async fn plain_rows(what: &str, rows: usize, indexes: &'static str) {
    let dir = tempfile::tempdir().unwrap();
    let mut db = SqliteConnectOptions::new()
        .filename(dir.path().join("rows.db"))
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .disable_statement_logging()
        .connect()
        .await
        .unwrap();
    sqlx::raw_sql(TABLE).execute(&mut db).await.unwrap();
    sqlx::raw_sql(indexes).execute(&mut db).await.unwrap();
    let insert = format!("INSERT INTO audit VALUES {}", vec!["(?,?,?,?,?,?,?,?,?,?,?,?,?)"; STATEMENT_ROWS].join(","));
    let (started, before) = (Instant::now(), cpu());
    let mut hash = [0_u8; 32];
    for group in 0..rows / GROUP {
        sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut db).await.unwrap();
        for statement in 0..GROUP / STATEMENT_ROWS {
            let mut query = sqlx::query(AssertSqlSafe(insert.clone()));
            for row in 0..STATEMENT_ROWS {
                let number = group * GROUP + statement * STATEMENT_ROWS + row;
                let entry = entry(number);
                let canonical = serde_json::to_vec(&entry).unwrap();
                hash = Sha256::new().chain_update(hash).chain_update(canonical).finalize().into();
                query = query
                    .bind(i64::try_from(number).unwrap())
                    .bind(entry.at_ms)
                    .bind("ended")
                    .bind(entry.request_id.to_string())
                    .bind(entry.principal.to_string())
                    .bind(entry.session.map(|session| session.to_string()))
                    .bind(entry.ip)
                    .bind(entry.target.to_string())
                    .bind(entry.effect.to_string())
                    .bind(entry.args_digest)
                    .bind(entry.outcome.to_string())
                    .bind(entry.duration_us)
                    .bind(hash.to_vec());
            }
            query.execute(&mut db).await.unwrap();
        }
        sqlx::raw_sql("COMMIT").execute(&mut db).await.unwrap();
    }
    report(what, rows, started, before);
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse().unwrap());
    let (rows, callers) = (arguments.next().unwrap_or(100_000), arguments.next().unwrap_or(8));
    for _ in 0..3 {
        store(rows, callers).await;
        plain_rows("plain rows, no index", rows, "").await;
        plain_rows("plain rows, four indexes", rows, INDEXES).await;
    }
}
