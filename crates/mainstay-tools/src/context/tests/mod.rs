//! Building, querying, verifying, damaging and replacing caches.

mod properties;

use std::path::Path;

use jiff::Timestamp;
use mainstay_core::{CacheFailure, Result};
use serde_json::{Value, json};

use super::cache_root::{CachePage, CacheRoot};
use super::query::Query;
use super::testing::{CacheFixture, MAX_INDEX_BYTES};
use super::*;

fn resolve(caches: &CacheRoot, query: &str, budget: u64) -> Result<String> {
    caches.resolve("docs", &Query::new(query, budget), &Progress::default())
}

fn failure<T: std::fmt::Debug>(result: Result<T>) -> CacheFailure {
    CacheFailure::of(&result.unwrap_err())
}

const THREE: &[(&str, &str)] = &[
    ("Deploy.md", "Deploy the service. Deploy now.\n"),
    ("sub/B.md", "alpha beta \"quoted\" é\n"),
    ("empty.md", ""),
    ("notes.txt", "not a document"),
    ("UPPER.MD", "not a document either"),
];

#[test]
fn cache_has_the_layout_of_the_contract() {
    let fixture = CacheFixture::new(THREE);
    let built = fixture.build(false).unwrap();
    assert_eq!(built.documents, 3);
    assert_eq!(built.cache_version, "sha256:5c3bcbdd4d9b503e5beaa2d36fc63d090033d78267c61bf917cc0b31906ec855");
    let files = fixture.files();
    let text = |name: &str| std::str::from_utf8(&files[Path::new(name)]).unwrap();
    let stored = "{\"id\":\"sub/b.md\",\"version\":\"sha256:6229f6aa2a88809a0393ded985bdc3a7346a7bb0a6b9c6430730011e8881f8a2\",\
                  \"source\":\"sub/B.md\",\"content\":\"alpha beta \\\"quoted\\\" é\\n\",\"metadata\":{}}";
    assert_eq!(text("documents/6229f6aa2a88.json"), stored);
    assert!(text("index.json").starts_with("{\n  \"deploy.md\": \"documents/e23603ee4ae7.json\",\n"));
    let beginning = "{\n  \"cache_version\": \"sha256:5c3bcbdd4d9b503e5beaa2d36fc63d090033d78267c61bf917cc0b31906ec855\",\n  \
                     \"build_config\": {\n    \"version\": \"1\",\n    \"hash_algorithm\": \"sha256\"\n  },\n  \
                     \"created_at\": \"2023-11-14T22:13:20Z\",\n  \"document_count\": 3,\n  \"documents\": [\n    {\n      \"id\": \"deploy.md\",\n";
    assert!(text("manifest.json").starts_with(beginning), "{}", text("manifest.json"));
    assert_eq!(files.len(), 5);
}

#[test]
fn answer_is_the_same_from_memory_and_from_disk() {
    let fixture = CacheFixture::built(THREE);
    let caches = fixture.root();
    let expected = "{\"documents\":[{\"id\":\"deploy.md\",\"version\":\"sha256:e23603ee4ae7a1512d781053d5f7422848616e41b2b994c0f22c6996a90204a6\",\
                    \"content\":\"Deploy the service. Deploy now.\\n\",\"score\":0.4,\"tokens\":8,\
                    \"why\":{\"query_terms\":[\"deploy\",\"deploy\"],\"term_matches\":2,\"total_words\":5}}],\
                    \"selection\":{\"query\":\"deploy DEPLOY\",\"budget\":9,\"tokens_used\":8,\"documents_considered\":3,\
                    \"documents_selected\":1,\"documents_excluded_by_budget\":2}}\n";
    std::fs::remove_file(fixture.sources().join("empty.md")).unwrap();
    std::fs::write(fixture.sources().join("long.md"), "x ".repeat(20)).unwrap();
    fixture.build(true).unwrap();
    assert_eq!(resolve(&caches, "deploy DEPLOY", 9).unwrap(), expected);
    for query in ["", "deploy", "alpha é", "nothing"] {
        for budget in [0, 1, 7, 8, 14, 1000, u64::MAX] {
            let at_once = resolve_at(&fixture.cache(), query, budget, Format::Json).unwrap();
            assert_eq!(resolve(&caches, query, budget).unwrap(), at_once);
            assert!(caches.has_current_index("docs"));
            for (other, reason) in [
                (CacheRoot::always_settled(fixture.root_path(), 10), "room"),
                (CacheRoot::new(fixture.root_path(), MAX_INDEX_BYTES), "trust"),
            ] {
                assert_eq!(resolve(&other, query, budget).unwrap(), at_once);
                assert!(!other.has_current_index("docs"), "there is no {reason}");
            }
        }
    }
}

