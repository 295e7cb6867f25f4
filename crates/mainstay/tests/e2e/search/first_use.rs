//! The first search builds the index; matches say exactly where they are.

use serde_json::{Value, json};

use super::sources::{Caller, Sources, VERIFY_LINES, mira, ok, paths, search};
use crate::testing::program::Http;

const QUESTION: &str = "verify the signature of an access token";

#[test]
fn the_first_search_builds_the_index_and_reports_progress_on_stdio_and_http() {
    // In a debug build this takes longer than the second after which progress is reported.
    let sources = Sources::many(1500);
    let mut client = sources.stdio();
    let found = ok(&mut client, "vector_search", &json!({"query": QUESTION}));
    assert_eq!(found["matches"][0]["metadata"]["path"], "src/token.rs");
    check_progress(&client.notifications);
    drop(client);

    std::fs::remove_dir_all(sources.data().join("search")).unwrap();
    let server = sources.server();
    let call = json!({"name": "vector_search", "arguments": {"query": QUESTION}, "_meta": {"progressToken": "p"}});
    let mut events = server.connect().request("tools/call", call, &[]).unwrap().events();
    let answer = events.pop().unwrap();
    assert_eq!(answer["result"]["structuredContent"]["matches"][0]["metadata"]["path"], "src/token.rs");
    check_progress(&events);
    let status = ok(&mut server.connect(), "index_status", &json!({"namespace": "."}));
    let status = &status["namespaces"][0];
    assert_eq!(
        (&status["documents"], &status["complete"], &status["watched"]),
        (&json!(1505), &json!(true), &json!(true))
    );
}

/// Progress grows, and never beyond the total.
fn check_progress(notifications: &[Value]) {
    let reports: Vec<&Value> = notifications
        .iter()
        .filter(|one| one["method"] == "notifications/progress")
        .map(|one| &one["params"])
        .collect();
    assert!(!reports.is_empty(), "{notifications:?}");
    let done: Vec<f64> = reports.iter().map(|one| one["progress"].as_f64().unwrap()).collect();
    assert!(done.is_sorted(), "{done:?}");
    let last = reports.last().unwrap();
    assert!(last["total"].is_null() || last["progress"].as_f64() <= last["total"].as_f64(), "{last}");
    assert!(last["message"].as_str().unwrap().contains("files"), "{last}");
}

#[test]
fn a_match_has_its_exact_lines_the_etag_of_the_file_and_the_commit_if_it_is_unchanged() {
    let sources = Sources::sample();
    sources.git(&["init", "-q", "-b", "main"]);
    sources.commit();
    let head = sources.git(&["rev-parse", "HEAD"]);
    let server = sources.server();
    let mut http = server.connect();

    let (code, result) = mira(&mut http, "vector/search", &json!({"query": QUESTION}));
    assert_eq!(code, 0, "{result}");
    let best = &result["matches"][0];
    check_shape(&result);
    let metadata = &best["metadata"];
    let (first, last) = VERIFY_LINES;
    assert_eq!(best["id"], format!("src/token.rs:{first}-{last}"));
    assert_eq!((&metadata["line_start"], &metadata["line_end"]), (&json!(first), &json!(last)));
    assert_eq!((&metadata["lang"], &metadata["commit"]), (&json!("rust"), &json!(head)));
    let tags = metadata["tags"].as_array().unwrap();
    assert!(tags.contains(&json!("rust")) && tags.contains(&json!("function")), "{tags:?}");
    let content = std::fs::read_to_string(sources.path("src/token.rs")).unwrap();
    let lines: Vec<&str> = content.lines().take(7).collect();
    assert_eq!(metadata["snippet"], lines.join("\n"));
    let read = ok(&mut http, "files_read", &json!({"path": "src/token.rs"}));
    assert_eq!(metadata["etag"], read["etag"], "{read}");
    assert!(result["usage"]["embedding_model"].as_str().is_some_and(|model| !model.is_empty()));
    assert!(result["usage"]["embed_time_ms"].is_u64() && result["usage"]["rerank_model"].is_string(), "{result}");

    // The content differs from the commit, and later it is in the next one.
    sources.write("src/token.rs", content.replace("has run out", "is over"));
    let changed = |http: &mut Http| search(http, QUESTION)[0]["metadata"].clone();
    let found = changed(&mut http);
    assert_eq!((&found["path"], &found["commit"]), (&json!("src/token.rs"), &Value::Null));
    assert_ne!(found["etag"], read["etag"]);
    sources.commit();
    assert_eq!(changed(&mut http)["commit"], sources.git(&["rev-parse", "HEAD"]));
    // A file that git does not know is in no commit.
    sources.write("src/new.rs", "/// Paints a fence.\npub fn paint_fence() {}\n");
    let new = search(&mut http, "paint a fence")[0]["metadata"].clone();
    assert_eq!((&new["path"], &new["commit"]), (&json!("src/new.rs"), &Value::Null));
}

