//! Every attack at every level of confinement, and what each level does not cover.

use std::time::Duration;

use mainstay_core::Kind;
use mainstay_sandbox::exec::{Command, ExecSettings, Sandbox};
use mainstay_sandbox::{FilesSettings, RootSettings, Workspace};

use crate::fixture::{Fixture, Level};
use crate::{attacks, kernel, network};

/// Without a mount namespace names cannot be hidden, and Landlock does not guard modes; the result of a call says so.
const NEEDS_MOUNTS: &[&str] = &[
    "protected_file",
    "protected_file_written",
    "protected_directory_listed",
    "protected_file_inside",
    "protected_file_linked",
    "protected_file_renamed",
    "protected_file_in_moved_directory",
    "protected_directory_replaced_with_its_parent",
    "protected_directory_exchanged_with_its_parent",
    "repository_file_replaced_with_its_parent",
    "protected_file_removed",
    "protected_file_opened_up",
    "protected_file_in_read_only_root",
    "protected_file_uncovered",
    "open_up_outside",
];

/// Attacks that succeed without confinement, which shows that they are real.
const REAL: &[&str] = &[
    "read_outside",
    "list_outside",
    "truncate_outside",
    "write_outside",
    "remove_outside",
    "link_that_was_there",
    "link_made_here",
    "dot_dot",
    "rename_out",
    "hard_link_in",
    "hard_link_out",
    "set_user_bit",
    "set_user_bit_at_birth",
    "set_user_bit_without_a_name",
    "limits_of_server",
    "processors_of_server",
    "shared_memory",
    "protected_file",
    "protected_directory_listed",
    "protected_directory_replaced_with_its_parent",
    "protected_directory_exchanged_with_its_parent",
    "repository_file_replaced_with_its_parent",
    "signal_server",
    "handle_of_server",
    "environment_of_server",
    "tcp",
    "udp",
    "tcp6",
    "netlink",
    "unix_path",
    "datagram_pair_in_workspace",
    "unix_abstract",
    "listen",
    "inherited_handles",
];

fn names() -> Vec<&'static str> {
    [attacks::LIST, kernel::LIST, network::LIST].concat().into_iter().map(|(name, _)| name).collect()
}

async fn assault(level: Level, skip: &[&str]) {
    let fixture = Fixture::new(level);
    let mut escaped = Vec::new();
    for name in names().into_iter().filter(|name| !skip.contains(name)) {
        if fixture.escapes(name).await {
            escaped.push(name);
        }
        fixture.assert_untouched(name);
    }
    assert!(escaped.is_empty(), "{escaped:?} escaped");
}

