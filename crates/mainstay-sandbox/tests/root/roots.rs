//! Several roots, and what must not be changed.

use mainstay_core::Kind;
use mainstay_sandbox::{EntryKind, Expect, FilesSettings, RootSettings, Step, Workspace};

use crate::{House, kind};

#[test]
fn another_root_is_reached_by_its_absolute_path() {
    let other = tempfile::tempdir().unwrap();
    std::fs::write(other.path().join("a"), "there").unwrap();
    let roots = vec![RootSettings { path: other.path().to_owned(), read_only: true }];
    let house = House::with(&FilesSettings { roots, ..FilesSettings::default() });
    let path = other.path().join("a");
    let spot = house.workspace.find(path.to_str().unwrap()).unwrap();
    assert_eq!(house.read(spot.shown()).unwrap(), "there", "what is shown can be given back");
    assert_eq!(kind(house.put(path.to_str().unwrap(), "x")), Kind::Denied);
    assert_eq!(std::fs::read_to_string(path).unwrap(), "there");
}

#[test]
fn a_read_only_root_inside_the_workspace_stays_so_whichever_way_it_is_reached() {
    let directory = tempfile::tempdir().unwrap();
    let base = std::fs::canonicalize(directory.path()).unwrap();
    std::fs::create_dir_all(base.join("vendor/deep")).unwrap();
    std::fs::write(base.join("vendor/deep/a"), "kept").unwrap();
    std::os::unix::fs::symlink("vendor/deep", base.join("alias")).unwrap();
    std::fs::create_dir_all(base.join("outer/inner")).unwrap();
    let root = |name: &str, read_only| RootSettings { path: base.join(name), read_only };
    let roots = vec![root("vendor", true), root("outer/inner", false)];
    let workspace = Workspace::open(&base, &FilesSettings { roots, ..FilesSettings::default() }).unwrap();
    for path in [
        "vendor/deep/a",
        "vendor/new",
        "alias/a",
        "./vendor/../vendor/deep/a",
        "vendor",
        base.join("vendor/x").to_str().unwrap(),
    ] {
        assert_eq!(kind(workspace.find(path).unwrap().place()), Kind::Denied, "{path}");
        assert_eq!(kind(workspace.find(path).unwrap().entry()), Kind::Denied, "{path}");
    }
    let gone = Step::Remove {
        place: workspace.find("outer").unwrap().entry().unwrap(),
        expect: Expect::Anything,
        kind: EntryKind::Directory,
        recursive: true,
    };
    assert_eq!(kind(workspace.commit(vec![gone])), Kind::Denied, "a root lies in it");
    assert!(workspace.find("alias/../fine").unwrap().place().is_err(), "it lies in vendor too");
    assert!(workspace.find("fine").unwrap().place().is_ok());
    assert!(workspace.find("vendor/deep/a").unwrap().open_file().is_ok());
}

#[test]
fn nothing_is_changed_in_a_read_only_workspace() {
    let house = House::with(&FilesSettings { read_only: true, ..FilesSettings::default() });
    assert_eq!(kind(house.put("new", "x")), Kind::Denied);
    assert_eq!(kind(house.workspace.find("src/main.rs").unwrap().entry()), Kind::Denied);
    assert!(house.read("src/main.rs").is_ok());
}

#[test]
fn the_root_itself_can_be_neither_removed_nor_moved() {
    let house = House::new();
    for path in [".", "src/..", house.inside.to_str().unwrap()] {
        assert_eq!(kind(house.workspace.find(path).unwrap().entry()), Kind::Denied, "{path}");
    }
}

#[test]
fn a_root_that_is_not_there_is_named() {
    let refused = Workspace::open("/nowhere/at/all".as_ref(), &FilesSettings::default()).unwrap_err();
    assert!(refused.public.contains("/nowhere/at/all"), "{refused}");
}

#[test]
fn the_servers_own_directory_is_closed_wherever_it_lies() {
    let directory = tempfile::tempdir().unwrap();
    let base = std::fs::canonicalize(directory.path()).unwrap();
    std::fs::create_dir_all(base.join("share/own/deep")).unwrap();
    std::fs::write(base.join("share/own/deep/key"), "secret").unwrap();
    std::os::unix::fs::symlink("share/own", base.join("alias")).unwrap();
    let workspace =
        Workspace::open(&base, &FilesSettings::default()).unwrap().closing(&base.join("share/own")).unwrap();
    for path in ["share/own/deep/key", "alias/deep/key", "share/own", "share/own/new"] {
        let spot = workspace.find(path).unwrap();
        assert_eq!(kind(spot.open_file()), Kind::Denied, "{path}");
        assert_eq!(kind(spot.place()), Kind::Denied, "{path}");
        assert_eq!(kind(spot.entry()), Kind::Denied, "{path}");
    }
    assert_eq!(kind(workspace.find("alias").unwrap().open_dir()), Kind::Denied);
    let share = workspace.find("share").unwrap().open_dir().unwrap();
    assert!(share.entries().unwrap().iter().all(|entry| entry.protected));
    assert_eq!(kind(share.child("own".as_ref())), Kind::Denied);
    let gone = Step::Remove {
        place: workspace.find("share").unwrap().entry().unwrap(),
        expect: Expect::Anything,
        kind: EntryKind::Directory,
        recursive: true,
    };
    assert_eq!(kind(workspace.commit(vec![gone])), Kind::Denied);
    let inside = Workspace::open(&base.join("share/own/deep"), &FilesSettings::default()).unwrap();
    assert_eq!(kind(inside.closing(&base.join("share/own"))), Kind::Unavailable);
}
