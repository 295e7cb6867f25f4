//! Documents in PostgreSQL: shared by servers, and away for a while.

use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::namespaces::{delete, hits, notes, upsert};
use super::sources::{Sources, best, mira, ok};
use crate::testing::postgres::postgres;
use crate::testing::program::Server;

/// Longer than the server waits for its store, and much shorter than the deadline of a call.
const SOON: Duration = Duration::from_secs(14);

const QUESTIONS: [&str; 5] = [
    "on which day to deploy",
    "how the office cat is called",
    "call again after a failure",
    "17th lighthouse keeper",
    "retry",
];

/// Names are this run's own: the database may have seen others.
fn own_name(sources: &Sources) -> String {
    let name = sources.around().file_name().unwrap().to_str().unwrap().to_owned();
    format!("n{}", name.trim_start_matches('.'))
}

#[test]
fn two_servers_on_one_postgresql_see_each_others_documents_at_once() {
    let Some(url) = postgres() else { return };
    let (here, there) = (Sources::sample(), Sources::sample());
    let name = own_name(&here);
    let servers = [&here, &there].map(|sources| sources.server_with(&["--store", &url]));
    let [mut one, mut other] = servers.each_ref().map(Server::connect);
    upsert(&mut one, &name, &notes());
    assert_eq!(hits(&mut other, &name, QUESTIONS[1], &json!({}))[0].0, "cats");
    upsert(&mut other, &name, &json!([{"id": "cats", "text": "The office dog is called Wanda."}]));
    let found = ok(&mut one, "vector_search", &json!({"query": "Wanda the dog", "namespace": name}));
    assert_eq!(found["matches"][0]["id"], "cats");
    assert!(found["matches"][0]["metadata"]["snippet"].as_str().unwrap().contains("Wanda"));
    delete(&here, &["--store", &url], &mut one, &json!({"namespace": name, "ids": ["cats"]}));
    for http in [&mut one, &mut other] {
        assert!(hits(http, &name, "Wanda the dog", &json!({})).iter().all(|(id, _)| id != "cats"));
        // The same with a filter, which is answered by the index of the server.
        assert!(hits(http, &name, "deploy", &json!({"tags": ["ops"]})).iter().all(|(id, _)| !id.starts_with("cats")));
    }
}

#[test]
fn the_same_documents_have_the_same_hits_and_scores_on_sqlite_and_postgresql() {
    let Some(url) = postgres() else { return };
    let sources = Sources::sample();
    let name = own_name(&sources);
    let on = |store: &[&str]| {
        let server = sources.server_with(store);
        let mut http = server.connect();
        upsert(&mut http, &name, &notes());
        let filters = [json!({}), json!({"tags": ["ops"]}), json!({"path_prefix": "notes/"})];
        let asked = QUESTIONS.iter().flat_map(|question| filters.iter().map(move |filter| (question, filter)));
        asked.map(|(question, filter)| hits(&mut http, &name, question, filter)).collect::<Vec<_>>()
    };
    let (sqlite, postgres) = (on(&[]), on(&["--store", &url]));
    assert!(sqlite.iter().filter(|hits| !hits.is_empty()).count() > 8, "{sqlite:?}");
    assert_eq!(sqlite, postgres);
}

/// What a connection to the database meets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Up,
    /// Connections are cut, as by a server that has ended.
    Down,
}

/// Between the server and the database.
struct Proxy {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Proxy {
    fn start(to: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (state, open) = (Arc::new(Mutex::new(State::Up)), Arc::new(Mutex::new(Vec::new())));
        let proxy = Self { address, state: state.clone(), open: open.clone() };
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if *state.lock().unwrap() == State::Down {
                    continue;
                }
                let Ok(database) = TcpStream::connect(&to) else { continue };
                open.lock().unwrap().extend([client.try_clone().unwrap(), database.try_clone().unwrap()]);
                for (from, to) in [(client.try_clone(), database.try_clone()), (Ok(database), Ok(client))] {
                    let (from, to) = (from.unwrap(), to.unwrap());
                    std::thread::spawn(move || forward(from, to));
                }
            }
        });
        proxy
    }

    fn set(&self, state: State) {
        *self.state.lock().unwrap() = state;
        for stream in self.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn forward(mut from: TcpStream, mut to: TcpStream) {
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Both);
}

#[test]
fn a_database_that_goes_away_is_an_error_at_once_and_is_found_again() {
    let Some(url) = postgres() else { return };
    let (before, rest) = url.split_once('@').unwrap();
    let (host, database) = rest.split_once('/').unwrap();
    let proxy = Proxy::start(host.to_owned());
    let sources = Sources::sample();
    let name = own_name(&sources);
    let server = sources.server_with(&["--store", &format!("{before}@{}/{database}", proxy.address)]);
    let mut http = server.connect();
    upsert(&mut http, &name, &notes());
    assert_eq!(best(&mut http, "mix_colours"), "src/colour.rs");
    let in_namespace = json!({"query": QUESTIONS[1], "namespace": name});
    proxy.set(State::Down);
    let began = Instant::now();
    let (code, error): (i64, Value) = mira(&mut server.connect(), "vector/search", &in_namespace);
    // 1006 where the call cannot be counted for the limits that replicas share, which are in the database, too.
    assert!([1006, 1010].contains(&code), "{error}");
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    // No server, no database.
    let (code, found, error) = sources.run(&["search", "mix_colours"]);
    assert_eq!(code, 0, "{error}");
    assert!(found.starts_with("src/colour.rs:"), "{found}");
    proxy.set(State::Up);
    let patience = Instant::now() + Duration::from_secs(30);
    while mira(&mut server.connect(), "vector/search", &in_namespace).0 != 0 {
        assert!(Instant::now() < patience, "the server did not find its database again");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(hits(&mut server.connect(), &name, QUESTIONS[1], &json!({}))[0].0, "cats");
}
