//! Reports on sources that were really measured.

use std::sync::Arc;

use serde_json::Value;

use super::*;
use crate::churn::{ChurnReport, LogParser, Period};
use crate::{Language, analyze};

/// A function with so many conditions one after the other: its cyclomatic complexity is one more, its cognitive the
/// same.
fn function(name: &str, conditions: usize) -> String {
    format!("fn {name}(x: u32) {{\n{}}}\n", "    if x > 1 { g(); }\n".repeat(conditions))
}

fn measured(path: &str, source: &str) -> MeasuredFile {
    let metrics = analyze(Language::Rust, source.as_bytes(), &|| true).unwrap();
    MeasuredFile { path: path.to_owned(), metrics: Arc::new(metrics) }
}

fn measurement(files: &[(&str, &str)]) -> Measurement {
    Measurement { files: files.iter().map(|(path, source)| measured(path, source)).collect(), failed: Vec::new() }
}

fn sample() -> Measurement {
    let mut sample = measurement(&[
        ("a.rs", &(function("small", 2) + &function("warned", 12))),
        ("b c.rs", &(function("large", 24) + &function("huge", 34))),
    ]);
    sample.failed.push(FailedFile { file: "broken.rs".into(), reason: "A syntax error in line 3.".into() });
    sample
}

fn options() -> ComplexityOptions {
    ComplexityOptions { sought: "rust files in .".into(), ..ComplexityOptions::default() }
}

#[test]
fn violations_are_told_with_function_value_and_threshold() {
    let report = ComplexityReport::new(&sample(), &options());
    let told: Vec<_> = report
        .violations
        .iter()
        .map(|v| (v.severity.name(), v.rule.id(), v.function.as_str(), v.value, v.threshold, v.file.as_str(), v.line))
        .collect();
    assert_eq!(
        told,
        [
            ("error", "cyclomatic-complexity", "huge", 35, 20, "b c.rs", 27),
            ("error", "cyclomatic-complexity", "large", 25, 20, "b c.rs", 1),
            ("error", "cognitive-complexity", "huge", 34, 30, "b c.rs", 27),
            ("warning", "cognitive-complexity", "large", 24, 15, "b c.rs", 1),
            ("warning", "cyclomatic-complexity", "warned", 13, 10, "a.rs", 5),
        ]
    );
    assert_eq!(report.violations[0].message, "huge has a cyclomatic complexity of 35; the threshold is 20.");
    let summary = &report.summary;
    assert_eq!((summary.total_files, summary.total_functions, summary.errors, summary.warnings), (2, 4, 3, 2));
    // (15 + 5 + 4) points of half an hour, and (9 + 3) of a quarter.
    assert!((summary.technical_debt_hours - 15.0).abs() < 1e-9);
    assert!(report.measured && !report.passes());
}

#[test]
fn given_maxima_replace_the_thresholds() {
    let strict = ComplexityOptions { thresholds: Thresholds::with_maxima(Some(2), Some(1)), ..options() };
    let report = ComplexityReport::new(&sample(), &strict);
    assert_eq!(report.summary.errors, 8);
    let lenient = ComplexityOptions { thresholds: Thresholds::with_maxima(Some(100), Some(100)), ..options() };
    let report = ComplexityReport::new(&sample(), &lenient);
    assert!(report.passes() && report.violations.is_empty());
}

#[test]
fn files_are_ranked_by_their_score() {
    let ranked = ComplexityOptions { top_files: Some(5), ..options() };
    let top = ComplexityReport::new(&sample(), &ranked).top_files.unwrap();
    assert_eq!((top.requested, top.returned), (5, 2));
    let first = &top.rankings[0];
    assert_eq!((first.rank, first.file.as_str(), first.function_count, first.max_cyclomatic), (1, "b c.rs", 2, 35));
    assert!((first.avg_cognitive - 29.0).abs() < 1e-9 && first.halstead_effort > 0.0);
    assert!((first.total_score - total_score(35, 29.0, 2)).abs() < 1e-9);
    assert_eq!(ComplexityReport::new(&sample(), &options()).top_files, None);
}

#[test]
fn fewer_violations_are_the_worst_ones_and_all_are_counted() {
    let report = ComplexityReport::new(&sample(), &ComplexityOptions { violations: Some(1), ..options() });
    assert_eq!((report.violations.len(), report.violations_omitted), (1, 4));
    assert_eq!((report.summary.errors, report.violations[0].value), (3, 35));
    assert!(to_summary_text(&report).contains("[4 milder violations are not listed]"));
}

