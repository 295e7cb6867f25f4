//! Templates: `mainstay scaffold`, and the family on the standard endpoint.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::testing::program::{Server, run};

/// Runs `mainstay scaffold` and returns its exit status and its output on both sides.
fn scaffold(data: &Path, args: &[&str]) -> (i32, String, String) {
    let mut all = vec!["scaffold"];
    all.extend(args);
    run(data, &all)
}

/// A configuration with a directory of templates, in which one is broken.
fn configured(data: &Path) -> String {
    let own = data.join("own");
    std::fs::create_dir_all(own.join("good")).unwrap();
    std::fs::create_dir_all(own.join("broken")).unwrap();
    let manifest = json!({"name": "Mine", "description": "One of mine", "category": "note", "toolchain": "rust", "output": "NOTE"});
    std::fs::write(own.join("good/manifest.json"), manifest.to_string()).unwrap();
    std::fs::write(own.join("good/template.j2"), "{{ project_name }}\n").unwrap();
    let config = data.join("config.toml");
    std::fs::write(&config, format!("[templates]\ndirectories = [{:?}]\n", own.display().to_string())).unwrap();
    config.display().to_string()
}

#[test]
fn a_project_is_written_and_its_makefile_runs() {
    let (data, into) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let project = |more: &[&str]| {
        let directory = into.path().display().to_string();
        let mut args = vec![
            "rust",
            "--name",
            "demo",
            "-p",
            "description=A demo",
            "-p",
            "features=a,b",
            "-p",
            "has_benchmarks=true",
        ];
        args.extend(["--into", &directory]);
        args.extend(more);
        scaffold(data.path(), &args)
    };
    let (code, out, error) = project(&["--dry-run"]);
    assert_eq!(code, 0, "{error}");
    assert!(out.contains("+++ b/demo/Makefile") && !into.path().join("demo").exists(), "{out}");
    let (code, out, error) = project(&[]);
    assert_eq!(code, 0, "{error}");
    assert_eq!(out.lines().filter(|line| line.starts_with("created ")).count(), 3, "{out}");
    let demo = into.path().join("demo");
    let help = Command::new("make").arg("help").current_dir(&demo).output().unwrap();
    assert!(help.status.success() && String::from_utf8_lossy(&help.stdout).contains("bench"), "{help:?}");
    std::fs::write(demo.join("README.md"), "mine").unwrap();
    let (code, out, error) = project(&[]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(error.contains("demo/README.md") && error.contains("--force"), "{error}");
    let (code, out, error) = project(&["--force"]);
    assert_eq!(code, 0, "{error}");
    assert!(out.contains("overwritten") && out.contains("unchanged"), "{out}");
}

#[test]
fn a_wrong_command_says_what_is_wrong() {
    let data = tempfile::tempdir().unwrap();
    for (args, words) in [
        (vec![], vec!["TOOLCHAIN"]),
        (vec!["cobol"], vec!["\"cobol\"", "deno, python-uv, rust"]),
        (vec!["rust", "makefil", "--name", "x"], vec!["Did you mean makefile?"]),
        (vec!["rust", "makefile"], vec!["project_name"]),
        (vec!["rust", "makefile", "--name", "$(id)"], vec!["/project_name", "letters, digits"]),
        (vec!["rust", "makefile", "--name", "x", "-p", "has_tests=maybe"], vec!["/has_tests"]),
        (vec!["rust", "makefile", "--name", "x", "-p", "colour=red", "-p", "size"], vec!["\"size\"", "key=value"]),
        (vec!["rust", "makefile", "--name", "x", "-p", "colour=red"], vec!["\"colour\""]),
        (vec!["rust", "makefile", "--name", "x", "--force"], vec!["--into"]),
        (vec!["rust", "makefile", "--name", "x", "--into", "/no/such/dir"], vec!["/no/such/dir"]),
    ] {
        let (code, out, error) = scaffold(data.path(), &args);
        assert!(code != 0 && out.is_empty(), "{args:?}: {out}");
        assert!(words.iter().all(|word| error.contains(word)), "{args:?}: {error}");
    }
    let (code, out, _) = scaffold(data.path(), &["deno", "gitignore", "makefile", "--name", "x"]);
    assert_eq!(code, 0);
    assert!(out.starts_with("==> x/.gitignore <==\n") && out.contains("\n==> x/Makefile <==\n"), "{out}");
}

#[test]
fn templates_of_the_operator_are_listed_and_broken_ones_are_reported() {
    let data = tempfile::tempdir().unwrap();
    let config = configured(data.path());
    let (code, out, error) = scaffold(data.path(), &["--list", "--config", &config]);
    assert_eq!((code, out.lines().count()), (0, 10), "{out}");
    assert!(
        out.contains("template://note/rust/cli Mine") && error.contains("own/broken: manifest.json"),
        "{out}{error}"
    );
    let (_, out, _) = run(data.path(), &["doctor", "--config", &config]);
    let line = out.lines().find(|line| line.contains("templates ")).unwrap();
    assert!(line.starts_with("BAD") && line.contains("own/broken"), "{line}");
    let server = Server::start(data.path(), &["--config", &config]);
    assert!(server.log().contains("own/broken"), "{}", server.log());
}

#[test]
fn templates_are_tools_resources_and_prompts_on_the_standard_endpoint() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut http = server.connect();
    let args = json!({"resource_uri": "template://makefile/rust/cli", "parameters": {"project_name": "demo"}});
    for name in ["templates_generate", "generate_template"] {
        let reply = http.call(name, &args);
        assert_eq!(reply["result"]["structuredContent"]["filename"], "demo/Makefile", "{reply}");
    }
    let read = http.request("resources/read", json!({"uri": "template://readme/deno/cli"}), &[]).unwrap().message();
    assert_eq!(read["result"]["contents"][0]["mimeType"], "text/markdown", "{read}");
    let arguments = json!({"project_name": "demo", "project_type": "CLI"});
    let get = json!({"name": "scaffold-deno-project", "arguments": arguments});
    let prompt = http.request("prompts/get", get, &[]).unwrap().message();
    let text = prompt["result"]["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.contains("templates_scaffold") && text.contains("\"demo\""), "{prompt}");
    let wrong = http.call("templates_generate", &json!({"resource_uri": "template://makefile/../x"}));
    assert_eq!(wrong["result"]["isError"], true, "{wrong}");
    // One call writes and is on record as such; without a directory it reads.
    let project = json!({"toolchain": "deno", "templates": ["gitignore"], "parameters": {"project_name": "deno-demo"}});
    http.call("templates_scaffold", &project);
    let mut writing = project;
    writing["write_to"] = json!("scaffolded");
    writing["overwrite"] = json!(true);
    let written = http.call("templates_scaffold", &writing);
    assert_eq!(
        written["result"]["structuredContent"]["files"][0]["path"], "scaffolded/deno-demo/.gitignore",
        "{written}"
    );
    drop(server);
    let (_, rows, _) = run(data.path(), &["audit", "show"]);
    let effects: Vec<bool> = rows
        .lines()
        .filter(|row| row.contains("templates_scaffold") || row.contains("templates/scaffold"))
        .map(|row| row.contains("\"writes\""))
        .collect();
    assert_eq!(
        (effects.iter().filter(|writes| **writes).count() >= 1, effects.contains(&false)),
        (true, true),
        "{rows}"
    );
}
