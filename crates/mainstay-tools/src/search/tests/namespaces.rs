//! Documents of agents.

use mainstay_core::{Effect, Kind};
use serde_json::{Value, json};

use super::super::settings::SearchSettings;
use super::{Sample, call, paths};

fn note(id: &str, text: &str, tags: &[&str]) -> Value {
    json!({"id": id, "text": text, "tags": tags})
}

async fn sample() -> Sample {
    let sample = Sample::new(&[]).await;
    let documents = [
        note("deploy", "The staging cluster is deployed by the nightly pipeline.", &["ops"]),
        note("style", "Error messages say what happened and what to do.", &["writing"]),
        note("db", "Migrations run before the server accepts connections.", &["ops", "db"]),
    ];
    let stored = sample.call("vector_upsert", json!({"namespace": "notes", "documents": documents})).await.unwrap();
    assert_eq!((&stored["added"], &stored["replaced"], &stored["unchanged"]), (&json!(3), &json!(0), &json!(0)));
    sample
}

async fn found(sample: &Sample, args: Value) -> Vec<String> {
    let mut args = args;
    args["namespace"] = json!("notes");
    paths(&sample.call("vector_search", args).await.unwrap())
}

#[tokio::test]
async fn documents_are_found_by_meaning_replaced_and_deleted() {
    let sample = sample().await;
    let result = json!({"query": "how is the staging environment deployed", "namespace": "notes", "top_k": 1});
    let result = sample.call("vector_search", result).await.unwrap();
    let first = &result["matches"][0];
    assert_eq!((&first["id"], &first["metadata"]["path"]), (&json!("deploy"), &json!("deploy")), "{result}");
    assert_eq!(first["metadata"]["snippet"], json!("The staging cluster is deployed by the nightly pipeline."));
    assert!(first["metadata"]["tags"].as_array().unwrap().contains(&json!("ops")));
    assert_eq!(first["metadata"]["commit"], Value::Null);
    // Nothing of it is in the workspace.
    assert_eq!(sample.found("staging cluster").await, [""; 0]);
    let again = [
        note("style", "Error messages say what happened and what to do.", &["writing"]),
        note("db", "Backups are restored with the command restore-backup.", &["ops"]),
    ];
    let stored = sample.call("vector_upsert", json!({"namespace": "notes", "documents": again})).await.unwrap();
    assert_eq!((&stored["added"], &stored["replaced"], &stored["unchanged"]), (&json!(0), &json!(1), &json!(1)));
    assert_eq!(found(&sample, json!({"query": "restore a backup"})).await.first().unwrap(), "db");
    let gone = sample.call("vector_delete", json!({"namespace": "notes", "ids": ["db", "absent"]})).await.unwrap();
    assert_eq!((&gone["deleted"], &gone["missing"]), (&json!(1), &json!(["absent"])));
    assert!(!found(&sample, json!({"query": "restore a backup"})).await.contains(&"db".to_owned()));
}

#[tokio::test]
async fn tags_and_titles_choose_documents() {
    let sample = sample().await;
    let all = json!({"query": "server", "top_k": 50, "filter": {"tags": ["ops"]}});
    let mut with_tag = found(&sample, all).await;
    with_tag.sort();
    assert_eq!(with_tag, ["db", "deploy"]);
    assert_eq!(found(&sample, json!({"query": "server", "filter": {"tags": ["ops", "db"]}})).await, ["db"]);
    assert_eq!(found(&sample, json!({"query": "server", "filter": {"tags": ["none"]}})).await, [""; 0]);
    let titled = json!({"id": "long", "path": "decisions/0001.md", "text": format!("# Choice\n\n{}", "Words about storage.\n".repeat(300))});
    sample.call("vector_upsert", json!({"namespace": "notes", "documents": [titled]})).await.unwrap();
    let result = json!({"query": "words about storage", "namespace": "notes", "top_k": 1});
    let result = sample.call("vector_search", result).await.unwrap();
    let first = &result["matches"][0];
    assert_eq!(first["metadata"]["path"], json!("decisions/0001.md"));
    assert!(first["id"].as_str().unwrap().starts_with("long:"), "{first}");
    let below = json!({"query": "words", "filter": {"path_prefix": "decisions/"}});
    assert_eq!(found(&sample, below).await, ["decisions/0001.md"]);
    assert_eq!(found(&sample, json!({"query": "words", "filter": {"path_prefix": "Decisions/"}})).await, [""; 0]);
    let markdown = json!({"query": "words", "filter": {"tags": ["markdown"]}});
    assert_eq!(found(&sample, markdown).await, ["decisions/0001.md"]);
}

