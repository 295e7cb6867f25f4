//! Changes that are applied completely or not at all.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use mainstay_core::Kind;
use mainstay_sandbox::{Content, EntryKind, Expect, Step, etag_of};

use crate::{Fixture, kind};

fn put(fixture: &Fixture, path: &str, text: &str, expect: Expect) -> Step {
    let target = fixture.workspace.find(path).unwrap().write_target().unwrap();
    Step::Put { target, content: Content::Bytes(text.into()), expect, mode: None }
}

fn remove(fixture: &Fixture, path: &str) -> Step {
    let target = fixture.workspace.find(path).unwrap().entry_target().unwrap();
    let kind = target.metadata().unwrap().unwrap().kind;
    Step::Remove { target, expect: Expect::Anything, kind, recursive: true }
}

fn rename(fixture: &Fixture, from: &str, to: &str, expect: Expect) -> Step {
    let (from, to) = (fixture.workspace.find(from).unwrap(), fixture.workspace.find(to).unwrap());
    Step::Move { from: from.entry_target().unwrap(), to: to.entry_target().unwrap(), expect }
}

fn names(fixture: &Fixture) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut ahead = vec![fixture.inside.clone()];
    while let Some(directory) = ahead.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            names.push(path.strip_prefix(&fixture.inside).unwrap().display().to_string());
            if path.is_dir() && !path.is_symlink() {
                ahead.push(path);
            }
        }
    }
    names.sort();
    names
}

#[test]
fn a_file_is_made_with_the_directories_it_needs() {
    let fixture = Fixture::new();
    let done = fixture.put("a/b/c.txt", "text").unwrap();
    assert_eq!((done.etag.unwrap(), done.replaced), (etag_of(b"text"), false));
    assert_eq!(fixture.read("a/b/c.txt").unwrap(), "text");
}

#[test]
fn an_expectation_that_does_not_hold_changes_nothing() {
    let fixture = Fixture::new();
    let before = names(&fixture);
    assert_eq!(kind(fixture.put_if("src/main.rs", "x", Expect::Nothing)), Kind::Conflict);
    assert_eq!(kind(fixture.put_if("src/main.rs", "x", Expect::Etag(etag_of(b"other")))), Kind::Conflict);
    assert_eq!(kind(fixture.put_if("n/e/w", "x", Expect::Etag(etag_of(b"other")))), Kind::NotFound);
    assert_eq!(names(&fixture), before, "not even the directories are left");
    assert_eq!(fixture.read("src/main.rs").unwrap(), "fn main() {}\n");
    fixture.put_if("src/main.rs", "new", Expect::Etag(etag_of(b"fn main() {}\n"))).unwrap();
    assert_eq!(fixture.read("src/main.rs").unwrap(), "new");
}

