//! Every attack on a path, on every tool that takes one.

use std::collections::BTreeSet;

use mainstay_core::{Kind, Reply};
use serde_json::{Value, json};

use crate::{Fixture, SECRET};

/// The calls of a tool with a path in each argument that takes one.
fn arguments_with(tool: &str, path: &str) -> Vec<Value> {
    let patch = format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-{SECRET}\n+x\n");
    let fresh = format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n");
    match tool {
        "files_read" => vec![json!({"path": path}), json!({"path": path, "encoding": "base64"})],
        "files_read_many" => vec![json!({"paths": [path]})],
        "files_head" | "files_tail" | "files_stat" => vec![json!({"path": path})],
        "files_list" | "files_tree" => vec![json!({"path": path, "ignored": true})],
        "files_glob" => vec![
            json!({"patterns": ["**"], "path": path, "ignored": true}),
            json!({"patterns": [path, format!("{path}/**")], "ignored": true}),
        ],
        "files_grep" => vec![json!({"pattern": "nobody", "path": path, "ignored": true})],
        "files_write" => vec![
            json!({"path": path, "content": "x", "overwrite": true}),
            json!({"path": format!("{path}/new"), "content": "x"}),
        ],
        "files_append" => {
            vec![json!({"path": path, "content": "x"}), json!({"path": format!("{path}/new"), "content": "x"})]
        }
        "files_edit" => vec![json!({"path": path, "edits": [{"old": "nobody", "new": "x"}]})],
        "files_patch" => vec![json!({"patch": patch}), json!({"patch": fresh})],
        "files_mkdir" => vec![json!({"path": path}), json!({"path": format!("{path}/new")})],
        "files_delete" => vec![json!({"path": path, "recursive": true})],
        "files_copy" | "files_move" => vec![
            json!({"from": path, "to": "taken"}),
            json!({"from": "harmless", "to": path, "overwrite": true}),
            json!({"from": "harmless", "to": format!("{path}/new")}),
        ],
        "files_change" => vec![
            json!({"changes": [{"op": "write", "path": path, "content": "x", "overwrite": true}]}),
            json!({"changes": [{"op": "write", "path": "made-too", "content": "x"}, {"op": "delete", "path": path, "recursive": true}]}),
            json!({"changes": [{"op": "copy", "from": path, "to": "taken"}]}),
            json!({"changes": [{"op": "move", "from": path, "to": "taken"}]}),
            json!({"changes": [{"op": "mkdir", "path": path}]}),
        ],
        "exec_run" | "exec_start" => vec![json!({"command": "cat", "args": ["secret", "config"], "cwd": path})],
        "context_resolve" => vec![json!({"cache": path, "query": "", "budget": 1_000_000})],
        "context_inspect_cache" => vec![json!({"cache": path})],
        "templates_scaffold" => {
            let project = |name: &str| json!({"toolchain": "rust", "templates": ["makefile"], "parameters": {"project_name": name}, "overwrite": true});
            let aimed = |name: &str, member: &str, value: Value| {
                let mut args = project(name);
                args[member] = value;
                args
            };
            vec![
                aimed("demo", "write_to", json!(path)),
                aimed(path, "write_to", json!(".")),
                aimed("demo", "templates", json!([path])),
                aimed("demo", "toolchain", json!(path)),
            ]
        }
        "templates_generate" => {
            vec![json!({"resource_uri": path}), json!({"resource_uri": format!("template://makefile/{path}/cli")})]
        }
        "templates_validate" => vec![json!({"resource_uri": format!("template://{path}")})],
        "templates_list" => vec![json!({"toolchain": path}), json!({"category": path})],
        "templates_search" => vec![json!({"query": "makefile", "toolchain": path})],
        "code_complexity" => vec![json!({"project_path": path, "toolchain": "all"})],
        "code_functions" | "code_duplicates" => vec![json!({"project_path": path})],
        "code_churn" => vec![json!({"project_path": path}), json!({"project_path": path, "hotspots": true})],
        "search_similar" => vec![json!({"path": path}), json!({"path": path, "line_start": 1})],
        "search_symbols" => vec![json!({"name": "nobody", "path_prefix": path})],
        "vector_search" => vec![
            json!({"query": "nobody may read this", "namespace": path}),
            json!({"query": "nobody may read this", "filter": {"path_prefix": path}}),
        ],
        // A namespace is no path, and must not become one.
        "index_status" | "index_refresh" => vec![json!({"namespace": path})],
        "vector_delete" => vec![json!({"namespace": path, "all": true})],
        "vector_upsert" => vec![json!({"namespace": path, "documents": [{"id": "a", "text": "x"}]})],
        // These take no path.
        "exec_write" | "exec_read" | "exec_resize" | "exec_kill" | "exec_list" => Vec::new(),
        other if ["server_", "agents_", "solana_"].iter().any(|family| other.starts_with(family)) => Vec::new(),
        "context_list_caches" => Vec::new(),
        other => panic!("{other} is not in the table of attacks: say how a path is aimed at it, or that it takes none"),
    }
}

