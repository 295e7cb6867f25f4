//! Changes that are made whole or not at all.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use mainstay_core::Kind;
use mainstay_sandbox::{Content, EntryKind, Expect, Step, etag_of};

use crate::{House, kind};

fn put(house: &House, path: &str, text: &str, expect: Expect) -> Step {
    let place = house.workspace.find(path).unwrap().place().unwrap();
    Step::Put { place, content: Content::Bytes(text.into()), expect, mode: None }
}

fn remove(house: &House, path: &str) -> Step {
    let place = house.workspace.find(path).unwrap().entry().unwrap();
    let kind = place.look().unwrap().unwrap().kind;
    Step::Remove { place, expect: Expect::Anything, kind, recursive: true }
}

fn rename(house: &House, from: &str, to: &str, expect: Expect) -> Step {
    let (from, to) = (house.workspace.find(from).unwrap(), house.workspace.find(to).unwrap());
    Step::Move { from: from.entry().unwrap(), to: to.entry().unwrap(), expect }
}

fn names(house: &House) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut ahead = vec![house.inside.clone()];
    while let Some(directory) = ahead.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            names.push(path.strip_prefix(&house.inside).unwrap().display().to_string());
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
    let house = House::new();
    let done = house.put("a/b/c.txt", "text").unwrap();
    assert_eq!((done.etag.unwrap(), done.replaced), (etag_of(b"text"), false));
    assert_eq!(house.read("a/b/c.txt").unwrap(), "text");
}

#[test]
fn an_expectation_that_does_not_hold_changes_nothing() {
    let house = House::new();
    let before = names(&house);
    assert_eq!(kind(house.put_if("src/main.rs", "x", Expect::Nothing)), Kind::Conflict);
    assert_eq!(kind(house.put_if("src/main.rs", "x", Expect::Etag(etag_of(b"other")))), Kind::Conflict);
    assert_eq!(kind(house.put_if("n/e/w", "x", Expect::Etag(etag_of(b"other")))), Kind::NotFound);
    assert_eq!(names(&house), before, "not even the directories are left");
    assert_eq!(house.read("src/main.rs").unwrap(), "fn main() {}\n");
    house.put_if("src/main.rs", "new", Expect::Etag(etag_of(b"fn main() {}\n"))).unwrap();
    assert_eq!(house.read("src/main.rs").unwrap(), "new");
}

