//! What the tools reply.

use mainstay_core::schema::Validator;
use serde_json::{Value, json};

use super::{QUEUE, STACK, Sample};

fn field(error: &mainstay_core::Error) -> &str {
    error.field_name().unwrap_or_default()
}

#[tokio::test]
async fn a_result_is_the_one_of_the_contract() {
    let sample = Sample::new(&[("src/stack.rs", STACK), ("tests/stack_test.rs", STACK)]).await;
    let args = json!({"query": "put a value on top of the stack", "top_k": 3, "include_vectors": true});
    let result = sample.call("vector_search", args).await.unwrap();
    let schema = include_str!("../../../../../contracts/mira/schemas/vector-search.result.json");
    Validator::new(&serde_json::from_str(schema).unwrap()).unwrap().check(&result).unwrap();
    let first = &result["matches"][0];
    let metadata = &first["metadata"];
    assert_eq!(
        (&metadata["path"], &metadata["line_start"], &metadata["line_end"], &metadata["lang"]),
        (&json!("src/stack.rs"), &json!(6), &json!(11), &json!("rust")),
        "{metadata}"
    );
    assert_eq!(metadata["snippet"].as_str().unwrap().lines().nth(1), Some("    /// Puts a value on top."));
    assert_eq!(metadata["tags"], json!(["rust", "type"]));
    assert_eq!(metadata["etag"], json!(mainstay_sandbox::etag_of(STACK.as_bytes())));
    assert_eq!(first["vector"].as_array().unwrap().len(), 256);
    assert!(first["score"].as_f64().unwrap() <= 1.0);
    assert!(result["usage"]["embedding_model"].is_string() && result["usage"]["rerank_model"].is_string());
    // The vector of a match is nearest to itself.
    let args = json!({"embedding": first["vector"], "top_k": 1, "rerank": false, "snippet_lines": 0});
    let nearest = sample.call("vector_search", args).await.unwrap();
    assert_eq!(nearest["matches"][0]["id"], first["id"]);
    assert_eq!(nearest["matches"][0]["metadata"]["snippet"], Value::Null);
    assert_eq!(nearest["usage"]["rerank_model"], Value::Null);
}

