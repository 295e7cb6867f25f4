//! The configuration of commands.

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
    /// If not empty, only these programs may be started: names in the search path, or paths. It does not apply to what
    /// an allowed program starts in turn.
    pub allow: Vec<String>,
    /// Programs that a call may not start, as advice to the agent and not as protection: another program, a shell or a
    /// copy of the file can start them all the same. What a command can do is limited by the sandbox.
    pub deny: Vec<String>,
    /// Paths that commands may read besides the workspace, the system's programs and the toolchains in the home directory.
    pub read: Vec<PathBuf>,
    /// Paths that commands may change besides the writable roots and their private temporary directory.
    pub write: Vec<PathBuf>,
    /// Protected names that are not hidden from commands, such as ".git".
    pub allow_protected: Vec<String>,
    /// Environment variables of every command.
    pub env: BTreeMap<String, String>,
    /// The home directory of commands. Default: a private, empty one.
    pub home: Option<PathBuf>,
    /// Maximum number of bytes returned of standard output, and of standard error. Of longer output, half is from the
    /// beginning and half from the end; the result says how much is left out.
    pub output_bytes: usize,
    /// The same on /mcp, where a model reads the output.
    pub model_output_bytes: usize,
    /// Maximum number of processes and threads of one command.
    pub processes: u32,
    /// Maximum memory of one process, in MB. Default: half of the machine's.
    pub memory_mb: Option<u64>,
    /// Maximum size of a file that a command writes, in MB.
    pub file_mb: u64,
    /// Maximum size of the private temporary directory, in MB, where it can be limited.
    pub tmp_mb: u64,
    /// Maximum number of open files of one process.
    pub open_files: u32,
    /// Maximum number of mounts that hide protected files and directories from a command, and keep the directories above
    /// them in place. With more, the directories that contain the most protected names are hidden as a whole.
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
            output_bytes: 8 * 1024 * 1024,
            model_output_bytes: 64 * 1024,
            processes: 1024,
            memory_mb: None,
            file_mb: 4096,
            tmp_mb: 1024,
            open_files: 4096,
            hidden_names: 10_000,
            sessions: SessionSettings::default(),
        }
    }
}

/// How commands are confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SandboxMode {
    /// Requires Landlock, seccomp and a way to end every process of a command, or the command is refused. Uses
    /// namespaces where the machine allows them.
    On,
    /// Requires namespaces too, or the command is refused.
    Strict,
    /// No protection: commands have all rights of the server's user.
    Off,
}

/// Which network commands have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// No sockets of any kind.
    Off,
    /// A loopback network that only commands of this server share. Requires namespaces.
    Loopback,
    /// The network of the server.
    On,
}

/// Who may run command lines with a shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Shell {
    /// `shell: true` is refused.
    Never,
    /// For the local user, and for callers with the scope `admin`.
    Admins,
    /// For every caller that may run commands.
    Everyone,
}

/// Limits of sessions: commands that keep running between calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SessionSettings {
    /// Maximum number of sessions of one caller.
    pub per_caller: usize,
    /// Maximum number of sessions of all callers.
    pub total: usize,
    /// Minutes without a read or write after which a session is ended.
    pub idle_minutes: u64,
    /// Maximum number of output bytes kept for reading, for each session.
    pub buffer_bytes: usize,
}

impl Default for SessionSettings {
    fn default() -> Self {
        Self { per_caller: 16, total: 64, idle_minutes: 60, buffer_bytes: 1024 * 1024 }
    }
}
