//! What is attacked: a workspace with secrets in it and around it, and servers that would notice a connection.

use std::collections::BTreeMap;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::symlink;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use mainstay_core::Result;
use mainstay_sandbox::exec::{Command, CommandOutput, ExecSettings, Sandbox, SandboxMode};
use mainstay_sandbox::{FilesSettings, RootSettings, Workspace};

use crate::attacks::SECRET;
use crate::network::abstract_name;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Namespaces,
    Landlock,
    Off,
}

pub(crate) struct Fixture {
    level: Level,
    pub(crate) base: tempfile::TempDir,
    pub(crate) sandbox: Sandbox,
    pub(crate) peers: Peers,
}

/// Servers and shared memory on the machine, which a command must not be able to use.
pub(crate) struct Peers {
    tcp: TcpListener,
    udp: UdpSocket,
    path: UnixListener,
    /// In the workspace, where commands see it.
    datagrams: UnixDatagram,
    nameless: UnixListener,
    memory: Memory,
}

/// System V shared memory, which every program of this user can attach by number. The kernel removes it with this
/// process, however that ends.
struct Memory(i32);

impl Memory {
    fn new() -> Self {
        let number = unsafe { libc::shmget(libc::IPC_PRIVATE, 4096, 0o600) };
        let attached = unsafe { libc::shmat(number, std::ptr::null(), 0) };
        assert_ne!(attached.addr(), usize::MAX);
        unsafe { libc::shmctl(number, libc::IPC_RMID, std::ptr::null_mut()) };
        Self(number)
    }
}

impl Peers {
    fn listen(base: &Path) -> Self {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = tcp.local_addr().unwrap().port();
        let udp = UdpSocket::bind(("127.0.0.1", port)).unwrap();
        let path = UnixListener::bind(base.join("outside/socket")).unwrap();
        let nameless = UnixListener::bind_addr(&abstract_name(port)).unwrap();
        let datagrams = UnixDatagram::bind(base.join("workspace/datagrams")).unwrap();
        datagrams.set_nonblocking(true).unwrap();
        tcp.set_nonblocking(true).unwrap();
        udp.set_nonblocking(true).unwrap();
        path.set_nonblocking(true).unwrap();
        nameless.set_nonblocking(true).unwrap();
        Self { tcp, udp, path, datagrams, nameless, memory: Memory::new() }
    }

    pub(crate) fn port(&self) -> u16 {
        self.tcp.local_addr().unwrap().port()
    }

    /// Whether anything connected.
    pub(crate) fn was_contacted(&self) -> bool {
        self.tcp.accept().is_ok()
            || self.udp.recv_from(&mut [0; 8]).is_ok()
            || self.path.accept().is_ok()
            || self.datagrams.recv(&mut [0; 8]).is_ok()
            || self.nameless.accept().is_ok()
    }
}

impl Fixture {
    pub(crate) fn new(level: Level) -> Self {
        Self::with(level, "/var/tmp", |_| {})
    }

    pub(crate) fn with(level: Level, parent: &str, change: impl FnOnce(&mut ExecSettings)) -> Self {
        let base = tempfile::Builder::new().prefix("escape-").tempdir_in(parent).unwrap();
        populate(base.path());
        let files = FilesSettings {
            roots: vec![RootSettings { path: base.path().join("read_only"), read_only: true }],
            ..FilesSettings::default()
        };
        let workspace = Workspace::open(&base.path().join("workspace"), &files).unwrap();
        let mut settings = ExecSettings {
            read: vec![std::env::current_exe().unwrap()],
            sandbox: if level == Level::Off { SandboxMode::Off } else { SandboxMode::On },
            ..ExecSettings::default()
        };
        change(&mut settings);
        let sandbox = match level {
            Level::Namespaces | Level::Off => Sandbox::new(workspace, settings),
            Level::Landlock => Sandbox::without_namespaces(workspace, settings),
        };
        let peers = Peers::listen(base.path());
        Self { level, base, sandbox, peers }
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.base.path().join("workspace").canonicalize().unwrap()
    }

