//! What watching the workspace saves, and that it misses nothing that a walk finds.

use std::mem::MaybeUninit;

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::Errno;

use super::*;

/// Whether one of these directories is opened while something is done.
fn opens(directories: &[PathBuf], work: impl FnOnce()) -> bool {
    let inotify = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).unwrap();
    for directory in directories {
        inotify::add_watch(&inotify, directory, WatchFlags::OPEN | WatchFlags::ONLYDIR).unwrap();
    }
    work();
    let mut buffer = [const { MaybeUninit::uninit() }; 4096];
    match inotify::Reader::new(&inotify, &mut buffer).next() {
        Ok(_) => true,
        Err(Errno::AGAIN) => false,
        Err(errno) => panic!("{errno}"),
    }
}

#[test]
fn after_the_first_command_no_directory_is_opened_unless_it_has_changed() {
    let (directory, workspace) = tree();
    let at = |name: &str| directory.path().join(name);
    std::fs::create_dir_all(at("c/d/e")).unwrap();
    let mut scan = scan_of(&workspace, &ExecSettings::default());
    let all = ["", "a", "a/b", "plain", "c", "c/d", "c/d/e"].map(at);
    let first = found(&mut scan, &workspace);
    assert!(!opens(&all, || assert_eq!(found(&mut scan, &workspace), first)));
    // Files without a protected name are not looked at either.
    std::fs::write(at("c/d/code.rs"), "s").unwrap();
    std::fs::remove_file(at("a/code.rs")).unwrap();
    assert!(!opens(&all, || assert_eq!(found(&mut scan, &workspace), first)));
    // What is new is found by reading where it appeared, and nowhere else.
    std::fs::write(at("c/d/.env"), "s").unwrap();
    let others = ["", "a", "a/b", "plain", "c/d/e"].map(at);
    assert!(!opens(&others, || assert!(found(&mut scan, &workspace).contains(&PathBuf::from("c/d/.env")))));
}

#[test]
fn what_comes_into_the_workspace_with_a_directory_is_found() {
    let (directory, workspace) = tree();
    let outside = tempfile::tempdir_in(directory.path().parent().unwrap()).unwrap();
    std::fs::create_dir_all(outside.path().join("repo/.git")).unwrap();
    let mut scan = scan_of(&workspace, &ExecSettings::default());
    let first = found(&mut scan, &workspace);
    std::fs::rename(outside.path().join("repo"), directory.path().join("plain/repo")).unwrap();
    assert!(found(&mut scan, &workspace).contains(&PathBuf::from("plain/repo/.git")));
    std::fs::rename(directory.path().join("plain/repo"), outside.path().join("repo")).unwrap();
    assert_eq!(found(&mut scan, &workspace), first);
    // It changes where nobody watches it, and comes back.
    std::fs::write(outside.path().join("repo/.env"), "s").unwrap();
    std::fs::rename(outside.path().join("repo"), directory.path().join("repo")).unwrap();
    let found = found(&mut scan, &workspace);
    assert!(found.contains(&PathBuf::from("repo/.env")) && found.contains(&PathBuf::from("repo/.git")), "{found:?}");
}

#[test]
fn a_new_directory_with_the_inode_of_a_removed_one_is_watched() {
    let (directory, workspace) = tree();
    let mut scan = scan_of(&workspace, &ExecSettings::default());
    for round in 0..100 {
        let (old, new) = (directory.path().join(format!("old{round}")), directory.path().join(format!("new{round}")));
        std::fs::create_dir(&old).unwrap();
        found(&mut scan, &workspace);
        std::fs::remove_dir(&old).unwrap();
        std::fs::create_dir(&new).unwrap();
        found(&mut scan, &workspace);
        std::fs::write(new.join(".env"), "s").unwrap();
        let hidden = PathBuf::from(format!("new{round}/.env"));
        assert!(found(&mut scan, &workspace).contains(&hidden), "{round}");
        std::fs::remove_dir_all(&new).unwrap();
    }
}

#[test]
fn a_directory_that_can_be_read_again_is_searched_again() {
    use std::os::unix::fs::PermissionsExt as _;
    let (directory, workspace) = tree();
    let closed = directory.path().join("a/b");
    let set = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    set(directory.path(), 0o755);
    as_nobody(|| {
        let mut scan = scan_of(&workspace, &ExecSettings::default());
        for _ in 0..3 {
            assert_eq!(found(&mut scan, &workspace), [".env", "a/b/.git", "a/server.key"].map(PathBuf::from));
            // The mode is changed as the owner, who is not this user.
            std::thread::scope(|scope| scope.spawn(|| as_owner(|| set(&closed, 0o311))).join().unwrap());
            // What was known stays hidden in it: its owner can make it readable while a command is being started.
            let hidden = [".env", "a/b", "a/b/.git", "a/server.key"].map(PathBuf::from);
            assert_eq!(found(&mut scan, &workspace), hidden);
            std::thread::scope(|scope| scope.spawn(|| as_owner(|| set(&closed, 0o755))).join().unwrap());
        }
    });
}

