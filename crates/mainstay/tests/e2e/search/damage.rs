//! A damaged index is noticed, thrown away and built again.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::sources::{Sources, all_hits, numbered, ok};

type Damage = fn(&Path);

const DAMAGES: [(&str, Damage); 10] = [
    ("a truncated segment", |index| each_segment(index, |bytes| bytes.truncate(bytes.len() / 2))),
    ("an empty segment", |index| each_segment(index, Vec::clear)),
    ("garbage in a segment", |index| each_segment(index, |bytes| bytes.fill(0xA5))),
    ("garbage in the middle of a segment", |index| {
        each_segment(index, |bytes| {
            let middle = bytes.len() / 2;
            bytes[middle..middle + 64].fill(0xA5);
        });
    }),
    ("no segments", |index| segments(index).iter().for_each(|path| fs::remove_file(path).unwrap())),
    ("an empty manifest", |index| fs::write(index.join("manifest"), "").unwrap()),
    ("a garbage manifest", |index| fs::write(index.join("manifest"), [0xFF; 300]).unwrap()),
    ("a manifest without a checksum", |index| {
        fs::remove_file(index.join("manifest")).unwrap();
        fs::write(index.join("manifest"), "{\"generation\":7,\"complete\":true,\"segments\":[]}").unwrap();
    }),
    ("no manifest", |index| fs::remove_file(index.join("manifest")).unwrap()),
    ("no directory", |index| fs::remove_dir_all(index).unwrap()),
];

fn segments(index: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(index).unwrap().map(|entry| entry.unwrap().path());
    let found: Vec<_> = entries.filter(|path| path.extension().is_some_and(|found| found == "segment")).collect();
    assert!(!found.is_empty(), "nothing to damage");
    found
}

fn each_segment(index: &Path, change: fn(&mut Vec<u8>)) {
    for path in segments(index) {
        let mut bytes = fs::read(&path).unwrap();
        change(&mut bytes);
        fs::write(path, bytes).unwrap();
    }
}

#[test]
fn an_index_that_is_damaged_while_no_server_runs_is_built_again() {
    let sources = Sources::many(20);
    let expected = sources.undisturbed();
    assert_eq!(sources.run(&["index"]).0, 0);
    for (what, damage) in DAMAGES {
        damage(&sources.index());
        let mut client = sources.stdio();
        assert_eq!(all_hits(&mut client), expected, "{what}");
        let status = ok(&mut client, "index_status", &json!({}));
        let status = &status["namespaces"][0];
        assert_eq!((&status["documents"], &status["complete"]), (&json!(25), &json!(true)), "{what}");
    }
}

#[test]
fn a_server_lives_through_the_damage_of_its_index_and_repairs_it() {
    let sources = Sources::many(20);
    let server = sources.server();
    let mut http = server.connect();
    let expected = all_hits(&mut http);
    for (at, (what, damage)) in DAMAGES.into_iter().enumerate() {
        damage(&sources.index());
        assert_eq!(all_hits(&mut http), expected, "{what}");
        // A change goes into the index, whatever has become of it.
        let word = format!("quokka{}", "abcdefghijklmnop".get(at..=at).unwrap().repeat(3));
        sources.write("src/change.md", format!("# Change\n\nA {word} eats grass.\n"));
        let found = ok(&mut http, "vector_search", &json!({"query": word}));
        assert_eq!(found["matches"][0]["metadata"]["path"], "src/change.md", "{what}: {found}");
        sources.remove("src/change.md");
        assert_eq!(all_hits(&mut http), expected, "{what}");
        // The server has small segments in memory, and another process reads what is on disk.
        if at % 3 == 0 {
            assert_eq!(all_hits(&mut sources.stdio()), expected, "{what}");
            assert_eq!(all_hits(&mut http), expected, "{what}");
        }
        // The next damage is one of a whole index.
        ok(&mut http, "index_refresh", &json!({"rebuild": true}));
        assert_eq!(all_hits(&mut http), expected, "{what}");
    }
    assert_eq!(all_hits(&mut sources.stdio()), expected);
}

/// Names of segments are never used twice: a process that has one open would take the other for it.
#[test]
fn two_servers_agree_after_the_manifest_was_lost() {
    let sources = Sources::many(40);
    let (mut one, mut other) = (sources.stdio(), sources.stdio());
    assert_eq!(all_hits(&mut one), all_hits(&mut other));
    fs::remove_file(sources.index().join("manifest")).unwrap();
    // The first one builds an index again, and then marks documents in it as gone.
    all_hits(&mut one);
    for file in 0..10 {
        sources.write(&format!("many/f{file}.rs"), numbered(500 + file));
    }
    sources.rename("src/token.rs", "src/ticket.rs");
    let expected = sources.undisturbed();
    assert_eq!(all_hits(&mut one), expected);
    assert_eq!(all_hits(&mut other), expected);
}
