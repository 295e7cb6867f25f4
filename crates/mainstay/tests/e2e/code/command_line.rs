//! `mainstay analyze`: exit codes, formats, and the same figures as the tools.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::project::{Project, busy, report};

fn sample() -> Project {
    let project = Project::with_repository();
    project.write("src/hard.rs", (busy("hard", 30) + &busy("easy", 1)).as_bytes());
    project.write("src/plain.py", b"def plain(x):\n    return x if x else 1\n");
    project.write("README", b"text\n");
    project.commit("A");
    project.write("src/hard.rs", (busy("hard", 31) + &busy("easy", 2)).as_bytes());
    project.commit("B");
    project
}

/// Standard output of a command that succeeds, and says nothing else.
fn ok(project: &Project, args: &[&str]) -> String {
    let (code, out, error) = project.analyze(args);
    assert_eq!((code, error.as_str()), (0, ""), "{args:?}: {out}");
    out
}

#[test]
fn a_function_over_the_limit_fails_with_1_and_is_named_with_its_value() {
    let project = sample();
    for (limit, code) in [
        ("cyclomatic=32", 0),
        ("cyclomatic=31", 1),
        ("cognitive=31", 0),
        ("cognitive=30", 1),
        ("cyclomatic=100,cognitive=5", 1),
        ("cyclomatic=31,cyclomatic=100", 1),
    ] {
        for format in ["table", "json", "sarif", "full"] {
            let (found, _, error) = project.analyze(&["complexity", "--fail-over", limit, "--format", format]);
            assert_eq!(found, code, "{limit} {format}: {error}");
            let figure = if limit.ends_with("cognitive=5") { "cognitive" } else { limit.split('=').next().unwrap() };
            let named = format!("src/hard.rs:1: hard has a {figure} complexity of 3");
            assert_eq!(error.contains(&named), code == 1, "{limit} {format}: {error}");
        }
    }
    // Thresholds alone change what is reported, not the exit code.
    let out = ok(&project, &["complexity", "--max-cyclomatic", "1", "--max-cognitive", "1"]);
    assert!(out.contains("error") && out.contains("plain"), "{out}");
}

#[test]
fn errors_exit_with_2_and_say_what_is_wrong() {
    let project = sample();
    let outside = tempfile::tempdir().unwrap();
    let outside = outside.path().to_str().unwrap();
    for (args, words) in [
        (&["complexity", "missing"][..], "no file or directory missing"),
        (&["churn", "missing"], "missing"),
        (&["churn", outside], "not in a git repository"),
        (&["hotspots", outside], "not in a git repository"),
        (&["churn", "src/hard.rs"], "is a file"),
        (&["complexity", "--toolchain", "fortran"], "fortran"),
        (&["complexity", "--fail-over", "15"], "cyclomatic=N"),
        (&["complexity", "--top", "0"], "--top"),
        (&["churn", "--days", "0"], "--days"),
        (&["complexity", "--format", "pdf"], "pdf"),
        (&["complexity", "--output", "src"], "cannot write src"),
        (&["complexity", "--output", "missing/x"], "cannot write missing/x"),
        (&["complexity", "--config", "missing.toml"], "missing.toml"),
        (&["frobnicate"], "frobnicate"),
    ] {
        let (code, out, error) = project.analyze(args);
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}: {error}");
        assert!(error.contains(words), "{args:?}: {error}");
    }
}

#[test]
fn nothing_measured_is_never_a_pass() {
    let project = Project::with_repository();
    project.write("README", b"text\n");
    project.write("broken/a.rs", b"fn (\n");
    project.write("empty/b.rs", b"const X: u32 = 1;\n");
    for (args, words) in [
        (&["complexity", "--toolchain", "go"][..], "There are no go files"),
        (&["complexity", "broken"], "None of the 1 source files"),
        (&["complexity", "empty", "--fail-over", "cyclomatic=100"], "have no functions"),
        (&["complexity", "README"], "There are no source files"),
        (&["churn"], "The repository has no commits"),
        (&["hotspots", "--format", "html"], "The repository has no commits"),
    ] {
        let (code, out, error) = project.analyze(args);
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}: {error}");
        assert!(error.contains("nothing was measured") && error.contains(words), "{args:?}: {error}");
    }
    // Formats for programs say it themselves, too.
    for args in [["complexity", "broken"], ["churn", "."], ["hotspots", "."]] {
        let (code, out, _) = project.analyze(&[&args[..], &["--format", "json"]].concat());
        assert_eq!((code, &serde_json::from_str::<Value>(&out).unwrap()["measured"]), (2, &json!(false)), "{args:?}");
    }
    let (code, out, _) = project.analyze(&["complexity", "broken", "--format", "sarif"]);
    let sarif: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &sarif["runs"][0]["invocations"][0]["executionSuccessful"]), (2, &json!(false)));
}

