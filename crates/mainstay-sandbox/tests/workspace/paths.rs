//! Paths that try to leave the workspace.

use mainstay_core::Kind;
use mainstay_sandbox::{EntryKind, FilesSettings, HardLinks};

use crate::{Fixture, SECRET, kind};

#[test]
fn a_plain_path_is_read_in_every_way_it_can_be_written() {
    let fixture = Fixture::new();
    let absolute = fixture.inside.join("src/main.rs");
    for path in [
        "src/main.rs",
        "./src/main.rs",
        "src//main.rs",
        "src/./main.rs",
        "src/../src/main.rs",
        absolute.to_str().unwrap(),
    ] {
        assert_eq!(fixture.read(path).unwrap(), "fn main() {}\n", "{path}");
    }
}

#[test]
fn no_text_leads_outside() {
    let fixture = Fixture::new();
    let evil = fixture.outside.join("secret");
    let sibling = format!("{}-evil/secret", fixture.inside.display());
    for path in [
        "../ws-evil/secret",
        "src/../../ws-evil/secret",
        "src/../../../../../../../../etc/passwd",
        "/etc/passwd",
        "//etc/passwd",
        "/",
        "..",
        "../",
        "./..",
        evil.to_str().unwrap(),
        &sibling,
        "/proc/self/root/etc/passwd",
        "/dev/fd/0",
    ] {
        assert_eq!(kind(fixture.read(path)), Kind::Invalid, "{path}");
        assert_eq!(kind(fixture.put(path, "x")), Kind::Invalid, "{path}");
    }
    for path in
        ["%2e%2e/ws-evil/secret", "..%2fws-evil/secret", "....//ws-evil/secret", "..\\ws-evil\\secret", "src/main.rs."]
    {
        assert_eq!(kind(fixture.read(path)), Kind::NotFound, "{path}");
    }
    for path in ["", "\0", "src/main.rs\0.txt", &"a/".repeat(3000)] {
        assert_eq!(kind(fixture.read(path)), Kind::Invalid, "{path:?}");
    }
    fixture.assert_outside_untouched();
}

#[test]
fn no_link_leads_outside() {
    let fixture = Fixture::new();
    fixture.link("../ws-evil/secret", "file");
    fixture.link("../ws-evil", "dir");
    fixture.link(fixture.outside.join("secret"), "absolute");
    fixture.link(fixture.inside.join("src/main.rs"), "absolute-inside");
    fixture.link("dir", "chain");
    fixture.link("/proc/self/root", "magic");
    fixture.link("loop", "loop");
    fixture.link("../ws-evil/new", "dangling");
    for path in [
        "file",
        "dir/secret",
        "absolute",
        "absolute-inside",
        "chain/secret",
        "magic/etc/passwd",
        "loop",
        "dir/../dir/secret",
        "dangling",
    ] {
        assert_eq!(kind(fixture.read(path)), Kind::Invalid, "{path}");
        assert_eq!(kind(fixture.put(path, "x")), Kind::Invalid, "{path}");
        let path_in_root = fixture.workspace.find(path).unwrap();
        assert_eq!(kind(path_in_root.open_dir()), Kind::Invalid, "{path}");
    }
    fixture.assert_outside_untouched();
}

#[test]
fn a_link_inside_is_followed_and_survives_a_write_through_it() {
    let fixture = Fixture::new();
    fixture.link("src", "code");
    fixture.link("../src/main.rs", "src/alias");
    fixture.link("later", "dangling");
    assert_eq!(fixture.read("code/main.rs").unwrap(), "fn main() {}\n");
    fixture.put("code/alias", "changed").unwrap();
    fixture.put("dangling", "made").unwrap();
    assert!(fixture.inside.join("src/alias").is_symlink() && fixture.inside.join("dangling").is_symlink());
    assert_eq!(fixture.read("src/main.rs").unwrap(), "changed");
    assert_eq!(fixture.read("later").unwrap(), "made");
}

