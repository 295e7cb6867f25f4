//! What is sent, and the vectors that come back.

use std::time::Duration;

use serde_json::json;

use super::stub::{Reply, Stub, vector};
use super::*;

fn unit(text: &str) -> [f32; 2] {
    let [x, y] = vector(text);
    #[expect(clippy::cast_possible_truncation, reason = "as the embedder does")]
    [x / x.hypot(y), y / x.hypot(y)].map(|value| value as f32)
}

fn assert_near(found: &[f32], expected: &[[f32; 2]]) {
    let expected = expected.as_flattened();
    assert_eq!(found.len(), expected.len());
    assert!(found.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-6), "{found:?} {expected:?}");
}

#[tokio::test]
async fn texts_have_the_vectors_that_the_service_gives_brought_to_length_one() {
    for reply in [Reply::Vectors, Reply::Shuffled] {
        let stub = Stub::always(reply).await;
        let embedder = embedder(&settings(&stub));
        let vectors = embed(&embedder, &["a", "four", "longer"]).await.unwrap();
        assert_near(&vectors, &[unit("a"), unit("four"), unit("longer")]);
        assert_near(&query(&embedder, "what?").await.unwrap(), &[unit("what?")]);
        let seen = stub.seen();
        assert_eq!(
            seen[0].body,
            json!({"model": "small", "input": ["a", "four", "longer"], "encoding_format": "float"})
        );
        assert_eq!((seen[0].path.as_str(), &seen[0].authorization), ("/v1/embeddings", &None));
        assert_eq!(seen.len(), 2);
    }
}

#[tokio::test]
async fn a_large_batch_is_divided_and_its_parts_are_sent_together_within_the_limit() {
    let stub = Stub::always(Reply::After(Duration::from_millis(200), Box::new(Reply::Vectors))).await;
    let settings = EmbeddingProvider { batch: 2, concurrent: 3, request_dimensions: true, ..settings(&stub) };
    let texts = ["a", "bb", "ccc", "dddd", "eeeee", "ffffff", "ggggggg"];
    let vectors = embed(&embedder(&settings), &texts).await.unwrap();
    assert_near(&vectors, &texts.map(unit));
    let sizes: Vec<usize> = stub.seen().iter().map(|seen| seen.body["input"].as_array().unwrap().len()).collect();
    assert_eq!((sizes.len(), sizes.iter().sum::<usize>()), (4, 7));
    assert!(stub.seen().iter().all(|seen| seen.body["dimensions"] == 2));
    assert_eq!(stub.most_at_a_time(), 2, "one of three places is left to searches");
}

#[tokio::test]
async fn a_search_does_not_wait_behind_documents() {
    let slow = Reply::After(Duration::from_secs(2), Box::new(Reply::Vectors));
    let stub = Stub::start(move |number| if number < 1 { slow.clone() } else { Reply::Vectors }).await;
    let embedder = embedder(&EmbeddingProvider { batch: 1, concurrent: 2, ..settings(&stub) });
    let indexing = tokio::spawn({
        let embedder = Arc::clone(&embedder);
        async move { embed(&embedder, &["a", "b", "c"]).await }
    });
    while stub.seen().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(query(&embedder, "q").await.is_ok());
    assert!(!indexing.is_finished(), "the search was answered first");
    indexing.await.unwrap().unwrap();
}

#[tokio::test]
async fn empty_texts_are_not_sent_and_have_no_direction() {
    let stub = Stub::always(Reply::Vectors).await;
    let embedder = embedder(&settings(&stub));
    let vectors = embed(&embedder, &["", "a", " \n"]).await.unwrap();
    assert_near(&vectors, &[[0.0, 0.0], unit("a"), [0.0, 0.0]]);
    assert_eq!(stub.seen()[0].body["input"], json!(["a"]));
    assert_eq!(embed(&embedder, &[""]).await.unwrap(), [0.0, 0.0]);
    assert!(embed(&embedder, &[]).await.unwrap().is_empty());
    assert_eq!(stub.seen().len(), 1);
}

#[tokio::test]
async fn a_key_is_sent_as_a_bearer_token_and_is_never_shown() {
    let directory = tempfile::tempdir().unwrap();
    let with_key = |stub: &Stub| EmbeddingProvider { key_file: Some(key_file(&directory)), ..settings(stub) };
    let stub = Stub::always(Reply::Vectors).await;
    let embedder_with_key = embedder(&with_key(&stub));
    embed(&embedder_with_key, &["a"]).await.unwrap();
    assert_eq!(stub.seen()[0].authorization.as_deref(), Some(format!("Bearer {KEY}").as_str()));
    assert!(!format!("{embedder_with_key:?} {:?}", with_key(&stub)).contains("canary"));
    // Services that repeat it in every kind of message.
    for status in [200, 307, 400, 401, 403, 404, 422, 429, 500, 503] {
        let body = json!({"error": {"message": format!("bad key {KEY} for Bearer {KEY}")}}).to_string();
        let headers = vec![("location", format!("http://127.0.0.1:1/{KEY}")), ("www-authenticate", KEY.to_owned())];
        let stub = Stub::always(Reply::Http { status, headers, body }).await;
        let error = embed(&embedder(&with_key(&stub)), &["a"]).await.unwrap_err();
        assert!(!format!("{error} {error:?}").contains("canary"), "{status}: {error:?}");
    }
}

/// A key must not even be read for a host that must not have it.
#[tokio::test]
async fn a_key_is_refused_for_an_unencrypted_public_host() {
    let stub = Stub::always(Reply::Vectors).await;
    let key_file = Some(PathBuf::from("/nonexistent/key"));
    let url = "http://api.example.com/v1/embeddings".to_owned();
    let error =
        HttpEmbedder::new(&EmbeddingProvider { url, key_file, allow_http: true, ..settings(&stub) }).unwrap_err();
    assert!(error.public.contains("Use https"), "{}", error.public);
}

#[tokio::test]
async fn models_and_dimensions_have_ids_and_addresses_have_none() {
    let stub = Stub::always(Reply::Vectors).await;
    let id = |change: fn(&mut EmbeddingProvider)| {
        let mut settings = settings(&stub);
        change(&mut settings);
        embedder(&settings).id().to_owned()
    };
    let own = id(|_| {});
    assert_eq!(id(|settings| settings.url = "https://elsewhere.example/v1/embeddings".to_owned()), own);
    assert_ne!(id(|settings| settings.model = "large".to_owned()), own);
    assert_ne!(id(|settings| settings.dimensions = 3), own);
    let embedder = embedder(&settings(&stub));
    assert!(own.ends_with(embedder.token_model().unwrap().id()), "tokens are part of what is stored: {own}");
}

/// From the only thread of a runtime, which cannot drive anything meanwhile, and from threads without a runtime.
#[test]
fn a_call_ends_on_any_thread() {
    let server = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let stub = server.block_on(Stub::always(Reply::Vectors));
    let embedder = embedder(&settings(&stub));
    let ask = |embedder: &HttpEmbedder| {
        let mut out = Vec::new();
        embedder.embed_query("a", &mut out).unwrap();
        assert_near(&out, &[unit("a")]);
    };
    ask(&embedder);
    rayon::scope(|scope| (0..4).for_each(|_| scope.spawn(|_| ask(&embedder))));
    let current = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    current.block_on(async {
        ask(&embedder);
        // And it is dropped there.
        let dropped = super::embedder(&settings(&stub));
        ask(&dropped);
    });
}
