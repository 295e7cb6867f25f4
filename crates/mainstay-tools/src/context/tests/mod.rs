//! Caches built, read, damaged and replaced.

mod properties;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use mainstay_core::Result;
use serde_json::{Value, json};

use super::cache_root::Caches;
use super::query::select::Question;
use super::*;

const MEMORY: u64 = 1 << 30;

/// A directory with sources, and a cache root with caches.
pub(super) struct Ground(tempfile::TempDir);

impl Ground {
    pub(super) fn new(documents: &[(&str, &str)]) -> Self {
        let ground = Self(tempfile::tempdir().unwrap());
        ground.write(documents);
        ground
    }

    pub(super) fn write(&self, documents: &[(&str, &str)]) {
        for (path, content) in documents {
            let path = self.sources().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        std::fs::create_dir_all(self.sources()).unwrap();
    }

    pub(super) fn sources(&self) -> PathBuf {
        self.0.path().join("sources")
    }

    fn root(&self) -> PathBuf {
        self.0.path().join("caches")
    }

    pub(super) fn cache(&self) -> PathBuf {
        self.root().join("docs")
    }

    pub(super) fn build(&self, force: bool) -> Result<Built> {
        let created_at = Timestamp::from_second(1_700_000_000).unwrap();
        let plan = Plan { sources: &self.sources(), cache: &self.cache(), force, created_at };
        plan.build(&Progress::default())
    }

    pub(super) fn built(documents: &[(&str, &str)]) -> Self {
        let ground = Self::new(documents);
        ground.build(false).unwrap();
        ground
    }

    /// With the words of what is asked in memory.
    pub(super) fn caches(&self) -> Caches {
        Caches::trusting(self.root(), MEMORY)
    }

    fn manifest(&self) -> Value {
        serde_json::from_slice(&std::fs::read(self.cache().join("manifest.json")).unwrap()).unwrap()
    }

    /// The file of a document.
    fn file(&self, id: &str) -> PathBuf {
        let manifest = self.manifest();
        let entry = manifest["documents"].as_array().unwrap().iter().find(|entry| entry["id"] == id).unwrap();
        self.cache().join(entry["file"].as_str().unwrap())
    }

    /// Everything in the cache, by name.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        for directory in [self.cache(), self.cache().join("documents")] {
            for entry in std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()) {
                if entry.is_file() {
                    files.insert(entry.strip_prefix(self.cache()).unwrap().to_owned(), std::fs::read(&entry).unwrap());
                }
            }
        }
        files
    }
}

fn resolve(caches: &Caches, query: &str, budget: u64) -> Result<String> {
    caches.resolve("docs", &Question::new(query, budget), &Progress::default())
}

fn failure<T: std::fmt::Debug>(result: Result<T>) -> Failure {
    Failure::of(&result.unwrap_err())
}

const THREE: &[(&str, &str)] = &[
    ("Deploy.md", "Deploy the service. Deploy now.\n"),
    ("sub/B.md", "alpha beta \"quoted\" é\n"),
    ("empty.md", ""),
    ("notes.txt", "not a document"),
    ("UPPER.MD", "not a document either"),
];

