//! Sources that are made to break an analysis, given to `mainstay analyze`.

use serde_json::Value;

use super::project::{Project, busy};

/// The report of everything in a project; what cannot be measured is no error.
fn complexity(project: &Project) -> Value {
    let (code, out, error) = project.analyze(&["complexity", "--format", "json"]);
    assert_eq!((code, error.as_str()), (0, ""), "{out}");
    serde_json::from_str(&out).unwrap()
}

fn failed(report: &Value) -> Vec<(&str, &str)> {
    let failed = report["summary"]["files_failed"].as_array().unwrap().iter();
    failed.map(|failed| (failed["file"].as_str().unwrap(), failed["reason"].as_str().unwrap())).collect()
}

#[test]
fn two_thousand_levels_are_measured() {
    let project = Project::new();
    let source = format!("fn deep(x: bool) {{\n{}{}}}\n", "if x {\n".repeat(2000), "}\n".repeat(2000));
    project.write("deep.rs", source.as_bytes());
    let report = complexity(&project);
    let figures: Vec<_> =
        report["violations"].as_array().unwrap().iter().map(|found| found["value"].as_u64()).collect();
    assert_eq!(figures, [Some(2_001_000), Some(2001)]);
}

#[test]
fn files_that_cannot_be_measured_are_named_and_the_others_are_measured() {
    let project = Project::new();
    project.write("good.rs", busy("good", 1).as_bytes());
    project.write("large.rs", "fn f() {}\n".repeat(5 * 1024 * 1024).as_bytes());
    project.write("latin.py", b"def f():\n    return '\xe9'\n");
    project.write("binary.c", &[0; 4096]);
    project.write("broken.rs", b"fn (\n");
    project.write("brackets.js", "(".repeat(100_000).as_bytes());
    let report = complexity(&project);
    assert_eq!(report["summary"]["total_functions"], 1);
    let failed = failed(&report);
    let reason = |file: &str| failed.iter().find(|failed| failed.0 == file).map_or("", |failed| failed.1);
    assert!(reason("large.rs").contains("52428800 bytes"), "{failed:?}");
    assert!(reason("latin.py").contains("UTF-8"), "{failed:?}");
    assert!(reason("broken.rs").contains("line 1"), "{failed:?}");
    assert!(failed.len() == 5 && !reason("binary.c").is_empty() && !reason("brackets.js").is_empty(), "{failed:?}");
    let (_, table, _) = project.analyze(&["complexity"]);
    assert!(failed.iter().all(|(file, reason)| table.contains(&format!("{file}: {reason}"))), "{table}");
}

#[test]
fn names_of_files_are_text_in_every_format() {
    let project = Project::with_repository();
    let hostile = "\u{1b}[31m<script>alert('x')<\n\"&\u{202e}|,.rs";
    project.write(hostile, busy("f", 30).as_bytes());
    project.write("\u{1b}broken<b>.rs", b"fn (\n");
    project.commit("<img src=x onerror=alert(1)>");
    let output = |args: &[&str]| {
        let (code, out, error) = project.analyze(args);
        assert_eq!(code, 0, "{args:?}: {error}");
        assert!(!error.contains('\u{1b}'), "{error:?}");
        out
    };
    for command in ["complexity", "churn", "hotspots"] {
        for format in ["table", "summary", "json"] {
            let out = output(&[command, "--format", format]);
            assert!(!out.contains('\u{1b}'), "{command} {format}: {out:?}");
        }
        let json: Value = serde_json::from_str(&output(&[command, "--format", "json"])).unwrap();
        assert!(json.to_string().contains(&Value::from(hostile).to_string()), "{command}: {json}");
    }
    let page = output(&["hotspots", "--format", "html"]);
    assert!(!page.contains("<script") && !page.contains('\u{1b}') && !page.contains('\u{202e}'), "{page}");
    assert!(page.contains("&lt;script&gt;alert(&#39;x&#39;)&lt;\\n&quot;&amp;\\u{202e}|,.rs"), "{page}");
    assert!(page.contains("\\u{001b}broken&lt;b&gt;.rs: "), "{page}");
    // A record for each file, whatever is in its name.
    let csv = output(&["hotspots", "--format", "csv"]);
    assert!(csv.contains("<\n\"\"&\u{202e}|,.rs\",") && csv.matches("\r\n").count() == 2, "{csv:?}");
}

#[test]
fn names_that_are_not_utf_8_are_measured() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let project = Project::with_repository();
    project.write(OsStr::from_bytes(b"src/\xff.rs"), busy("f", 30).as_bytes());
    project.commit("A");
    let report = complexity(&project);
    assert_eq!(report["summary"]["total_functions"], 1);
    // The same for a directory that is named on the command line.
    project.write(OsStr::from_bytes(b"\xfe/a.rs"), busy("f", 30).as_bytes());
    let mut command = project.analyze_command(&["complexity", "--format", "json"]);
    let out = command.arg(project.workspace.path().join(OsStr::from_bytes(b"\xfe"))).output().unwrap();
    let report: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(report["violations"][0]["file"], "a.rs", "{report}");
}
