//! The server does not start while its own files are where callers or commands could change what is found there.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::PROGRAM;

/// A workspace, a directory that commands may be allowed to write to, and one that is apart from both.
struct Layout(tempfile::TempDir);

impl Layout {
    fn new() -> Self {
        let layout = Self(tempfile::tempdir().unwrap());
        for name in ["work/sub", "shared/sub", "apart"] {
            std::fs::create_dir_all(layout.path(name)).unwrap();
        }
        layout
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    /// `mainstay tools` with this configuration file and data directory: how it ends, and what it says.
    fn start(&self, config: &str, data: &Path, settings: &str) -> (bool, String) {
        std::fs::write(self.path(config), settings).unwrap();
        self.run(&["--config", self.path(config).to_str().unwrap()], data)
    }

    fn run(&self, options: &[&str], data: &Path) -> (bool, String) {
        let mut command = Command::new(PROGRAM);
        command.arg("tools").args(options).arg("--data-dir").arg(data).arg("--workspace").arg(self.path("work"));
        command.env("XDG_CONFIG_HOME", self.path("apart")).env("HOME", self.path("apart"));
        for name in ["MAINSTAY_STORE", "MAINSTAY_CONFIG", "MAINSTAY_TOOLS"] {
            command.env_remove(name);
        }
        let out = command.current_dir(self.path("apart")).stdin(Stdio::null()).output().unwrap();
        (out.status.success(), String::from_utf8(out.stderr).unwrap())
    }
}

/// Every level: with the sandbox, without namespaces being looked at, and without any sandbox.
fn levels(settings: &str) -> [String; 3] {
    ["on", "strict", "off"].map(|sandbox| format!("[exec]\nsandbox = \"{sandbox}\"\n{settings}"))
}

#[test]
fn a_data_directory_is_refused_wherever_a_directory_above_it_could_be_renamed() {
    let layout = Layout::new();
    symlink(layout.path("apart"), layout.path("work/link")).unwrap();
    symlink(layout.path("work"), layout.path("apart/into")).unwrap();
    let shared = layout.path("shared");
    let (write, home) = (format!("write = [{shared:?}]\n"), format!("home = {shared:?}\n"));
    let root = format!("[files]\nroots = [{{ path = {shared:?} }}]\n");
    for (data, settings) in [
        ("work", ""),
        ("work/state/data", ""),
        ("work/link/data", ""),
        ("work/sub/../../apart/data", ""),
        ("apart/into/state/data", ""),
        ("shared", write.as_str()),
        ("shared/sub/data", &write),
        ("shared/sub/data", &home),
        ("shared/sub/data", &root),
    ] {
        for settings in levels(settings) {
            let (started, error) = layout.start("apart/config.toml", &layout.path(data), &settings);
            assert!(!started && error.contains("--data-dir"), "{data} {settings}: {error}");
        }
    }
    assert!(!layout.path("work/state").exists(), "nothing is created where it is refused");
    for data in ["apart/data", "shared/sub/data", "work/../apart/data"] {
        let (started, error) = layout.start("apart/config.toml", &layout.path(data), "");
        assert!(started, "{data}: {error}");
    }
}

/// As with two volumes of a container, one of which is inside the other.
#[test]
fn a_data_directory_is_refused_that_is_in_the_workspace_under_another_name() {
    let layout = Layout::new();
    std::fs::create_dir_all(layout.path("work/state")).unwrap();
    std::fs::create_dir_all(layout.path("apart/volume")).unwrap();
    let start = |source: &str| {
        let mut command = Command::new("unshare");
        command.args(["-Urm", "sh", "-c", "mount --bind \"$1\" \"$2\" && shift 2 && exec \"$@\"", "sh"]);
        command.arg(layout.path(source)).arg(layout.path("apart/volume")).args([PROGRAM, "tools", "--config"]);
        command.args(["/dev/null", "--data-dir"]).arg(layout.path("apart/volume")).arg("--workspace");
        let out = command.arg(layout.path("work")).env_remove("MAINSTAY_STORE").output().unwrap();
        (out.status.success(), String::from_utf8(out.stderr).unwrap())
    };
    for source in ["work", "work/state"] {
        let (started, error) = start(source);
        assert!(!started && error.contains("--data-dir"), "{source}: {error}");
    }
    let (started, error) = start("shared");
    assert!(started, "{error}");
}

#[test]
fn a_configuration_file_is_refused_where_an_agent_could_write_the_next_one() {
    let layout = Layout::new();
    let data = layout.path("apart/data");
    std::fs::write(layout.path("apart/real.toml"), "").unwrap();
    symlink(layout.path("apart/real.toml"), layout.path("work/link.toml")).unwrap();
    for config in ["work/config.toml", "work/sub/config.toml", "work/link.toml"] {
        for settings in levels("") {
            let (started, error) = layout.start(config, &data, &settings);
            assert!(!started && error.contains("--config"), "{config}: {error}");
        }
    }
    // The default file does not exist, and a command could create it: here the workspace is the home directory.
    let mut command = Command::new(PROGRAM);
    command.arg("tools").arg("--data-dir").arg(&data).env_remove("MAINSTAY_CONFIG").env_remove("XDG_CONFIG_HOME");
    command.env("HOME", layout.path("work")).current_dir(layout.path("work")).env_remove("MAINSTAY_WORKSPACE");
    let out = command.output().unwrap();
    let error = String::from_utf8(out.stderr).unwrap();
    assert!(!out.status.success() && error.contains(".config/mainstay/config.toml"), "{error}");
    let out = command.args(["--config", "/dev/null"]).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

#[test]
fn a_key_file_is_refused_where_it_could_be_changed() {
    let layout = Layout::new();
    let auth = |keys: PathBuf| {
        format!("[server.auth]\nissuer = \"https://i\"\naudience = \"https://a/mcp\"\nkeys = {keys:?}\n")
    };
    let read = format!("[exec]\nread = [{:?}]\n", layout.path("shared"));
    for (keys, more, allowed) in [
        ("work/keys.json", "", false),
        ("work/sub/keys.json", "", false),
        ("apart/keys.json", "", true),
        // Everybody may read public keys.
        ("shared/keys.json", read.as_str(), true),
    ] {
        let settings = auth(layout.path(keys)) + more;
        let (started, error) = layout.start("apart/config.toml", &layout.path("apart/data"), &settings);
        assert_eq!(started, allowed, "{keys}: {error}");
        assert!(allowed || error.contains("server.auth.keys"), "{keys}: {error}");
    }
}

/// Whoever reads the key of a wallet can spend what is in it, so commands that only read must not reach it either.
#[test]
fn the_key_of_a_wallet_is_refused_where_it_could_be_read() {
    let layout = Layout::new();
    let wallet = |key: PathBuf| format!("[solana.networks.devnet.sending]\nlevel = \"relay\"\nkey_file = {key:?}\n");
    let read = format!("[exec]\nread = [{:?}]\n", layout.path("shared"));
    let roots = format!("[files]\nroots = [{{ path = {:?}, read_only = true }}]\n", layout.path("shared"));
    for (key, more, allowed) in [
        ("work/wallet.json", "", false),
        ("work/sub/wallet.json", "", false),
        ("shared/wallet.json", read.as_str(), false),
        ("shared/wallet.json", &roots, false),
        ("apart/wallet.json", "", true),
    ] {
        let settings = wallet(layout.path(key)) + more;
        let (started, error) = layout.start("apart/config.toml", &layout.path("apart/data"), &settings);
        assert_eq!(started, allowed, "{key} {more}: {error}");
        assert!(allowed || error.contains("solana.networks.devnet.sending.key_file"), "{key}: {error}");
    }
}

#[test]
fn a_file_of_the_servers_own_with_a_second_name_is_refused() {
    let layout = Layout::new();
    let data = layout.path("apart/data");
    let auth = format!(
        "store = \"sqlite:{}\"\n[server.auth]\nissuer = \"https://i\"\naudience = \"https://a/mcp\"\nkeys = {:?}\n",
        layout.path("apart/store.db").display(),
        layout.path("apart/keys.json")
    );
    std::fs::create_dir_all(data.join("journal")).unwrap();
    std::fs::create_dir_all(data.join("audit-archive")).unwrap();
    for (file, settings) in [
        ("apart/config.toml", ""),
        ("apart/keys.json", auth.as_str()),
        ("apart/store.db", &auth),
        ("apart/store.db-wal", &auth),
        ("apart/store.db-shm", &auth),
        ("apart/data/mainstay.db", ""),
        ("apart/data/mainstay.db-wal", ""),
        ("apart/data/journal/record.begun", ""),
        ("apart/data/audit-archive/rows.jsonl", ""),
        // The one that a server without options would read.
        ("apart/mainstay/config.toml", ""),
    ] {
        let (file, link) = (layout.path(file), layout.path("work/sub/link"));
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(layout.path("apart/config.toml"), settings).unwrap();
        std::fs::OpenOptions::new().create(true).append(true).open(&file).unwrap();
        std::fs::hard_link(&file, &link).unwrap();
        for settings in [settings.to_owned(), format!("{settings}[exec]\nsandbox = \"off\"\n")] {
            let (started, error) = layout.start("apart/config.toml", &data, &settings);
            let named = error.lines().any(|line| line.trim() == file.to_str().unwrap());
            assert!(!started && named && error.contains("samefile"), "{}: {error}", file.display());
        }
        std::fs::remove_file(link).unwrap();
        if file != layout.path("apart/config.toml") {
            std::fs::remove_file(&file).unwrap();
        }
    }
    let (started, error) = layout.start("apart/config.toml", &data, "");
    assert!(started, "{error}");
}

#[test]
fn every_file_that_is_in_the_way_is_named_at_once() {
    let layout = Layout::new();
    let (started, error) = layout.start("work/config.toml", &layout.path("work/data"), "store = \"sqlite:s.db\"");
    assert!(!started && ["--data-dir", "--config"].iter().all(|word| error.contains(word)), "{error}");
    assert!(!error.contains("--store"), "a file that is apart is not named: {error}");
}

/// A home directory that is the workspace of a server whose own files are elsewhere.
struct HomeWorkspace {
    home: tempfile::TempDir,
    apart: tempfile::TempDir,
}

impl HomeWorkspace {
    fn new() -> Self {
        // Not in `/tmp`, which commands have one of their own for.
        let directory = || tempfile::Builder::new().prefix("home-").tempdir_in("/var/tmp").unwrap();
        Self { home: directory(), apart: directory() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().canonicalize().unwrap().join(name)
    }

    /// `mainstay call`: whether the call succeeded, and what was printed.
    fn call(&self, tool: &str, arguments: &serde_json::Value) -> (bool, String) {
        let mut command = Command::new(PROGRAM);
        command.args(["call", tool]).arg(arguments.to_string()).args(["--config", "/dev/null", "--data-dir"]);
        command.arg(self.apart.path()).arg("--workspace").arg(self.path("")).env("HOME", self.path(""));
        for name in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "MAINSTAY_STORE"] {
            command.env_remove(name);
        }
        let out = command.stdin(Stdio::null()).output().unwrap();
        (out.status.success(), [out.stdout, out.stderr].map(|text| String::from_utf8(text).unwrap()).concat())
    }
}

#[test]
fn with_the_home_directory_as_the_workspace_nobody_can_plant_the_next_servers_configuration() {
    let home = HomeWorkspace::new();
    let store = home.path(".local/share/mainstay/mainstay.db");
    std::fs::create_dir_all(store.parent().unwrap()).unwrap();
    std::fs::write(&store, "of another server").unwrap();
    for (tool, arguments) in [
        ("files_write", json!({"path": ".config/mainstay/config.toml", "content": "[exec]\nsandbox = \"off\"\n"})),
        ("files_read", json!({"path": ".local/share/mainstay/mainstay.db"})),
        ("files_move", json!({"from": ".config", "to": "config"})),
        ("files_move", json!({"from": ".config/mainstay", "to": "config"})),
        ("files_move", json!({"from": ".local/share", "to": "share"})),
    ] {
        let (succeeded, printed) = home.call(tool, &arguments);
        assert!(!succeeded && !printed.contains("of another"), "{tool} {arguments}: {printed}");
    }
    let script = "cat .local/share/mainstay/mainstay.db; mv .local l; mv .local/share s; mv .config c; \
                  mv .config/mainstay m; mkdir -p .config/mainstay; echo 'x = 1' > .config/mainstay/config.toml; echo end";
    let (_, printed) = home.call("exec_run", &json!({"command": "sh", "args": ["-c", script]}));
    assert!(printed.contains("end") && !printed.contains("of another"), "{printed}");
    assert!(!home.path(".config/mainstay/config.toml").exists(), "{printed}");
    assert_eq!(std::fs::read_to_string(&store).unwrap(), "of another server", "{printed}");
    let (succeeded, printed) = home.call("files_write", &json!({"path": ".config/other/settings", "content": "x"}));
    assert!(succeeded, "everything else can be used: {printed}");
}

#[test]
fn a_default_directory_behind_a_link_that_could_be_replaced_is_refused() {
    let home = HomeWorkspace::new();
    std::fs::create_dir_all(home.path("dotfiles/config")).unwrap();
    symlink("dotfiles/config", home.path(".config")).unwrap();
    let (succeeded, printed) = home.call("server_echo", &json!({"text": "x"}));
    assert!(!succeeded && printed.contains(".config/mainstay") && printed.contains("--workspace"), "{printed}");
    assert!(!home.path("dotfiles/config/mainstay").exists(), "nothing is created where it is refused");
}