    pub(crate) fn outside(&self) -> PathBuf {
        self.base.path().join("outside").canonicalize().unwrap()
    }

    pub(crate) fn attack(&self, name: &str) -> Command {
        let base = self.base.path().canonicalize().unwrap();
        let text = |path: PathBuf| path.to_str().unwrap().to_owned();
        let env = [
            ("ATTACK", name.to_owned()),
            ("OUTSIDE", text(base.join("outside"))),
            ("READ_ONLY", text(base.join("read_only"))),
            ("SOCKET", text(base.join("outside/socket"))),
            ("SERVER", std::process::id().to_string()),
            ("PORT", self.peers.port().to_string()),
            ("MEMORY", self.peers.memory.0.to_string()),
        ];
        Command {
            program: text(std::env::current_exe().unwrap()),
            args: ["attacker::attacker", "--exact", "--nocapture", "--test-threads=1"].map(str::to_owned).to_vec(),
            env: env.map(|(name, value)| (name.to_owned(), value)).into_iter().collect::<BTreeMap<_, _>>(),
            ..Command::default()
        }
    }

    pub(crate) async fn run(&self, name: &str) -> Result<CommandOutput> {
        let level = self.sandbox.protections().await?.level;
        let expected = match self.level {
            Level::Namespaces => "namespaces",
            Level::Landlock => "landlock",
            Level::Off => "off",
        };
        assert_eq!(level, expected, "this machine cannot show what is tested here; see `mainstay doctor`");
        self.sandbox.run(&self.attack(name), None, Duration::from_mins(1), None).await
    }

    /// Whether the attacker reports success.
    pub(crate) async fn escapes(&self, name: &str) -> bool {
        let finished = self.run(name).await.unwrap();
        let said = |word: &str| finished.stdout.text.contains(word);
        assert!(said("ESCAPED ") != said("HELD "), "{name} did not say what came of it: {finished:?}");
        said("ESCAPED ")
    }

    /// Asserts that nothing outside was touched.
    pub(crate) fn assert_untouched(&self, after: &str) {
        let outside = self.outside();
        assert_eq!(std::fs::read_to_string(outside.join("secret.txt")).unwrap(), SECRET, "after {after}");
        assert!(!outside.join("dropped").exists(), "after {after}");
        assert_eq!(
            std::fs::read_to_string(self.base.path().join("read_only/kept.txt")).unwrap(),
            "kept",
            "after {after}"
        );
        assert!(!self.base.path().join("read_only/dropped").exists(), "after {after}");
        assert!(!Path::new("/etc/mainstay-escape").exists() && !Path::new("/usr/mainstay-escape").exists());
        assert_eq!(std::fs::read_to_string(self.workspace().join(".env")).unwrap(), SECRET, "after {after}");
        assert!(!self.peers.was_contacted(), "a peer was contacted by {after}");
    }
}

fn populate(base: &Path) {
    let at = |name: &str| base.join(name);
    for directory in [
        "workspace/.git",
        "workspace/deep/er",
        "workspace/sub/project/.git",
        "workspace/submodule",
        "outside",
        "read_only",
    ] {
        std::fs::create_dir_all(at(directory)).unwrap();
    }
    let secrets = [
        "outside/secret.txt",
        "workspace/.env",
        "workspace/.git/config",
        "workspace/submodule/.git",
        "workspace/deep/er/server.key",
        "read_only/.env",
    ];
    for secret in secrets {
        std::fs::write(at(secret), SECRET).unwrap();
    }
    std::fs::write(at("read_only/kept.txt"), "kept").unwrap();
    std::fs::write(at("workspace/plain.txt"), "plain").unwrap();
    std::fs::write(at("workspace/heartbeat"), "").unwrap();
    symlink("../outside/secret.txt", at("workspace/link_out")).unwrap();
    symlink("../outside", at("workspace/dir_out")).unwrap();
}
