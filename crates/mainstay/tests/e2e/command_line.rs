//! The command line: output, errors and exit codes.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::PROGRAM;

fn mainstay(data: &Path, args: &[&str], input: &str) -> (i32, String, String) {
    started_as("mainstay", data, args, input)
}

fn started_as(name: &str, data: &Path, args: &[&str], input: &str) -> (i32, String, String) {
    run_to_end(program(name, data, args), input)
}

fn program(name: &str, data: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.arg0(name).args(args).env("XDG_CONFIG_HOME", data).env("XDG_DATA_HOME", data).current_dir(data);
    let ours = |name: &str| name.starts_with("MAINSTAY") || name.starts_with("CONTEXT_");
    for (name, _) in std::env::vars().filter(|(name, _)| ours(name)) {
        command.env_remove(name);
    }
    // Apart from the configuration and the data: the server does not work where it keeps its own files.
    let workspace = data.join("workspace");
    std::fs::create_dir_all(&workspace).unwrap();
    command.env("MAINSTAY_WORKSPACE", workspace);
    command
}

/// How it ends, and what it says on either side.
fn run_to_end(mut command: Command, input: &str) -> (i32, String, String) {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A command that does not read its input may have ended already.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let out = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (out.status.code().unwrap_or(-1), text(out.stdout), text(out.stderr))
}

fn ok(data: &Path, args: &[&str]) -> String {
    let (code, out, error) = mainstay(data, args, "");
    assert_eq!(code, 0, "{args:?}: {out}{error}");
    out
}

fn rejected(data: &Path, args: &[&str]) -> String {
    let (code, out, error) = mainstay(data, args, "");
    assert_ne!(code, 0, "{args:?}: {out}");
    assert_eq!(out, "", "{args:?}");
    error
}

#[test]
fn tools_are_listed_for_people_and_for_programs() {
    let data = tempfile::tempdir().unwrap();
    assert!(ok(data.path(), &["tools"]).lines().any(|line| line.starts_with("server_echo ") && line.contains("reads")));
    let all: Vec<Value> = serde_json::from_str(&ok(data.path(), &["tools", "--json"])).unwrap();
    let echo = all.iter().find(|tool| tool["name"] == "server_echo").unwrap();
    assert_eq!(echo["input_schema"]["required"][0], "text");
    assert_eq!(echo["input_schema"]["additionalProperties"], false);
    let error = rejected(data.path(), &["tools", "--tools", "fils"]);
    assert!(error.contains("\"fils\"") && error.contains("server"), "{error}");
}