#[test]
fn the_figures_are_those_of_the_tools() {
    let project = sample();
    project.write("src/broken.rs", b"fn (\n");
    project.write(
        "src/skipped.cpp",
        b"int a() { return 1; }\nint b(int x) { if (x { return 1; } }\nint c() { return 0; }\n",
    );
    project.commit("C");
    let server = project.server(&[], &[]);
    let printed = |args: &[&str]| -> Value { serde_json::from_str(&ok(&project, args)).unwrap() };
    let told = |tool: &str, args: Value| report(&server.call(tool, &args)).clone();
    for path in [".", "src", "src/hard.rs"] {
        let ours = printed(&["complexity", path, "--format", "json", "--top", "3", "--max-cyclomatic", "5"]);
        let args =
            json!({ "project_path": path, "toolchain": "all", "format": "json", "top_files": 3, "max_cyclomatic": 5 });
        assert_eq!(ours, told("code_complexity", args), "{path}");
        assert!(path == "src/hard.rs" || ours["summary"]["functions_skipped"][0]["function"] == "b", "{ours}");
    }
    let sarif = printed(&["complexity", "--format", "sarif"]);
    assert_eq!(sarif, told("code_complexity", json!({ "project_path": ".", "toolchain": "all", "format": "sarif" })));
    for path in [".", "src"] {
        let mut ours = printed(&["churn", path, "--format", "json"]);
        let mut theirs = told("code_churn", json!({ "project_path": path, "format": "json" }));
        // The time at which each was made.
        for report in [&mut ours, &mut theirs] {
            assert!(report.as_object_mut().unwrap().remove("generated_at").is_some());
        }
        assert_eq!(ours, theirs, "{path}");
        let ours = printed(&["hotspots", path, "--format", "json", "--top", "1"]);
        assert_eq!(ours, told("code_churn", json!({ "project_path": path, "hotspots": true, "limit": 1 })), "{path}");
        assert_eq!(ours["hotspots"][0]["path"], "src/hard.rs");
    }
}

#[test]
fn every_format_has_its_own_text() {
    let project = sample();
    for (args, beginning, part) in [
        (["complexity", "table"], "3 functions in 2 files: 2 errors", "error             32         31     33  hard"),
        (
            ["complexity", "summary"],
            "3 functions in 2 files.",
            "src/hard.rs:1: error: hard cyclomatic-complexity 32 > 20",
        ),
        (["complexity", "full"], "3 functions in 2 files.", "  1: hard 32 31 1 33"),
        (["churn", "table"], "2 commits in 30 days, 3 files changed, +40 -0 lines", "src/hard.rs"),
        (["churn", "summary"], "Churn of . in 30 days: 2 commits", "src/hard.rs"),
        (["churn", "markdown"], "# Code churn\n", "| src/hard.rs |"),
        (["churn", "csv"], "path,commit_count,", "src/hard.rs,2,2,"),
        (["hotspots", "table"], "2 commits in 30 days", "src/hard.rs:1"),
        (["hotspots", "summary"], "Hotspots of . in 30 days", "src/hard.rs:1 hard"),
        (["hotspots", "markdown"], "# Hotspots\n", "| src/hard.rs | hard (line 1) |"),
        (["hotspots", "csv"], "path,hotspot_score,", "src/hard.rs,"),
        (["hotspots", "html"], "<!doctype html>\n", "<circle "),
    ] {
        let out = ok(&project, &[args[0], "--format", args[1]]);
        assert!(out.starts_with(beginning) && out.contains(part), "{args:?}: {out}");
    }
    let limited = ok(&project, &["hotspots", "--top", "1"]);
    assert!(limited.contains("[1 more files: raise --top]") && !limited.contains("plain.py"), "{limited}");
}