#[test]
fn pages_of_caches_add_up_to_the_list() {
    let root = tempfile::tempdir().unwrap();
    for name in ["b", "a", "d", "c"] {
        std::fs::create_dir(root.path().join(name)).unwrap();
    }
    let caches = CacheRoot::new(root.path().to_owned(), MAX_INDEX_BYTES);
    let list = |after, limit| {
        let (listed, has_more) = caches.list(&CachePage { after, limit }, &Progress::default()).unwrap();
        (listed.into_iter().map(|listed| listed.path).collect::<String>(), has_more)
    };
    assert_eq!(list("", usize::MAX), ("abcd".to_owned(), false));
    assert_eq!(
        (list("", 3), list("c", 3), list("d", 3)),
        (("abc".into(), true), ("d".into(), false), (String::new(), false))
    );
}

#[test]
fn document_changed_after_it_was_read_makes_the_cache_invalid() {
    let fixture = CacheFixture::built(THREE);
    let caches = CacheRoot::new(fixture.root_path(), MAX_INDEX_BYTES);
    let whole = resolve(&caches, "deploy", 100).unwrap();
    let file = fixture.file("sub/b.md");
    let before = std::fs::read_to_string(&file).unwrap();
    for tampered in
        [before.replace("alpha", "gamma"), before.replace("sub/b.md", "sub/c.md"), "{".into(), String::new()]
    {
        std::fs::write(&file, tampered).unwrap();
        // The answer would not contain this document.
        assert_eq!(failure(resolve(&caches, "deploy", 8)), CacheFailure::CacheInvalid);
    }
    std::fs::write(&file, &before).unwrap();
    assert_eq!(resolve(&caches, "deploy", 100).unwrap(), whole);
    std::fs::remove_file(&file).unwrap();
    assert_eq!(failure(resolve(&caches, "deploy", 8)), CacheFailure::CacheInvalid);
}

#[test]
fn index_in_memory_is_compared_with_the_files_for_every_query() {
    let fixture = CacheFixture::built(THREE);
    let caches = CacheRoot::new(fixture.root_path(), MAX_INDEX_BYTES);
    // Until the clock of the file system has moved on, metadata is not relied on.
    std::thread::sleep(std::time::Duration::from_millis(3100));
    let whole = resolve(&caches, "deploy", 100).unwrap();
    assert_eq!(resolve(&caches, "deploy", 100).unwrap(), whole);
    assert!(caches.has_current_index("docs"), "it is answered from memory");
    let file = fixture.file("sub/b.md");
    let (before, modified) = (std::fs::read_to_string(&file).unwrap(), file.metadata().unwrap().modified().unwrap());
    std::fs::write(&file, before.replace("alpha", "gamma")).unwrap();
    // Size and modification time are as before; only the change time, which nobody can set, differs.
    std::fs::File::options().write(true).open(&file).unwrap().set_modified(modified).unwrap();
    assert_eq!(failure(resolve(&caches, "deploy", 8)), CacheFailure::CacheInvalid);
}

