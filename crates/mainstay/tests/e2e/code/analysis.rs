//! Complexity, functions and duplicates through the whole program.

use serde_json::json;

use super::project::{Project, busy, report, text};

#[test]
fn complexity_is_told_in_every_format() {
    let project = Project::new();
    project.write("Cargo.toml", b"");
    project.write("src/lib.rs", (busy("hard", 30) + &busy("easy", 1)).as_bytes());
    project.write("target/debug/x.rs", busy("built", 50).as_bytes());
    project.write("web/node_modules/x.js", b"function x() {}\n");
    project.write("broken.rs", b"fn (\n");
    project.write("binary.rs", b"fn a() {}\0\xff");
    let server = project.server(&[], &[]);
    let call = |format: &str| {
        server.call(
            "code_complexity",
            &json!({ "project_path": ".", "toolchain": "all", "format": format, "top_files": 1 }),
        )
    };
    let summary = call("summary");
    assert!(text(&summary).contains("src/lib.rs:1: error: hard cyclomatic-complexity 31 > 20\n"), "{summary}");
    assert!(!text(&summary).contains("built") && text(&summary).contains("not measured: broken.rs"), "{summary}");
    let json: serde_json::Value = serde_json::from_str(text(&call("json"))).unwrap();
    assert_eq!(json["summary"]["total_functions"], 2);
    assert_eq!(json["summary"]["files_failed"].as_array().unwrap().len(), 2);
    assert_eq!(json["top_files"]["rankings"][0]["max_cyclomatic"], 31);
    let sarif: serde_json::Value = serde_json::from_str(text(&call("sarif"))).unwrap();
    assert_eq!((&sarif["version"], sarif["runs"][0]["results"].as_array().unwrap().len()), (&json!("2.1.0"), 2));
    assert!(text(&call("full")).contains("\n  33: easy 2 1 1 3\n"), "{}", text(&call("full")));
}

#[test]
fn a_restarted_server_knows_what_was_measured() {
    let project = Project::new();
    for number in 0..80 {
        project.write(format!("f{number}.rs"), busy(&format!("f{number}"), 2).as_bytes());
    }
    let everything = json!({ "project_path": ".", "toolchain": "all" });
    let first = project.server(&[], &[]).call("code_complexity", &everything);
    let stored = std::fs::read(project.data.path().join("code/metrics.2")).unwrap();
    let server = project.server(&[], &[]);
    assert_eq!(report(&server.call("code_complexity", &everything)), report(&first));
    // Nothing was measured anew, so nothing was written.
    assert_eq!(std::fs::read(project.data.path().join("code/metrics.2")).unwrap(), stored);
}

#[test]
fn functions_and_copies_are_found() {
    let project = Project::new();
    project.write("a.rs", busy("first", 20).as_bytes());
    project.write("b.rs", busy("first", 20).as_bytes());
    let server = project.server(&[], &[]);
    let functions = server.call("code_functions", &json!({ "name": "FIRST", "min_cyclomatic": 21 }));
    assert_eq!(report(&functions)["matched"], 2);
    let copies = server.call("code_duplicates", &json!({}));
    assert_eq!(report(&copies)["groups"][0]["places"].as_array().unwrap().len(), 2, "{copies}");
}

#[test]
fn unknown_toolchains_are_refused_with_those_that_are_known() {
    let project = Project::new();
    let server = project.server(&[], &[]);
    let reply = server.call("code_complexity", &json!({ "project_path": ".", "toolchain": "fortran" }));
    assert!(text(&reply).contains("fortran") && text(&reply).contains("typescript"), "{reply}");
    let nothing = server.call("code_complexity", &json!({ "project_path": "./", "toolchain": "go" }));
    assert_eq!(report(&nothing)["measured"], false);
}
