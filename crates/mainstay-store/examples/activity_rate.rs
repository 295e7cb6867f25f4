//! What logging an activity costs as they become many: `cargo run --release -p mainstay-store --example activity_rate --
//! [ROWS] [URL]`. Without a URL a SQLite file in a temporary directory is used.
#![expect(clippy::print_stdout, reason = "the figures are its output")]

use std::time::{Duration, Instant};

use mainstay_store::{ActivityQuery, Intent, NewActivity, Store, StoreOptions};

type Fallible<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

const AGENTS: u64 = 200;
const SAMPLE: u64 = 2000;

#[tokio::main]
async fn main() -> Fallible<()> {
    let mut args = std::env::args().skip(1);
    let rows: u64 = args.next().map_or(Ok(1_000_000), |text| text.parse())?;
    let scratch = tempfile::tempdir()?;
    let url = args.next().unwrap_or_else(|| format!("sqlite:{}", scratch.path().join("store.db").display()));
    let store = Store::open(&url, StoreOptions::default()).await?;
    for total in [1000, rows] {
        fill(&store, total).await?;
        let median = sample(&store).await?;
        let begun = Instant::now();
        let query = ActivityQuery { agent: Some(agent(7)), limit: 50, ..ActivityQuery::default() };
        let found = store.agents().activities(query).await?.len();
        println!(
            "{} at {total} rows: a log takes {median:?}, an agent's newest {found} {:?}",
            store.engine(),
            begun.elapsed()
        );
    }
    Ok(store.close().await?)
}

/// The median, one after the other.
async fn sample(store: &Store) -> Fallible<Duration> {
    let mut took = Vec::new();
    for number in 0..SAMPLE {
        let begun = Instant::now();
        store.agents().log(activity(number), Intent::Act).await?;
        took.push(begun.elapsed());
    }
    took.sort();
    Ok(took[took.len() / 2])
}

/// Logs, many at once, until there are so many.
async fn fill(store: &Store, total: u64) -> Fallible<()> {
    let there = store.agents().count_activities(ActivityQuery::default()).await?;
    let missing = total.saturating_sub(u64::try_from(there)?);
    let tasks: Vec<_> = (0..AGENTS)
        .map(|nth| {
            let store = store.clone();
            tokio::spawn(async move {
                for number in (nth..missing).step_by(usize::try_from(AGENTS).unwrap_or(1)) {
                    store.agents().log(activity(number), Intent::Act).await?;
                }
                Fallible::Ok(())
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    Ok(())
}

fn agent(number: u64) -> String {
    format!("agent-{}", number % AGENTS)
}

fn activity(number: u64) -> NewActivity {
    NewActivity {
        agent: agent(number),
        activity: format!("step {number}"),
        category: "task".into(),
        status: Some(if number.is_multiple_of(2) { "started" } else { "completed" }.into()),
        details: Some(r#"{"component":"api"}"#.into()),
        now_ms: 1_758_189_600_000,
    }
}