#[test]
fn permissions_are_kept_and_can_be_given() {
    let house = House::new();
    let script = house.inside.join("run.sh");
    std::fs::write(&script, "old").unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o750)).unwrap();
    house.put("run.sh", "new").unwrap();
    assert_eq!(script.metadata().unwrap().permissions().mode() & 0o777, 0o750);
    let place = house.workspace.find("other").unwrap().place().unwrap();
    let step = Step::Put { place, content: Content::Bytes(vec![]), expect: Expect::Nothing, mode: Some(0o600) };
    house.workspace.commit(vec![step]).unwrap();
    assert_eq!(house.inside.join("other").metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn several_changes_are_made_together() {
    let house = House::new();
    house.put("b", "b").unwrap();
    house.put("dir/x", "x").unwrap();
    house.put("dir/y", "y").unwrap();
    let steps = vec![
        put(&house, "src/main.rs", "changed", Expect::Anything),
        put(&house, "new/file", "made", Expect::Nothing),
        rename(&house, "b", "c", Expect::Nothing),
        remove(&house, "dir"),
        Step::MakeDirectory { place: house.workspace.find("empty/one").unwrap().entry().unwrap(), mode: None },
    ];
    house.workspace.commit(steps).unwrap();
    assert_eq!(names(&house), ["c", "empty", "empty/one", "new", "new/file", "src", "src/main.rs"]);
    assert_eq!((house.read("src/main.rs").unwrap(), house.read("c").unwrap()), ("changed".into(), "b".into()));
}

#[test]
fn if_one_of_several_fails_none_is_made() {
    let house = House::new();
    house.put("b", "b").unwrap();
    house.put("dir/x", "x").unwrap();
    let before = names(&house);
    // The last one fails only when it is its turn: a directory cannot be moved into itself.
    let steps = vec![
        put(&house, "src/main.rs", "changed", Expect::Anything),
        put(&house, "new/file", "made", Expect::Nothing),
        remove(&house, "b"),
        Step::MakeDirectory { place: house.workspace.find("empty").unwrap().entry().unwrap(), mode: None },
        rename(&house, "dir", "dir/inner", Expect::Nothing),
    ];
    assert_eq!(kind(house.workspace.commit(steps)), Kind::Invalid);
    assert_eq!(names(&house), before);
    assert_eq!((house.read("src/main.rs").unwrap(), house.read("b").unwrap()), ("fn main() {}\n".into(), "b".into()));
}

#[test]
fn a_move_replaces_only_what_it_was_told_to() {
    let house = House::new();
    house.put("a", "a").unwrap();
    house.put("b", "b").unwrap();
    assert_eq!(kind(house.workspace.commit(vec![rename(&house, "a", "b", Expect::Nothing)])), Kind::Conflict);
    house.workspace.commit(vec![rename(&house, "a", "b", Expect::Anything)]).unwrap();
    assert_eq!(house.read("b").unwrap(), "a");
    assert_eq!(kind(house.workspace.commit(vec![rename(&house, "a", "c", Expect::Nothing)])), Kind::NotFound);
}

#[test]
fn the_same_name_twice_is_refused() {
    let house = House::new();
    let steps = vec![put(&house, "a", "1", Expect::Anything), put(&house, "./a", "2", Expect::Anything)];
    assert_eq!(kind(house.workspace.commit(steps)), Kind::Invalid);
    assert!(house.read("a").is_err());
}

#[test]
fn a_tree_goes_whole_however_deep_and_links_in_it_are_not_followed() {
    let house = House::new();
    let mut deep = house.inside.join("deep");
    for _ in 0..200 {
        deep.push("d");
    }
    std::fs::create_dir_all(&deep).unwrap();
    std::fs::write(deep.join("leaf"), "x").unwrap();
    house.link(&house.outside, "deep/out");
    house.workspace.commit(vec![remove(&house, "deep")]).unwrap();
    assert_eq!(names(&house), ["src", "src/main.rs"]);
    house.unharmed();
}

#[test]
fn a_tree_with_something_protected_in_it_stays() {
    let house = House::new();
    std::fs::create_dir_all(house.inside.join("repo/sub/.git")).unwrap();
    assert_eq!(kind(house.workspace.commit(vec![remove(&house, "repo")])), Kind::Denied);
    assert!(house.inside.join("repo/sub/.git").exists());
}

#[test]
fn removing_a_link_leaves_what_it_points_to() {
    let house = House::new();
    house.link("src", "code");
    house.workspace.commit(vec![remove(&house, "code")]).unwrap();
    assert_eq!(names(&house), ["src", "src/main.rs"]);
}

#[test]
fn copies_and_appends_of_large_files_are_whole() {
    let house = House::new();
    let big: String = (0..200_000).fold(String::new(), |text, n| text + "line " + &n.to_string() + "\n");
    std::fs::write(house.inside.join("big"), &big).unwrap();
    let open = || house.workspace.find("big").unwrap().open_file().unwrap();
    let step = |path: &str, content| {
        let place = house.workspace.find(path).unwrap().place().unwrap();
        Step::Put { place, content, expect: Expect::Anything, mode: None }
    };
    let copied = house.workspace.commit(vec![step("copy", Content::Copy(open()))]).unwrap().remove(0);
    assert_eq!(copied.etag.as_deref(), Some(etag_of(big.as_bytes()).as_str()));
    let more = Content::Append { to: open(), more: b"end\n".to_vec() };
    house.workspace.commit(vec![step("big", more)]).unwrap();
    let grown = std::fs::read_to_string(house.inside.join("big")).unwrap();
    assert!(grown.len() == big.len() + 4 && grown.ends_with("line 199999\nend\n"));
}

#[test]
fn the_tag_of_a_large_file_follows_its_content() {
    let house = House::new();
    let path = house.inside.join("big");
    let etag = || house.workspace.find("big").unwrap().open_file().unwrap().etag().unwrap();
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
    let house = House::new();
    house.put("counter", "0").unwrap();
    let left = AtomicUsize::new(UPDATES);
    std::thread::scope(|scope| {
        for _ in 0..WRITERS {
            scope.spawn(|| {
                while left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok() {
                    loop {
                        let now = house.read("counter").unwrap();
                        let next = (now.parse::<usize>().unwrap() + 1).to_string();
                        match house.put_if("counter", &next, Expect::Etag(etag_of(now.as_bytes()))) {
                            Ok(_) => break,
                            Err(error) => assert_eq!(error.kind, Kind::Conflict, "{error}"),
                        }
                    }
                }
            });
        }
    });
    assert_eq!(house.read("counter").unwrap(), UPDATES.to_string());
    assert_eq!(names(&house), ["counter", "src", "src/main.rs"]);
}

#[test]
fn a_directory_that_is_not_empty_any_more_stays_unless_all_of_it_was_meant() {
    let house = House::new();
    let step = |kind, recursive| Step::Remove {
        place: house.workspace.find("src").unwrap().entry().unwrap(),
        expect: Expect::Anything,
        kind,
        recursive,
    };
    assert_eq!(kind(house.workspace.commit(vec![step(EntryKind::Directory, false)])), Kind::Conflict);
    assert_eq!(house.read("src/main.rs").unwrap(), "fn main() {}\n");
    let swapped = house.workspace.commit(vec![step(EntryKind::File, true)]);
    assert_eq!(kind(swapped), Kind::Conflict, "what was a file is a tree now");
    std::fs::remove_file(house.inside.join("src/main.rs")).unwrap();
    let both = vec![step(EntryKind::Directory, false), put(&house, "other", "x", Expect::Nothing)];
    house.workspace.commit(both).unwrap();
    assert_eq!(names(&house), ["other"]);
}

#[test]
fn the_mode_of_a_new_directory_is_what_was_asked_for() {
    let house = House::new();
    let place = house.workspace.find("private").unwrap().entry().unwrap();
    house.workspace.commit(vec![Step::MakeDirectory { place, mode: Some(0o700) }]).unwrap();
    assert_eq!(house.inside.join("private").metadata().unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn a_path_of_too_many_names_is_refused() {
    let house = House::new();
    assert_eq!(kind(house.read(&"d/".repeat(300))), Kind::Invalid);
}
