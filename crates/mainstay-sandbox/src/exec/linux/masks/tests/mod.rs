//! Which protected names are found, and which are not.

mod crowded;
mod moving;
mod watching;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::ProtectedScan;
use crate::exec::ExecSettings;
use crate::exec::linux::mounts::Mask;
use crate::exec::visibility::{Access, Grant, Origin, Visibility};
use crate::settings::FilesSettings;
use crate::workspace::{DIRECTORY, Workspace};

/// A scan that watches the workspace.
fn scan_of(workspace: &Workspace, settings: &ExecSettings) -> ProtectedScan {
    let visibility = Visibility::new(workspace, &ExecSettings::default());
    ProtectedScan::new(workspace, &visibility, settings).unwrap()
}

/// One that walks through it each time, as where nothing can be watched.
fn walk_of(workspace: &Workspace, settings: &ExecSettings) -> ProtectedScan {
    ProtectedScan { walks: usize::MAX, ..scan_of(workspace, settings) }
}

/// Both kinds have to find the same.
const KINDS: [fn(&Workspace, &ExecSettings) -> ProtectedScan; 2] = [scan_of, walk_of];

fn found(scan: &mut ProtectedScan, workspace: &Workspace) -> Vec<PathBuf> {
    let base = workspace.roots()[0].path().to_owned();
    let masks = scan.masks().unwrap();
    let path = |mask: Mask| PathBuf::from(OsString::from_vec(mask.path.into_bytes()));
    let mut paths: Vec<_> = masks.into_iter().map(|mask| path(mask).strip_prefix(&base).unwrap().to_owned()).collect();
    paths.sort();
    paths
}

fn tree() -> (tempfile::TempDir, Workspace) {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    std::fs::create_dir_all(at("a/b/.git/objects")).unwrap();
    std::fs::create_dir_all(at("plain")).unwrap();
    std::fs::write(at(".env"), "s").unwrap();
    std::fs::write(at("a/server.key"), "s").unwrap();
    std::fs::write(at("a/code.rs"), "s").unwrap();
    symlink("/etc", at("plain/.ssh")).unwrap();
    symlink("..", at("plain/up")).unwrap();
    let workspace = Workspace::open(directory.path(), &FilesSettings::default()).unwrap();
    (directory, workspace)
}

#[test]
fn protected_names_are_found_at_every_depth_and_links_are_not_followed() {
    for scan_of in KINDS {
        let (_directory, workspace) = tree();
        let mut scan = scan_of(&workspace, &ExecSettings::default());
        assert_eq!(found(&mut scan, &workspace), [".env", "a/b/.git", "a/server.key"].map(PathBuf::from));
    }
}

#[test]
fn the_servers_own_directory_is_hidden_whatever_it_is_called() {
    for scan_of in KINDS {
        let (directory, workspace) = tree();
        let workspace = workspace.with_closed_dir(&directory.path().join("plain")).unwrap();
        std::fs::rename(directory.path().join("plain"), directory.path().join("renamed")).unwrap();
        let found = found(&mut scan_of(&workspace, &ExecSettings::default()), &workspace);
        assert!(found.contains(&PathBuf::from("renamed")), "{found:?}");
    }
}

#[test]
fn the_servers_own_directory_is_hidden_among_programs_too() {
    let (_directory, workspace) = tree();
    let machine = tempfile::tempdir().unwrap();
    let base = machine.path().canonicalize().unwrap();
    std::fs::create_dir_all(base.join("opt/own")).unwrap();
    let workspace = workspace.with_closed_dir(&base.join("opt/own")).unwrap();
    let hides = |origin: Option<Origin>| {
        let mut visibility = Visibility::new(&workspace, &ExecSettings::default());
        let grant = |origin| Grant { path: base.join("opt"), access: Access::Read, directory: true, origin };
        visibility.grants.extend(origin.map(grant));
        let masks = ProtectedScan::new(&workspace, &visibility, &ExecSettings::default()).unwrap().masks().unwrap();
        masks.iter().filter(|mask| mask.path.to_bytes() == base.join("opt/own").as_os_str().as_bytes()).count()
    };
    assert_eq!((hides(Some(Origin::Machine)), hides(Some(Origin::Setting))), (1, 1));
    assert_eq!(hides(None), 0, "what commands do not see cannot be hidden from them");
}

#[test]
fn a_second_scan_sees_what_has_changed() {
    for scan_of in KINDS {
        let (directory, workspace) = tree();
        let mut scan = scan_of(&workspace, &ExecSettings::default());
        found(&mut scan, &workspace);
        std::fs::rename(directory.path().join("a/server.key"), directory.path().join("plain/server.key")).unwrap();
        std::fs::remove_file(directory.path().join(".env")).unwrap();
        assert_eq!(found(&mut scan, &workspace), ["a/b/.git", "plain/server.key"].map(PathBuf::from));
    }
}

/// Does something as a user who is not root, on this thread.
#[expect(unsafe_code, reason = "the user is a thread's own only by the kernel's interface")]
fn as_nobody<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    const NOBODY: u32 = 65_534;
    let work = || {
        // SAFETY: no pointers. Without the privilege the user stays the same.
        unsafe { libc::syscall(libc::SYS_setfsuid, NOBODY) };
        work()
    };
    std::thread::scope(|scope| scope.spawn(work).join().unwrap())
}