/// Paths that lead out of the workspace, or to protected files in it.
fn attacks(fixture: &Fixture) -> Vec<String> {
    let fixed = [
        "..",
        "../ws-evil",
        "../ws-evil/secret",
        "sub/../../ws-evil/secret",
        "sub/../../../../../../../../../../etc/passwd",
        "./../ws-evil/secret",
        ".//..//ws-evil//secret",
        "/etc/passwd",
        "//etc/passwd",
        "/proc/self/root/etc/passwd",
        "/proc/self/environ",
        "/dev/stdin",
        "out",
        "out/secret",
        "out-file",
        "absolute",
        "absolute/secret",
        "chain/secret",
        "magic/etc/passwd",
        "loop",
        "dangling",
        "sub/up/up/ws-evil/secret",
        "\0",
        "harmless\0.txt",
        ".git",
        ".git/config",
        ".GIT/config",
        ".Git/config",
        ".git./config",
        ".git /config",
        ".g\u{200c}it/config",
        "\u{ff0e}git/config",
        "git~1/config",
        "sub/../.git/config",
        "to-git",
        "to-git/config",
        ".env",
        ".ENV",
        "to-env",
        "server.pem",
        ".ssh/id_rsa",
    ];
    let mut all: Vec<String> = fixed.iter().map(|path| (*path).to_owned()).collect();
    all.push(fixture.outside.display().to_string());
    all.push(fixture.outside.join("secret").display().to_string());
    all.push(format!("{}-evil/secret", fixture.inside.display()));
    all.push(format!("{}/../ws-evil/secret", fixture.inside.display()));
    all.push("a/".repeat(3000));
    all
}

/// Texts that look like attacks but are plain names, which do not exist.
const MERE_NAMES: &[&str] = &[
    "%2e%2e/ws-evil/secret",
    "..%2fws-evil%2fsecret",
    "....//ws-evil/secret",
    "..\\ws-evil\\secret",
    "~/secret",
    "file:///etc/passwd",
];

fn create_targets(fixture: &Fixture) {
    let inside = &fixture.inside;
    for directory in [".git", "sub", ".ssh"] {
        std::fs::create_dir_all(inside.join(directory)).unwrap();
    }
    for file in [".git/config", ".env", "server.pem", ".ssh/id_rsa"] {
        std::fs::write(inside.join(file), SECRET).unwrap();
    }
    std::fs::write(inside.join("harmless"), "harmless").unwrap();
    for (target, name) in [
        ("../ws-evil", "out"),
        ("../ws-evil/secret", "out-file"),
        ("out", "chain"),
        ("/proc/self/root", "magic"),
        ("loop", "loop"),
        ("../ws-evil/new", "dangling"),
        ("../..", "sub/up"),
        (".git", "to-git"),
        (".env", "to-env"),
    ] {
        std::os::unix::fs::symlink(target, inside.join(name)).unwrap();
    }
    std::os::unix::fs::symlink(&fixture.outside, inside.join("absolute")).unwrap();
}

/// Everything in the workspace: names with contents, and links with their targets.
fn snapshot(fixture: &Fixture) -> BTreeSet<(String, String)> {
    let mut seen = BTreeSet::new();
    let mut ahead = vec![fixture.inside.clone()];
    while let Some(directory) = ahead.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let content = match std::fs::read_link(&path) {
                Ok(target) => target.display().to_string(),
                Err(_) if path.is_dir() => String::new(),
                Err(_) => std::fs::read_to_string(&path).unwrap(),
            };
            if path.is_dir() && !path.is_symlink() {
                ahead.push(path.clone());
            }
            seen.insert((path.display().to_string(), content));
        }
    }
    seen
}

