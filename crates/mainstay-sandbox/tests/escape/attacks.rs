//! Attacks on files and on other processes' secrets.

use std::ffi::CString;
use std::fs::{self, OpenOptions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use crate::attacker::{Attack, Verdict, must_be_refused, must_fail};

pub(crate) const SECRET: &str = "the secret of the fixture";

fn read(path: impl AsRef<Path>) -> Verdict {
    match fs::read_to_string(path) {
        Ok(text) if text.is_empty() => Err("there is nothing in it".into()),
        Ok(text) => Ok(format!("read {} bytes", text.len())),
        Err(error) => Err(error.to_string()),
    }
}

fn done<T>(result: std::io::Result<T>) -> Verdict {
    result.map(|_| "it was done".to_owned()).map_err(|error| error.to_string())
}

fn c(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap()
}

/// The first attack that succeeds, or the last refusal.
pub(crate) fn any(verdicts: impl IntoIterator<Item = Verdict>) -> Verdict {
    let mut held = Vec::new();
    for verdict in verdicts {
        held.push(verdict.map_or_else(Ok, Err));
        if let Some(Err(escaped)) = held.last() {
            return Ok(escaped.clone());
        }
    }
    Err(held.into_iter().flatten().collect::<Vec<_>>().join("; "))
}

pub(crate) const LIST: &[(&str, Attack)] = &[
    ("read_outside", |t| read(t.outside.join("secret.txt"))),
    ("list_outside", |t| done(fs::read_dir(&t.outside))),
    ("read_shadow", |_| read("/etc/shadow")),
    ("list_home", |_| any(["/root", "/home"].map(|path| done(fs::read_dir(path))))),
    ("read_machine_id", |_| read("/etc/machine-id")),
    ("write_etc", |_| done(fs::write("/etc/mainstay-escape", "x"))),
    ("write_usr", |_| done(fs::write("/usr/mainstay-escape", "x"))),
    ("append_passwd", |_| done(OpenOptions::new().append(true).open("/etc/passwd"))),
    ("write_outside", |t| done(fs::write(t.outside.join("dropped"), "x"))),
    ("truncate_outside", |t| {
        must_fail(unsafe { libc::truncate(c(&t.outside.join("secret.txt")).as_ptr(), 0) }.into(), "truncated")
    }),
    ("open_up_outside", |t| done(fs::set_permissions(t.outside.join("secret.txt"), fs::Permissions::from_mode(0o666)))),
    ("remove_outside", |t| done(fs::remove_file(t.outside.join("secret.txt")))),
    ("write_read_only_root", |t| done(fs::write(t.read_only.join("dropped"), "x"))),
    ("change_read_only_root", |t| done(fs::write(t.read_only.join("kept.txt"), "x"))),
    ("link_that_was_there", |_| read("link_out")),
    ("directory_link_that_was_there", |_| read("dir_out/secret.txt")),
    ("link_made_here", |t| {
        symlink(t.outside.join("secret.txt"), "made_link").unwrap();
        read("made_link")
    }),
    ("write_through_link", |t| {
        symlink(t.outside.join("dropped"), "made_for_writing").unwrap();
        done(fs::write("made_for_writing", "x"))
    }),
    ("hard_link_in", |t| done(fs::hard_link(t.outside.join("secret.txt"), "hard"))),
    ("hard_link_out", |t| done(fs::hard_link("plain.txt", t.outside.join("dropped")))),
    ("hard_link_system_file", |_| done(fs::hard_link("/etc/shadow", "hard_shadow"))),
    ("rename_out", |t| done(fs::rename("plain.txt", t.outside.join("dropped")))),
    ("rename_in", |t| done(fs::rename(t.outside.join("secret.txt"), "taken"))),
    ("dot_dot", |_| read("../outside/secret.txt")),
    ("root_of_first_process", |t| read(format!("/proc/1/root{}/secret.txt", t.outside.display()))),
    ("directory_of_server", |t| read(format!("/proc/{}/cwd/../outside/secret.txt", t.server))),
    ("memory_of_server", |t| {
        any([t.server, parent(), 1].map(|pid| done(OpenOptions::new().read(true).open(format!("/proc/{pid}/mem")))))
    }),
    ("environment_of_server", |t| any([t.server, parent(), 1].map(|pid| read(format!("/proc/{pid}/environ"))))),
    ("maps_of_watcher", |_| any([parent(), 1].map(|pid| read(format!("/proc/{pid}/maps"))))),
    ("command_line_of_server", |t| any([t.server, parent(), 1].map(|pid| read(format!("/proc/{pid}/cmdline"))))),
    ("files_of_watcher", |_| any([parent(), 1].map(|pid| done(fs::read_dir(format!("/proc/{pid}/fd")))))),
    ("inherited_handles", |_| {
        let open: Vec<i32> = (3..4096).filter(|fd| unsafe { libc::fcntl(*fd, libc::F_GETFD) } != -1).collect();
        if open.is_empty() { Err("none is open".into()) } else { Ok(format!("{open:?} are open")) }
    }),
    ("kernel_settings", |_| {
        any(["/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/sys/kernel/hostname"]
            .map(|path| done(OpenOptions::new().write(true).open(path))))
    }),
    ("control_groups", |_| {
        any(["/sys/fs/cgroup/pids/tasks", "/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/memory/tasks"]
            .map(|path| done(OpenOptions::new().write(true).open(path))))
    }),
    ("devices", |_| {
        any(["/dev/mem", "/dev/kmsg", "/dev/vda", "/dev/sda", "/dev/fuse", "/dev/kvm", "/dev/net/tun"]
            .map(|path| done(OpenOptions::new().read(true).open(path))))
    }),
    ("services", |_| {
        any(["/run/dbus", "/run/systemd", "/run/lock", "/var/lib", "/var/log"].map(|path| done(fs::read_dir(path))))
    }),
    ("set_user_bit", |_| {
        fs::write("tool", "x").unwrap();
        any([
            done(fs::set_permissions("tool", fs::Permissions::from_mode(0o4755))),
            must_be_refused(unsafe { libc::chmod(c"tool".as_ptr(), 0o2755) }.into(), "set group"),
        ])
    }),
    ("set_user_bit_at_birth", |_| done(OpenOptions::new().create_new(true).write(true).mode(0o4755).open("born"))),
    ("set_user_bit_without_a_name", |_| {
        let flags = libc::O_TMPFILE | libc::O_RDWR;
        must_be_refused(unsafe { libc::open(c".".as_ptr(), flags, 0o4755) }.into(), "a file without a name")
    }),
    ("make_device", |_| {
        must_fail(unsafe { libc::mknod(c"disk".as_ptr(), libc::S_IFBLK | 0o600, libc::makedev(8, 0)) }.into(), "made")
    }),
    ("protected_file", |_| read(".env")),
    ("protected_file_written", |_| done(fs::write(".env", "x"))),
    ("protected_directory_listed", |_| done(fs::read_dir(".git"))),
    ("protected_file_inside", |_| read(".git/config")),
    ("protected_file_linked", |_| {
        fs::hard_link(".env", "copy").map_err(|error| error.to_string())?;
        read("copy")
    }),
    ("protected_file_renamed", |_| {
        fs::rename(".env", "moved").map_err(|error| error.to_string())?;
        read("moved")
    }),
    ("protected_file_in_moved_directory", |_| {
        fs::rename("deep", "shallow").map_err(|error| error.to_string())?;
        let verdict = read("shallow/er/server.key");
        fs::rename("shallow", "deep").unwrap();
        verdict
    }),
    ("protected_directory_replaced_with_its_parent", |_| {
        let replace = |above: &str| {
            fs::rename(above, "aside").map_err(|error| error.to_string())?;
            let planted = done(fs::create_dir_all("sub/project/.git").and_then(|()| fs::remove_dir_all(above)));
            fs::rename("aside", above).unwrap();
            planted
        };
        any(["sub", "sub/project"].map(replace))
    }),
    ("repository_file_replaced_with_its_parent", |_| {
        fs::rename("submodule", "aside").map_err(|error| error.to_string())?;
        let planted =
            done(fs::create_dir("submodule").and_then(|()| fs::write("submodule/.git", "gitdir: ../planted")));
        fs::remove_dir_all("submodule").unwrap();
        fs::rename("aside", "submodule").unwrap();
        planted
    }),
    ("protected_directory_exchanged_with_its_parent", |_| {
        fs::create_dir_all("other/project/.git").unwrap();
        let here = libc::AT_FDCWD;
        let exchange =
            || unsafe { libc::renameat2(here, c"sub".as_ptr(), here, c"other".as_ptr(), libc::RENAME_EXCHANGE) };
        let verdict = must_fail(exchange().into(), "exchanged");
        if verdict.is_ok() {
            exchange();
        }
        verdict
    }),
    ("copies_of_pinned_trees", |_| {
        let place = "/.hidden/pins";
        any([read(format!("{place}/.env")), read(format!("{place}/.git/config")), done(fs::read_dir(place))])
    }),
    ("protected_file_removed", |_| done(fs::remove_file(".env"))),
    ("protected_file_opened_up", |_| {
        let _ = fs::set_permissions(".env", fs::Permissions::from_mode(0o644));
        read(".env")
    }),
    ("protected_file_in_read_only_root", |t| read(t.read_only.join(".env"))),
    ("protected_file_uncovered", |_| {
        unsafe { libc::umount2(c".env".as_ptr(), libc::MNT_DETACH) };
        read(".env")
    }),
    ("path_by_root_link", |t| read(format!("/proc/self/root{}/secret.txt", t.outside.display()))),
    ("tmp_of_the_machine", |t| read(Path::new("/tmp").join(t.outside.file_name().unwrap()).join("secret.txt"))),
];

fn parent() -> i32 {
    unsafe { libc::getppid() }
}