#[test]
fn nothing_measured_is_never_a_pass() {
    let failed = vec![FailedFile { file: "x.rs".into(), reason: "Why.".into() }];
    for (measurement, reason) in [
        (Measurement::default(), "There are no rust files in ."),
        (Measurement { failed, ..Measurement::default() }, "None of the 1 rust files in . could be measured."),
        (measurement(&[("c.rs", "const X: u32 = 1;\n")]), "The 1 rust files in . have no functions."),
    ] {
        let report = ComplexityReport::new(&measurement, &options());
        assert!(!report.measured && !report.passes());
        assert!(report.reason.as_deref().unwrap().starts_with(reason.trim_end_matches('.')), "{:?}", report.reason);
        assert!(to_summary_text(&report).starts_with("Nothing was measured: "));
        assert_eq!(to_sarif(&report, "1")["runs"][0]["invocations"][0]["executionSuccessful"], false);
    }
}

#[test]
fn the_texts_name_every_failed_file() {
    let report = ComplexityReport::new(&sample(), &options());
    let text = to_full_text(&report, &sample());
    assert!(text.contains("not measured: broken.rs: A syntax error in line 3."), "{text}");
    assert!(text.contains("b c.rs:27: error: huge cyclomatic-complexity 35 > 20\n"), "{text}");
    assert!(text.contains("\na.rs (cyclomatic, cognitive, nesting, code lines)\n  1: small 3 2 1 4\n"), "{text}");
}

#[test]
fn more_failed_files_than_wanted_are_counted() {
    let failed = |number| FailedFile { file: format!("{number}.rs"), reason: "Why.".into() };
    let many = Measurement { failed: (0..30).map(failed).collect(), ..sample() };
    let report = ComplexityReport::new(&many, &ComplexityOptions { failed: Some(25), ..options() });
    assert_eq!((report.summary.unmeasured.files_failed.len(), report.summary.unmeasured.files_failed_omitted), (25, 5));
    assert!(to_summary_text(&report).ends_with("[10 more files were not measured]\n"));
}

/// The members of an object, which must be exactly these.
fn members<const N: usize>(value: &Value, expected: [&str; N]) -> [Value; N] {
    let object = value.as_object().unwrap_or_else(|| panic!("{value} is not an object"));
    let mut names: Vec<_> = object.keys().map(String::as_str).collect();
    let mut sorted = expected;
    names.sort_unstable();
    sorted.sort_unstable();
    assert_eq!(names, sorted);
    expected.map(|name| object[name].clone())
}

#[test]
fn sarif_has_the_structure_of_its_schema() {
    let sarif = to_sarif(&ComplexityReport::new(&sample(), &options()), "1.2.3");
    let [schema, version, runs] = members(&sarif, ["$schema", "version", "runs"]);
    assert!(schema.as_str().unwrap().contains("sarif-schema-2.1.0") && version == "2.1.0");
    let [tool, invocations, results] = members(&runs[0], ["tool", "invocations", "results"]);
    let [driver] = members(&tool, ["driver"]);
    let [name, version, rules] = members(&driver, ["name", "version", "rules"]);
    assert!(name == "mainstay" && version == "1.2.3");
    let [successful, notifications] = members(&invocations[0], ["executionSuccessful", "toolExecutionNotifications"]);
    assert!(successful == true && notifications[0]["message"]["text"].as_str().unwrap().starts_with("Not measured"));
    assert_eq!(results.as_array().unwrap().len(), 5);
    for result in results.as_array().unwrap() {
        let [rule, index, level, message, locations, _] =
            members(result, ["ruleId", "ruleIndex", "level", "message", "locations", "properties"]);
        let index = usize::try_from(index.as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], rule);
        assert!(["error", "warning"].contains(&level.as_str().unwrap()));
        assert!(!members(&message, ["text"])[0].as_str().unwrap().is_empty());
        let [physical, logical] = members(&locations[0], ["physicalLocation", "logicalLocations"]);
        let [artifact, region] = members(&physical, ["artifactLocation", "region"]);
        assert!(["a.rs", "b%20c.rs"].contains(&artifact["uri"].as_str().unwrap()));
        let [start, end] = members(&region, ["startLine", "endLine"]);
        assert!(start.as_u64().unwrap() >= 1 && end.as_u64() > start.as_u64());
        assert_eq!(logical[0]["kind"], "function");
    }
}

#[test]
fn functions_are_found_by_name_and_figures() {
    let query = |query: FunctionQuery| {
        let list = FunctionList::new(&sample(), &FunctionQuery { limit: 2, ..query }, "rust files in .");
        (list.matched, list.functions.into_iter().map(|row| row.function).collect::<Vec<_>>())
    };
    assert_eq!(query(FunctionQuery::default()), (4, vec!["huge".into(), "large".into()]));
    let named = FunctionQuery { name: Some("AR".into()), ..FunctionQuery::default() };
    assert_eq!(query(named), (2, vec!["large".into(), "warned".into()]));
    let complex = FunctionQuery { min_cyclomatic: 13, order: FunctionOrder::Place, ..FunctionQuery::default() };
    assert_eq!(query(complex), (3, vec!["warned".into(), "large".into()]));
    let long = FunctionQuery { min_lines: 30, min_cognitive: 1, ..FunctionQuery::default() };
    assert_eq!(query(long), (1, vec!["huge".into()]));
}

