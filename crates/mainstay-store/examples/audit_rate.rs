//! What a noted audit row costs: `cargo run --release -p mainstay-store --example audit_rate -- [ROWS_PER_S] [SECONDS] [URL]`.
//!
//! A rate of 0 means as fast as they are taken. Without a URL a SQLite file in a temporary directory is used. The
//! processor time is that of all threads, less what making up the entries costs.
#![expect(clippy::print_stdout, reason = "the figures are its output")]

use std::time::{Duration, Instant};

use mainstay_store::{AuditEntry, AuditQuery, Phase, Store, StoreError, StoreOptions};

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

const SESSIONS: u64 = 256;
const TICK: Duration = Duration::from_millis(1);

#[tokio::main]
async fn main() -> Fallible<()> {
    let mut args = std::env::args().skip(1);
    let rate: u64 = args.next().map_or(Ok(20_000), |text| text.parse())?;
    let seconds: u64 = args.next().map_or(Ok(10), |text| text.parse())?;
    let scratch = tempfile::tempdir()?;
    let url = args.next().unwrap_or_else(|| format!("sqlite:{}", scratch.path().join("audit.db").display()));
    let rows = seconds * if rate == 0 { 100_000 } else { rate };
    let store = Store::open(&url, StoreOptions::default()).await?;

    let (_, idle) = drive(rows, rate, |_| Ok(true)).await?;
    let (took, busy) = drive(rows, rate, |entry| match store.audit().note(entry) {
        Ok(()) => Ok(true),
        Err(StoreError::Overloaded) => Ok(false),
        Err(other) => Err(other),
    })
    .await?;
    store.audit().flush().await?;
    println!(
        "{}: {:.0} rows/s, {:.2} µs of processor time per row ({:.2} with making up the entry)",
        store.engine(),
        per(rows, took.as_secs_f64()),
        micros(busy.saturating_sub(idle), rows),
        micros(busy, rows),
    );

    let begun = Instant::now();
    let wanted = AuditQuery { session: Some(session(7)), limit: 50, ..AuditQuery::default() };
    let found = store.audit().query(wanted).await?.len();
    println!("a session's newest {found} rows: {:?}", begun.elapsed());
    let begun = Instant::now();
    let absent = AuditQuery { session: Some("nobody".into()), limit: 50, ..AuditQuery::default() };
    let found = store.audit().query(absent).await?.len();
    println!("an absent session's {found} rows: {:?}", begun.elapsed());
    let begun = Instant::now();
    let verdict = store.audit().verify().await?;
    println!("verify: {} rows, fault {:?}, {:?}", verdict.rows, verdict.fault, begun.elapsed());
    store.close().await?;
    Ok(())
}

/// Offers entries at the rate, and says how long that took and what it cost. An entry that is not taken is made again.
async fn drive(
    rows: u64,
    rate: u64,
    mut offer: impl FnMut(AuditEntry) -> Result<bool, StoreError>,
) -> Fallible<(Duration, Duration)> {
    let (begun, before) = (Instant::now(), processor_time()?);
    let mut made = 0;
    while made < rows {
        let due = if rate == 0 { rows } else { rows.min(rate * u64::try_from(begun.elapsed().as_millis())? / 1000) };
        while made < due && offer(entry(made))? {
            made += 1;
        }
        tokio::time::sleep(TICK).await;
    }
    // What is still queued belongs to the cost.
    tokio::time::sleep(Duration::from_millis(100)).await;
    Ok((begun.elapsed(), processor_time()?.saturating_sub(before)))
}

fn session(number: u64) -> String {
    format!("{:032x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

fn entry(number: u64) -> AuditEntry {
    AuditEntry {
        at_ms: 1_700_000_000_000 + number.cast_signed(),
        phase: Phase::Ended,
        request_id: format!("{number:032x}"),
        principal: "https://issuer.example user-17".into(),
        session: Some(session(number % SESSIONS)),
        ip: Some("203.0.113.7".into()),
        target: "files_read".into(),
        effect: "reads".into(),
        args_digest: format!("{number:064x}"),
        outcome: "ok".into(),
        duration_us: 137,
    }
}

/// Of all threads, to the nanosecond; the ticks of `/proc/self/stat` beat against the millisecond sleeps above.
fn processor_time() -> Fallible<Duration> {
    let mut nanos = 0;
    for task in std::fs::read_dir("/proc/self/task")? {
        let stat = std::fs::read_to_string(task?.path().join("schedstat"))?;
        nanos += stat.split(' ').next().unwrap_or("0").parse::<u64>()?;
    }
    Ok(Duration::from_nanos(nanos))
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn per(rows: u64, seconds: f64) -> f64 {
    rows as f64 / seconds
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn micros(time: Duration, rows: u64) -> f64 {
    time.as_secs_f64() * 1e6 / rows as f64
}