#[test]
fn inconsistent_manifest_is_invalid_and_every_defect_is_reported() {
    let fixture = CacheFixture::built(THREE);
    let whole = fixture.manifest();
    let change = |path: &str, value: Value| {
        let mut manifest = whole.clone();
        *manifest.pointer_mut(path).unwrap() = value;
        manifest
    };
    for (manifest, word) in [
        (change("/document_count", json!(4)), "document_count is 4, but 3 documents are listed"),
        (change("/cache_version", json!("sha256:00")), "cache_version"),
        (change("/build_config/version", json!("2")), "version \"2\""),
        (change("/documents/0/id", json!("empty.md")), "listed twice"),
        (change("/documents/0/file", json!("../x.json")), "not in documents/"),
        (change("/documents/0/file", json!("documents/../../x.json")), "not in documents/"),
        (change("/documents/0/file", json!("/etc/passwd")), "not in documents/"),
        (change("/documents/0/version", json!("sha256:00")), "does not match the hash in the manifest"),
        (change("/created_at", json!("yesterday")), "not a valid manifest"),
    ] {
        std::fs::write(fixture.cache().join("manifest.json"), manifest.to_string()).unwrap();
        assert_eq!(failure(resolve(&fixture.root(), "deploy", 8)), CacheFailure::CacheInvalid, "{word}");
        let verification = verify_at(&fixture.cache(), &Progress::default()).unwrap();
        assert!(
            verification.defects.iter().any(|defect| defect.to_string().contains(word)),
            "{word}: {:?}",
            verification.defects
        );
        assert!(!verification.inspection().valid);
    }
}

#[test]
fn only_an_undamaged_cache_is_valid() {
    let fixture = CacheFixture::built(THREE);
    let inspect = || verify_at(&fixture.cache(), &Progress::default()).unwrap().inspection();
    let expected = Inspection {
        cache_version: "sha256:5c3bcbdd4d9b503e5beaa2d36fc63d090033d78267c61bf917cc0b31906ec855".into(),
        document_count: 3,
        total_bytes: 505,
        valid: true,
    };
    assert_eq!(inspect(), expected);
    let index = std::fs::read(fixture.cache().join("index.json")).unwrap();
    std::fs::write(fixture.cache().join("index.json"), "{}").unwrap();
    assert_eq!(inspect(), expected, "nothing here reads the index");
    let defects = || verify_at(&fixture.cache(), &Progress::default()).unwrap().defects;
    assert_eq!(defects(), [Defect::new("index.json", "it does not match manifest.json")]);
    std::fs::write(fixture.cache().join("index.json"), index).unwrap();
    let unknown = ["documents/more.json", "thesis.txt"];
    for file in unknown {
        std::fs::write(fixture.cache().join(file), "").unwrap();
    }
    assert_eq!(defects(), unknown.map(|name| Defect::new(name, "not part of the cache")));
    for file in unknown {
        std::fs::remove_file(fixture.cache().join(file)).unwrap();
    }
    let file = fixture.file("sub/b.md");
    let before = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, before.replace("sub/B.md", "/etc/passwd")).unwrap();
    assert_eq!(defects(), [Defect::new("documents/6229f6aa2a88.json", "its source is not the path of its id")]);
    std::fs::write(&file, "{").unwrap();
    assert!(defects()[0].to_string().contains("not a valid document (EOF while parsing"), "{:?}", defects());
    std::fs::write(&file, before).unwrap();
    assert_eq!(inspect(), expected);
    std::fs::remove_file(fixture.file("empty.md")).unwrap();
    let left = inspect();
    assert!(!left.valid && left.document_count == 3 && left.total_bytes < 505 && left.total_bytes > 0);
    std::fs::remove_file(fixture.cache().join("manifest.json")).unwrap();
    assert_eq!(inspect(), Inspection { cache_version: String::new(), document_count: 0, total_bytes: 0, valid: false });
}

