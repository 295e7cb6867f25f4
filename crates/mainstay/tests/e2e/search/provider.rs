//! An embedding model behind HTTP: in use, hanging and failing.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::namespaces::{hits, notes, upsert};
use super::sources::{Sources, all_hits, best, mira, ok};
use crate::testing::fake_server::{fake_server, http};

/// How the stub answers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mood {
    Working,
    Hanging,
    Failing,
}

struct Stub {
    url: String,
    mood: Arc<Mutex<Mood>>,
    texts: Arc<Mutex<Vec<String>>>,
}

impl Stub {
    fn start() -> Self {
        let (mood, texts) = (Arc::new(Mutex::new(Mood::Working)), Arc::new(Mutex::new(Vec::new())));
        let (answers, seen) = (mood.clone(), texts.clone());
        let url = fake_server(move |request| {
            let body: Value = serde_json::from_str(request.rsplit_once('\n').unwrap().1).unwrap();
            let input: Vec<String> = serde_json::from_value(body["input"].clone()).unwrap();
            let vectors = input.iter().enumerate().map(|(at, text)| json!({"index": at, "embedding": vector(text)}));
            let answer = json!({"data": vectors.collect::<Vec<_>>()}).to_string();
            seen.lock().unwrap().extend(input);
            match *answers.lock().unwrap() {
                Mood::Working => Some(http("200 OK", &answer)),
                Mood::Hanging => None,
                Mood::Failing => Some(http("500 Internal Server Error", "{}")),
            }
        });
        Self { url, mood, texts }
    }

    fn set(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }

    /// Whether it was asked for a text with this in it.
    fn has_seen(&self, words: &str) -> bool {
        self.texts.lock().unwrap().iter().any(|text| text.contains(words))
    }

    fn configure(&self, sources: &Sources, used_for: &str) {
        let url = &self.url;
        sources.configure(&format!(
            "[search]\nprovider_for = \"{used_for}\"\n[search.provider]\nurl = \"{url}v1/embeddings\"\nmodel = \"stub\"\ndimensions = 26\ntimeout_ms = 500\n"
        ));
    }
}

/// How often each letter occurs.
fn vector(text: &str) -> Vec<f64> {
    let count = |letter: u8| text.bytes().filter(|byte| byte.to_ascii_lowercase() == letter).count();
    (b'a'..=b'z').map(|letter| f64::from(u32::try_from(count(letter)).unwrap()) + 0.01).collect()
}

#[test]
fn a_provider_embeds_documents_of_namespaces_and_not_files() {
    let (sources, stub) = (Sources::sample(), Stub::start());
    stub.configure(&sources, "namespaces");
    let server = sources.server();
    let mut http = server.connect();
    assert_eq!(best(&mut http, "mix_colours"), "src/colour.rs");
    assert!(stub.texts.lock().unwrap().is_empty());
    upsert(&mut http, "notes", &notes());
    assert!(stub.has_seen("Ferdinand"));
    let found = ok(&mut http, "vector_search", &json!({"query": "cat called Ferdinand", "namespace": "notes"}));
    assert_eq!(found["matches"][0]["id"], "cats");
    assert!(found["usage"]["embedding_model"].as_str().unwrap().contains("stub"), "{found}");
    assert!(stub.has_seen("cat called Ferdinand"));
    let status = ok(&mut http, "index_status", &json!({"namespace": "notes"}));
    assert_eq!(status["namespaces"][0]["dimensions"], 26);

    for mood in [Mood::Hanging, Mood::Failing] {
        stub.set(mood);
        let began = Instant::now();
        let asked = json!({"query": "the office cat", "namespace": "notes"});
        let (code, error) = mira(&mut http, "vector/search", &asked);
        assert_eq!(code, 1010, "{error}");
        assert!(error["data"]["detail"].as_str().unwrap().contains("provider"), "{error}");
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
        let put = json!({"namespace": "notes", "documents": [{"id": "late", "text": "A late note."}]});
        assert_eq!(mira(&mut http, "vector/upsert", &put).0, 1010);
        assert_eq!(best(&mut http, "mix_colours"), "src/colour.rs");
    }
    stub.set(Mood::Working);
    // Whatever keeps the server from asking a provider that has failed lasts a few seconds.
    let patience = Instant::now() + Duration::from_secs(40);
    while mira(&mut http, "vector/search", &json!({"query": "Ferdinand", "namespace": "notes"})).0 != 0 {
        assert!(Instant::now() < patience, "the provider is not asked again");
        std::thread::sleep(Duration::from_millis(200));
    }
    assert_eq!(hits(&mut http, "notes", "cat called Ferdinand", &json!({}))[0].0, "cats");
    assert!(hits(&mut http, "notes", "a late note", &json!({})).iter().all(|(id, _)| id != "late"));
}

#[test]
fn a_provider_for_everything_embeds_files_and_the_index_follows_the_model() {
    let (sources, stub) = (Sources::sample(), Stub::start());
    let built_in = sources.undisturbed();
    assert_eq!(sources.run(&["index"]).0, 0);
    stub.configure(&sources, "everything");
    let mut client = sources.stdio();
    let found = ok(&mut client, "vector_search", &json!({"query": "mix_colours"}));
    assert_eq!(found["matches"][0]["metadata"]["path"], "src/colour.rs");
    assert!(found["usage"]["embedding_model"].as_str().unwrap().contains("stub"), "{found}");
    assert!(stub.has_seen("mix_colours"));
    let status = ok(&mut client, "index_status", &json!({}));
    assert_eq!(status["namespaces"][0]["dimensions"], 26);
    stub.set(Mood::Hanging);
    let answer = client.call("vector_search", &json!({"query": "something else"}));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    drop(client);
    // Back to the built-in model: segments of the other one do not count.
    sources.configure("");
    assert_eq!(all_hits(&mut sources.stdio()), built_in);
}