#[test]
fn a_cache_has_the_frozen_layout() {
    let ground = Ground::new(THREE);
    let built = ground.build(false).unwrap();
    assert_eq!(built.documents, 3);
    assert_eq!(built.cache_version, "sha256:5c3bcbdd4d9b503e5beaa2d36fc63d090033d78267c61bf917cc0b31906ec855");
    let files = ground.files();
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
fn an_answer_is_the_same_from_memory_and_from_disk() {
    let ground = Ground::built(THREE);
    let caches = ground.caches();
    let expected = "{\"documents\":[{\"id\":\"deploy.md\",\"version\":\"sha256:e23603ee4ae7a1512d781053d5f7422848616e41b2b994c0f22c6996a90204a6\",\
                    \"content\":\"Deploy the service. Deploy now.\\n\",\"score\":0.4,\"tokens\":8,\
                    \"why\":{\"query_terms\":[\"deploy\",\"deploy\"],\"term_matches\":2,\"total_words\":5}}],\
                    \"selection\":{\"query\":\"deploy DEPLOY\",\"budget\":9,\"tokens_used\":8,\"documents_considered\":3,\
                    \"documents_selected\":1,\"documents_excluded_by_budget\":2}}\n";
    std::fs::remove_file(ground.sources().join("empty.md")).unwrap();
    std::fs::write(ground.sources().join("long.md"), "x ".repeat(20)).unwrap();
    ground.build(true).unwrap();
    assert_eq!(resolve(&caches, "deploy DEPLOY", 9).unwrap(), expected);
    for query in ["", "deploy", "alpha é", "nothing"] {
        for budget in [0, 1, 7, 8, 14, 1000, u64::MAX] {
            let at_once = resolve_at(&ground.cache(), query, budget, Format::Json).unwrap();
            assert_eq!(resolve(&caches, query, budget).unwrap(), at_once);
            assert!(caches.relies_on("docs"));
            for (other, reason) in
                [(Caches::trusting(ground.root(), 10), "room"), (Caches::new(ground.root(), MEMORY), "trust")]
            {
                assert_eq!(resolve(&other, query, budget).unwrap(), at_once);
                assert!(!other.relies_on("docs"), "there is no {reason}");
            }
        }
    }
}

#[test]
fn a_document_that_changes_after_it_was_read_is_noticed() {
    let ground = Ground::built(THREE);
    let caches = Caches::new(ground.root(), MEMORY);
    let whole = resolve(&caches, "deploy", 100).unwrap();
    let file = ground.file("sub/b.md");
    let before = std::fs::read_to_string(&file).unwrap();
    for tampered in
        [before.replace("alpha", "gamma"), before.replace("sub/b.md", "sub/c.md"), "{".into(), String::new()]
    {
        std::fs::write(&file, tampered).unwrap();
        // Neither of these two documents is among those the answer would hold.
        assert_eq!(failure(resolve(&caches, "deploy", 8)), Failure::CacheInvalid);
    }
    std::fs::write(&file, &before).unwrap();
    assert_eq!(resolve(&caches, "deploy", 100).unwrap(), whole);
    std::fs::remove_file(&file).unwrap();
    assert_eq!(failure(resolve(&caches, "deploy", 8)), Failure::CacheInvalid);
}

#[test]
fn what_is_kept_in_memory_is_held_against_the_files_for_every_question() {
    let ground = Ground::built(THREE);
    let caches = Caches::new(ground.root(), MEMORY);
    // Until the clock of the file system has moved on, nothing is relied on.
    std::thread::sleep(std::time::Duration::from_millis(3100));
    let whole = resolve(&caches, "deploy", 100).unwrap();
    assert_eq!(resolve(&caches, "deploy", 100).unwrap(), whole);
    assert!(caches.relies_on("docs"), "it is answered from memory");
    let file = ground.file("sub/b.md");
    let (before, modified) = (std::fs::read_to_string(&file).unwrap(), file.metadata().unwrap().modified().unwrap());
    std::fs::write(&file, before.replace("alpha", "gamma")).unwrap();
    // As large as before, and as old: only the system itself knows better.
    std::fs::File::options().write(true).open(&file).unwrap().set_modified(modified).unwrap();
    assert_eq!(failure(resolve(&caches, "deploy", 8)), Failure::CacheInvalid);
}

#[test]
fn a_manifest_that_contradicts_itself_is_invalid_and_told_in_full() {
    let ground = Ground::built(THREE);
    let whole = ground.manifest();
    let change = |path: &str, value: Value| {
        let mut manifest = whole.clone();
        *manifest.pointer_mut(path).unwrap() = value;
        manifest
    };
    for (manifest, word) in [
        (change("/document_count", json!(4)), "counts 4 documents and lists 3"),
        (change("/cache_version", json!("sha256:00")), "cache_version"),
        (change("/build_config/version", json!("2")), "version \"2\""),
        (change("/documents/0/id", json!("empty.md")), "twice"),
        (change("/documents/0/file", json!("../x.json")), "not in documents/"),
        (change("/documents/0/file", json!("documents/../../x.json")), "not in documents/"),
        (change("/documents/0/file", json!("/etc/passwd")), "not in documents/"),
        (change("/documents/0/version", json!("sha256:00")), "is not what the manifest says"),
        (change("/created_at", json!("yesterday")), "no manifest"),
    ] {
        std::fs::write(ground.cache().join("manifest.json"), manifest.to_string()).unwrap();
        assert_eq!(failure(resolve(&ground.caches(), "deploy", 8)), Failure::CacheInvalid, "{word}");
        let examined = examine_at(&ground.cache(), &Progress::default()).unwrap();
        assert!(examined.flaws.iter().any(|flaw| flaw.to_string().contains(word)), "{word}: {:?}", examined.flaws);
        assert!(!examined.inspection().valid);
    }
}

#[test]
fn only_what_is_whole_is_valid() {
    let ground = Ground::built(THREE);
    let inspect = || examine_at(&ground.cache(), &Progress::default()).unwrap().inspection();
    let expected = Inspection {
        cache_version: "sha256:5c3bcbdd4d9b503e5beaa2d36fc63d090033d78267c61bf917cc0b31906ec855".into(),
        document_count: 3,
        total_bytes: 505,
        valid: true,
    };
    assert_eq!(inspect(), expected);
    let index = std::fs::read(ground.cache().join("index.json")).unwrap();
    std::fs::write(ground.cache().join("index.json"), "{}").unwrap();
    assert_eq!(inspect(), expected, "nothing here reads the index");
    let flaws = || examine_at(&ground.cache(), &Progress::default()).unwrap().flaws;
    assert_eq!(flaws(), [Flaw::new("index.json", "it does not say what manifest.json says")]);
    std::fs::write(ground.cache().join("index.json"), index).unwrap();
    let strangers = ["documents/more.json", "thesis.txt"];
    for stranger in strangers {
        std::fs::write(ground.cache().join(stranger), "").unwrap();
    }
    assert_eq!(flaws(), strangers.map(|name| Flaw::new(name, "it is no part of the cache")));
    for stranger in strangers {
        std::fs::remove_file(ground.cache().join(stranger)).unwrap();
    }
    let file = ground.file("sub/b.md");
    let before = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, before.replace("sub/B.md", "/etc/passwd")).unwrap();
    assert_eq!(flaws(), [Flaw::new("documents/6229f6aa2a88.json", "its source is not the path of its id")]);
    std::fs::write(&file, "{").unwrap();
    assert!(flaws()[0].to_string().contains("it is no document (EOF while parsing"), "{:?}", flaws());
    std::fs::write(&file, before).unwrap();
    assert_eq!(inspect(), expected);
    std::fs::remove_file(ground.file("empty.md")).unwrap();
    let left = inspect();
    assert!(!left.valid && left.document_count == 3 && left.total_bytes < 505 && left.total_bytes > 0);
    std::fs::remove_file(ground.cache().join("manifest.json")).unwrap();
    assert_eq!(inspect(), Inspection { cache_version: String::new(), document_count: 0, total_bytes: 0, valid: false });
}