#[test]
fn impossible_names_and_links_out_of_the_root_are_missing_caches() {
    let fixture = CacheFixture::built(THREE);
    std::fs::rename(fixture.cache(), fixture.0.path().join("elsewhere")).unwrap();
    std::os::unix::fs::symlink("../elsewhere", fixture.cache()).unwrap();
    std::fs::create_dir_all(fixture.root_path().join("deep/er")).unwrap();
    std::fs::write(fixture.root_path().join("file"), "").unwrap();
    let caches = fixture.root();
    let long = "x".repeat(5000);
    let names = ["", "..", "../elsewhere", "a..b", "/etc", "\\etc", "a\0b", "nope", "docs", "file", "file/x", &long];
    for name in names {
        let result = caches.resolve(name, &Query::new("x", 1), &Progress::default());
        assert_eq!(failure(result), CacheFailure::CacheMissing, "{name}");
    }
    for half in [".", "deep", "deep/er"] {
        let result = caches.resolve(half, &Query::new("x", 1), &Progress::default());
        assert_eq!(failure(result), CacheFailure::CacheInvalid, "{half}");
    }
    std::os::unix::fs::symlink("deep", fixture.root_path().join("inside")).unwrap();
    assert!(caches.verify("inside/er", &Progress::default()).is_ok());
    let listed: Vec<String> =
        caches.list(&CachePage::ALL, &Progress::default()).unwrap().0.into_iter().map(|listed| listed.path).collect();
    assert_eq!(listed, ["deep"], "neither files nor links are caches");
}

#[test]
fn sources_that_cannot_become_documents_are_named_in_the_error() {
    let one = |documents: &[(&str, &str)]| CacheFixture::new(documents);
    let twice = one(&[("A.md", "1"), ("a.md", "2")]);
    let error = twice.build(false).unwrap_err();
    assert_eq!(CacheFailure::of(&error), CacheFailure::CacheInvalid);
    assert!(error.public.contains("A.md and a.md"), "{error}");
    let bytes = one(&[]);
    std::fs::write(bytes.sources().join("b.md"), [b'a', 0xff]).unwrap();
    let error = bytes.build(false).unwrap_err();
    assert!(error.public.contains("b.md is not UTF-8 (its byte 1"), "{error}");
    let out = one(&[("a.md", "1")]);
    std::os::unix::fs::symlink("/etc/passwd", out.sources().join("p.md")).unwrap();
    let error = out.build(false).unwrap_err();
    assert!(error.public.contains("p.md is a link that leads out"), "{error}");
    for fixture in [twice, bytes, out] {
        assert!(!fixture.root_path().exists(), "nothing is left behind");
    }
}

#[test]
fn links_within_the_sources_count_as_their_targets() {
    let fixture = CacheFixture::new(&[("real/a.md", "alpha"), ("b.md", "beta")]);
    std::os::unix::fs::symlink("real/a.md", fixture.sources().join("link.md")).unwrap();
    std::os::unix::fs::symlink("nowhere.md", fixture.sources().join("dangling.md")).unwrap();
    std::os::unix::fs::symlink("real", fixture.sources().join("again.md")).unwrap();
    assert_eq!(fixture.build(false).unwrap().documents, 3);
    let answer = resolve(&fixture.root(), "alpha", 4).unwrap();
    assert!(answer.contains("\"link.md\"") && answer.contains("\"real/a.md\""), "{answer}");
}

#[test]
fn existing_cache_is_replaced_only_with_force() {
    let fixture = CacheFixture::built(THREE);
    assert_eq!(failure(fixture.build(false)), CacheFailure::Io);
    fixture.write_sources(&[("new.md", "new")]);
    assert_eq!(fixture.build(true).unwrap().documents, 4);
    std::fs::write(fixture.cache().join("thesis.txt"), "mine").unwrap();
    let error = fixture.build(true).unwrap_err();
    assert!(error.public.contains("thesis.txt"), "{error}");
    assert!(fixture.cache().join("thesis.txt").exists());
}

