//! Several processes on one workspace and one data directory.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;

use super::sources::{Sources, all_hits, best, finished, numbered, search};

/// A file's times settle: an index made after this is not written again for their sake.
const SETTLED: Duration = Duration::from_millis(3100);

fn manifest(sources: &Sources) -> Value {
    let text = std::fs::read_to_string(sources.index().join("manifest")).unwrap();
    serde_json::from_str(text.lines().nth(1).unwrap()).unwrap()
}

fn found_by_command(sources: &Sources, words: &str) -> Vec<String> {
    let (code, out, error) = finished(sources.command(&["search", words, "--json", "--top", "3"]));
    assert_eq!(code, 0, "{words}: {out}{error}");
    let out: Value = serde_json::from_str(&out).unwrap();
    out["matches"].as_array().unwrap().iter().map(|one| one["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn only_one_of_many_processes_builds_and_all_answer_right_while_files_change() {
    let sources = Sources::many(150);
    std::thread::sleep(SETTLED);
    std::thread::scope(|scope| {
        let commands: Vec<_> =
            (0..4).map(|_| scope.spawn(|| found_by_command(&sources, "verify the signature of a token"))).collect();
        let servers: Vec<_> =
            (0..2).map(|_| scope.spawn(|| best(&mut sources.stdio(), "verify the signature of a token"))).collect();
        for command in commands {
            assert_eq!(command.join().unwrap()[0], "src/token.rs");
        }
        for server in servers {
            assert_eq!(server.join().unwrap(), "src/token.rs");
        }
    });
    // One build is one change of the index.
    assert_eq!(manifest(&sources)["generation"], 1);

    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let change = || {
            for round in 0.. {
                if done.load(Ordering::Relaxed) {
                    return;
                }
                sources.write(&format!("many/f{}.rs", round % 7), numbered(1000 + round));
                sources.write("many/extra.py", format!("def extra_{round}():\n    return {round}\n"));
                sources.rename("many/extra.py", &format!("many/extra{}.py", round % 3));
                std::thread::sleep(Duration::from_millis(5));
            }
        };
        scope.spawn(change);
        let serve = |name: &'static str| {
            let (sources, done) = (&sources, &done);
            move || {
                let mut client = sources.stdio();
                for round in 0..6 {
                    // What this thread has written is in its very next search, whatever the others do.
                    let (path, word) = (format!("own/{name}.md"), format!("{name}word{round}"));
                    sources.write(&path, format!("# Note\n\nThe {word} is here.\n"));
                    let found = search(&mut client, &word);
                    assert_eq!(found[0]["metadata"]["path"], path.as_str(), "{word}");
                    assert!(found[0]["metadata"]["snippet"].as_str().unwrap().contains(&word), "{found:?}");
                    assert_eq!(best(&mut client, "verify the signature of a token"), "src/token.rs");
                }
                done.store(true, Ordering::Relaxed);
            }
        };
        scope.spawn(serve("one"));
        scope.spawn(serve("two"));
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(found_by_command(&sources, "mix_colours")[0], "src/colour.rs"));
        }
    });
    // The index is whole: what it gives is what a fresh one gives.
    assert_eq!(all_hits(&mut sources.stdio()), sources.undisturbed());
    assert!(sources.index_files("new").is_empty());
}
