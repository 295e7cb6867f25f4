//! Churn through the whole program, compared with what git prints.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::project::{Project, report, text};

/// Renames, merges, binary files, names with every odd character, authors whose names need quoting.
fn odd_repository() -> Project {
    let project = Project::with_repository();
    let lines = (0..200).map(|line| format!("line {line}\n")).collect::<Vec<_>>().concat();
    project.write("src/old name.rs", lines.as_bytes());
    project.write("logo.bin", b"\0\x01\xff");
    project.write("\u{e4}\t\"quoted\"\n{a => b}", b"1\n2\n3\n");
    project.commit("Jos\u{e9} \"JJ\" O'Brien, Jr. \\ | \u{2603}");
    project.git("", &["checkout", "-q", "-b", "side"]);
    project.write("side/-dash", b"x\ny");
    project.commit("=cmd|' /C calc'!A0");
    project.git("", &["checkout", "-q", "main"]);
    project.git("", &["mv", "src/old name.rs", "src/new.rs"]);
    project.write("src/new.rs", lines.replace("line 50\n", "changed\nand more\n").as_bytes());
    project.write("logo.bin", b"\0\x02");
    project.commit("B");
    project.git("M", &["merge", "-q", "--no-ff", "--no-edit", "side"]);
    project.commit("empty");
    project
}

/// `git log --numstat` of the period, added up by the name each file has in the end.
fn from_git(project: &Project) -> (BTreeMap<String, [u64; 3]>, u64) {
    let log = project.git("", &["log", "--numstat", "-z", "--since=30 days ago", "--format=tformat:commit"]);
    let log = String::from_utf8(log).unwrap();
    let (mut files, mut commits): (BTreeMap<String, [u64; 3]>, u64) = (BTreeMap::new(), 0);
    let mut tokens = log.split('\0');
    while let Some(token) = tokens.next() {
        let token = token.strip_prefix('\n').unwrap_or(token);
        commits += u64::from(token == "commit");
        let [added, deleted, path] = token.splitn(3, '\t').collect::<Vec<_>>()[..] else { continue };
        let path = if path.is_empty() { tokens.nth(1).unwrap() } else { path };
        let path = path.replace("src/old name.rs", "src/new.rs");
        let file = files.entry(path).or_default();
        file[0] += 1;
        file[1] += added.parse::<u64>().unwrap_or(0);
        file[2] += deleted.parse::<u64>().unwrap_or(0);
    }
    (files, commits)
}

fn told(report: &Value) -> BTreeMap<String, [u64; 3]> {
    let files = report["files"].as_array().unwrap().iter();
    let number = |file: &Value, name: &str| file[name].as_u64().unwrap();
    files
        .map(|file| {
            let figures = ["commit_count", "additions", "deletions"].map(|name| number(file, name));
            (file["path"].as_str().unwrap().to_owned(), figures)
        })
        .collect()
}

#[test]
fn churn_equals_what_git_prints() {
    let project = odd_repository();
    let server = project.server(&[], &[]);
    let reply = server.call("code_churn", &json!({ "project_path": ".", "format": "json" }));
    let (files, commits) = from_git(&project);
    assert_eq!(told(report(&reply)), files);
    let summary = &report(&reply)["summary"];
    assert_eq!((summary["total_commits"].as_u64(), commits), (Some(5), 5));
    assert_eq!(summary["author_contributions"]["Jos\u{e9} \"JJ\" O'Brien, Jr. \\ | \u{2603}"], 1);
    let text: Value = serde_json::from_str(text(&reply)).unwrap();
    assert_eq!(&text, report(&reply));
}

#[test]
fn churn_works_where_callers_cannot_run_commands() {
    let project = odd_repository();
    // No family that runs commands, and a list of programs without git.
    let server = project.server(&["--tools", "code"], &[("MAINSTAY__EXEC__ALLOW", "[\"true\"]")]);
    assert_eq!(told(report(&server.call("code_churn", &json!({ "project_path": "." })))), from_git(&project).0);
    // An operator who forbids git by name forbids it here as well.
    let server = project.server(&["--tools", "code"], &[("MAINSTAY__EXEC__DENY", "[\"git\"]")]);
    let reply = server.call("code_churn", &json!({ "project_path": "." }));
    assert!(reply["result"]["isError"] == true && text(&reply).contains("exec.deny"), "{reply}");
}

#[test]
fn what_is_no_repository_is_a_clear_error() {
    let project = Project::new();
    project.write("a/b.rs", b"fn b() {}\n");
    let server = project.server(&[], &[]);
    for (path, part) in [("a", "is not in a git repository"), ("missing", "There is no missing"), ("/etc", "outside")] {
        let reply = server.call("code_churn", &json!({ "project_path": path }));
        assert!(reply["result"]["isError"] == true && text(&reply).contains(part), "{reply}");
    }
    project.git("", &["init", "-q"]);
    let reply = server.call("code_churn", &json!({ "project_path": "." }));
    assert_eq!(
        (&report(&reply)["measured"], &report(&reply)["reason"]),
        (&json!(false), &json!("The repository has no commits."))
    );
}