#[test]
fn there_are_more_than_forty_attacks() {
    assert!(names().len() > 90, "{}", names().len());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_attack_escapes_from_namespaces() {
    assault(Level::Namespaces, &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_attack_escapes_from_landlock_alone_but_for_hidden_names() {
    assault(Level::Landlock, NEEDS_MOUNTS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_attacks_are_real_where_nothing_holds_them() {
    let mut held = Vec::new();
    for name in REAL.iter().filter(|name| **name != "inherited_handles") {
        let fixture = Fixture::new(Level::Off);
        if !fixture.escapes(name).await {
            held.push(*name);
        }
    }
    assert!(held.is_empty(), "{held:?} did not even work without a sandbox");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_beneath_tmp_is_there_and_the_rest_of_tmp_is_not() {
    let fixture = Fixture::with(Level::Namespaces, "/tmp", |_| {});
    assert!(!fixture.escapes("tmp_of_the_machine").await && !fixture.escapes("read_outside").await);
    assert!(!fixture.escapes("protected_file").await);
    fixture.assert_untouched("all of them");
}

#[tokio::test(flavor = "multi_thread")]
async fn temporary_files_are_private_and_gone_afterwards() {
    for level in [Level::Namespaces, Level::Landlock] {
        let fixture = Fixture::new(level);
        let shell = |line: &str| Command { program: line.into(), shell: true, ..Command::default() };
        let limit = Duration::from_secs(20);
        let first = shell("echo x > $TMPDIR/left && echo $TMPDIR && cat $TMPDIR/left && ls -A $HOME");
        let finished = fixture.sandbox.run(&first, None, limit, None).await.unwrap();
        let directory = finished.stdout.text.lines().next().unwrap().to_owned();
        assert_eq!(finished.stdout.text.lines().nth(1), Some("x"), "{finished:?}");
        let again = fixture.sandbox.run(&shell("cat $TMPDIR/left"), None, limit, None).await.unwrap();
        assert_ne!(again.status.code, 0);
        let left = if level == Level::Namespaces { "/tmp/left".to_owned() } else { directory };
        assert!(!std::path::Path::new(&left).exists(), "{left}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_sees_its_own_processes_and_no_others() {
    let fixture = Fixture::new(Level::Namespaces);
    let command = Command { program: "ls /proc; cat /proc/self/status".into(), shell: true, ..Command::default() };
    let finished = fixture.sandbox.run(&command, None, Duration::from_secs(20), None).await.unwrap();
    let processes = finished.stdout.text.lines().filter(|line| line.parse::<u32>().is_ok()).count();
    assert!((1..=3).contains(&processes), "{finished:?}");
    assert!(finished.stdout.text.contains("CapBnd:\t0000000000000000"), "{finished:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn metacharacters_stay_what_they_are() {
    let fixture = Fixture::new(Level::Namespaces);
    let hostile = "$(touch pwned) `touch pwned`; touch pwned | & > pwned * ~ 'x\" \n";
    let command = Command { program: "printf".into(), args: vec!["%s".into(), hostile.into()], ..Command::default() };
    let finished = fixture.sandbox.run(&command, None, Duration::from_secs(20), None).await.unwrap();
    assert_eq!(finished.stdout.text, hostile);
    let shell =
        Command { program: "printf %s \"$1\"".into(), shell: true, args: vec![hostile.into()], ..Command::default() };
    let finished = fixture.sandbox.run(&shell, None, Duration::from_secs(20), None).await.unwrap();
    assert_eq!(finished.stdout.text, hostile);
    assert!(!fixture.workspace().join("pwned").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_environment_is_made_from_nothing() {
    let fixture = Fixture::new(Level::Namespaces);
    let command = Command { program: "env".into(), ..Command::default() };
    let finished = fixture.sandbox.run(&command, None, Duration::from_secs(20), None).await.unwrap();
    let names: Vec<&str> = finished.stdout.text.lines().filter_map(|line| line.split('=').next()).collect();
    for name in
        std::env::vars().map(|(name, _)| name).filter(|name| name.starts_with("CARGO_PKG") || name == "LD_LIBRARY_PATH")
    {
        assert!(!names.contains(&name.as_str()), "{name}");
    }
    assert!(names.contains(&"PATH") && names.contains(&"HOME") && names.contains(&"TMPDIR"), "{names:?}");
    for name in ["LD_PRELOAD", "BASH_ENV", "GIT_SSH_COMMAND", "PATH", "NODE_OPTIONS"] {
        let command = Command { env: [(name.to_owned(), "x".to_owned())].into(), ..command.clone() };
        let refused = fixture.sandbox.start(&command).await.err().unwrap();
        assert!(refused.kind == Kind::Invalid && refused.public.contains(name), "{refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_working_directory_outside_is_refused() {
    let fixture = Fixture::new(Level::Namespaces);
    for cwd in ["..", "../outside", "dir_out", "/etc", "missing", "plain.txt"] {
        let command = Command { program: "true".into(), cwd: Some(cwd.into()), ..Command::default() };
        assert!(fixture.sandbox.start(&command).await.is_err(), "{cwd}");
    }
    let command = Command { program: "pwd".into(), cwd: Some("deep/er".into()), ..Command::default() };
    let finished = fixture.sandbox.run(&command, None, Duration::from_secs(20), None).await.unwrap();
    assert_eq!(finished.stdout.text.trim(), fixture.workspace().join("deep/er").to_str().unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_operator_allows_is_seen() {
    let fixture = Fixture::with(Level::Namespaces, "/var/tmp", |settings: &mut ExecSettings| {
        settings.allow_protected = vec![".git".into()];
    });
    assert!(fixture.escapes("protected_file_inside").await);
    assert!(!fixture.escapes("protected_file").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn protected_names_are_hidden_in_what_the_operator_adds_too() {
    let added = tempfile::Builder::new().prefix("added-").tempdir_in("/var/tmp").unwrap();
    let directories = ["read", "write", "home"].map(|name| added.path().canonicalize().unwrap().join(name));
    for directory in &directories {
        std::fs::create_dir_all(directory.join("deep")).unwrap();
        std::fs::write(directory.join("deep/.env"), attacks::SECRET).unwrap();
        std::fs::write(directory.join("plain.txt"), "plain;").unwrap();
    }
    let fixture = Fixture::with(Level::Namespaces, "/var/tmp", |settings: &mut ExecSettings| {
        let [read, write, home] = directories.clone();
        settings.read.push(read);
        settings.write.push(write);
        settings.home = Some(home);
    });
    let cat = async |name: &str| {
        let args = directories.iter().map(|directory| directory.join(name).to_str().unwrap().to_owned()).collect();
        let command = Command { program: "cat".into(), args, ..Command::default() };
        fixture.sandbox.run(&command, None, Duration::from_secs(20), None).await.unwrap().stdout.text
    };
    assert_eq!(cat("plain.txt").await, "plain;plain;plain;");
    assert_eq!(cat("deep/.env").await, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_servers_own_directory_is_hidden_in_what_the_operator_adds_or_nothing_is_run() {
    let base = tempfile::Builder::new().prefix("own-").tempdir_in("/var/tmp").unwrap();
    let home = base.path().canonicalize().unwrap().join("home");
    let own = home.join("share/own");
    for directory in [base.path().join("workspace"), own.clone()] {
        std::fs::create_dir_all(directory).unwrap();
    }
    std::fs::write(own.join("key"), attacks::SECRET).unwrap();
    std::fs::write(home.join("share/plain.txt"), "plain;").unwrap();
    let workspace = Workspace::open(&base.path().join("workspace"), &FilesSettings::default()).unwrap();
    let workspace = workspace.with_closed_dir(&own).unwrap();
    let cat = |path: &std::path::Path| {
        let args = vec![home.join("share/plain.txt").to_str().unwrap().to_owned(), path.to_str().unwrap().to_owned()];
        Command { program: "cat".into(), args, ..Command::default() }
    };
    let around = [
        ExecSettings { home: Some(home.clone()), ..Default::default() },
        ExecSettings { read: vec![home.clone(), own.clone()], ..Default::default() },
        ExecSettings { write: vec![home.clone()], read: vec![own.join("key")], ..Default::default() },
    ];
    for settings in around {
        let whole = Sandbox::new(workspace.clone(), settings.clone());
        let finished = whole.run(&cat(&own.join("key")), None, Duration::from_secs(20), None).await.unwrap();
        assert_eq!(finished.stdout.text, "plain;", "{settings:?}");
        let alone = Sandbox::without_namespaces(workspace.clone(), settings.clone());
        let refused = alone.start(&cat(&own.join("key"))).await.err().unwrap();
        assert!(refused.kind == Kind::Unavailable && refused.public.contains("--data-dir"), "{refused:?}");
    }
    let elsewhere = Sandbox::without_namespaces(workspace, ExecSettings::default());
    assert!(elsewhere.start(&Command { program: "true".into(), ..Command::default() }).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_root_in_a_writable_one_stays_so_or_nothing_is_run() {
    let base = tempfile::Builder::new().prefix("nested-").tempdir_in("/var/tmp").unwrap();
    let inner = base.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    let files = FilesSettings {
        roots: vec![RootSettings { path: inner.clone(), read_only: true }],
        ..FilesSettings::default()
    };
    let workspace = Workspace::open(base.path(), &files).unwrap();
    let command = Command { program: "touch".into(), args: vec!["inner/dropped".into()], ..Command::default() };
    let alone = Sandbox::without_namespaces(workspace.clone(), ExecSettings::default());
    let refused = alone.start(&command).await.err().unwrap();
    assert!(refused.kind == Kind::Unavailable && refused.public.contains("inner is read-only"), "{refused:?}");
    let whole = Sandbox::new(workspace, ExecSettings::default());
    let finished = whole.run(&command, None, Duration::from_secs(20), None).await.unwrap();
    assert_ne!(finished.status.code, 0);
    assert!(!inner.join("dropped").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_takes_the_place_of_a_root_or_of_a_directory_above_it() {
    let base = tempfile::Builder::new().prefix("pinned-").tempdir_in("/var/tmp").unwrap();
    let base_path = base.path().canonicalize().unwrap();
    for name in ["docs/a/kept", "sub/out", "plain"] {
        std::fs::create_dir_all(base_path.join(name)).unwrap();
    }
    let root = |name: &str, read_only| RootSettings { path: base_path.join(name), read_only };
    for (name, read_only) in [("docs/a/kept", true), ("sub/out", false)] {
        let files = FilesSettings { roots: vec![root(name, read_only)], ..FilesSettings::default() };
        let workspace = Workspace::open(&base_path, &files).unwrap();
        let sandbox = Sandbox::new(workspace.clone(), ExecSettings::default());
        let shell = async |line: &str| {
            let command = Command { program: line.into(), shell: true, ..Command::default() };
            sandbox.run(&command, None, Duration::from_secs(20), None).await.unwrap()
        };
        for above in std::path::Path::new(name).ancestors().filter(|above| !above.as_os_str().is_empty()) {
            let (above, inode) = (above.to_str().unwrap(), std::fs::metadata(base_path.join(above)).unwrap());
            let moved = shell(&format!("mv {above} aside || mv -T {above} plain || rmdir {above}")).await;
            assert_ne!(moved.status.code, 0, "{above}: {moved:?}");
            let now = std::fs::metadata(base_path.join(above)).unwrap();
            assert_eq!(std::os::unix::fs::MetadataExt::ino(&now), std::os::unix::fs::MetadataExt::ino(&inode));
        }
        // Files may still be renamed in and out of a pinned directory, without being copied.
        let above = std::path::Path::new(name).parent().unwrap().to_str().unwrap();
        let line = format!("touch f && ln f {above}/g && mv -T f {above}/f && rm {above}/f {above}/g");
        let renamed = shell(&line).await;
        assert_eq!(renamed.status.code, 0, "{renamed:?}");
        let alone = Sandbox::without_namespaces(workspace, ExecSettings::default());
        let refused = alone.start(&Command { program: "true".into(), ..Command::default() }).await.err().unwrap();
        assert!(refused.kind == Kind::Unavailable && refused.public.contains(name), "{refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_that_is_too_deep_to_be_searched_stops_nobody() {
    let fixture = Fixture::new(Level::Namespaces);
    let workspace = fixture.workspace();
    let nested = |top: &str, name: &str, levels: usize| {
        let path = std::iter::repeat_n(name, levels).fold(workspace.join(top), |path, name| path.join(name));
        std::fs::create_dir_all(path.join(".git")).unwrap();
        path
    };
    nested("deep", "d", 300);
    // A path that is longer than the kernel accepts has to be put together from two.
    let (name, half) = ("n".repeat(200), 15);
    let upper = nested("long", &name, half);
    nested("lower", &name, half);
    std::fs::rename(workspace.join("lower"), upper.join("lower")).unwrap();
    for _ in 0..2 {
        let command = Command { program: "ls".into(), args: vec!["plain.txt".into()], ..Command::default() };
        let finished = fixture.sandbox.run(&command, None, Duration::from_secs(20), None).await.unwrap();
        assert_eq!(finished.stdout.text, "plain.txt\n", "{finished:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_that_cannot_be_run_are_told_apart() {
    let fixture = Fixture::new(Level::Namespaces);
    let kind = async |program: &str| {
        let command = Command { program: program.into(), ..Command::default() };
        fixture.sandbox.start(&command).await.err().map(|error| error.kind)
    };
    assert_eq!(kind("no-such-program").await, Some(Kind::Invalid));
    assert_eq!(kind("./missing").await, Some(Kind::Invalid));
    assert_eq!(kind("./plain.txt").await, Some(Kind::Denied));
    assert_eq!(kind("").await, Some(Kind::Invalid));
    assert_eq!(kind("true").await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loopback_of_their_own_reaches_nobody_else() {
    let fixture = Fixture::with(Level::Namespaces, "/var/tmp", |settings: &mut ExecSettings| {
        settings.network = mainstay_sandbox::exec::Network::Loopback;
    });
    assert!(fixture.escapes("listen").await, "there is a loopback");
    for name in ["tcp", "udp", "unix_path", "unix_datagram", "packet", "vsock", "raw"] {
        let escaped = fixture.escapes(name).await;
        assert!(!escaped || name == "udp", "{name}");
        fixture.assert_untouched(name);
    }
}