#[test]
fn names_that_cannot_be_meant_and_links_that_lead_out_are_no_caches() {
    let ground = Ground::built(THREE);
    std::fs::rename(ground.cache(), ground.0.path().join("elsewhere")).unwrap();
    std::os::unix::fs::symlink("../elsewhere", ground.cache()).unwrap();
    std::fs::create_dir_all(ground.root().join("deep/er")).unwrap();
    std::fs::write(ground.root().join("file"), "").unwrap();
    let caches = ground.caches();
    let long = "x".repeat(5000);
    let names = ["", "..", "../elsewhere", "a..b", "/etc", "\\etc", "a\0b", "nope", "docs", "file", "file/x", &long];
    for name in names {
        let asked = caches.resolve(name, &Question::new("x", 1), &Progress::default());
        assert_eq!(failure(asked), Failure::CacheMissing, "{name}");
    }
    for half in [".", "deep", "deep/er"] {
        let asked = caches.resolve(half, &Question::new("x", 1), &Progress::default());
        assert_eq!(failure(asked), Failure::CacheInvalid, "{half}");
    }
    std::os::unix::fs::symlink("deep", ground.root().join("inside")).unwrap();
    assert!(caches.examine("inside/er", &Progress::default()).is_ok());
    let listed: Vec<String> =
        caches.list(&Progress::default()).unwrap().into_iter().map(|listed| listed.path).collect();
    assert_eq!(listed, ["deep"], "neither files nor links are caches");
}

