//! The client against nodes that fail in every way.

mod answers;
mod faults;
mod selection;
mod sending;
mod stub;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;

use super::{
    Answer, BreakerSettings, CacheUse, Client, ClientSettings, NetworkSettings, Observer, Query, RetrySettings,
    RpcError,
};

const NETWORK: &str = "test";

/// Records what the client reports.
#[derive(Default)]
struct Recorder {
    requests: Mutex<Vec<(String, Result<(), &'static str>)>>,
    lookups: Mutex<Vec<(bool, usize)>>,
}

impl Recorder {
    fn outcomes(&self) -> Vec<Result<(), &'static str>> {
        self.requests.lock().iter().map(|(_, outcome)| *outcome).collect()
    }
}

impl Observer for Recorder {
    fn request(&self, method: &str, network: &str, outcome: Result<(), &'static str>, _took: Duration) {
        assert_eq!(network, NETWORK);
        self.requests.lock().push((method.to_owned(), outcome));
    }

    fn cache(&self, hit: bool, bytes: usize) {
        self.lookups.lock().push((hit, bytes));
    }
}

/// Settings with short waits.
fn settings(urls: &[&str]) -> ClientSettings {
    let network = NetworkSettings {
        name: NETWORK.to_owned(),
        urls: urls.iter().map(|url| (*url).to_owned()).collect(),
        ws_url: None,
        genesis_hash: None,
        requests_per_second: None,
    };
    ClientSettings {
        networks: vec![network],
        default_network: NETWORK.to_owned(),
        timeout: Duration::from_secs(5),
        // Long enough that only an observed slot ends an entry.
        slot_time: Duration::from_hours(1),
        retry: RetrySettings {
            attempts: 5,
            first_backoff: Duration::from_millis(1),
            longest_backoff: Duration::from_millis(4),
        },
        breaker: BreakerSettings { failures: 20, open_for: Duration::from_hours(1) },
        ..ClientSettings::default()
    }
}

fn client(settings: ClientSettings) -> (Client, Arc<Recorder>) {
    let recorder = Arc::new(Recorder::default());
    let observer: Arc<dyn Observer> = Arc::<Recorder>::clone(&recorder);
    (Client::new(settings, observer).unwrap(), recorder)
}

/// A read with a context that is not cached.
fn query<'a>(method: &'a str, params: &'a [Value]) -> Query<'a> {
    Query {
        network: NETWORK,
        method,
        params,
        cache: CacheUse::Never,
        retry: true,
        has_context: true,
        min_context_slot: None,
        commitment: Some("confirmed"),
        deadline: Duration::from_secs(20),
    }
}

/// A read without parameters and context.
fn plain(method: &str) -> Query<'_> {
    Query { has_context: false, ..query(method, &[]) }
}

async fn balance(client: &Client) -> Result<Answer, RpcError> {
    client.query(query("getBalance", &[])).await
}

/// The text of the balance.
async fn text(client: &Client) -> String {
    balance(client).await.unwrap().value.get().to_owned()
}
