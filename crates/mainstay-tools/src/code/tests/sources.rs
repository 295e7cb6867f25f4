//! Which files are analysed, and what is said of those that are not.

use mainstay_code::DuplicatesOptions;
use mainstay_core::{Kind, Reply, Result};
use mainstay_sandbox::exec::ExecSettings;
use serde_json::{Value, json};

use super::repository::{SampleRepository, call, text};
use crate::code::analysis::{ChurnOptions, CodeAnalysis, SourceOptions};
use crate::code::churn::Churn;
use crate::code::complexity::Complexity;
use crate::code::duplicates::DuplicatedCode;
use crate::code::functions::Functions;
use crate::progress::Progress;
use crate::setup::CodeSettings;
use crate::testing::SampleWorkspace;

fn analysis(sample: &SampleWorkspace) -> CodeAnalysis {
    CodeAnalysis::new(sample.workspace(), &ExecSettings::default(), &CodeSettings::default(), None)
}

/// The reply to these arguments; without others, everything is measured.
async fn complexity(sample: &SampleWorkspace, mut args: Value) -> Result<Reply> {
    for (name, default) in [("project_path", "."), ("toolchain", "all")] {
        if args.get(name).is_none() {
            args[name] = default.into();
        }
    }
    call(&Complexity { analysis: analysis(sample), version: "0" }, args).await
}

async fn report(sample: &SampleWorkspace, args: Value) -> Value {
    complexity(sample, args).await.unwrap().structured.unwrap()
}

/// The places of all functions.
fn places(sample: &SampleWorkspace, path: &str, toolchain: &str) -> Vec<String> {
    let options = SourceOptions { path: path.into(), toolchain: toolchain.into() };
    let measurement = analysis(sample).measure(&options, &Progress::default()).unwrap();
    measurement.functions().map(|(file, function)| format!("{}:{}", file.path, function.name)).collect()
}

#[test]
fn ignored_files_and_build_output_are_not_analysed() {
    let sample = SampleWorkspace::with(&[
        (".gitignore", "generated/\n"),
        ("Cargo.toml", ""),
        ("src/main.rs", "fn main() {}\n"),
        ("src/target/mod.rs", "fn a_target() {}\n"),
        ("target/debug/build.rs", "fn built() {}\n"),
        ("generated/g.rs", "fn generated() {}\n"),
        ("web/node_modules/x/index.js", "function x() {}\n"),
        ("web/app.js", "function app() {}\n"),
        ("bin/run", "#!/bin/bash\nstart() {\n  true\n}\n"),
        ("README", "function not_code() {}\n"),
    ]);
    sample.link("src/main.rs", "link.rs");
    let all = ["bin/run:start", "src/main.rs:main", "src/target/mod.rs:a_target", "web/app.js:app"];
    assert_eq!(places(&sample, ".", "all"), all);
    assert_eq!(places(&sample, ".", "deno"), ["web/app.js:app"]);
    assert_eq!(places(&sample, "src", "rust"), ["src/main.rs:main", "src/target/mod.rs:a_target"]);
    assert_eq!(places(&sample, "src/main.rs", "rust"), ["src/main.rs:main"]);
    assert_eq!(places(&sample, "generated/g.rs", "all"), ["generated/g.rs:generated"]);
}

#[tokio::test]
async fn what_cannot_be_measured_is_told_by_name() {
    let sample = SampleWorkspace::with(&[("good.rs", "fn good() {}\n"), ("syntax.rs", "fn (\n")]);
    sample.write("latin.py", b"def f():\n    return '\xe9'\n");
    sample.write("large.c", &vec![b' '; 50 * 1024 * 1024]);
    let deep = format!("fn deep() {{ {}{} }}\n", "if x {".repeat(2000), "}".repeat(2000));
    sample.write("deep.rs", deep.as_bytes());
    std::fs::create_dir(sample.path().join("directory.rs")).unwrap();
    let report = report(&sample, json!({ "format": "json" })).await;
    let failed = report["summary"]["files_failed"].as_array().unwrap();
    let reason = |file: &str| {
        let found = failed.iter().find(|failed| failed["file"] == file);
        found.map(|failed| failed["reason"].as_str().unwrap().to_owned())
    };
    assert!(reason("syntax.rs").unwrap().contains("line 1"));
    assert!(reason("latin.py").unwrap().contains("UTF-8"));
    assert!(reason("large.c").unwrap().contains("52428800 bytes"));
    // Deep nesting is measured or refused, and ends either way.
    assert_eq!(report["summary"]["total_files"].as_u64().unwrap() + failed.len() as u64, 5, "{report}");
    assert_eq!(report["measured"], true);
}

