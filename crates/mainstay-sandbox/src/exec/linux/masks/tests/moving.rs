//! That no protected name is missed while other commands move directories about.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags};

use super::*;
use crate::identity::FileId;

/// The identities of what is hidden.
fn identities(masks: &[Mask]) -> HashSet<FileId> {
    masks.iter().map(|mask| mask.identity).collect()
}

/// Scans while something is done again and again, and counts the scans that do not satisfy a condition.
fn missed(
    scan: &mut ProtectedScan,
    scans: usize,
    disturb: impl Fn() + Sync,
    complete: impl Fn(&[Mask]) -> bool,
) -> usize {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                disturb();
            }
        });
        // A scan that says that it cannot be done has missed nothing.
        let scans = (0..scans).filter_map(|_| scan.masks().ok());
        let missed = scans.filter(|masks| !complete(masks)).count();
        stop.store(true, Ordering::Relaxed);
        missed
    })
}

#[test]
fn a_directory_that_is_moved_about_is_not_missed() {
    for scan_of in KINDS {
        let (directory, workspace) = tree();
        let (here, there) = (directory.path().join("a"), directory.path().join("plain/a"));
        let mut scan = scan_of(&workspace, &ExecSettings::default());
        let all = identities(&scan.masks().unwrap());
        let disturb = || {
            std::fs::rename(&here, &there).unwrap();
            std::fs::rename(&there, &here).unwrap();
        };
        assert_eq!(missed(&mut scan, 200, disturb, |masks| identities(masks).is_superset(&all)), 0);
    }
}

#[test]
fn a_directory_whose_name_is_protected_now_and_then_is_not_missed() {
    for scan_of in KINDS {
        let (directory, workspace) = tree();
        let at = |name: &str| directory.path().join(name);
        let mut scan = scan_of(&workspace, &ExecSettings::default());
        scan.masks().unwrap();
        let secret = FileId::of_path(&at("a/server.key")).unwrap();
        let disturb = || {
            for (from, to) in [("a", ".ssh"), (".ssh", "a"), ("a", ".aws"), (".aws", "a")] {
                std::fs::rename(at(from), at(to)).unwrap();
            }
        };
        assert_eq!(missed(&mut scan, 400, disturb, |masks| identities(masks).contains(&secret)), 0);
    }
}

#[test]
fn directories_that_are_exchanged_are_not_missed() {
    for scan_of in KINDS {
        let (directory, workspace) = tree();
        let at = |name: &str| directory.path().join(name);
        for name in ["b", "c/d"] {
            std::fs::create_dir_all(at(name)).unwrap();
            std::fs::write(at(name).join(".env"), "s").unwrap();
        }
        let mut scan = scan_of(&workspace, &ExecSettings::default());
        let all = identities(&scan.masks().unwrap());
        let exchange = |one: &str, other: &str| {
            rustix::fs::renameat_with(CWD, at(one), CWD, at(other), RenameFlags::EXCHANGE).unwrap();
        };
        let disturb = || {
            exchange("a", "b");
            exchange("c/d", "a");
        };
        assert_eq!(missed(&mut scan, 400, disturb, |masks| identities(masks).is_superset(&all)), 0);
    }
}

#[test]
fn a_name_stays_hidden_inside_what_is_hidden_as_a_whole() {
    for scan_of in KINDS {
        let (directory, workspace) = tree();
        let at = |name: &str| directory.path().join(name);
        let mut scan = scan_of(&workspace, &ExecSettings::default());
        let all = found(&mut scan, &workspace);
        std::fs::rename(at("a"), at(".ssh")).unwrap();
        let inside = [".env", ".ssh", ".ssh/b/.git", ".ssh/server.key"].map(PathBuf::from);
        assert_eq!(found(&mut scan, &workspace), inside, "another command could move it out of there");
        let masks = scan.masks().unwrap();
        let place = |name: &str| masks.iter().position(|mask| mask.path().ends_with(name)).unwrap();
        assert!(place(".ssh/server.key") < place(".ssh"), "what is inside has no path after what is above");
        std::fs::rename(at(".ssh/server.key"), at(".ssh/moved.key")).unwrap();
        assert!(found(&mut scan, &workspace).contains(&".ssh/moved.key".into()));
        std::fs::rename(at(".ssh/moved.key"), at(".ssh/server.key")).unwrap();
        std::fs::rename(at(".ssh"), at("a")).unwrap();
        assert_eq!(found(&mut scan, &workspace), all);
    }
}

#[test]
fn what_was_renamed_to_a_plain_name_or_removed_is_not_hidden_any_more() {
    for scan_of in KINDS {
        let (directory, workspace) = tree();
        let at = |name: &str| directory.path().join(name);
        let mut scan = scan_of(&workspace, &ExecSettings::default());
        found(&mut scan, &workspace);
        std::fs::rename(at(".env"), at("env.txt")).unwrap();
        std::fs::hard_link(at("a/server.key"), at("a/copy")).unwrap();
        std::fs::remove_file(at("a/server.key")).unwrap();
        assert_eq!(found(&mut scan, &workspace), [PathBuf::from("a/b/.git")]);
    }
}

#[test]
fn names_without_a_handle_are_not_missed_either() {
    let (directory, workspace) = tree();
    let at = |name: &str| directory.path().join(name);
    let mut scan = scan_of(&workspace, &ExecSettings::default());
    scan.known.capacity = 0;
    scan.masks().unwrap();
    let secret = FileId::of_path(&at("a/server.key")).unwrap();
    let hidden = FileId::of_path(&at("a")).unwrap();
    let disturb = || {
        for (from, to) in [("a", ".ssh"), (".ssh", "plain/a"), ("plain/a", "a")] {
            std::fs::rename(at(from), at(to)).unwrap();
        }
    };
    let complete = |masks: &[Mask]| identities(masks).contains(&secret) || identities(masks).contains(&hidden);
    assert_eq!(missed(&mut scan, 100, disturb, complete), 0);
}