#[tokio::test]
async fn another_server_sees_the_documents_and_every_change() {
    let sample = sample().await;
    let other = sample.another();
    let query = json!({"query": "staging cluster", "namespace": "notes"});
    assert_eq!(paths(&call(&other, "vector_search", query.clone()).await.unwrap()).first().unwrap(), "deploy");
    sample.call("vector_delete", json!({"namespace": "notes", "ids": ["deploy"]})).await.unwrap();
    assert!(!paths(&call(&other, "vector_search", query.clone()).await.unwrap()).contains(&"deploy".to_owned()));
    // Deleted and made again: what was there before is not found any more.
    sample.call("vector_delete", json!({"namespace": "notes", "all": true})).await.unwrap();
    let error = call(&other, "vector_search", query.clone()).await.unwrap_err();
    assert_eq!(error.field_name(), Some("namespace"));
    let documents = [note("new", "The staging cluster is gone.", &[])];
    sample.call("vector_upsert", json!({"namespace": "notes", "documents": documents})).await.unwrap();
    assert_eq!(paths(&call(&other, "vector_search", query).await.unwrap()), ["new"]);
    let status = call(&other, "index_status", json!({"namespace": "notes"})).await.unwrap();
    assert_eq!(status["namespaces"][0]["documents"], json!(1));
    call(&other, "index_refresh", json!({"namespace": "notes", "rebuild": true})).await.unwrap();
}

#[tokio::test]
async fn a_dry_run_changes_nothing() {
    let sample = sample().await;
    let documents = [note("more", "More words.", &[])];
    let args = json!({"namespace": "notes", "documents": documents, "dry_run": true});
    assert_eq!(sample.call("vector_upsert", args).await.unwrap()["added"], json!(1));
    let args = json!({"namespace": "notes", "all": true, "dry_run": true});
    assert_eq!(sample.call("vector_delete", args).await.unwrap()["deleted"], json!(3));
    let status = sample.call("index_status", json!({"namespace": "notes"})).await.unwrap();
    assert_eq!(status["namespaces"][0]["documents"], json!(3));
}

#[tokio::test]
async fn wrong_documents_and_names_are_refused_and_nothing_is_stored() {
    let sample = sample().await;
    let long = "x".repeat(3 << 20);
    for document in [
        note("", "text", &[]),
        note("a", " ", &[]),
        note("a", &long, &[]),
        note("a", "text", &[""]),
        note("a", "text", &["t"; 33]),
        note("a", "te\0xt", &[]),
        json!({"id": "a"}),
        json!({"id": "a", "text": "t", "surplus": 1}),
    ] {
        let args = json!({"namespace": "notes", "documents": [note("good", "good", &[]), document]});
        let error = sample.call("vector_upsert", args).await.unwrap_err();
        assert_eq!(error.kind, Kind::Invalid, "{error}");
    }
    for name in ["", ".", "/tmp", "a/b", "-a", &"n".repeat(65), "ä"] {
        let args = json!({"namespace": name, "documents": [note("a", "text", &[])]});
        let error = sample.call("vector_upsert", args).await.unwrap_err();
        assert_eq!(error.field_name(), Some("namespace"), "{name}");
    }
    for args in [json!({"namespace": "notes"}), json!({"namespace": "notes", "ids": ["db"], "all": true})] {
        assert_eq!(sample.call("vector_delete", args).await.unwrap_err().field_name(), Some("ids"));
    }
    assert!(sample.call("vector_delete", json!({"namespace": "other", "all": true})).await.is_err());
    let status = sample.call("index_status", json!({"namespace": "notes"})).await.unwrap();
    assert_eq!(status["namespaces"][0]["documents"], json!(3));
}

#[tokio::test]
async fn limits_are_told_with_their_settings() {
    let settings = SearchSettings { namespace_documents: 1, namespaces: 1, ..SearchSettings::default() };
    let sample = Sample::with(&[], settings).await;
    let put = |namespace: &str, id: &str| json!({"namespace": namespace, "documents": [note(id, "text of it", &[])]});
    sample.call("vector_upsert", put("one", "a")).await.unwrap();
    for (args, setting) in [(put("one", "b"), "namespace_documents"), (put("two", "a"), "search.namespaces")] {
        let error = sample.call("vector_upsert", args).await.unwrap_err();
        assert!(error.kind == Kind::TooLarge && error.public.contains(setting), "{error}");
    }
    sample.call("vector_upsert", put("one", "a")).await.unwrap();
}

#[tokio::test]
async fn only_deleting_a_whole_namespace_destroys() {
    let sample = Sample::new(&[]).await;
    let tool = sample.registry.tool("vector_delete").unwrap();
    let effect = |args: Value| tool.info().effect_of(&args);
    assert_eq!(effect(json!({"ids": ["a"]})), Effect::Writes);
    assert_eq!(effect(json!({"all": true})), Effect::Destroys);
    assert_eq!(effect(json!({"all": true, "dry_run": true})), Effect::Reads);
}