/// Contract 000 §4.5: these members, and no others.
fn check_shape(result: &Value) {
    let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(result), ["matches", "usage"]);
    assert_eq!(names(&result["usage"]), ["embed_time_ms", "embedding_model", "rerank_model"]);
    for one in result["matches"].as_array().unwrap() {
        assert_eq!(names(one), ["id", "metadata", "score"], "{one}");
        let metadata = ["commit", "etag", "lang", "line_end", "line_start", "path", "shard_id", "snippet", "tags"]
            .map(str::to_owned);
        assert_eq!(names(&one["metadata"]), metadata);
        let score = one["score"].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&score), "{one}");
    }
    let scores: Vec<f64> =
        result["matches"].as_array().unwrap().iter().map(|one| one["score"].as_f64().unwrap()).collect();
    assert!(scores.is_sorted_by(|one, other| one >= other), "{scores:?}");
}

#[test]
fn vectors_are_returned_if_asked_for_and_reranking_can_be_turned_off() {
    let sources = Sources::sample();
    let server = sources.server();
    let mut http = server.connect();
    let args = json!({"query": QUESTION, "include_vectors": true, "rerank": false, "snippet_lines": 0});
    let found = ok(&mut http, "vector_search", &args);
    assert_eq!(found["usage"]["rerank_model"], Value::Null);
    let dimensions = ok(&mut http, "index_status", &json!({}))["namespaces"][0]["dimensions"].clone();
    let vector: Vec<f64> =
        found["matches"][0]["vector"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect();
    assert_eq!(json!(vector.len()), dimensions);
    let length = vector.iter().map(|value| value * value).sum::<f64>().sqrt();
    assert!((length - 1.0).abs() < 0.01, "{length}");
    assert_eq!(found["matches"][0]["metadata"]["snippet"], Value::Null);

    // The vector of a match finds that match first.
    let found = ok(&mut http, "vector_search", &json!({"embedding": vector, "rerank": false}));
    assert_eq!(found["matches"][0]["metadata"]["path"], "src/token.rs", "{found}");
}

#[test]
fn the_number_of_matches_the_path_and_tags_limit_what_is_found() {
    let sources = Sources::many(60);
    let server = sources.server();
    let mut http = server.connect();
    for top_k in [1, 50] {
        let found =
            ok(&mut http, "vector_search", &json!({"query": "number of a file from its parts", "top_k": top_k}));
        assert_eq!(found["matches"].as_array().unwrap().len(), top_k);
    }
    let filtered = |http: &mut Http, filter: Value| {
        let found =
            ok(http, "vector_search", &json!({"query": "match the path of a route", "top_k": 50, "filter": filter}));
        found["matches"].as_array().unwrap().clone()
    };
    for (filter, fits) in [
        (json!({"path_prefix": "tests/"}), |metadata: &Value| metadata["path"].as_str().unwrap().starts_with("tests/")),
        (json!({"path_prefix": "./src/ro"}), |metadata: &Value| metadata["path"] == "src/router.py"),
        (json!({"tags": ["python"]}), |metadata: &Value| metadata["lang"] == "python"),
        (json!({"tags": ["test"]}), |metadata: &Value| metadata["path"].as_str().unwrap().starts_with("tests/")),
        (json!({"tags": ["function"]}), |metadata: &Value| {
            metadata["tags"].as_array().unwrap().contains(&json!("function"))
        }),
        (json!({"tags": ["section"]}), |metadata: &Value| metadata["path"] == "docs/guide.md"),
        (json!({"tags": ["python", "test"], "path_prefix": "tests"}), |metadata: &Value| {
            metadata["path"] == "tests/test_router.py"
        }),
    ] as [(Value, fn(&Value) -> bool); 7]
    {
        let found = filtered(&mut http, filter.clone());
        assert!(!found.is_empty(), "{filter}");
        assert!(found.iter().all(|one| fits(&one["metadata"])), "{filter}: {found:?}");
    }
    for nothing in
        [json!({"path_prefix": "nowhere/"}), json!({"tags": ["python", "rust"]}), json!({"tags": ["no-such-tag"]})]
    {
        assert_eq!(filtered(&mut http, nothing.clone()), Vec::<Value>::new(), "{nothing}");
    }
}

#[test]
fn symbols_and_similar_code_are_found_with_their_lines() {
    let sources = Sources::sample();
    let mut client = sources.stdio();
    let found = ok(&mut client, "search_symbols", &json!({"name": "match_route"}));
    assert_eq!(found["definitions"][0]["path"], "src/router.py");
    assert_eq!(found["definitions"][0]["line_start"], 7);
    assert_eq!(found["references"][0]["path"], "tests/test_router.py");
    assert_eq!(found["references"][0]["line"], 7);
    sources.write("src/copy.rs", "/// Checks a token.\npub fn check_token(token: &str, key: &[u8]) -> bool {\n    let Some((body, signature)) = token.rsplit_once('.') else { return false };\n    sign(body, key) == signature\n}\n");
    let args = json!({"path": "src/copy.rs", "line_start": 2, "line_end": 4});
    let found = ok(&mut client, "search_similar", &args);
    assert_eq!(found["matches"][0]["metadata"]["path"], "src/token.rs");
    assert!(found["matches"].as_array().unwrap().iter().all(|one| one["metadata"]["path"] != "src/copy.rs"));
    let answer = client.call_tool("vector_search", &json!({"query": QUESTION, "top_k": 1}));
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("1. src/token.rs:1-7 verify_token ("), "{text}");
    assert_eq!(paths(&mut client, "mix_colours")[0], "src/colour.rs");
}
