//! Building caches: the same sources give the same bytes, and a failed build leaves the old cache.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Output};

use serde_json::Value;

use crate::testing::context_caches::{COMMANDS, Caches, tree};

const BUILD: [&str; 5] = ["build", "--sources", "sources/guide", "--cache", "caches/guide"];

/// Exit status, and what it says; a build prints nothing.
fn ended(out: &Output) -> (i32, String) {
    assert_eq!(out.stdout, b"");
    (out.status.code().unwrap(), String::from_utf8(out.stderr.clone()).unwrap())
}

#[test]
fn a_build_does_not_depend_on_file_creation_order() {
    let documents: Vec<(String, String)> =
        (0..150).map(|nth| (format!("{}/D{nth}.md", nth % 7), format!("text {}", nth / 2))).collect();
    let documents: Vec<(&str, &str)> = documents.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let reversed: Vec<(&str, &str)> = documents.iter().rev().copied().collect();
    let (first, second) = (Caches::with("guide", &documents), Caches::with("guide", &reversed));
    let built = tree(&first.root());
    assert_eq!(built.len(), 150 + 2);
    assert!(built == tree(&second.root()), "another order gives other bytes");
    first.build("guide");
    assert!(built == tree(&first.root()), "a second time gives other bytes");
    assert_eq!(first.verify("guide").0, 0);
}

#[test]
fn without_source_date_epoch_only_created_at_differs() {
    let caches = Caches::with("guide", &[("a.md", "alpha")]);
    let fixed = tree(&caches.root().join("guide"));
    let mut command = caches.command(&COMMANDS[0]);
    command.env_remove("SOURCE_DATE_EPOCH").args(BUILD).arg("--force");
    assert_eq!(ended(&command.output().unwrap()).0, 0);
    let now = tree(&caches.root().join("guide"));
    let manifest = |files: &std::collections::BTreeMap<_, Vec<u8>>| {
        let mut manifest: Value = serde_json::from_slice(&files[std::path::Path::new("manifest.json")]).unwrap();
        (manifest["created_at"].take(), manifest)
    };
    let ((then, before), (today, after)) = (manifest(&fixed), manifest(&now));
    assert_eq!(before, after);
    assert_eq!(then, "2023-11-14T22:13:20Z");
    assert!(today.as_str().unwrap() > "2024" && today.as_str().unwrap().ends_with('Z'), "{today}");
    assert!(fixed.iter().all(|(path, bytes)| path.ends_with("manifest.json") || now[path] == *bytes));
}