#[test]
fn protected_names_are_refused_however_they_are_reached() {
    let fixture = Fixture::new();
    for directory in [".git", "sub/.GIT", ".ssh"] {
        std::fs::create_dir_all(fixture.inside.join(directory)).unwrap();
        std::fs::write(fixture.inside.join(directory).join("config"), SECRET).unwrap();
    }
    for file in [".env", ".Env.local", "server.pem", "a.KEY"] {
        std::fs::write(fixture.inside.join(file), SECRET).unwrap();
    }
    fixture.link(".git", "link");
    fixture.link(".env", "harmless.txt");
    for path in [
        ".git/config",
        "./.git/config",
        "src/../.git/config",
        ".GIT/config",
        "sub/.GIT/config",
        ".ssh/config",
        ".env",
        ".ENV",
        ".Env.local",
        "server.pem",
        "a.KEY",
        "link/config",
        "harmless.txt",
        ".git./config",
        ".git /config",
        "new/.git/hooks/x",
    ] {
        assert_eq!(kind(fixture.read(path)), Kind::Denied, "{path}");
        assert_eq!(kind(fixture.put(path, "x")), Kind::Denied, "{path}");
    }
    let top = fixture.workspace.find(".").unwrap().open_dir().unwrap();
    assert!(top.entries().unwrap().iter().filter(|entry| entry.name == ".git").all(|entry| entry.protected));
    assert_eq!(kind(top.child(".git".as_ref())), Kind::Denied);
    assert_eq!(kind(top.file(".env".as_ref())), Kind::Denied);
}

#[test]
fn composed_and_decomposed_names_are_two_names_and_neither_leads_out() {
    let fixture = Fixture::new();
    std::fs::write(fixture.inside.join("caf\u{e9}"), "composed").unwrap();
    assert_eq!(fixture.read("caf\u{e9}").unwrap(), "composed");
    assert_eq!(kind(fixture.read("cafe\u{301}")), Kind::NotFound);
    assert_eq!(kind(fixture.read(".g\u{200c}it/config")), Kind::Denied);
}

#[test]
fn a_change_never_goes_through_a_hard_link() {
    let fixture = Fixture::new();
    std::fs::hard_link(fixture.outside.join("secret"), fixture.inside.join("linked")).unwrap();
    fixture.put("linked", "mine").unwrap();
    assert_eq!(fixture.read("linked").unwrap(), "mine");
    fixture.assert_outside_untouched();
}

#[test]
fn hard_links_can_be_refused_altogether() {
    let fixture = Fixture::with(&FilesSettings { hard_links: HardLinks::Refuse, ..FilesSettings::default() });
    std::fs::hard_link(fixture.outside.join("secret"), fixture.inside.join("linked")).unwrap();
    assert_eq!(kind(fixture.read("linked")), Kind::Denied);
}

#[test]
fn what_is_no_regular_file_is_neither_read_nor_waited_for() {
    let fixture = Fixture::new();
    let fifo = fixture.inside.join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o666), 0)
        .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(fixture.inside.join("socket")).unwrap();
    for path in ["fifo", "socket", "src", ".", "src/main.rs/"] {
        assert_eq!(kind(fixture.read(path)), Kind::Invalid, "{path}");
    }
    assert_eq!(fixture.workspace.find("fifo").unwrap().metadata().unwrap().unwrap().kind, EntryKind::Other);
}

#[test]
fn a_child_is_one_name_and_never_a_path() {
    let fixture = Fixture::new();
    let top = fixture.workspace.find(".").unwrap().open_dir().unwrap();
    for name in ["..", ".", "", "../ws-evil", "src/main.rs", "/etc"] {
        assert!(
            top.child(name.as_ref()).is_err()
                && top.file(name.as_ref()).is_err()
                && top.metadata(name.as_ref()).is_err(),
            "{name}"
        );
    }
}

#[test]
fn the_root_stays_the_root_when_its_name_is_given_to_something_else() {
    let fixture = Fixture::new();
    let away = fixture.inside.with_file_name("moved");
    std::fs::rename(&fixture.inside, &away).unwrap();
    std::os::unix::fs::symlink(&fixture.outside, &fixture.inside).unwrap();
    assert_eq!(kind(fixture.read("secret")), Kind::NotFound);
    assert_eq!(fixture.read("src/main.rs").unwrap(), "fn main() {}\n");
    fixture.put("new", "x").unwrap();
    assert!(away.join("new").exists());
    fixture.assert_outside_untouched();
}
