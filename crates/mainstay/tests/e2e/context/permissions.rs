//! Files that the system does not let the program read: an I/O error on every interface, never a missing or damaged cache.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::testing::context_caches::{COMMANDS, Caches, Context, SERVERS};
use crate::testing::program::{Server, command};

/// Root reads whatever it likes. Without that privilege the same program is held to what the files say.
fn without_root(command: &Command) -> Command {
    let everything = fs::metadata("/proc/self").unwrap().uid() == 0;
    let mut held = Command::new(if everything { "setpriv".as_ref() } else { command.get_program() });
    if everything {
        held.arg("--bounding-set=-dac_override,-dac_read_search").arg(command.get_program());
    }
    held.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => held.env(name, value),
            None => held.env_remove(name),
        };
    }
    if let Some(directory) = command.get_current_dir() {
        held.current_dir(directory);
    }
    held
}

fn dialect(caches: &Caches) -> Context {
    caches.server_of(without_root(&caches.command(&SERVERS[0])))
}

fn mcp(caches: &Caches) -> Server {
    let root = caches.root();
    let args = ["serve", "--listen", "127.0.0.1:0", "--cache-root", root.to_str().unwrap()];
    Server::from(without_root(&command(&caches.path("data"), &args)))
}

/// Does something while nobody may read what is there.
fn while_closed(path: &Path, what: impl FnOnce()) {
    let before = fs::metadata(path).unwrap().permissions();
    fs::set_permissions(path, fs::Permissions::from_mode(0o000)).unwrap();
    what();
    fs::set_permissions(path, before).unwrap();
}

/// The cache, and what of it a question needs.
fn parts(caches: &Caches) -> Vec<PathBuf> {
    let guide = caches.root().join("guide");
    let document = fs::read_dir(guide.join("documents")).unwrap().next().unwrap().unwrap().path();
    vec![guide.clone(), guide.join("manifest.json"), guide.join("documents"), document]
}

fn caches() -> Caches {
    Caches::with("guide", &[("a.md", "alpha"), ("b.md", "beta")])
}

#[test]
fn an_unreadable_cache_is_an_io_error_in_the_dialect() {
    let caches = caches();
    let mut server = dialect(&caches);
    let expected = server.resolve("guide", "alpha", 100).unwrap();
    for part in parts(&caches) {
        while_closed(&part, || {
            assert_eq!(server.resolve("guide", "alpha", 100), Err("io_error".into()), "{}", part.display());
            assert_eq!(server.inspect("guide"), Err("io_error".into()), "{}", part.display());
        });
        assert_eq!(server.resolve("guide", "alpha", 100).as_ref(), Ok(&expected), "{}", part.display());
    }
    while_closed(&caches.root(), || {
        assert_eq!(server.resolve("guide", "alpha", 100), Err("io_error".into()));
        assert_eq!(server.inspect("guide"), Err("io_error".into()));
        assert_eq!(server.call("context.list_caches", &json!({})), Err("io_error".into()));
    });
}

#[test]
fn an_unreadable_cache_ends_the_command_line_with_status_6() {
    let caches = caches();
    let resolve = ["resolve", "--cache", "caches/guide", "--query", "alpha", "--budget", "100"];
    for part in parts(&caches) {
        while_closed(&part, || {
            for args in [&resolve[..], &["inspect", "--cache", "caches/guide"], &["verify", "--cache", "caches/guide"]]
            {
                let out = without_root(caches.command(&COMMANDS[0]).args(args)).output().unwrap();
                let said = String::from_utf8(out.stderr).unwrap();
                assert_eq!((out.status.code(), out.stdout), (Some(6), Vec::new()), "{}: {said}", part.display());
                let name = part.file_name().unwrap().to_str().unwrap();
                assert!(said.starts_with("error: ") && said.contains(name), "{args:?}, {name}: {said}");
            }
        });
    }
    let sources = caches.path("sources/guide/a.md");
    while_closed(&sources, || {
        let mut command = caches.command(&COMMANDS[0]);
        command.args(["build", "--sources", "sources/guide", "--cache", "caches/other"]);
        let out = without_root(&command).output().unwrap();
        let said = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(6), "{said}");
        assert!(said.contains("a.md") && !caches.root().join("other").exists(), "{said}");
    });
}

#[test]
fn an_unreadable_cache_has_the_same_code_on_mcp_without_its_path() {
    let caches = caches();
    let everything = mcp(&caches);
    let args = json!({"cache": "guide", "query": "alpha", "budget": 100});
    assert_ne!(everything.call("context_resolve", &args)["result"]["isError"], true);
    for part in parts(&caches) {
        while_closed(&part, || {
            for (tool, args) in
                [("context_resolve", args.clone()), ("context_inspect_cache", json!({"cache": "guide"}))]
            {
                let answer = everything.call(tool, &args);
                let code = &answer["result"]["_meta"]["io.mainstay/error"]["data"]["code"];
                assert_eq!(code, "io_error", "{}: {answer}", part.display());
                assert!(!answer.to_string().contains(caches.around().to_str().unwrap()), "{answer}");
            }
            let read = everything.connect().request("resources/read", json!({"uri": "context://guide/a.md"}), &[]);
            let read = read.unwrap().message();
            assert!(read["error"]["code"].is_i64(), "{}: {read}", part.display());
            assert!(!read.to_string().contains("alpha") && !read.to_string().contains("os error"), "{read}");
        });
    }
}