/// Does something as the user who runs the tests, on a thread that has become another.
#[expect(unsafe_code, reason = "the user is a thread's own only by the kernel's interface")]
fn as_owner(work: impl FnOnce()) {
    // SAFETY: no pointers.
    unsafe { libc::syscall(libc::SYS_setfsuid, rustix::process::getuid().as_raw()) };
    work();
}

#[test]
fn more_changes_than_the_kernel_keeps_are_not_missed() {
    let (directory, workspace) = tree();
    let mut scan = scan_of(&workspace, &ExecSettings::default());
    found(&mut scan, &workspace);
    let kept: usize =
        std::fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap().trim().parse().unwrap();
    let file = directory.path().join("plain/file");
    for _ in 0..=kept / 2 {
        std::fs::write(&file, "").unwrap();
        std::fs::remove_file(&file).unwrap();
    }
    std::fs::create_dir(directory.path().join("late")).unwrap();
    std::fs::write(directory.path().join("late/.env"), "s").unwrap();
    assert!(found(&mut scan, &workspace).contains(&PathBuf::from("late/.env")));
    assert!(scan.tree.is_some(), "it is watched again");
}

#[test]
fn what_appears_in_a_directory_that_is_moved_about_is_found_by_the_next_command() {
    let (directory, workspace) = tree();
    let (here, there) = (directory.path().join("a"), directory.path().join("plain/a"));
    let mut scan = scan_of(&workspace, &ExecSettings::default());
    scan.masks().unwrap();
    let handle = std::fs::File::open(&here).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                std::fs::rename(&here, &there).unwrap();
                std::fs::rename(&there, &here).unwrap();
            }
        });
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for round in 0..100 {
                let flags = rustix::fs::OFlags::CREATE | rustix::fs::OFlags::RDWR | rustix::fs::OFlags::CLOEXEC;
                let name = format!("{round}.key");
                let file = rustix::fs::openat(&handle, &name, flags, rustix::fs::Mode::RWXU).unwrap();
                let identity = crate::identity::FileId::of(&file).unwrap();
                // A scan that says that it cannot be done has missed nothing.
                if let Ok(masks) = scan.masks() {
                    assert!(masks.iter().any(|mask| mask.identity == identity), "{round}");
                }
            }
        }));
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        outcome.unwrap();
    });
}

/// Numbers that are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

#[test]
fn whatever_happens_to_the_tree_watching_and_walking_find_the_same() {
    const NAMES: [&str; 7] = ["a", "b", "c", ".git", ".env", "x.key", "plain"];
    let (directory, workspace) = tree();
    let outside = tempfile::tempdir_in(directory.path().parent().unwrap()).unwrap();
    let mut watching = scan_of(&workspace, &ExecSettings::default());
    let mut numbers = Numbers(7);
    for round in 0..400 {
        for _ in 0..=numbers.below(6) {
            let mut path = || {
                let top = if numbers.below(8) == 0 { outside.path() } else { directory.path() };
                let names = (0..=numbers.below(3)).map(|_| NAMES[numbers.below(NAMES.len())]);
                names.fold(top.to_owned(), |path, name| path.join(name))
            };
            let (one, other) = (path(), path());
            // Most of these fail, since there is no such thing or it is in the way.
            let _ = match numbers.below(6) {
                0 | 1 => std::fs::create_dir_all(&one),
                2 => std::fs::write(&one, "s"),
                3 => std::fs::remove_dir_all(&one).or_else(|_| std::fs::remove_file(&one)),
                _ => std::fs::rename(&one, &other),
            };
        }
        let walked = found(&mut walk_of(&workspace, &ExecSettings::default()), &workspace);
        // What was known stays hidden inside of what is hidden as a whole.
        let mut watched = found(&mut watching, &workspace);
        watched.retain(|path| path.ancestors().skip(1).all(|above| !walked.iter().any(|hidden| hidden == above)));
        assert_eq!(watched, walked, "{round}");
    }
    assert!(watching.tree.is_some(), "it was watched throughout");
}