#[tokio::test]
async fn nothing_to_measure_is_an_explicit_state() {
    let sample = SampleWorkspace::with(&[("README.md", "# none\n")]);
    for format in ["summary", "full", "json"] {
        let reply = complexity(&sample, json!({ "toolchain": "rust", "format": format })).await.unwrap();
        assert_eq!(reply.structured.as_ref().unwrap()["measured"], false);
        assert!(text(&reply).contains("There are no rust files."), "{}", text(&reply));
    }
    let sarif = report(&sample, json!({ "toolchain": "rust", "format": "sarif" })).await;
    assert_eq!(sarif["runs"][0]["invocations"][0]["executionSuccessful"], false);
}

#[tokio::test]
async fn thresholds_and_rankings_are_those_that_were_asked_for() {
    let many = "    if x { y(); }\n".repeat(9);
    let source = format!("fn busy(x: bool) {{\n{many}}}\nfn idle() {{}}\n");
    let sample = SampleWorkspace::with(&[("src/a.rs", source.as_str())]);
    let plain = report(&sample, json!({})).await;
    assert_eq!(plain["violations"], json!([]));
    assert!(plain.get("top_files").is_none());
    let strict = report(&sample, json!({ "max_cyclomatic": 9, "top_files": 3 })).await;
    let expected = json!([{
        "severity": "error", "rule": "cyclomatic-complexity", "value": 10, "threshold": 9, "file": "src/a.rs", "line": 1,
        "function": "busy", "message": "busy has a cyclomatic complexity of 10; the threshold is 9."
    }]);
    assert_eq!(strict["violations"], expected);
    assert_eq!(strict["top_files"]["requested"], 3);
    assert_eq!(strict["top_files"]["rankings"][0]["file"], "src/a.rs");
    let warned = report(&sample, json!({ "max_cyclomatic": 12 })).await;
    assert_eq!(
        (&warned["violations"][0]["severity"], &warned["violations"][0]["threshold"]),
        (&json!("warning"), &json!(9))
    );
}

#[tokio::test]
async fn wrong_arguments_are_clear_errors() {
    let sample = SampleWorkspace::with(&[("a.rs", "fn a() {}\n")]);
    let error = complexity(&sample, json!({ "toolchain": "cobol" })).await.unwrap_err();
    assert_eq!((error.kind, error.field_name()), (Kind::Invalid, Some("toolchain")));
    assert!(error.public.contains("cobol") && error.public.contains("python-uv"), "{error}");
    for (path, part) in [("missing", "There is no missing"), ("/etc", "outside"), ("a.rs/x", "There is no")] {
        let error = complexity(&sample, json!({ "project_path": path })).await.unwrap_err();
        assert_eq!((error.kind, error.field_name()), (Kind::Invalid, Some("project_path")));
        assert!(error.public.contains(part), "{error}");
    }
    let few = CodeSettings { files: 1, ..CodeSettings::default() };
    sample.write("b.rs", b"fn b() {}\n");
    sample.write("c.rs", b"fn c() {}\n");
    let analysis = CodeAnalysis::new(sample.workspace(), &ExecSettings::default(), &few, None);
    let error = call(&Complexity { analysis, version: "0" }, json!({ "project_path": ".", "toolchain": "all" }))
        .await
        .unwrap_err();
    assert!(error.kind == Kind::TooLarge && error.public.contains("code.files"), "{error}");
}

