//! Several roots, read-only roots and the server's own directory.

use mainstay_core::Kind;
use mainstay_sandbox::{Expect, FilesSettings, RootSettings, Step, Workspace};

use crate::{Fixture, kind};

#[test]
fn another_root_is_reached_by_its_absolute_path() {
    let other = tempfile::tempdir().unwrap();
    std::fs::write(other.path().join("a"), "there").unwrap();
    let roots = vec![RootSettings { path: other.path().to_owned(), read_only: true }];
    let fixture = Fixture::with(&FilesSettings { roots, ..FilesSettings::default() });
    let path = other.path().join("a");
    let path_in_root = fixture.workspace.find(path.to_str().unwrap()).unwrap();
    assert_eq!(fixture.read(path_in_root.display()).unwrap(), "there", "a displayed path can be given back");
    assert_eq!(kind(fixture.put(path.to_str().unwrap(), "x")), Kind::Denied);
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
        assert_eq!(kind(workspace.find(path).unwrap().write_target()), Kind::Denied, "{path}");
        assert_eq!(kind(workspace.find(path).unwrap().entry_target()), Kind::Denied, "{path}");
    }
    assert_eq!(kind(workspace.find("outer").unwrap().entry_target()), Kind::Denied, "a root lies in it");
    assert!(workspace.find("alias/../fine").unwrap().write_target().is_err(), "it lies in vendor too");
    assert!(workspace.find("fine").unwrap().write_target().is_ok());
    assert!(workspace.find("vendor/deep/a").unwrap().open_file().is_ok());
}

#[test]
fn a_directory_above_a_root_can_be_neither_moved_nor_removed() {
    let directory = tempfile::tempdir().unwrap();
    let base = std::fs::canonicalize(directory.path()).unwrap();
    std::fs::create_dir_all(base.join("docs/a/kept")).unwrap();
    std::fs::create_dir_all(base.join("other/a")).unwrap();
    std::os::unix::fs::symlink("docs", base.join("alias")).unwrap();
    let roots = vec![RootSettings { path: base.join("docs/a/kept"), read_only: true }];
    let workspace = Workspace::open(&base, &FilesSettings { roots, ..FilesSettings::default() }).unwrap();
    let move_away = |path: &str| {
        let from = workspace.find(path)?.entry_target()?;
        let to = workspace.find("moved")?.write_target()?;
        workspace.commit(vec![Step::Move { from, to, expect: Expect::Nothing }]).map(drop)
    };
    for path in ["docs", "docs/a", "alias/a", "docs/a/kept", "other/../docs"] {
        let refused = move_away(path).unwrap_err();
        assert_eq!(refused.kind, Kind::Denied, "{path}: {refused}");
    }
    // The link itself is not above the root.
    for path in ["alias", "other"] {
        move_away(path).unwrap();
        std::fs::rename(base.join("moved"), base.join(path)).unwrap();
    }
    assert!(base.join("docs/a/kept").is_dir());
}

#[test]
fn a_directory_above_the_servers_own_can_be_neither_moved_nor_removed() {
    let directory = tempfile::tempdir().unwrap();
    let base = std::fs::canonicalize(directory.path()).unwrap();
    std::fs::create_dir_all(base.join("state/data/own")).unwrap();
    let workspace = Workspace::open(&base, &FilesSettings::default()).unwrap();
    let workspace = workspace.with_closed_dir(&base.join("state/data/own")).unwrap();
    for path in ["state", "state/data", "state/data/own"] {
        assert_eq!(kind(workspace.find(path).unwrap().entry_target()), Kind::Denied, "{path}");
    }
    assert!(workspace.find("state/data/other").unwrap().write_target().is_ok());
}

#[test]
fn nothing_is_changed_in_a_read_only_workspace() {
    let fixture = Fixture::with(&FilesSettings { read_only: true, ..FilesSettings::default() });
    assert_eq!(kind(fixture.put("new", "x")), Kind::Denied);
    assert_eq!(kind(fixture.workspace.find("src/main.rs").unwrap().entry_target()), Kind::Denied);
    assert!(fixture.read("src/main.rs").is_ok());
}

#[test]
fn the_root_itself_can_be_neither_removed_nor_moved() {
    let fixture = Fixture::new();
    for path in [".", "src/..", fixture.inside.to_str().unwrap()] {
        assert_eq!(kind(fixture.workspace.find(path).unwrap().entry_target()), Kind::Denied, "{path}");
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
        Workspace::open(&base, &FilesSettings::default()).unwrap().with_closed_dir(&base.join("share/own")).unwrap();
    for path in ["share/own/deep/key", "alias/deep/key", "share/own", "share/own/new"] {
        let path_in_root = workspace.find(path).unwrap();
        assert_eq!(kind(path_in_root.open_file()), Kind::Denied, "{path}");
        assert_eq!(kind(path_in_root.write_target()), Kind::Denied, "{path}");
        assert_eq!(kind(path_in_root.entry_target()), Kind::Denied, "{path}");
    }
    assert_eq!(kind(workspace.find("alias").unwrap().open_dir()), Kind::Denied);
    let share = workspace.find("share").unwrap().open_dir().unwrap();
    assert!(share.entries().unwrap().iter().all(|entry| entry.protected));
    assert_eq!(kind(share.child("own".as_ref())), Kind::Denied);
    assert_eq!(kind(workspace.find("share").unwrap().entry_target()), Kind::Denied, "it could be removed");
    let inside = Workspace::open(&base.join("share/own/deep"), &FilesSettings::default()).unwrap();
    assert_eq!(kind(inside.with_closed_dir(&base.join("share/own"))), Kind::Unavailable);
}