#[test]
fn a_tool_is_called_with_pairs_with_json_and_from_standard_input() {
    let data = tempfile::tempdir().unwrap();
    for (args, input, text) in [
        (vec!["call", "server_echo", "text=a=b c"], "", "a=b c"),
        (vec!["call", "server_echo", "text=7"], "", "7"),
        (vec!["call", "server_echo", r#"{"text": "ü"}"#], "", "ü"),
        (vec!["call", "server_echo", "-"], r#"{"text": "in"}"#, "in"),
    ] {
        let (code, out, error) = mainstay(data.path(), &args, input);
        assert_eq!(code, 0, "{args:?} {error}");
        assert_eq!(serde_json::from_str::<Value>(&out).unwrap()["text"], text, "{args:?}");
    }
    assert!(ok(data.path(), &["audit", "verify"]).starts_with("intact: 4 rows"));
}

#[test]
fn errors_name_the_wrong_value() {
    let data = tempfile::tempdir().unwrap();
    for (args, words) in [
        (vec!["call", "server_ecko"], vec!["\"server_ecko\"", "mainstay tools"]),
        (vec!["call", "server_echo"], vec!["text", "required"]),
        (vec!["call", "server_echo", "txt=1"], vec!["txt", "required"]),
        (vec!["call", "server_echo", "{"], vec!["not JSON"]),
        (vec!["call", "server_echo", "text"], vec!["\"text\" is not key=value"]),
        (vec!["tools", "--store", "mysql://x"], vec!["mysql", "sqlite"]),
        (
            vec!["tools", "--store", "postgres://u:hidden@127.0.0.1:1/d"],
            vec!["postgres://***@127.0.0.1:1/d", "--store"],
        ),
        (vec!["tools", "--workspace", "/no/such/dir"], vec!["/no/such/dir"]),
        (vec!["tools", "--config", "/no/such.toml"], vec!["/no/such.toml"]),
        (vec!["tools", "--log", "lound=="], vec!["lound"]),
        (vec!["serve", "--listen", "nonsense"], vec!["nonsense"]),
        (vec!["frobnicate"], vec!["frobnicate"]),
    ] {
        let error = rejected(data.path(), &args);
        assert!(words.iter().all(|word| error.contains(word)), "{args:?}: {error}");
        assert!(!error.contains("hidden"), "{args:?}: {error}");
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let error = rejected(data.path(), &["serve", "--listen", &address]);
    assert!(error.contains(&address) && error.contains("--listen") && error.matches("in use").count() == 1, "{error}");
}

#[test]
fn the_configuration_can_be_shown_and_has_a_schema() {
    let data = tempfile::tempdir().unwrap();
    std::fs::create_dir(data.path().join("mainstay")).unwrap();
    std::fs::write(data.path().join("mainstay/config.toml"), "[engine]\ndeadline_seconds = 7\n").unwrap();
    let shown = ok(data.path(), &["config", "show"]);
    assert!(shown.contains("deadline_seconds = 7") && shown.contains("mainstay/config.toml"), "{shown}");
    let schema: Value = serde_json::from_str(&ok(data.path(), &["config", "schema"])).unwrap();
    assert!(schema["properties"]["engine"].is_object() && schema["properties"]["server"].is_object());
}

#[test]
fn the_doctor_says_what_to_do() {
    let data = tempfile::tempdir().unwrap();
    let healthy = ok(data.path(), &["doctor", "--listen", "127.0.0.1:0"]);
    assert!(!healthy.contains("BAD") && healthy.contains("sqlite opens and answers"), "{healthy}");
    let (code, sick, _) =
        mainstay(data.path(), &["doctor", "--listen", "0.0.0.0:0", "--workspace", "/no/such/dir"], "");
    assert_eq!(code, 1);
    assert!(sick.contains("/no/such/dir") && sick.contains("--workspace") && sick.contains("[server.auth]"), "{sick}");
}

#[test]
fn the_doctor_shows_what_grows() {
    let data = tempfile::tempdir().unwrap();
    ok(data.path(), &["call", "server_echo", "text=a"]);
    let report = ok(data.path(), &["doctor", "--listen", "127.0.0.1:0"]);
    let sizes = report.lines().find(|line| line.starts_with("ok    sizes ")).unwrap_or_else(|| panic!("{report}"));
    for topic in ["store ", "audit ", "agents ", "events ", "keys ", "sessions ", "archive 0 B in 0 files"] {
        assert!(sizes.contains(topic), "{topic}: {sizes}");
    }
}

#[test]
fn an_audit_archive_that_callers_could_change_is_refused() {
    let data = tempfile::tempdir().unwrap();
    let (config, workspace) = (data.path().join("mainstay/config.toml"), data.path().join("work"));
    std::fs::create_dir_all(config.parent().unwrap()).unwrap();
    std::fs::create_dir(&workspace).unwrap();
    let set = |archive: &Path| {
        std::fs::write(&config, format!("[engine.retention]\naudit_archive = {archive:?}\n")).unwrap();
    };
    set(&workspace.join("audit"));
    let error = rejected(data.path(), &["tools", "--workspace", workspace.to_str().unwrap()]);
    assert!(error.contains("engine.retention.audit_archive") && error.contains("work/audit"), "{error}");
    set(&data.path().join("mainstay/audit"));
    ok(data.path(), &["tools", "--workspace", workspace.to_str().unwrap()]);
}

#[test]
fn the_doctor_counts_the_caches_and_shows_the_cache_root() {
    let data = tempfile::tempdir().unwrap();
    let root = data.path().join("root");
    let doctor = |root: &Path| {
        let args = ["doctor", "--listen", "127.0.0.1:0", "--cache-root", root.to_str().unwrap()];
        let (code, report, _) = mainstay(data.path(), &args, "");
        let found = report.lines().skip_while(|line| !line.get(6..).is_some_and(|line| line.starts_with("caches ")));
        (code, found.take(2).collect::<Vec<_>>().join("\n"))
    };
    let (code, line) = doctor(&root);
    assert!(code == 0 && line.starts_with("note") && line.contains(root.to_str().unwrap()), "{line}");
    std::fs::create_dir_all(root.join("no cache")).unwrap();
    assert!(doctor(&root).1.starts_with("ok    caches          0 in "));
    std::fs::create_dir_all(root.join("cache")).unwrap();
    std::fs::write(root.join("cache/manifest.json"), "{}").unwrap();
    assert!(doctor(&root).1.starts_with("ok    caches          1 in "));
    std::os::unix::fs::symlink("loop", data.path().join("loop")).unwrap();
    let (code, line) = doctor(&data.path().join("loop"));
    assert!(code == 1 && line.starts_with("BAD") && line.contains("--cache-root"), "{line}");
}

#[test]
fn the_program_behaves_as_the_name_it_is_started_under() {
    let data = tempfile::tempdir().unwrap();
    let server = |args: &[&str]| started_as("/usr/bin/mcp-context-server", data.path(), args, "");
    let (code, out, error) = server(&[]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(error.starts_with("mcp-context-server: ") && error.contains("CONTEXT_CACHE_ROOT"), "{error}");
    assert_eq!(server(&["tools"]).0, 1, "it has no commands");
    let (code, help, _) = server(&["--help"]);
    assert_eq!(code, 0);
    for word in ["mcp-context-server", "CONTEXT_CACHE_ROOT", "CONTEXT_TOOL_TIMEOUT_SECS", "--cache-root"] {
        assert!(help.contains(word), "{word}: {help}");
    }
    assert!(!help.contains("--listen"), "{help}");
    let error = rejected(data.path(), &["stdio", "--dialect", "context"]);
    assert!(error.starts_with("mainstay: ") && error.contains("CONTEXT_CACHE_ROOT"), "{error}");
}

#[test]
fn settings_for_other_servers_do_not_stop_the_context_server_from_starting() {
    let data = tempfile::tempdir().unwrap();
    let own = data.path().join("mainstay");
    std::fs::create_dir(&own).unwrap();
    let config = format!(
        "store = \"sqlite:{}/aside.db\"\n[files]\nroots = [{{path = \"/no/such/root\"}}]\n[exec]\nread = [\"/no/such\"]\n",
        data.path().display()
    );
    std::fs::write(own.join("config.toml"), config).unwrap();
    let greeting = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}\n";
    for (name, args) in [("mcp-context-server", &[][..]), ("mainstay", &["stdio", "--dialect", "context"])] {
        let mut command = program(name, data.path(), args);
        command.env("CONTEXT_CACHE_ROOT", data.path()).env("MAINSTAY_WORKSPACE", "/no/such/dir").current_dir(&own);
        if name == "mcp-context-server" {
            command.env("MAINSTAY_LISTEN", "nonsense").env("MAINSTAY_TOOLS", "fils");
        }
        let (code, out, error) = run_to_end(command, greeting);
        assert_eq!(code, 0, "{name}: {error}");
        let answer: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(answer["result"]["serverInfo"]["name"], "mcp-context-server", "{name}: {out}");
    }
    let mut homeless = program("mcp-context-server", data.path(), &["--cache-root", "."]);
    homeless.env_remove("HOME").env_remove("XDG_DATA_HOME");
    let (code, out, error) = run_to_end(homeless, greeting);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(["HOME", "--data-dir", "MAINSTAY_DATA_DIR"].iter().all(|word| error.contains(word)), "{error}");
}

#[test]
fn an_empty_cache_root_counts_as_unset() {
    let data = tempfile::tempdir().unwrap();
    for (name, args) in [("mcp-context-server", &[][..]), ("mainstay", &["stdio", "--dialect", "context"])] {
        let mut command = program(name, data.path(), args);
        command.env("CONTEXT_CACHE_ROOT", "");
        let (code, _, error) = run_to_end(command, "");
        assert_eq!(code, 1, "{error}");
        assert!(error.starts_with(name) && error.contains("set CONTEXT_CACHE_ROOT"), "{error}");
    }
    let mut listing = program("mainstay", data.path(), &["tools"]);
    listing.env("CONTEXT_CACHE_ROOT", "");
    assert_eq!(run_to_end(listing, "").0, 0, "the default holds");
    assert_eq!(mainstay(data.path(), &["tools", "--cache-root", ""], "").0, 2, "typed, it is a mistake");
}

#[test]
fn cache_commands_take_no_server_options() {
    let data = tempfile::tempdir().unwrap();
    for name in ["mainstay", "context"] {
        let shown = if name == "mainstay" { "mainstay context" } else { name };
        let run = |args: &[&str]| {
            let words = if name == "mainstay" { &["context"][..] } else { &[] };
            let mut command = program(name, data.path(), &[words, args].concat());
            for variable in ["MAINSTAY_LISTEN", "MAINSTAY_LOG_FORMAT", "MAINSTAY_CONFIG", "CONTEXT_CACHE_ROOT"] {
                command.env(variable, "");
            }
            run_to_end(command, "")
        };
        let (code, help, _) = run(&["build", "--help"]);
        assert_eq!(code, 0);
        assert!(help.contains(&format!("Usage: {shown} build")) && !help.contains("--workspace"), "{help}");
        let (code, version, _) = run(&["--version"]);
        assert_eq!((code, version), (0, format!("{shown} {}\n", env!("CARGO_PKG_VERSION"))));
        let (code, _, error) = run(&["inspect", "--cache", "none", "--log", "warn"]);
        assert_eq!(code, 1, "{error}");
        assert!(error.contains(&format!("Usage: {shown} inspect")), "{error}");
        assert_eq!(run(&["inspect", "--cache", "none"]).0, 4);
    }
}

#[test]
fn a_file_in_place_of_a_directory_is_reported() {
    let data = tempfile::tempdir().unwrap();
    std::fs::write(data.path().join("file.md"), "text").unwrap();
    for (args, code) in [
        (&["build", "--sources", "file.md", "--cache", "new"][..], 6),
        (&["resolve", "--cache", "file.md", "--query", "", "--budget", "1"], 4),
        (&["inspect", "--cache", "file.md"], 4),
        (&["verify", "--cache", "file.md"], 4),
    ] {
        let ended = started_as("context", data.path(), args, "");
        assert_eq!(ended, (code, String::new(), "error: file.md is not a directory.\n".to_owned()), "{args:?}");
    }
    let (code, _, error) = started_as("context", data.path(), &["inspect", "--cache", "file.md/x"], "");
    assert_eq!(code, 4);
    assert!(error.contains("There is no directory file.md/x"), "{error}");
}

#[test]
fn help_and_completions_are_printed() {
    let data = tempfile::tempdir().unwrap();
    let help = ok(data.path(), &["--help"]);
    for word in [
        "serve",
        "stdio",
        "tools",
        "call",
        "context",
        "doctor",
        "audit",
        "config",
        "completions",
        "--workspace",
        "8099",
    ] {
        assert!(help.contains(word), "{word}");
    }
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = ok(data.path(), &["completions", shell]);
        assert!(script.contains("mainstay") && script.contains("sources"), "{shell}");
    }
}
