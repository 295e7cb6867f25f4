//! A cache that is rebuilt while it is read: every response is from one version of it, and none is an error.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::context::stdio::mcp;
use crate::testing::context_caches::{Caches, outcome};

const REBUILDS: usize = 60;
const DOCUMENTS: usize = 25;

/// Two sets of documents with the same ids and other contents, and what each of them answers.
fn caches() -> (Caches, [String; 2]) {
    let caches = Caches::new();
    for colour in ["red", "blue"] {
        let documents: Vec<(String, String)> = (0..DOCUMENTS)
            .map(|nth| (format!("{nth:02}.md"), format!("{colour} {nth} {}", "x ".repeat(nth))))
            .collect();
        let documents: Vec<(&str, &str)> =
            documents.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        caches.write(colour, &documents);
        caches.build(colour);
    }
    let answers = ["red", "blue"].map(|colour| caches.resolve(colour, QUERY, BUDGET));
    caches.build_as("red", "live");
    (caches, answers)
}

const QUERY: &str = "red blue 7";
const BUDGET: u64 = 200;

/// Runs readers while the cache is rebuilt; each is asked for one answer at a time until that is over.
fn while_rebuilt(
    caches: &Caches,
    readers: Vec<Box<dyn FnMut() -> String + Send + '_>>,
) -> Vec<BTreeMap<String, usize>> {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let over = &over;
        let readers: Vec<_> = readers
            .into_iter()
            .map(|mut read| {
                scope.spawn(move || {
                    let mut received = BTreeMap::new();
                    while !over.load(Ordering::Relaxed) {
                        *received.entry(read()).or_default() += 1;
                    }
                    received
                })
            })
            .collect();
        let built = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for nth in 0..REBUILDS {
                caches.build_as(["blue", "red"][nth % 2], "live");
            }
        }));
        over.store(true, Ordering::Relaxed);
        let received = readers.into_iter().map(|reader| reader.join().unwrap()).collect();
        built.unwrap();
        received
    })
}

#[test]
fn every_response_is_from_one_version_of_the_cache() {
    let (caches, answers) = caches();
    let everything = mcp(&caches);
    let (mut server, mut http) = (caches.server(), everything.connect());
    let args = json!({"cache": "live", "query": QUERY, "budget": BUDGET});
    let received = while_rebuilt(
        &caches,
        vec![
            Box::new(|| server.resolve("live", QUERY, BUDGET).unwrap_or_else(|code| code)),
            Box::new(|| outcome(&http.call("context_resolve", &args), caches.around()).unwrap_or_else(|code| code)),
            Box::new(|| caches.resolve("live", QUERY, BUDGET)),
        ],
    );
    for (received, who) in received.iter().zip(["the dialect", "/mcp", "the command line"]) {
        for (answer, times) in received {
            assert!(answers.contains(answer), "{who}, {times} times: {answer}");
        }
        assert_eq!(received.len(), 2, "{who} did not hear both: the test tested little");
    }
}

#[test]
fn a_caches_metadata_and_documents_are_never_mixed_between_versions() {
    let (caches, _) = caches();
    let everything = mcp(&caches);
    let (mut inspecting, mut listing, mut http) = (caches.server(), caches.server(), everything.connect());
    let sound = |colour: &str| caches.server().inspect(colour).unwrap().to_string();
    let expected = [sound("red"), sound("blue")];
    let listed = |list: Vec<(String, bool)>| format!("{list:?}");
    let whole = listed(listing.list());
    let received = while_rebuilt(
        &caches,
        vec![
            Box::new(|| inspecting.inspect("live").map_or_else(|code| code, |seen| seen.to_string())),
            Box::new(|| listed(listing.list())),
            Box::new(|| {
                let reply = http.request("resources/read", json!({"uri": "context://live/07.md"}), &[]).unwrap();
                let message = reply.message();
                message["result"]["contents"][0]["text"].as_str().map_or_else(|| message.to_string(), str::to_owned)
            }),
            Box::new(|| caches.verify("live").0.to_string()),
        ],
    );
    assert!(received[0].keys().all(|seen| expected.contains(seen)), "{:?}", received[0]);
    assert_eq!(received[1].keys().collect::<Vec<_>>(), [&whole]);
    let text = |colour: &str| format!("{colour} 7 {}", "x ".repeat(7));
    assert!(received[2].keys().all(|read| [text("red"), text("blue")].contains(read)), "{:?}", received[2]);
    assert_eq!(received[3].keys().collect::<Vec<_>>(), ["0"]);
}

#[test]
fn the_next_query_after_a_rebuild_uses_the_new_cache() {
    let (caches, answers) = caches();
    let mut server = caches.server();
    for nth in 0..6 {
        assert_eq!(server.resolve("live", QUERY, BUDGET).as_ref(), Ok(&answers[nth % 2]), "after {nth} rebuilds");
        caches.build_as(["blue", "red"][nth % 2], "live");
    }
    std::fs::remove_dir_all(caches.root().join("live")).unwrap();
    assert_eq!(server.resolve("live", QUERY, BUDGET), Err("cache_missing".into()));
    caches.build_as("blue", "live");
    assert_eq!(server.resolve("live", QUERY, BUDGET).as_ref(), Ok(&answers[1]));
    let version: Value =
        serde_json::from_slice(&caches.context(&["inspect", "--cache", "caches/blue"]).stdout).unwrap();
    assert_eq!(server.inspect("live"), Ok(version));
}
