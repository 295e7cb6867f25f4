//! The section of the configuration that says what a command may do.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How commands run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ExecSettings {
    pub sandbox: SandboxMode,
    pub network: Network,
    pub shell: Shell,
    /// If it is not empty, only these programs may be started: names found in the search path, or paths. What an
    /// allowed program starts in turn is up to it.
    pub allow: Vec<String>,
    /// Programs that may not be started.
    pub deny: Vec<String>,
    /// Paths commands may read besides the workspace, the system's programs and the toolchains in the home directory.
    pub read: Vec<PathBuf>,
    /// Paths commands may change besides the writable roots and their private temporary directory.
    pub write: Vec<PathBuf>,
    /// Protected names that commands may see all the same, such as ".git".
    pub allow_protected: Vec<String>,
    /// Variables every command gets.
    pub env: BTreeMap<String, String>,
    /// The home directory of commands; a private empty one if it is not set.
    pub home: Option<PathBuf>,
    /// How many bytes are kept of each of standard output and standard error: half from the beginning, half from the
    /// end.
    pub output_bytes: usize,
    /// How many processes and threads one command may have.
    pub processes: u32,
    /// How much memory one process may have; half of the machine's if it is not set.
    pub memory_mb: Option<u64>,
    /// How large a file may become.
    pub file_mb: u64,
    /// How much the private temporary directory may hold, where it can be limited.
    pub tmp_mb: u64,
    pub open_files: u32,
    /// How many protected files and directories can be hidden from one command; past that it is refused.
    pub hidden_names: usize,
    pub sessions: SessionSettings,
}

impl Default for ExecSettings {
    fn default() -> Self {
        Self {
            sandbox: SandboxMode::On,
            network: Network::Off,
            shell: Shell::Admins,
            allow: Vec::new(),
            deny: Vec::new(),
            read: Vec::new(),
            write: Vec::new(),
            allow_protected: Vec::new(),
            env: BTreeMap::new(),
            home: None,
            output_bytes: 256 * 1024,
            processes: 1024,
            memory_mb: None,
            file_mb: 4096,
            tmp_mb: 1024,
            open_files: 4096,
            hidden_names: 2000,
            sessions: SessionSettings::default(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SandboxMode {
    /// Landlock, seccomp and a way to end every process of a command, or it is refused; namespaces where the machine
    /// allows them.
    On,
    /// Namespaces too, or it is refused.
    Strict,
    /// Commands may do what the server's user may do.
    Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// No socket of any kind.
    Off,
    /// A loopback of their own, which all commands of this server share. It needs namespaces.
    Loopback,
    /// What the server can reach, commands can reach.
    On,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Shell {
    /// `shell: true` is refused.
    Never,
    /// The person at this machine, and callers with the scope `admin`.
    Admins,
    /// Everybody who may execute.
    Everyone,
}

/// Limits of commands that run on between calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SessionSettings {
    pub per_caller: usize,
    pub total: usize,
    /// A session that nobody has read or written for so long is ended.
    pub idle_minutes: u64,
    /// How much of a session's output is kept for reading.
    pub buffer_bytes: usize,
}

impl Default for SessionSettings {
    fn default() -> Self {
        Self { per_caller: 16, total: 64, idle_minutes: 60, buffer_bytes: 1024 * 1024 }
    }
}