#[test]
fn sources_that_cannot_become_documents_are_named() {
    let one = |documents: &[(&str, &str)]| Ground::new(documents);
    let twice = one(&[("A.md", "1"), ("a.md", "2")]);
    let refused = twice.build(false).unwrap_err();
    assert_eq!(Failure::of(&refused), Failure::CacheInvalid);
    assert!(refused.public.contains("A.md and a.md"), "{refused}");
    let bytes = one(&[]);
    std::fs::write(bytes.sources().join("b.md"), [b'a', 0xff]).unwrap();
    let refused = bytes.build(false).unwrap_err();
    assert!(refused.public.contains("b.md is not UTF-8 (its byte 1"), "{refused}");
    let out = one(&[("a.md", "1")]);
    std::os::unix::fs::symlink("/etc/passwd", out.sources().join("p.md")).unwrap();
    let refused = out.build(false).unwrap_err();
    assert!(refused.public.contains("p.md is a link that leads out"), "{refused}");
    for ground in [twice, bytes, out] {
        assert!(!ground.root().exists(), "nothing is left behind");
    }
}

#[test]
fn links_count_as_the_files_they_lead_to_within_the_sources() {
    let ground = Ground::new(&[("real/a.md", "alpha"), ("b.md", "beta")]);
    std::os::unix::fs::symlink("real/a.md", ground.sources().join("link.md")).unwrap();
    std::os::unix::fs::symlink("nowhere.md", ground.sources().join("dangling.md")).unwrap();
    std::os::unix::fs::symlink("real", ground.sources().join("again.md")).unwrap();
    assert_eq!(ground.build(false).unwrap().documents, 3);
    let answer = resolve(&ground.caches(), "alpha", 4).unwrap();
    assert!(answer.contains("\"link.md\"") && answer.contains("\"real/a.md\""), "{answer}");
}

#[test]
fn an_existing_cache_is_replaced_only_with_force_and_nothing_else_is() {
    let ground = Ground::built(THREE);
    assert_eq!(failure(ground.build(false)), Failure::Io);
    ground.write(&[("new.md", "new")]);
    assert_eq!(ground.build(true).unwrap().documents, 4);
    std::fs::write(ground.cache().join("thesis.txt"), "mine").unwrap();
    let refused = ground.build(true).unwrap_err();
    assert!(refused.public.contains("thesis.txt"), "{refused}");
    assert!(ground.cache().join("thesis.txt").exists());
}