#[tokio::test]
async fn filters_and_limits_choose_what_is_found() {
    let sample = Sample::new(&[
        ("src/stack.rs", STACK),
        ("src_old/stack.rs", STACK),
        ("tests/stack_test.rs", "fn stack_test() { push_value(1); }\n"),
        (
            "stack.py",
            "def push_value(stack, value):\n    \"\"\"Puts a value on the stack.\"\"\"\n    stack.append(value)\n",
        ),
        ("README.md", "# Stack\n\nPut a value on the stack.\n"),
    ])
    .await;
    let found = async |filter: Value| {
        let args = json!({"query": "put a value on the stack", "top_k": 50, "filter": filter});
        let mut paths = super::paths(&sample.call("vector_search", args).await.unwrap());
        paths.sort();
        paths
    };
    assert_eq!(found(json!({"path_prefix": "src/"})).await, ["src/stack.rs"]);
    // Copies are shown once, so that one of the two stands for both.
    assert_eq!(found(json!({"path_prefix": "src"})).await.len(), 1);
    assert_eq!(found(json!({"tags": ["python"]})).await, ["stack.py"]);
    assert_eq!(found(json!({"tags": ["test"]})).await, ["tests/stack_test.rs"]);
    assert_eq!(found(json!({"tags": ["markdown", "section"]})).await, ["README.md"]);
    assert_eq!(found(json!({"tags": ["python", "rust"]})).await, [""; 0]);
    assert_eq!(found(json!({"tags": ["unheard of"]})).await, [""; 0]);
    assert_eq!(found(json!({"path_prefix": "nowhere/", "tags": []})).await, [""; 0]);
    let one = sample.call("vector_search", json!({"query": "stack", "top_k": 1})).await.unwrap();
    assert_eq!(one["matches"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn wrong_arguments_are_named() {
    let sample = Sample::new(&[("a.rs", STACK)]).await;
    for (args, wrong) in [
        (json!({}), "query"),
        (json!({"query": null, "embedding": null}), "query"),
        (json!({"query": " \n\t"}), "query"),
        (json!({"query": "x".repeat(1 << 20)}), "query"),
        (json!({"embedding": [1.0, 2.0]}), "embedding"),
        (json!({"embedding": []}), "embedding"),
        (json!({"embedding": vec![1e39; 256]}), "embedding"),
        (json!({"embedding": vec![0.0; 256]}), "embedding"),
        (json!({"query": "x", "namespace": "nowhere"}), "namespace"),
        (json!({"query": "x", "namespace": ""}), "namespace"),
        (json!({"query": "x", "namespace": "../.."}), "namespace"),
    ] {
        let error = sample.call("vector_search", args.clone()).await.unwrap_err();
        assert_eq!(field(&error), wrong, "{}: {error}", args.to_string().get(..80).unwrap_or_default());
    }
    for args in [json!({"query": "x", "top_k": 0}), json!({"query": "x", "top_k": 51}), json!({"query": 1})] {
        assert!(sample.call("vector_search", args.clone()).await.is_err(), "{args}");
    }
    for name in ["", "  ", &"n".repeat(600)] {
        let error = sample.call("search_symbols", json!({"name": name})).await.unwrap_err();
        assert_eq!(field(&error), "name");
    }
    for path in ["absent.rs", "..", "/etc/passwd", "."] {
        assert!(sample.call("search_similar", json!({"path": path})).await.is_err(), "{path}");
    }
    let backwards = json!({"path": "a.rs", "line_start": 5, "line_end": 2});
    assert_eq!(field(&sample.call("search_similar", backwards).await.unwrap_err()), "line_end");
}

#[tokio::test]
async fn symbols_are_found_where_they_are_defined_and_used() {
    let sample = Sample::new(&[
        ("src/stack.rs", STACK),
        ("src/main.rs", "fn main() {\n    let mut stack = Stack::new();\n    stack.push_value(1);\n}\n"),
        ("src/other.rs", "fn push_values() {}\n"),
    ])
    .await;
    let found = sample.call("search_symbols", json!({"name": "Stack::push_value"})).await.unwrap();
    let definition = &found["definitions"][0];
    assert_eq!(
        (&definition["path"], &definition["line_start"], &definition["kind"]),
        (&json!("src/stack.rs"), &json!(8), &json!("method")),
        "{found}"
    );
    assert_eq!(found["references"], json!([{"path": "src/main.rs", "line": 3, "text": "stack.push_value(1);"}]));
    assert_eq!(found["more_references"], json!(false));
    let limited =
        sample.call("search_symbols", json!({"name": "stack", "limit": 1, "show": "references"})).await.unwrap();
    assert_eq!((limited["definitions"].as_array().unwrap().len(), &limited["more_references"]), (0, &json!(true)));
    let elsewhere = json!({"name": "push_value", "path_prefix": "tests/"});
    let none = sample.call("search_symbols", elsewhere).await.unwrap();
    assert_eq!((&none["definitions"], &none["references"]), (&json!([]), &json!([])));
}

#[tokio::test]
async fn code_like_a_span_is_found_without_the_span_itself() {
    let copy = QUEUE.replace("enqueue_job", "enqueue_task").replace("job", "task");
    let sample = Sample::new(&[("src/queue.rs", QUEUE), ("src/tasks.rs", &copy), ("src/stack.rs", STACK)]).await;
    let args = json!({"path": "./src/queue.rs", "line_start": 2, "line_end": 3});
    let found = sample.call("search_similar", args).await.unwrap();
    assert_eq!(super::paths(&found).first().unwrap(), "src/tasks.rs");
    assert!(!super::paths(&found).contains(&"src/queue.rs".to_owned()), "{found}");
}

#[tokio::test]
async fn the_newest_commit_is_named_for_files_that_are_as_it_has_them() {
    let sample = Sample::new(&[("stack.rs", STACK), ("queue.rs", QUEUE)]).await;
    let git = |args: &[&str]| {
        #[expect(clippy::disallowed_methods, reason = "a repository is made by git itself")]
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]);
        git.args(args).current_dir(sample.path(".")).env("GIT_CONFIG_GLOBAL", "/dev/null");
        let output = git.output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let commits = async |query: &str| {
        let result = sample.call("vector_search", json!({"query": query, "top_k": 50})).await.unwrap();
        let of = |one: &Value| {
            let metadata = &one["metadata"];
            (metadata["path"].as_str().unwrap().to_owned(), metadata["commit"].clone())
        };
        result["matches"].as_array().unwrap().iter().map(of).collect::<std::collections::BTreeMap<_, _>>()
    };
    assert_eq!(commits("stack").await["stack.rs"], Value::Null);
    git(&["init", "-q", "-b", "main"]);
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "one"]);
    let first = git(&["rev-parse", "HEAD"]);
    assert_eq!(commits("stack").await["stack.rs"], json!(first));
    sample.write("stack.rs", &STACK.replace("u32", "u64"));
    let both = commits("values and jobs").await;
    assert_eq!((&both["stack.rs"], &both["queue.rs"]), (&Value::Null, &json!(first)));
    git(&["commit", "-qam", "two"]);
    git(&["pack-refs", "--all"]);
    assert_eq!(commits("stack").await["stack.rs"], json!(git(&["rev-parse", "HEAD"])));
}

#[tokio::test]
async fn several_roots_are_searched_as_one_or_by_their_names() {
    let second = tempfile::tempdir().unwrap();
    let second_path = std::fs::canonicalize(second.path()).unwrap();
    std::fs::create_dir(second_path.join("lib")).unwrap();
    std::fs::write(second_path.join("lib/queue.rs"), QUEUE).unwrap();
    let sample = Sample::new(&[("lib/stack.rs", STACK), ("lib/queue.rs", "pub fn unrelated() {}\n")]).await;
    let root = mainstay_sandbox::RootSettings { path: second_path.clone(), read_only: true };
    let files = mainstay_sandbox::FilesSettings { roots: vec![root], ..Default::default() };
    let workspace = mainstay_sandbox::Workspace::open(&sample.path("."), &files).unwrap();
    let registry = super::registry(&crate::setup::Setup { workspace, ..sample.setup.clone() });
    let found = async |mut args: Value| {
        args["query"] = json!("enqueue_job");
        super::paths(&super::call(&registry, "vector_search", args).await.unwrap())
    };
    let outside = format!("{}/lib/queue.rs", second_path.display());
    let all = found(json!({})).await;
    assert!(all.first() == Some(&outside) && all.contains(&"lib/stack.rs".to_owned()), "{all:?}");
    assert!(!found(json!({"namespace": "."})).await.contains(&outside));
    assert_eq!(found(json!({"namespace": second_path})).await, [outside.as_str()]);
    // A prefix of what results show.
    let below = format!("{}/lib", second_path.display());
    assert_eq!(found(json!({"filter": {"path_prefix": below}})).await, [outside.as_str()]);
    assert_eq!(found(json!({"filter": {"path_prefix": format!("{}x", second_path.display())}})).await, [""; 0]);
    let symbols = super::call(&registry, "search_symbols", json!({"name": "enqueue_job"})).await.unwrap();
    assert_eq!(symbols["definitions"][0]["path"], json!(outside));
    let similar = json!({"path": outside, "line_start": 1});
    assert!(super::call(&registry, "search_similar", similar).await.is_ok());
}
