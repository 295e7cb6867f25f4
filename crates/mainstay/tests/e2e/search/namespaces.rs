//! Documents of agents: stored, found, replaced and deleted.

use serde_json::{Value, json};

use super::sources::{Caller, Sources, failed, mira, ok};
use crate::testing::program::Http;

/// Notes that are far apart in meaning.
pub(super) fn notes() -> Value {
    json!([
        {"id": "deploy", "text": "Deploy on Tuesdays only, after the backup has finished.", "tags": ["ops", "rule"]},
        {"id": "cats", "text": "The office cat is called Ferdinand and sleeps on the printer.", "tags": ["office"]},
        {"id": "retry", "path": "notes/retry.py", "text": "def retry(call):\n    \"\"\"Calls again after a network failure.\"\"\"\n    return call()\n"},
        {"id": "long", "path": "long.md", "text": long_text(), "tags": ["ops"]},
    ])
}

/// A document of many chunks.
fn long_text() -> String {
    let section = |at: usize| {
        format!("## Chapter {at}\n\n{}\n\n", format!("The {at}th lighthouse keeper writes a letter. ").repeat(20))
    };
    "# Lighthouses\n\n".to_owned() + &(0..30).map(section).collect::<String>()
}

pub(super) fn upsert(caller: &mut impl Caller, namespace: &str, documents: &Value) -> Value {
    ok(caller, "vector_upsert", &json!({"namespace": namespace, "documents": documents}))
}

/// Ids and scores of what is found in a namespace.
pub(super) fn hits(caller: &mut impl Caller, namespace: &str, query: &str, filter: &Value) -> Vec<(String, f64)> {
    let args = json!({"query": query, "namespace": namespace, "filter": filter, "top_k": 20});
    let found = ok(caller, "vector_search", &args);
    let hit = |one: &Value| (one["id"].as_str().unwrap().to_owned(), one["score"].as_f64().unwrap());
    found["matches"].as_array().unwrap().iter().map(hit).collect()
}

/// Deletes after a person has approved it.
pub(super) fn delete(sources: &Sources, store: &[&str], http: &mut Http, args: &Value) -> Value {
    let (code, asked) = mira(http, "vector/delete", args);
    let consent = asked["data"]["consent_id"].as_str().unwrap_or_else(|| panic!("{code} {asked}")).to_owned();
    assert_eq!(sources.run(&[&["consent", "approve", &consent], store].concat()).0, 0);
    let (code, result) = mira(http, "vector/delete", args);
    assert_eq!(code, 0, "{result}");
    result
}

fn best(caller: &mut impl Caller, namespace: &str, query: &str) -> String {
    hits(caller, namespace, query, &json!({})).into_iter().next().unwrap_or_default().0
}

#[test]
fn documents_are_stored_found_replaced_and_deleted() {
    let sources = Sources::sample();
    let server = sources.server();
    let mut http = server.connect();
    let dry = ok(&mut http, "vector_upsert", &json!({"namespace": "notes", "documents": notes(), "dry_run": true}));
    assert_eq!((&dry["added"], &dry["dry_run"]), (&json!(4), &json!(true)));
    assert!(failed(&mut http, "vector_search", &json!({"query": "a", "namespace": "notes"})).1.contains("notes"));

    let put = upsert(&mut http, "notes", &notes());
    assert_eq!((&put["added"], &put["replaced"], &put["unchanged"]), (&json!(4), &json!(0), &json!(0)));
    assert_eq!(best(&mut http, "notes", "on which day to deploy"), "deploy");
    assert_eq!(best(&mut http, "notes", "how the office cat is called"), "cats");
    let found = ok(&mut http, "vector_search", &json!({"query": "call again after a failure", "namespace": "notes"}));
    let metadata = &found["matches"][0]["metadata"];
    assert_eq!((&metadata["path"], &metadata["lang"]), (&json!("notes/retry.py"), &json!("python")));
    assert!(metadata["snippet"].as_str().unwrap().contains("def retry"));
    // A long document is found by its part.
    let part = best(&mut http, "notes", "letter of the 17th lighthouse keeper");
    assert!(part.starts_with("long:"), "{part}");

    // Files and documents are apart.
    let of_files = ok(&mut http, "vector_search", &json!({"query": "cat called Ferdinand"}));
    assert!(of_files["matches"].as_array().unwrap().iter().all(|one| one["id"] != "cats"), "{of_files}");

    for (tags, ids) in [
        (json!(["ops"]), vec!["deploy", "long"]),
        (json!(["ops", "rule"]), vec!["deploy"]),
        (json!(["python"]), vec!["retry"]),
        (json!(["none"]), vec![]),
    ] {
        let mut found: Vec<String> = hits(&mut http, "notes", "deploy retry cat lighthouse", &json!({"tags": tags}))
            .into_iter()
            .map(|(id, _)| id.split(':').next().unwrap().to_owned())
            .collect();
        found.sort();
        found.dedup();
        assert_eq!(found, ids, "{tags}");
    }

    let again = json!([notes()[0], {"id": "cats", "text": "The office dog is called Wanda and barks at the postman."}]);
    let put = upsert(&mut http, "notes", &again);
    assert_eq!((&put["added"], &put["replaced"], &put["unchanged"]), (&json!(0), &json!(1), &json!(1)));
    assert_eq!(best(&mut http, "notes", "dog barks at the postman"), "cats");
    let snippets = ok(&mut http, "vector_search", &json!({"query": "Ferdinand", "namespace": "notes"})).to_string();
    assert!(!snippets.contains("Ferdinand"), "{snippets}");

    let dry =
        ok(&mut http, "vector_delete", &json!({"namespace": "notes", "ids": ["cats", "nobody"], "dry_run": true}));
    assert_eq!((&dry["deleted"], &dry["missing"]), (&json!(1), &json!(["nobody"])));
    assert_eq!(best(&mut http, "notes", "dog barks at the postman"), "cats");
    let gone = delete(&sources, &[], &mut http, &json!({"namespace": "notes", "ids": ["cats", "nobody"]}));
    assert_eq!((&gone["deleted"], &gone["missing"]), (&json!(1), &json!(["nobody"])));
    assert!(hits(&mut http, "notes", "dog barks at the postman", &json!({})).iter().all(|(id, _)| id != "cats"));
    let status = ok(&mut http, "index_status", &json!({"namespace": "notes"}));
    assert_eq!(status["namespaces"][0]["documents"], 3);
}

