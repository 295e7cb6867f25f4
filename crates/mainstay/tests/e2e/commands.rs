//! What commands see of the home directory of the server's user.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::PROGRAM;

/// A home directory with toolchains, and beside it a workspace.
struct Home(tempfile::TempDir);

const SECRET: &str = "token = \"the secret\"";

impl Home {
    fn new(files: &[(&str, &str)]) -> Self {
        let home = Self(tempfile::Builder::new().prefix("home-").tempdir_in("/var/tmp").unwrap());
        std::fs::create_dir(home.path("work")).unwrap();
        for (name, content) in files {
            std::fs::create_dir_all(home.path(name).parent().unwrap()).unwrap();
            std::fs::write(home.path(name), content).unwrap();
        }
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    /// What `cat` prints of a file, as `exec_run` returns it.
    fn cat(&self, file: &Path, settings: &str) -> String {
        std::fs::write(self.path("config.toml"), settings).unwrap();
        let mut command = Command::new(PROGRAM);
        command.args(["call", "exec_run"]).arg(json!({"command": "cat", "args": [file]}).to_string());
        command.arg("--config").arg(self.path("config.toml")).arg("--data-dir").arg(self.path("data"));
        command.arg("--workspace").arg(self.path("work")).env("HOME", self.path("")).env_remove("MAINSTAY_STORE");
        let out = command.stdin(Stdio::null()).output().unwrap();
        let reply: Value =
            serde_json::from_slice(&out.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&out.stderr)));
        reply["stdout"].as_str().unwrap_or_else(|| panic!("{reply}")).to_owned()
    }
}

#[test]
fn commands_read_toolchains_and_not_their_credentials() {
    let files = [
        (".cargo/credentials.toml", SECRET, false),
        (".cargo/credentials", SECRET, false),
        (".cargo/config.toml", SECRET, false),
        (".cargo/registry/plain", "plain", true),
        (".local/share/uv/credentials/credentials.toml", SECRET, false),
        (".local/share/uv/python/plain", "plain", true),
        (".dotnet/corefx/cryptography/x509stores/my/a", SECRET, false),
        (".dotnet/sdk/plain", "plain", true),
        (".nvm/versions/node/v24/etc/npmrc", "//host/:_authToken=secret", false),
        (".nvm/versions/node/v24/bin/plain", "plain", true),
        ("go/src/mine/.env", SECRET, false),
        ("go/src/mine/.git/config", SECRET, false),
        ("go/pkg/mod/plain", "plain", true),
    ];
    let home = Home::new(&files.map(|(name, content, _)| (name, content)));
    for (name, content, visible) in files {
        assert_eq!(home.cat(&home.path(name), ""), if visible { content } else { "" }, "{name}");
    }
}

#[test]
fn a_setting_lets_commands_read_what_it_names() {
    let home = Home::new(&[(".cargo/config.toml", SECRET), (".cargo/credentials.toml", SECRET)]);
    let (config, credentials) = (home.path(".cargo/config.toml"), home.path(".cargo/credentials.toml"));
    let settings = format!("[exec]\nread = [{config:?}]\n");
    assert_eq!(home.cat(&config, &settings), SECRET);
    assert_eq!(home.cat(&credentials, &settings), "");
    // A setting for the directory around them does not name them.
    let settings = format!("[exec]\nread = [{:?}]\n", home.path(".cargo"));
    assert_eq!(home.cat(&credentials, &settings), "");
}
