//! Properties of all tools that change files, tested with many random changes.

use mainstay_core::{Context, Kind, Result, Tool as _};
use mainstay_sandbox::etag_of;
use serde_json::{Value, json};

use super::change::Change;
use super::patch::Patch;
use super::testing::calls::snapshot;
use super::testing::workspace::SampleWorkspace;
use super::write::Write;
use crate::planning::Report;
use crate::testing::TestRandom;

const ENDS: [&str; 3] = ["\n", "\r\n", "\n"];
const WORDS: [&str; 8] = ["one", "two", "", "  three", "\tfour", "-- five", "+six", "@@ -1 +1 @@"];

/// Text that is hard on a diff: lines that repeat, lines that look like a patch, ends of every kind.
fn text(random: &mut TestRandom) -> String {
    let end = random.pick(&ENDS);
    let lines = random.below(30);
    let mut text: String = (0..lines).flat_map(|_| [random.pick(&WORDS), end]).collect();
    if random.below(3) == 0 {
        text.push_str(random.pick(&["last", "\u{feff}", "ü", "\r"]));
    }
    text
}

/// The same text with some of its lines changed.
fn variation(random: &mut TestRandom, text: &str) -> String {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    for _ in 0..=random.below(4) {
        let at = random.below(lines.len() + 1);
        match random.below(3) {
            0 => lines.insert(at, format!("{}\n", random.pick(&WORDS))),
            1 if at < lines.len() => drop(lines.remove(at)),
            _ if at < lines.len() => lines[at] = format!("{}\r\n", random.pick(&WORDS)),
            _ => lines.push("no end".to_owned()),
        }
    }
    lines.concat()
}

/// One change for each of the files, of any kind.
fn changes(random: &mut TestRandom, files: &[(&str, String)]) -> Value {
    let mut changes = Vec::new();
    for (name, content) in files {
        let path = format!("{name}.txt");
        changes.push(match random.below(8) {
            0 => json!({"op": "delete", "path": path}),
            1 => json!({"op": "move", "from": path, "to": format!("moved to/{name}")}),
            2 => json!({"op": "append", "path": path, "content": text(random)}),
            3 => json!({"op": "copy", "from": path, "to": format!("copy/{name}")}),
            4 => json!({"op": "write", "path": format!("new/{name}"), "content": text(random)}),
            5 if content.contains("two") => {
                json!({"op": "edit", "path": path, "edits": [{"old": "two", "new": "2\nII", "all": true}]})
            }
            _ => {
                let content = variation(random, content);
                json!({"op": "write", "path": path, "content": content, "overwrite": true})
            }
        });
    }
    changes.into()
}

async fn change(sample: &SampleWorkspace, args: Value) -> Result<Report> {
    Change(sample.tools()).call(serde_json::from_value(args).unwrap(), &Context::detached()).await
}

#[tokio::test]
async fn the_diff_of_a_dry_run_applied_as_a_patch_gives_what_the_change_gives() {
    const NAMES: [&str; 5] = ["a", "b", "c", "d e", "f\"g"];
    for seed in 0..100 {
        let mut random = TestRandom::new(seed);
        let (real, copy) = (SampleWorkspace::with(&[]), SampleWorkspace::with(&[]));
        let files = NAMES.map(|name| (name, text(&mut random)));
        for (name, content) in &files {
            for sample in [&real, &copy] {
                sample.write(format!("{name}.txt"), content.as_bytes());
            }
        }
        let before = snapshot(real.path());
        let changes = changes(&mut random, &files);
        let args = |dry_run: bool| json!({"changes": changes, "dry_run": dry_run});
        let preview = change(&real, args(true)).await.unwrap();
        assert_eq!(snapshot(real.path()), before, "seed {seed}: a dry run changed something");
        change(&real, args(false)).await.unwrap();
        let diff = preview.diff.unwrap();
        let args = serde_json::from_value(json!({ "patch": diff })).unwrap();
        if let Err(error) = Patch(copy.tools()).call(args, &Context::detached()).await {
            // An empty diff is no patch: then nothing has changed.
            assert_eq!(snapshot(real.path()), before, "seed {seed}: {error}\n{diff}");
        }
        let files = |sample: &SampleWorkspace| -> Vec<_> {
            snapshot(sample.path()).into_iter().filter(|(_, (kind, _))| *kind == 'f').collect()
        };
        assert_eq!(files(&copy), files(&real), "seed {seed}: {changes}\n{diff}");
    }
}

#[test]
fn no_update_is_lost_among_writers_that_use_etags() {
    const WRITERS: usize = 16;
    const UPDATES: usize = 125;
    let sample = SampleWorkspace::with(&[("counter", "0")]);
    let path = sample.path().join("counter");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(WRITERS).build().unwrap();
    let writers: Vec<_> = (0..WRITERS)
        .map(|_| {
            let (tool, path) = (Write(sample.tools()), path.clone());
            runtime.spawn(async move {
                let mut result = 0;
                while result < UPDATES {
                    let seen = std::fs::read(&path).unwrap();
                    let next = String::from_utf8(seen.clone()).unwrap().parse::<usize>().unwrap() + 1;
                    let args = json!({"path": "counter", "content": next.to_string(), "etag": etag_of(&seen)});
                    match tool.call(serde_json::from_value(args).unwrap(), &Context::detached()).await {
                        Ok(_) => result += 1,
                        Err(error) => assert_eq!(error.kind, Kind::Conflict, "{error}"),
                    }
                }
            })
        })
        .collect();
    for writer in writers {
        runtime.block_on(writer).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), (WRITERS * UPDATES).to_string());
}