#[test]
fn a_whole_namespace_is_deleted_with_consent_alone() {
    let sources = Sources::sample();
    let server = sources.server();
    let mut http = server.connect();
    upsert(&mut http, "notes", &notes());
    let all = json!({"namespace": "notes", "all": true});
    let dry = ok(&mut http, "vector_delete", &json!({"namespace": "notes", "all": true, "dry_run": true}));
    assert_eq!(dry["deleted"], 4);
    let (code, error) = mira(&mut http, "vector/delete", &all);
    assert!(error["data"]["consent_id"].is_string(), "{code} {error}");
    assert_eq!(best(&mut http, "notes", "how the office cat is called"), "cats", "it must still be there");
    assert_eq!(delete(&sources, &[], &mut http, &all)["deleted"], 4);
    assert!(failed(&mut http, "vector_search", &json!({"query": "a", "namespace": "notes"})).1.contains("notes"));
    // A namespace of the same name begins empty.
    upsert(&mut http, "notes", &json!([{"id": "new", "text": "Something else."}]));
    assert_eq!(
        hits(&mut http, "notes", "how the office cat is called", &json!({}))
            .iter()
            .filter(|(id, _)| id != "new")
            .count(),
        0
    );
}

#[test]
fn limits_and_wrong_documents_are_named() {
    let sources = Sources::sample();
    sources.configure("[search]\nnamespace_documents = 2\nnamespaces = 1\nnamespace_bytes = 3000\n");
    let mut client = sources.stdio();
    let document = |id: &str| json!({"id": id, "text": "A text."});
    let put = |namespace: &str, documents: Value| json!({"namespace": namespace, "documents": documents});
    for (args, word) in [
        (put("notes", json!([document("a"), document("b"), document("c")])), "namespace_documents"),
        (put("notes", json!([{"id": "a", "text": "x ".repeat(2000)}])), "namespace_bytes"),
        (put("notes", json!([])), "documents"),
        (put("notes", json!([{"id": "", "text": "a"}])), "id"),
        (put("notes", json!([{"id": "a", "text": " \n"}])), "text"),
        (put("notes", json!([{"id": "a", "text": "a", "tags": [""]}])), "tags"),
        (put("notes", json!([{"id": "x".repeat(5000), "text": "a"}])), "id"),
        (put("../notes", json!([document("a")])), "namespace"),
        (put(".", json!([document("a")])), "namespace"),
        (put("", json!([document("a")])), "namespace"),
    ] {
        let shown: String = args.to_string().chars().take(80).collect();
        let (_, text) = failed(&mut client, "vector_upsert", &args);
        assert!(text.contains(word), "{shown}: {text}");
    }
    ok(&mut client, "vector_upsert", &put("notes", json!([document("a"), document("b")])));
    assert!(
        failed(&mut client, "vector_upsert", &put("others", json!([document("a")]))).1.contains("search.namespaces")
    );
    for args in [
        json!({"namespace": "notes"}),
        json!({"namespace": "notes", "ids": ["a"], "all": true}),
        json!({"namespace": "nowhere", "ids": ["a"]}),
    ] {
        failed(&mut client, "vector_delete", &args);
    }
    assert_eq!(hits(&mut client, "notes", "a text", &json!({})).len(), 2);
}

#[test]
fn what_was_acknowledged_is_there_after_kill_9() {
    let sources = Sources::sample();
    let mut client = sources.stdio();
    upsert(&mut client, "notes", &notes());
    drop(client);
    let server = sources.server();
    let mut http = server.connect();
    assert_eq!(best(&mut http, "notes", "how the office cat is called"), "cats");
    delete(&sources, &[], &mut http, &json!({"namespace": "notes", "ids": ["cats"]}));
    server.kill();
    // The index of the namespace is only a copy.
    for entry in std::fs::read_dir(sources.data().join("search")).unwrap().map(|entry| entry.unwrap().path()) {
        std::fs::remove_dir_all(entry).unwrap();
    }
    let mut client = sources.stdio();
    assert_eq!(best(&mut client, "notes", "on which day to deploy"), "deploy");
    assert!(hits(&mut client, "notes", "how the office cat is called", &json!({})).iter().all(|(id, _)| id != "cats"));
}