#[test]
fn sixty_documents_of_equal_content_have_a_file_each() {
    let documents: Vec<String> = (0..60).map(|nth| format!("{nth:02}.md")).collect();
    let documents: Vec<(&str, &str)> = documents.iter().map(|path| (path.as_str(), "same")).collect();
    let caches = Caches::with("guide", &documents);
    let manifest = fs::read(caches.root().join("guide/manifest.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    let digits = manifest["documents"][0]["version"].as_str().unwrap().strip_prefix("sha256:").unwrap().to_owned();
    let stems = (12..=64).map(|length| digits[..length].to_owned()).chain((1..).map(|nth| format!("{digits}-{nth}")));
    for (entry, stem) in manifest["documents"].as_array().unwrap().iter().zip(stems) {
        assert_eq!(entry["file"], format!("documents/{stem}.json"), "{}", entry["id"]);
    }
    assert_eq!(caches.verify("guide").0, 0);
    assert!(caches.resolve("guide", "same", 1000).contains(r#""documents_selected":60,"#));
}

#[test]
fn two_sources_with_the_same_id_are_rejected_with_both_names() {
    let caches = Caches::with("guide", &[("Read.md", "upper")]);
    let before = tree(&caches.root());
    caches.write("guide", &[("read.md", "lower")]);
    let (code, said) = ended(&caches.context(&[&BUILD[..], &["--force"]].concat()));
    assert_eq!(code, 5, "{said}");
    assert!(said.starts_with("error: ") && said.contains("Read.md") && said.contains("read.md"), "{said}");
    assert!(tree(&caches.root()) == before && caches.left_over().is_empty());
}

#[test]
fn a_symlink_out_of_the_sources_is_rejected_and_one_within_is_a_document() {
    let caches = Caches::new();
    caches.write("guide", &[("a.md", "alpha")]);
    symlink("a.md", caches.path("sources/guide/b.md")).unwrap();
    caches.build("guide");
    let whole = tree(&caches.root());
    assert!(caches.resolve("guide", "alpha", 100).contains(r#""id":"b.md""#));
    fs::write(caches.path("secret"), "canary").unwrap();
    for target in ["../../secret", caches.path("secret").to_str().unwrap(), "/etc/hostname"] {
        symlink(target, caches.path("sources/guide/c.md")).unwrap();
        let (code, said) = ended(&caches.context(&[&BUILD[..], &["--force"]].concat()));
        assert_eq!(code, 6, "{target}: {said}");
        assert!(said.starts_with("error: ") && said.contains("c.md"), "{said}");
        assert!(tree(&caches.root()) == whole && caches.left_over().is_empty(), "{target}");
        fs::remove_file(caches.path("sources/guide/c.md")).unwrap();
    }
}

#[test]
fn special_files_among_the_sources_are_skipped() {
    let caches = Caches::new();
    caches.write("guide", &[("a.md", "alpha"), ("folder.md/inner.md", "inner")]);
    let fifo = caches.path("sources/guide/fifo.md");
    assert!(Command::new("mkfifo").arg(fifo).status().unwrap().success());
    symlink("nowhere", caches.path("sources/guide/dangling.md")).unwrap();
    symlink("loop.md", caches.path("sources/guide/loop.md")).unwrap();
    let (code, said) = ended(&caches.context(&BUILD));
    assert_eq!(code, 0, "{said}");
    let answer = caches.resolve("guide", "", 100);
    assert!(
        answer.contains(r#""id":"folder.md/inner.md""#) && answer.contains(r#""documents_selected":2,"#),
        "{answer}"
    );
}

#[test]
fn an_existing_directory_is_replaced_only_with_force_and_if_empty_or_a_cache() {
    let caches = Caches::new();
    caches.write("guide", &[("a.md", "alpha")]);
    fs::create_dir(caches.root().join("guide")).unwrap();
    assert_eq!(ended(&caches.context(&BUILD)).0, 6);
    assert_eq!(ended(&caches.context(&[&BUILD[..], &["--force"]].concat())).0, 0);
    assert_eq!(ended(&caches.context(&BUILD)).0, 6);
    fs::write(caches.root().join("guide/documents/mine.txt"), "not of a build").unwrap();
    let before = tree(&caches.root());
    let (code, said) = ended(&caches.context(&[&BUILD[..], &["--force"]].concat()));
    assert!(code == 6 && said.contains("documents/mine.txt"), "{code}: {said}");
    assert!(tree(&caches.root()) == before && caches.left_over().is_empty());
}

#[test]
fn verify_reports_every_defect() {
    let documents = [("a.md", "alpha"), ("b.md", "beta"), ("c.md", "gamma"), ("d.md", "delta")];
    let caches = Caches::with("guide", &documents);
    assert_eq!(caches.verify("guide").0, 0);
    let manifest = fs::read(caches.root().join("guide/manifest.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    let file = |nth: usize| manifest["documents"][nth]["file"].as_str().unwrap().to_owned();
    let spoil = |nth: usize, word: &str, other: &str| {
        let path = caches.root().join("guide").join(file(nth));
        fs::write(&path, fs::read_to_string(&path).unwrap().replace(word, other)).unwrap();
    };
    spoil(0, "alpha", "alphb");
    spoil(1, "{\"id\"", "{\"id");
    fs::remove_file(caches.root().join("guide").join(file(2))).unwrap();
    let (code, said) = caches.verify("guide");
    assert_eq!(code, 5, "{said}");
    for nth in [0, 1, 2] {
        assert!(said.contains(&file(nth)), "{} is not named: {said}", file(nth));
    }
    assert!(!said.contains(&file(3)), "nothing is wrong with {}: {said}", file(3));
    let out = caches.context(&["verify", "--cache", "caches/guide", "--json"]);
    assert_eq!(out.status.code(), Some(5));
    let reported: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert!([0, 1, 2].iter().all(|nth| reported.to_string().contains(&file(*nth))), "{reported}");
}
