//! Tests of the helpers themselves: a comparison that lets everything pass would hide every failure.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::expected_response::Captures;
use super::fixture::Fixture;

fn compare(expected: &Value, actual: &Value) -> Result<(), String> {
    Captures::new(Path::new("")).compare(expected, actual, "")
}

#[test]
fn a_difference_is_found_and_named() {
    for (expected, actual, at) in [
        (json!({"a": 1}), json!({"a": 2}), "/a:"),
        (json!({"a": 1}), json!({"a": 1, "b": 1}), "/b:"),
        (json!({"a": 1, "b": 1}), json!({"a": 1}), "/b:"),
        (json!([1]), json!([1, 2]), ":"),
        (json!({"a": ["<integer>"]}), json!({"a": ["x"]}), "/a/0:"),
        (json!("<iso8601>"), json!("yesterday"), ":"),
        (json!("<iso8601>"), json!("2026-01-31T12:00:00"), ":"),
        (json!("<etag>"), json!(""), ":"),
        (json!("<array of 2>"), json!([1]), ":"),
        (json!("<array with a b>"), json!(["a", "c"]), ":"),
        (json!("<contains base64>"), json!("base32"), ":"),
        (json!({"a": "<nothing>"}), json!({"a": 0}), "/a:"),
    ] {
        let found = compare(&expected, &actual).unwrap_err();
        assert!(found.starts_with(at), "{expected} {actual}: {found}");
    }
}

#[test]
fn matching_values_pass_and_captured_values_are_filled_in() {
    for (expected, actual) in [
        (json!({"a": 1, "...": "<any>"}), json!({"a": 1, "b": 1})),
        (json!({"a": "<nothing>"}), json!({})),
        (json!("<array with a b>"), json!(["c", "b", "a"])),
        (json!("<iso8601>"), json!("2026-01-31T12:00:00.123Z")),
        (json!("<iso8601>"), json!("2026-01-31T12:00:00+01:00")),
    ] {
        compare(&expected, &actual).unwrap();
    }
    let mut captures = Captures::new(Path::new(""));
    captures.compare(&json!("<string as seen>"), &json!("v"), "").unwrap();
    assert_eq!(captures.fill(json!({"etag": "<seen>", "other": ["x"]})), json!({"etag": "v", "other": ["x"]}));
    captures.compare(&json!("<seen>"), &json!("v"), "").unwrap();
    captures.compare(&json!("<seen>"), &json!("w"), "").unwrap_err();
}

#[test]
#[should_panic(expected = "<sene>")]
fn an_unknown_placeholder_is_an_error_in_the_fixture() {
    Captures::new(Path::new("")).fill(json!({"etag": "<sene>"}));
}

#[test]
fn fixture_files_that_are_never_checked_are_reported() {
    let (folder, workspace) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let fixture = Fixture { name: "x".to_owned(), folder: folder.path().to_owned() };
    let put = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    for name in ["request-1.json", "response-1.json", "after/a/b"] {
        put(name, "{}");
    }
    assert!(fixture.unused(&[]).is_empty());
    for name in ["request-3.json", "response-2.json", "respnse-1.json"] {
        put(name, "{}");
        assert_eq!(fixture.unused(&[]), [name]);
        fs::remove_file(folder.path().join(name)).unwrap();
    }
    assert!(fixture.check_workspace(workspace.path()).unwrap_err().contains("a/b"));
    fs::create_dir(workspace.path().join("a")).unwrap();
    fs::write(workspace.path().join("a/b"), "{ }").unwrap();
    assert!(fixture.check_workspace(workspace.path()).unwrap_err().contains("a/b"));
    fs::write(workspace.path().join("a/b"), "{}").unwrap();
    fixture.check_workspace(workspace.path()).unwrap();
    put("after-absent.txt", "c\na/b\n");
    assert!(fixture.check_workspace(workspace.path()).unwrap_err().contains("a/b"));
}