#[tokio::test]
async fn functions_are_listed_by_name_and_order() {
    let sample = SampleWorkspace::with(&[
        ("a.py", "class A:\n    def run(self, x):\n        if x:\n            return 1\n        return 2\n"),
        ("b.rs", "fn run_all() {}\nfn other() {}\n"),
    ]);
    let tool = Functions(analysis(&sample));
    let reply = call(&tool, json!({ "name": "run" })).await.unwrap();
    assert!(text(&reply).starts_with("2 of 3 functions match.\n"), "{}", text(&reply));
    assert!(text(&reply).contains("\na.py:2-5 A.run 2 1 1 "), "{}", text(&reply));
    let limited = call(&tool, json!({ "limit": 1, "sort": "path" })).await.unwrap().structured.unwrap();
    assert_eq!((&limited["matched"], limited["functions"].as_array().unwrap().len()), (&json!(3), 1));
}

#[tokio::test]
async fn copies_are_found_in_other_directories() {
    let lines = (0..20).map(|n| format!("    let v{n} = call_{n}(v, {n}) + other(v);\n"));
    let body = lines.collect::<Vec<_>>().concat();
    let copied = format!("fn copied(v: u32) {{\n{body}}}\n");
    let sample = SampleWorkspace::with(&[
        ("a/b/one.rs", copied.as_str()),
        ("two.rs", &format!("// elsewhere\n\n{copied}")),
        ("three.rs", "fn different() {}\n"),
        ("bad.rs", "fn (\n"),
    ]);
    let reply = call(&DuplicatedCode(analysis(&sample)), json!({})).await.unwrap();
    let report = reply.structured.as_ref().unwrap();
    assert_eq!((&report["total_groups"], &report["total_files"]), (&json!(1), &json!(3)), "{report}");
    let places = report["groups"][0]["places"].as_array().unwrap();
    let places: Vec<_> =
        places.iter().map(|p| (p["file"].as_str().unwrap(), p["start_line"].as_u64().unwrap())).collect();
    assert_eq!(places, [("a/b/one.rs", 1), ("two.rs", 3)]);
    assert!(text(&reply).contains("not measured: bad.rs"), "{}", text(&reply));
}

#[tokio::test]
async fn hotspots_join_churn_and_complexity() {
    let repository = SampleRepository::new();
    let busy = |name: &str| format!("fn {name}(x: u32) {{\n{}}}\n", "    if x > 1 { g(); }\n".repeat(12));
    repository.write("proj/src/hot.rs", busy("hot").as_bytes());
    repository.write("proj/src/cold.rs", busy("cold").as_bytes());
    repository.write("proj/simple.rs", b"fn simple() {}\n");
    repository.commit("A");
    for change in ["a", "b", "c"] {
        repository.write("proj/src/hot.rs", (busy("hot") + "// " + change + "\n").as_bytes());
        repository.write("proj/simple.rs", format!("fn simple() {{}}\n// {change}\n").as_bytes());
        repository.commit("A");
    }
    let tool = Churn(repository.analysis());
    for path in [".", "proj/src"] {
        let report = call(&tool, json!({ "hotspots": true, "project_path": path })).await.unwrap();
        let value = report.structured.as_ref().unwrap();
        assert_eq!(value["hotspots"][0]["path"], "proj/src/hot.rs", "{value}");
        assert_eq!(
            (&value["hotspots"][0]["commit_count"], &value["hotspots"][0]["worst_function"]),
            (&json!(4), &json!("hot"))
        );
        assert!(text(&report).contains("proj/src/hot.rs:1 hot\n"), "{}", text(&report));
    }
}

#[tokio::test]
async fn a_cancelled_call_does_no_work() {
    let repository = SampleRepository::new();
    repository.write("a.rs", b"fn a() {}\n");
    repository.commit("A");
    let (analysis, progress) = (repository.analysis(), Progress::default());
    progress.cancel();
    let sources = SourceOptions { path: ".".into(), toolchain: "all".into() };
    assert_eq!(analysis.measure(&sources, &progress).unwrap_err().kind, Kind::Cancelled);
    let options = DuplicatesOptions::default();
    assert_eq!(analysis.duplicates(&sources, options, 1, &progress).unwrap_err().kind, Kind::Cancelled);
    let history = ChurnOptions { path: ".".into(), days: 30 };
    let cancelled = analysis.churn(&history, jiff::Timestamp::now(), &progress).await;
    assert_eq!(cancelled.unwrap_err().kind, Kind::Cancelled);
    assert_eq!(analysis.files_read_and_parsed(), (0, 0));
}