#[test]
fn permissions_are_kept_and_can_be_given() {
    let fixture = Fixture::new();
    let script = fixture.inside.join("run.sh");
    std::fs::write(&script, "old").unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o750)).unwrap();
    fixture.put("run.sh", "new").unwrap();
    assert_eq!(script.metadata().unwrap().permissions().mode() & 0o777, 0o750);
    let target = fixture.workspace.find("other").unwrap().write_target().unwrap();
    let step = Step::Put { target, content: Content::Bytes(vec![]), expect: Expect::Nothing, mode: Some(0o600) };
    fixture.workspace.commit(vec![step]).unwrap();
    assert_eq!(fixture.inside.join("other").metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn several_changes_are_made_together() {
    let fixture = Fixture::new();
    fixture.put("b", "b").unwrap();
    fixture.put("dir/x", "x").unwrap();
    fixture.put("dir/y", "y").unwrap();
    let steps = vec![
        put(&fixture, "src/main.rs", "changed", Expect::Anything),
        put(&fixture, "new/file", "made", Expect::Nothing),
        rename(&fixture, "b", "c", Expect::Nothing),
        remove(&fixture, "dir"),
        Step::MakeDirectory {
            target: fixture.workspace.find("empty/one").unwrap().entry_target().unwrap(),
            mode: None,
        },
    ];
    fixture.workspace.commit(steps).unwrap();
    assert_eq!(names(&fixture), ["c", "empty", "empty/one", "new", "new/file", "src", "src/main.rs"]);
    assert_eq!((fixture.read("src/main.rs").unwrap(), fixture.read("c").unwrap()), ("changed".into(), "b".into()));
}

#[test]
fn if_one_of_several_fails_none_is_made() {
    let fixture = Fixture::new();
    fixture.put("b", "b").unwrap();
    fixture.put("dir/x", "x").unwrap();
    let before = names(&fixture);
    // The last one fails only when it is its turn: a directory cannot be moved into itself.
    let steps = vec![
        put(&fixture, "src/main.rs", "changed", Expect::Anything),
        put(&fixture, "new/file", "made", Expect::Nothing),
        remove(&fixture, "b"),
        Step::MakeDirectory { target: fixture.workspace.find("empty").unwrap().entry_target().unwrap(), mode: None },
        rename(&fixture, "dir", "dir/inner", Expect::Nothing),
    ];
    assert_eq!(kind(fixture.workspace.commit(steps)), Kind::Invalid);
    assert_eq!(names(&fixture), before);
    assert_eq!(
        (fixture.read("src/main.rs").unwrap(), fixture.read("b").unwrap()),
        ("fn main() {}\n".into(), "b".into())
    );
}

#[test]
fn a_move_replaces_only_what_it_was_told_to() {
    let fixture = Fixture::new();
    fixture.put("a", "a").unwrap();
    fixture.put("b", "b").unwrap();
    assert_eq!(kind(fixture.workspace.commit(vec![rename(&fixture, "a", "b", Expect::Nothing)])), Kind::Conflict);
    fixture.workspace.commit(vec![rename(&fixture, "a", "b", Expect::Anything)]).unwrap();
    assert_eq!(fixture.read("b").unwrap(), "a");
    assert_eq!(kind(fixture.workspace.commit(vec![rename(&fixture, "a", "c", Expect::Nothing)])), Kind::NotFound);
}

#[test]
fn the_same_name_twice_is_refused() {
    let fixture = Fixture::new();
    let steps = vec![put(&fixture, "a", "1", Expect::Anything), put(&fixture, "./a", "2", Expect::Anything)];
    assert_eq!(kind(fixture.workspace.commit(steps)), Kind::Invalid);
    assert!(fixture.read("a").is_err());
}

#[test]
fn a_tree_goes_whole_however_deep_and_links_in_it_are_not_followed() {
    let fixture = Fixture::new();
    let mut deep = fixture.inside.join("deep");
    for _ in 0..200 {
        deep.push("d");
    }
    std::fs::create_dir_all(&deep).unwrap();
    std::fs::write(deep.join("leaf"), "x").unwrap();
    fixture.link(&fixture.outside, "deep/out");
    fixture.workspace.commit(vec![remove(&fixture, "deep")]).unwrap();
    assert_eq!(names(&fixture), ["src", "src/main.rs"]);
    fixture.assert_outside_untouched();
}

#[test]
fn a_tree_with_something_protected_in_it_stays() {
    let fixture = Fixture::new();
    std::fs::create_dir_all(fixture.inside.join("repo/sub/.git")).unwrap();
    assert_eq!(kind(fixture.workspace.commit(vec![remove(&fixture, "repo")])), Kind::Denied);
    assert!(fixture.inside.join("repo/sub/.git").exists());
}

#[test]
fn removing_a_link_leaves_what_it_points_to() {
    let fixture = Fixture::new();
    fixture.link("src", "code");
    fixture.workspace.commit(vec![remove(&fixture, "code")]).unwrap();
    assert_eq!(names(&fixture), ["src", "src/main.rs"]);
}

#[test]
fn copies_and_appends_of_large_files_are_whole() {
    let fixture = Fixture::new();
    let big: String = (0..200_000).fold(String::new(), |text, n| text + "line " + &n.to_string() + "\n");
    std::fs::write(fixture.inside.join("big"), &big).unwrap();
    let open = || fixture.workspace.find("big").unwrap().open_file().unwrap();
    let step = |path: &str, content| {
        let target = fixture.workspace.find(path).unwrap().write_target().unwrap();
        Step::Put { target, content, expect: Expect::Anything, mode: None }
    };
    let copied = fixture.workspace.commit(vec![step("copy", Content::Copy(open()))]).unwrap().remove(0);
    assert_eq!(copied.etag.as_deref(), Some(etag_of(big.as_bytes()).as_str()));
    let more = Content::Append { to: open(), more: b"end\n".to_vec() };
    fixture.workspace.commit(vec![step("big", more)]).unwrap();
    let grown = std::fs::read_to_string(fixture.inside.join("big")).unwrap();
    assert!(grown.len() == big.len() + 4 && grown.ends_with("line 199999\nend\n"));
}

#[test]
fn the_tag_of_a_large_file_follows_its_content() {
    let fixture = Fixture::new();
    let path = fixture.inside.join("big");
    let etag = || fixture.workspace.find("big").unwrap().open_file().unwrap().etag().unwrap();
    let mut seen = std::collections::HashSet::new();
    for round in 0..50u8 {
        // The same size every time, faster than the clock of the file system ticks.
        let content = vec![round; 1 << 20];
        std::fs::write(&path, &content).unwrap();
        assert_eq!(etag(), etag_of(&content));
        assert!(seen.insert(etag()));
    }
}

#[test]
fn sixteen_writers_with_tags_lose_none_of_ten_thousand_updates() {
    const WRITERS: usize = 16;
    const UPDATES: usize = 10_000;
    let fixture = Fixture::new();
    fixture.put("counter", "0").unwrap();
    let left = AtomicUsize::new(UPDATES);
    std::thread::scope(|scope| {
        for _ in 0..WRITERS {
            scope.spawn(|| {
                while left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok() {
                    loop {
                        let now = fixture.read("counter").unwrap();
                        let next = (now.parse::<usize>().unwrap() + 1).to_string();
                        match fixture.put_if("counter", &next, Expect::Etag(etag_of(now.as_bytes()))) {
                            Ok(_) => break,
                            Err(error) => assert_eq!(error.kind, Kind::Conflict, "{error}"),
                        }
                    }
                }
            });
        }
    });
    assert_eq!(fixture.read("counter").unwrap(), UPDATES.to_string());
    assert_eq!(names(&fixture), ["counter", "src", "src/main.rs"]);
}

#[test]
fn a_directory_that_is_not_empty_any_more_stays_unless_all_of_it_was_meant() {
    let fixture = Fixture::new();
    let step = |kind, recursive| Step::Remove {
        target: fixture.workspace.find("src").unwrap().entry_target().unwrap(),
        expect: Expect::Anything,
        kind,
        recursive,
    };
    assert_eq!(kind(fixture.workspace.commit(vec![step(EntryKind::Directory, false)])), Kind::Conflict);
    assert_eq!(fixture.read("src/main.rs").unwrap(), "fn main() {}\n");
    let swapped = fixture.workspace.commit(vec![step(EntryKind::File, true)]);
    assert_eq!(kind(swapped), Kind::Conflict, "what was a file is a tree now");
    std::fs::remove_file(fixture.inside.join("src/main.rs")).unwrap();
    let both = vec![step(EntryKind::Directory, false), put(&fixture, "other", "x", Expect::Nothing)];
    fixture.workspace.commit(both).unwrap();
    assert_eq!(names(&fixture), ["other"]);
}

#[test]
fn the_mode_of_a_new_directory_is_what_was_asked_for() {
    let fixture = Fixture::new();
    let target = fixture.workspace.find("private").unwrap().entry_target().unwrap();
    fixture.workspace.commit(vec![Step::MakeDirectory { target, mode: Some(0o700) }]).unwrap();
    assert_eq!(fixture.inside.join("private").metadata().unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn a_path_of_too_many_names_is_refused() {
    let fixture = Fixture::new();
    assert_eq!(kind(fixture.read(&"d/".repeat(300))), Kind::Invalid);
}