#[test]
fn a_directory_that_is_no_cache_is_never_replaced() {
    let ground = Ground::new(THREE);
    for (files, word) in [
        (&["documents/deep/thesis.txt", "manifest.json"][..], "documents/deep"),
        (&["documents/thesis.txt", "manifest.json"], "documents/thesis.txt"),
        (&["manifest.json", "index.json/mine"], "index.json"),
        (&["documents/a.json"], "no manifest.json"),
        (&["manifest.json", "README.md"], "README.md"),
    ] {
        let _ = std::fs::remove_dir_all(ground.cache());
        for file in files {
            std::fs::create_dir_all(ground.cache().join(file).parent().unwrap()).unwrap();
            std::fs::write(ground.cache().join(file), "mine").unwrap();
        }
        let refused = ground.build(true).unwrap_err();
        assert!(refused.public.contains(word), "{refused}");
        assert!(files.iter().all(|file| ground.cache().join(file).exists()), "{word}");
    }
    std::fs::remove_dir_all(ground.cache()).unwrap();
    std::fs::create_dir_all(ground.cache().join("documents")).unwrap();
    std::fs::write(ground.cache().join("manifest.json"), "{").unwrap();
    ground.build(true).unwrap();
}

#[test]
fn one_cache_is_kept_once_however_it_is_spelled() {
    let ground = Ground::built(THREE);
    std::os::unix::fs::symlink("docs", ground.root().join("link")).unwrap();
    let caches = ground.caches();
    let weights = ["docs", "./docs", "docs/", "docs/.", "link"].map(|name| {
        caches.resolve(name, &Question::new("deploy", 10), &Progress::default()).unwrap();
        caches.weight()
    });
    assert!(weights[0] > 0 && weights.iter().all(|weight| *weight == weights[0]), "{weights:?}");
}

#[test]
fn a_call_that_nobody_waits_for_does_not_wait_for_others() {
    let ground = Ground::built(THREE);
    let (caches, gone) = (ground.caches(), Progress::default());
    caches.while_all_are_reading(|| {
        gone.cancel();
        let asked = caches.resolve("docs", &Question::new("x", 1), &gone);
        assert_eq!(asked.unwrap_err().kind, mainstay_core::Kind::Cancelled);
    });
    resolve(&caches, "x", 1).unwrap();
}

#[test]
fn metadata_is_an_object_that_nobody_keeps() {
    let ground = Ground::built(THREE);
    let file = ground.file("sub/b.md");
    let before = std::fs::read_to_string(&file).unwrap();
    for (metadata, whole) in [(r#"{"a":[0,{"b":1}],"c":"x"}"#, true), ("[]", false), ("null", false), ("1", false)] {
        std::fs::write(&file, before.replace("\"metadata\":{}", &format!("\"metadata\":{metadata}"))).unwrap();
        assert_eq!(resolve(&Caches::new(ground.root(), MEMORY), "x", 1).is_ok(), whole, "{metadata}");
    }
}

#[test]
fn a_reply_that_would_be_too_large_is_refused_before_it_is_made() {
    let ground = Ground::built(&[("a.md", "word"), ("b.md", "word")]);
    let ask = |query: &str| {
        let question = Question { most: 1000, ..Question::new(query, 100) };
        ground.caches().resolve("docs", &question, &Progress::default())
    };
    assert!(ask("word").unwrap().len() <= 1000);
    // What is escaped takes more than it seems.
    for query in ["term ".repeat(100), "\u{1}".repeat(60)] {
        let refused = ask(&query).unwrap_err();
        assert_eq!(refused.kind, mainstay_core::Kind::TooLarge);
        assert!(refused.public.contains("context.reply_bytes"), "{refused}");
    }
}

#[test]
fn caches_that_were_not_asked_for_longest_make_room() {
    let ground = Ground::built(THREE);
    let weight = 2500;
    let caches = Caches::trusting(ground.root(), weight);
    for name in ["one", "two", "three"] {
        let plan = Plan {
            sources: &ground.sources(),
            cache: &ground.root().join(name),
            force: false,
            created_at: Timestamp::UNIX_EPOCH,
        };
        plan.build(&Progress::default()).unwrap();
        caches.resolve(name, &Question::new("deploy", 10), &Progress::default()).unwrap();
        assert!(caches.weight() <= weight && caches.weight() > 0, "{}", caches.weight());
    }
}
