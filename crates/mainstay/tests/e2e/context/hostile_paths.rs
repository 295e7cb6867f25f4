//! Caches prepared by an attacker: nothing outside the root is read, nothing hangs, memory stays bounded.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::testing::context_caches::{Caches, Context, SERVERS};
use crate::testing::fixture::copy_to;

const MIB: u64 = 1 << 20;

fn caches() -> Caches {
    Caches::with("guide", &[("a.md", "alpha"), ("b.md", "beta")])
}

/// A second cache that is not in the root, though whole.
fn outside(caches: &Caches) -> PathBuf {
    caches.write("secret", &[("a.md", "alpha canary")]);
    let place = caches.path("outside");
    let out = caches.context(&["build", "--sources", "sources/secret", "--cache", place.to_str().unwrap()]);
    assert!(out.status.success());
    place
}

fn is_missing(server: &mut Context, name: &str) {
    assert_eq!(server.resolve(name, "alpha", 100), Err("cache_missing".into()), "{name:?}");
    assert_eq!(server.inspect(name), Err("cache_missing".into()), "{name:?}");
}

#[test]
fn a_symlink_is_followed_within_the_root_and_not_out_of_it() {
    let caches = caches();
    let (outside, root) = (outside(&caches), caches.root());
    for (name, target) in [
        ("out", outside.clone()),
        ("relative", "../outside".into()),
        ("up", "..".into()),
        ("system", "/".into()),
        ("twice", "out".into()),
        ("loop", "loop".into()),
        ("dangling", "nowhere".into()),
    ] {
        symlink(target, root.join(name)).unwrap();
    }
    fs::create_dir(root.join("team")).unwrap();
    symlink(&outside, root.join("team/out")).unwrap();
    let mut server = caches.server();
    for name in ["out", "relative", "up/outside", "system/etc", "twice", "loop", "dangling", "team/out", "out/."] {
        is_missing(&mut server, name);
    }
    let expected = server.resolve("guide", "alpha", 100).unwrap();
    symlink("guide", root.join("inside")).unwrap();
    symlink("../guide", root.join("team/inside")).unwrap();
    for name in ["inside", "team/inside", "team/../guide"] {
        let answer = server.resolve(name, "alpha", 100);
        let allowed = if name.contains("..") { Err("cache_missing".into()) } else { Ok(expected.clone()) };
        assert_eq!(answer, allowed, "{name}");
    }
    assert_eq!(server.list(), [("guide".to_owned(), true), ("team".to_owned(), false)], "links are not listed");
}

#[test]
fn a_root_that_is_a_symlink_is_resolved() {
    let caches = caches();
    symlink("caches", caches.path("link")).unwrap();
    let mut command = caches.command(&SERVERS[0]);
    command.env("CONTEXT_CACHE_ROOT", caches.path("link"));
    let mut server = caches.server_of(command);
    assert_eq!(server.resolve("guide", "alpha", 100), Ok(caches.resolve("guide", "alpha", 100)));
    assert_eq!(server.list(), [("guide".to_owned(), true)]);
}

#[test]
fn invalid_names_are_rejected_whatever_exists() {
    let caches = caches();
    let mut server = caches.server();
    // Each of these would lead to a cache if it were taken as it stands.
    let absolute = caches.root().join("guide").to_str().unwrap().to_owned();
    fs::rename(outside(&caches), caches.path("caches/\\guide")).unwrap();
    for name in ["../caches/guide", &absolute, "\\guide", "guide/../guide", "guide\0", "guide/\0/.."] {
        is_missing(&mut server, name);
    }
}

/// What may stand where a file or a directory is meant to be.
const STRANGERS: [&str; 7] =
    ["fifo", "directory", "link out", "dangling link", "endless link", "looping link", "socket"];

fn put(stranger: &str, at: &Path, outside: &Path) {
    match stranger {
        "fifo" => assert!(Command::new("mkfifo").arg(at).status().unwrap().success()),
        "directory" => fs::create_dir(at).unwrap(),
        "link out" => symlink(outside, at).unwrap(),
        "dangling link" => symlink("nowhere", at).unwrap(),
        "endless link" => symlink("/dev/zero", at).unwrap(),
        "looping link" => symlink(at.file_name().unwrap(), at).unwrap(),
        _ => drop(std::os::unix::net::UnixListener::bind(at).unwrap()),
    }
}