#[test]
fn directory_that_is_not_a_cache_is_never_replaced() {
    let fixture = CacheFixture::new(THREE);
    for (files, word) in [
        (&["documents/deep/thesis.txt", "manifest.json"][..], "documents/deep"),
        (&["documents/thesis.txt", "manifest.json"], "documents/thesis.txt"),
        (&["manifest.json", "index.json/mine"], "index.json"),
        (&["documents/a.json"], "no manifest.json"),
        (&["manifest.json", "README.md"], "README.md"),
    ] {
        let _ = std::fs::remove_dir_all(fixture.cache());
        for file in files {
            std::fs::create_dir_all(fixture.cache().join(file).parent().unwrap()).unwrap();
            std::fs::write(fixture.cache().join(file), "mine").unwrap();
        }
        let error = fixture.build(true).unwrap_err();
        assert!(error.public.contains(word), "{error}");
        assert!(files.iter().all(|file| fixture.cache().join(file).exists()), "{word}");
    }
    std::fs::remove_dir_all(fixture.cache()).unwrap();
    std::fs::create_dir_all(fixture.cache().join("documents")).unwrap();
    std::fs::write(fixture.cache().join("manifest.json"), "{").unwrap();
    fixture.build(true).unwrap();
}

#[test]
fn index_is_kept_once_for_all_spellings_of_a_name() {
    let fixture = CacheFixture::built(THREE);
    std::os::unix::fs::symlink("docs", fixture.root_path().join("link")).unwrap();
    let caches = fixture.root();
    let sizes = ["docs", "./docs", "docs/", "docs/.", "link"].map(|name| {
        caches.resolve(name, &Query::new("deploy", 10), &Progress::default()).unwrap();
        caches.index_bytes()
    });
    assert!(sizes[0] > 0 && sizes.iter().all(|max_bytes| *max_bytes == sizes[0]), "{sizes:?}");
}

#[test]
fn cancelled_call_does_not_wait_for_other_readers() {
    let fixture = CacheFixture::built(THREE);
    let (caches, gone) = (fixture.root(), Progress::default());
    caches.with_all_readers_busy(|| {
        gone.cancel();
        let result = caches.resolve("docs", &Query::new("x", 1), &gone);
        assert_eq!(result.unwrap_err().kind, mainstay_core::Kind::Cancelled);
    });
    resolve(&caches, "x", 1).unwrap();
}

#[test]
fn metadata_has_to_be_an_object() {
    let fixture = CacheFixture::built(THREE);
    let file = fixture.file("sub/b.md");
    let before = std::fs::read_to_string(&file).unwrap();
    for (metadata, whole) in [(r#"{"a":[0,{"b":1}],"c":"x"}"#, true), ("[]", false), ("null", false), ("1", false)] {
        std::fs::write(&file, before.replace("\"metadata\":{}", &format!("\"metadata\":{metadata}"))).unwrap();
        assert_eq!(resolve(&CacheRoot::new(fixture.root_path(), MAX_INDEX_BYTES), "x", 1).is_ok(), whole, "{metadata}");
    }
}

#[test]
fn reply_over_the_size_limit_is_rejected() {
    let fixture = CacheFixture::built(&[("a.md", "word"), ("b.md", "word")]);
    let ask = |query: &str| {
        let query = Query { max_bytes: 1000, ..Query::new(query, 100) };
        fixture.root().resolve("docs", &query, &Progress::default())
    };
    assert!(ask("word").unwrap().len() <= 1000);
    // Control characters take six bytes each once they are escaped.
    for query in ["term ".repeat(100), "\u{1}".repeat(60)] {
        let error = ask(&query).unwrap_err();
        assert_eq!(error.kind, mainstay_core::Kind::TooLarge);
        assert!(error.public.contains("context.reply_bytes"), "{error}");
    }
}

#[test]
fn least_recently_used_indexes_are_evicted() {
    let fixture = CacheFixture::built(THREE);
    let max_bytes = 2500;
    let caches = CacheRoot::always_settled(fixture.root_path(), max_bytes);
    for name in ["one", "two", "three"] {
        let plan = Plan {
            sources: &fixture.sources(),
            cache: &fixture.root_path().join(name),
            force: false,
            created_at: Timestamp::UNIX_EPOCH,
        };
        plan.build(&Progress::default()).unwrap();
        caches.resolve(name, &Query::new("deploy", 10), &Progress::default()).unwrap();
        assert!(caches.index_bytes() <= max_bytes && caches.index_bytes() > 0, "{}", caches.index_bytes());
    }
}