#[test]
fn what_cannot_be_looked_into_is_hidden_as_a_whole() {
    for scan_of in KINDS {
        use std::os::unix::fs::PermissionsExt as _;
        let (directory, workspace) = tree();
        let closed = directory.path().join("a/b");
        let set = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        // Whom the rest belongs to must not matter.
        set(directory.path(), 0o755);
        for (mode, what) in
            [(0o311, "not readable"), (0o600, "not searchable"), (0o644, "not searchable"), (0, "neither")]
        {
            set(&closed, mode);
            let found = as_nobody(|| found(&mut scan_of(&workspace, &ExecSettings::default()), &workspace));
            set(&closed, 0o755);
            assert_eq!(found, [".env", "a/b", "a/server.key"].map(PathBuf::from), "{what}: {mode:o}");
        }
    }
}

#[test]
fn what_a_setting_adds_is_looked_through_but_not_the_toolchains_in_it() {
    let (directory, workspace) = tree();
    let added = tempfile::tempdir().unwrap();
    let base = added.path().canonicalize().unwrap();
    for name in ["deep/.git", "tools/.git"] {
        std::fs::create_dir_all(base.join(name)).unwrap();
    }
    std::fs::write(base.join(".env"), "s").unwrap();
    let settings = ExecSettings { read: vec![base.clone()], ..Default::default() };
    let mut visibility = Visibility::new(&workspace, &settings);
    visibility.grants.push(Grant {
        path: base.join("tools"),
        access: Access::Read,
        directory: true,
        origin: Origin::Machine,
    });
    let masks = ProtectedScan::new(&workspace, &visibility, &settings).unwrap().masks().unwrap();
    let paths: Vec<_> = masks.iter().map(|mask| Path::new(OsStr::from_bytes(mask.path.to_bytes()))).collect();
    let mut added: Vec<_> = paths.iter().filter_map(|path| path.strip_prefix(&base).ok()).collect();
    added.sort();
    assert_eq!(added, [".env", "deep/.git"].map(Path::new));
    assert!(paths.contains(&directory.path().canonicalize().unwrap().join(".env").as_path()));
}

#[test]
fn what_has_left_the_workspace_is_gone() {
    for scan_of in KINDS {
        let (directory, workspace) = tree();
        let elsewhere = tempfile::tempdir_in(directory.path().parent().unwrap()).unwrap();
        let mut scan = scan_of(&workspace, &ExecSettings::default());
        found(&mut scan, &workspace);
        std::fs::rename(directory.path().join(".env"), elsewhere.path().join(".env")).unwrap();
        assert_eq!(found(&mut scan, &workspace), ["a/b/.git", "a/server.key"].map(PathBuf::from));
    }
}

#[test]
fn what_was_replaced_is_not_looked_for_in_a_workspace_that_never_rests() {
    for scan_of in KINDS {
        let (directory, workspace) = tree();
        let mut scan = scan_of(&workspace, &ExecSettings::default());
        found(&mut scan, &workspace);
        let stop = std::sync::atomic::AtomicBool::new(false);
        let found = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    std::fs::write(directory.path().join("plain/build.log"), "s").unwrap();
                    std::fs::remove_file(directory.path().join("plain/build.log")).unwrap();
                }
            });
            std::fs::write(directory.path().join("new"), "s").unwrap();
            std::fs::rename(directory.path().join("new"), directory.path().join(".env")).unwrap();
            let masks = scan.masks();
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            masks.map(|masks| masks.len())
        });
        assert_eq!(found.unwrap(), 3);
    }
}

#[test]
fn what_the_operator_allows_is_not_hidden() {
    for scan_of in KINDS {
        let (_directory, workspace) = tree();
        let settings = ExecSettings { allow_protected: vec![".git".into(), "*.key".into()], ..Default::default() };
        assert_eq!(found(&mut scan_of(&workspace, &settings), &workspace), [PathBuf::from(".env")]);
    }
}

#[test]
fn what_is_too_deep_to_be_searched_is_hidden_and_the_rest_is_found() {
    for scan_of in KINDS {
        let (directory, workspace) = tree();
        let mut scan = scan_of(&workspace, &ExecSettings::default());
        // Deep, with a short path; and with a path longer than the kernel accepts.
        for (name, levels) in [("d".to_owned(), 300), ("n".repeat(200), 30)] {
            let mut above = rustix::fs::open(directory.path(), DIRECTORY, rustix::fs::Mode::empty()).unwrap();
            for _ in 0..levels {
                rustix::fs::mkdirat(&above, &name, rustix::fs::Mode::from_raw_mode(0o755)).unwrap();
                above = rustix::fs::openat(&above, &name, DIRECTORY, rustix::fs::Mode::empty()).unwrap();
            }
            rustix::fs::mkdirat(&above, ".git", rustix::fs::Mode::from_raw_mode(0o755)).unwrap();
            for _ in 0..2 {
                let found = found(&mut scan, &workspace);
                let (deep, others): (Vec<_>, Vec<_>) = found.into_iter().partition(|path| path.starts_with(&name));
                assert_eq!(deep.len(), 1, "one directory is hidden with all that is in it");
                assert!(directory.path().join(&deep[0]).as_os_str().len() < 4096);
                assert!([".env", "a/b/.git", "a/server.key"].iter().all(|name| others.contains(&PathBuf::from(name))));
            }
        }
    }
}