#[test]
fn special_files_are_never_read() {
    let caches = caches();
    let (whole, document) = (caches.path("whole"), first_document(&caches.root().join("guide")));
    fs::rename(caches.root().join("guide"), &whole).unwrap();
    let mut server = caches.server();
    for part in ["manifest.json", "documents", &document, "index.json"] {
        for stranger in STRANGERS {
            if (part, stranger) == ("documents", "directory") {
                continue;
            }
            let cache = caches.root().join("guide");
            copy_to(&whole, &cache);
            let at = cache.join(part);
            if at.is_dir() {
                fs::remove_dir_all(&at).unwrap()
            } else {
                fs::remove_file(&at).unwrap()
            }
            put(stranger, &at, &whole.join(part));
            let what = format!("{stranger} as {part}");
            let answer = server.resolve("guide", "alpha", 100);
            match part {
                "index.json" => assert!(answer.is_ok(), "{what}: {answer:?}"),
                _ => assert_eq!(answer, Err("cache_invalid".into()), "{what}"),
            }
            assert_eq!(server.inspect("guide").unwrap()["valid"], part == "index.json", "{what}");
            assert_eq!(server.list(), [("guide".to_owned(), part != "manifest.json")], "{what}");
            on_the_command_line(&caches, part, &what);
            fs::remove_dir_all(&cache).unwrap();
        }
    }
}

/// The same caches, asked from the command line: it ends, with the exit code of what is wrong.
fn on_the_command_line(caches: &Caches, part: &str, what: &str) {
    let resolve = ["resolve", "--cache", "caches/guide", "--query", "alpha", "--budget", "100"];
    let code = caches.context(&resolve).status.code().unwrap();
    assert_eq!(code, if part == "index.json" { 0 } else { 5 }, "{what}");
    assert_eq!(caches.verify("guide").0, 5, "{what}");
}

fn first_document(cache: &Path) -> String {
    let name = fs::read_dir(cache.join("documents")).unwrap().next().unwrap().unwrap().file_name();
    format!("documents/{}", name.to_str().unwrap())
}

#[test]
fn oversized_files_are_rejected_without_being_read() {
    let caches = caches();
    let mut server = caches.server();
    assert!(server.resolve("guide", "alpha", 100).is_ok());
    let before = server.piped.peak_memory();
    let cache = caches.root().join("guide");
    for part in [first_document(&cache), "manifest.json".to_owned(), "index.json".to_owned()] {
        let file = fs::OpenOptions::new().write(true).open(cache.join(&part)).unwrap();
        let length = file.metadata().unwrap().len();
        file.set_len(4 << 30).unwrap();
        let answer = server.resolve("guide", "alpha", 100);
        match part.as_str() {
            "index.json" => assert!(answer.is_ok(), "{answer:?}"),
            _ => assert_eq!(answer, Err("cache_invalid".into()), "{part}"),
        }
        assert_eq!(server.inspect("guide").unwrap()["valid"], part == "index.json", "{part}");
        on_the_command_line(&caches, &part, &part);
        file.set_len(length).unwrap();
        assert!(server.resolve("guide", "alpha", 100).is_ok(), "{part} is what it was");
    }
    let grown = server.piped.peak_memory() - before;
    assert!(grown < 64 * MIB, "it grew by {grown} bytes");
}

#[test]
fn a_manifest_with_a_false_document_count_allocates_nothing() {
    let caches = caches();
    let mut server = caches.server();
    let manifest = caches.root().join("guide/manifest.json");
    let whole = fs::read_to_string(&manifest).unwrap();
    let before = server.piped.peak_memory();
    for count in ["1000000000", "18446744073709551615"] {
        fs::write(&manifest, whole.replace("\"document_count\": 2", &format!("\"document_count\": {count}"))).unwrap();
        assert_eq!(server.resolve("guide", "alpha", 100), Err("cache_invalid".into()), "{count}");
    }
    assert!(server.piped.peak_memory() - before < 16 * MIB);
}

#[test]
fn a_document_changed_under_a_running_server_is_detected() {
    let caches = caches();
    let mut server = caches.server();
    let expected = server.resolve("guide", "alpha", 100).unwrap();
    let document = caches.root().join("guide").join(first_document(&caches.root().join("guide")));
    let whole = fs::read_to_string(&document).unwrap();
    for changed in [whole.replace("alpha", "alphb").replace("beta", "betb"), whole.replace("{}", "[]"), String::new()] {
        fs::write(&document, &changed).unwrap();
        assert_eq!(server.resolve("guide", "alpha", 100), Err("cache_invalid".into()), "{changed}");
        assert_eq!(server.inspect("guide").unwrap()["valid"], json!(false));
        fs::write(&document, &whole).unwrap();
        assert_eq!(server.resolve("guide", "alpha", 100).as_ref(), Ok(&expected));
    }
}