#[test]
fn a_directory_inside_a_repository_has_its_rules_and_its_paths() {
    let project = sample();
    project.write(".gitignore", b"generated.rs\n");
    project.write("src/generated.rs", busy("generated", 50).as_bytes());
    for (place, path) in [(".", "src"), ("src", "."), ("src", "../src")] {
        let mut command = project.analyze_command(&["complexity", path, "--format", "json"]);
        let out = command.current_dir(project.workspace.path().join(place)).output().unwrap();
        let report: Value = serde_json::from_slice(&out.stdout).unwrap();
        assert_eq!(report["summary"]["total_files"], 2, "{report}");
        assert_eq!(report["violations"][0]["file"], "src/hard.rs", "{report}");
    }
    // Without a repository the directory itself is the root.
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("a.rs"), busy("a", 30)).unwrap();
    let out = ok(&project, &["complexity", outside.path().to_str().unwrap()]);
    assert!(out.contains("  a.rs:1\n"), "{out}");
}

#[test]
fn a_report_is_written_to_the_file_that_is_named() {
    let project = sample();
    for name in ["page.html", "src/page.html"] {
        for _ in 0..2 {
            assert_eq!(ok(&project, &["hotspots", "--format", "html", "--output", name]), "");
        }
        let page = std::fs::read_to_string(project.workspace.path().join(name)).unwrap();
        assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"), "{page}");
    }
    let absolute = project.data.path().join("report.json");
    ok(&project, &["churn", "--format", "json", "-o", absolute.to_str().unwrap()]);
    assert!(serde_json::from_slice::<Value>(&std::fs::read(absolute).unwrap()).unwrap()["files"].is_array());
}

#[test]
fn what_was_measured_is_remembered_for_the_next_run_and_for_the_server() {
    let project = Project::new();
    for number in 0..80 {
        project.write(format!("f{number}.rs"), busy(&format!("f{number}"), 2).as_bytes());
    }
    let first = ok(&project, &["complexity"]);
    let stored = std::fs::read(project.data.path().join("code/metrics.2")).unwrap();
    assert_eq!(ok(&project, &["complexity"]), first);
    project.server(&[], &[]).call("code_complexity", &json!({ "project_path": ".", "toolchain": "all" }));
    // Nothing was measured anew, so nothing was written.
    assert_eq!(std::fs::read(project.data.path().join("code/metrics.2")).unwrap(), stored);
}

#[test]
fn a_linked_work_tree_has_the_history_of_its_repository() {
    let project = sample();
    let around = tempfile::tempdir().unwrap();
    let linked = around.path().join("linked");
    project.git("", &["worktree", "add", "-q", "-b", "side", linked.to_str().unwrap()]);
    let out = ok(&project, &["churn", linked.join("src").to_str().unwrap(), "--format", "csv"]);
    assert!(out.contains("\r\nsrc/hard.rs,2,2,"), "{out}");
    // A link that leads nowhere is an error.
    std::fs::write(linked.join(".git"), "gitdir: /nowhere\n").unwrap();
    let (code, out, error) = project.analyze(&["churn", linked.to_str().unwrap()]);
    assert_eq!((code, out.as_str()), (2, ""), "{error}");
    assert!(error.contains("does not accept as a repository"), "{error}");
}

#[test]
fn progress_is_shown_on_a_terminal_and_nowhere_else() {
    let project = Project::new();
    for number in 0..2000 {
        project.write(format!("f{number}.rs"), busy(&format!("f{number}"), 50).as_bytes());
    }
    let mut command = project.analyze_command(&["complexity", "--toolchain", "rust", "--output", "report"]);
    let words: Vec<String> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| format!("'{}'", word.to_str().unwrap()))
        .collect();
    // A shell on a terminal of its own.
    let mut script = Command::new("script");
    script.args(["-qec", &words.join(" "), "/dev/null"]).current_dir(project.workspace.path()).stdin(Stdio::null());
    let shown = script.env("XDG_CONFIG_HOME", project.data.path()).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("\rMeasuring: ") && shown.ends_with("\r\u{1b}[K"), "{shown:?}");
    std::fs::remove_dir_all(project.data.path().join("code")).unwrap();
    let piped = command.output().unwrap();
    assert!(piped.stderr.is_empty() && piped.stdout.is_empty(), "{piped:?}");
}