fn churn(log: &[u8]) -> ChurnReport {
    let mut parser = LogParser::default();
    parser.push(log).unwrap();
    let period = Period { now: jiff::Timestamp::UNIX_EPOCH, days: 30, repository: ".".into() };
    ChurnReport::new(&parser.finish().unwrap(), period, &|_| true)
}

#[test]
fn a_hotspot_is_complex_and_changes_often() {
    let log =
        b"\x029 A\0\n1\t0\ta.rs\0\x028 A\0\n1\t0\ta.rs\x001\t0\tb c.rs\0\x027 A\0\n5\t0\tREADME\x009\t9\tbroken.rs\0";
    let report = HotspotReport::new(&churn(log), &sample(), 10);
    let told: Vec<_> =
        report.hotspots.iter().map(|h| (h.path.as_str(), h.worst_function.as_str(), h.worst_line)).collect();
    assert_eq!(told, [("b c.rs", "huge", 27), ("a.rs", "warned", 5)]);
    assert!(report.hotspots.iter().all(|hotspot| hotspot.hotspot_score > 0.0 && hotspot.hotspot_score <= 1.0));
    assert_eq!(report.unmeasured.files_failed[0].file, "broken.rs");
    let shorter = HotspotReport::new(&churn(log), &sample(), 1);
    assert_eq!((shorter.hotspots.len(), shorter.omitted), (1, 1));
    assert!(hotspots_to_text(&shorter).contains("[1 more files"));
    assert!(hotspots_to_csv(&report).starts_with("path,hotspot_score,"));
    assert!(hotspots_to_markdown(&report).contains("| huge (line 27) |"));
}

#[test]
fn no_changed_source_is_told_as_nothing_measured() {
    let report = HotspotReport::new(&churn(b"\x029 A\0\n1\t0\tREADME\0"), &sample(), 10);
    assert!(!report.measured && report.reason.unwrap().contains("has changed"));
}

/// A file of C++ of which one function cannot be read.
fn partly_measured() -> Measurement {
    let source =
        "int good(int x) { return x ? 1 : 2; }\nint odd(int x) { if (x { return 1; } }\nint fine() { return 0; }\n";
    let metrics = analyze(Language::Cpp, source.as_bytes(), &|| true).unwrap();
    assert_eq!(metrics.skipped.len(), 1, "{metrics:?}");
    Measurement { files: vec![MeasuredFile { path: "a.cpp".into(), metrics: Arc::new(metrics) }], failed: Vec::new() }
}

#[test]
fn functions_without_figures_are_named_in_every_report() {
    let measurement = partly_measured();
    let line = "not measured: a.cpp:2: odd has a syntax error\n";
    let report = ComplexityReport::new(&measurement, &options());
    assert!(to_summary_text(&report).contains(line) && to_full_text(&report, &measurement).contains(line));
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["summary"]["functions_skipped"][0]["function"], "odd");
    assert_eq!(json["summary"]["files_failed"], serde_json::json!([]));
    let sarif = to_sarif(&report, "1").to_string();
    assert!(sarif.contains("Not measured: odd has a syntax error."), "{sarif}");
    let list = FunctionList::new(&measurement, &FunctionQuery { limit: 9, ..FunctionQuery::default() }, "files");
    assert!(to_functions_text(&list).contains(line));
    let hotspots = HotspotReport::new(&churn(b"\x029 A\0\n1\t0\ta.cpp\0"), &measurement, 10);
    assert!(hotspots_to_text(&hotspots).contains(line));
    assert!(hotspots_to_markdown(&hotspots).contains("- a.cpp: line 2: odd has a syntax error.\n"));
    assert!(hotspots_to_html(&hotspots, "x", "1").contains("<li>a.cpp:2: odd has a syntax error.</li>"));
    // Of files that have not changed nothing is told.
    let others = HotspotReport::new(&churn(b"\x029 A\0\n1\t0\tb.cpp\0"), &measurement, 10);
    assert!(others.unmeasured.functions_skipped.is_empty());
}

#[test]
fn a_query_for_functions_names_the_files_it_could_not_read() {
    let list = FunctionList::new(&sample(), &FunctionQuery { limit: 9, ..FunctionQuery::default() }, "files");
    assert!(to_functions_text(&list).contains("not measured: broken.rs: A syntax error in line 3."));
    assert_eq!(serde_json::to_value(&list).unwrap()["files_failed"][0]["file"], "broken.rs");
}