fn reply_text(reply: &Reply) -> String {
    format!("{:?} {:?}", reply.structured, reply.content)
}

#[tokio::test(flavor = "multi_thread")]
async fn no_path_leads_any_tool_outside_the_workspace_or_to_protected_files() {
    let fixture = Fixture::new().await;
    create_targets(&fixture);
    let before = snapshot(&fixture);
    let tools: Vec<String> = fixture.registry.all_tools().map(|tool| tool.listed.clone()).collect();
    let (mut tried, mut wrong) = (0, Vec::new());
    for attack in attacks(&fixture) {
        for tool in &tools {
            for args in arguments_with(tool, &attack) {
                tried += 1;
                match fixture.call(tool, args.clone()).await {
                    Ok(reply) => {
                        let (told, about) = (reply_text(&reply), format!("{tool} {args}"));
                        if told.contains(SECRET) || told.contains("root:x:") {
                            wrong.push(format!("{about} leaked"));
                        }
                        // A link itself may be examined, moved and removed: it belongs to the workspace.
                        let about_the_entry = ["files_stat", "files_move", "files_delete", "files_change"];
                        // Of a directory that is no cache nothing more is said than that.
                        let of_several = ["files_read_many", "files_glob", "context_inspect_cache"];
                        // A prefix that no indexed file has leaves nothing to find, and `out` is also a name of a namespace.
                        let by_prefix = args["path_prefix"].is_string() || args["filter"]["path_prefix"].is_string();
                        let by_name = args["namespace"] == *attack && !attack.contains('/');
                        let may_answer = about_the_entry.contains(&tool.as_str())
                            || of_several.contains(&tool.as_str())
                            || by_prefix
                            || by_name;
                        if !may_answer {
                            wrong.push(format!("{about} was answered: {told}"));
                        }
                    }
                    Err(error) => {
                        let no_cache = error.kind == Kind::Unavailable && tool == "context_resolve";
                        let refused =
                            matches!(error.kind, Kind::Invalid | Kind::Denied | Kind::NotFound | Kind::Conflict);
                        if !refused && !no_cache {
                            wrong.push(format!("{tool} {args}: {:?} {error} {:?}", error.kind, error.detail));
                        }
                        let public = format!("{} {:?}", error.public, error.reason);
                        if public.contains(SECRET) {
                            wrong.push(format!("{tool} {args}: the refusal leaks: {public}"));
                        }
                    }
                }
                fixture.assert_outside_unchanged();
                restore(&fixture, &before);
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {tried}:\n{}", wrong.len(), wrong.join("\n"));
    println!("{tried} attempts, none succeeded");
}

/// Restores what may be changed (links, by move and delete); the rest must be unchanged.
fn restore(fixture: &Fixture, before: &BTreeSet<(String, String)>) {
    let now = snapshot(fixture);
    if now == *before {
        return;
    }
    for (path, content) in before {
        let protected = content == SECRET;
        assert!(!protected || now.contains(&(path.clone(), content.clone())), "{path} was changed");
    }
    // The handle of the root must stay valid, so its directory is emptied and not replaced.
    for entry in std::fs::read_dir(&fixture.inside).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) }
            .unwrap();
    }
    create_targets(fixture);
}

#[tokio::test]
async fn texts_that_only_look_like_attacks_are_plain_names() {
    let fixture = Fixture::new().await;
    create_targets(&fixture);
    for path in MERE_NAMES {
        for tool in [
            "files_read",
            "files_head",
            "files_tail",
            "files_stat",
            "files_list",
            "files_tree",
            "files_grep",
            "files_edit",
            "files_delete",
        ] {
            for args in arguments_with(tool, path) {
                let refused = fixture.call(tool, args.clone()).await.err();
                assert_eq!(refused.map(|error| error.kind), Some(Kind::NotFound), "{tool} {args}");
            }
        }
    }
    fixture.assert_outside_unchanged();
}
