//! Which protections a command ran under, in words.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::settings::{ExecSettings, Network};

/// How much this machine can enforce.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Level {
    Namespaces,
    Landlock { why: String },
    Off,
}

/// What was in force, and what enforced it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Protections {
    /// namespaces, landlock or off.
    pub level: String,
    /// Which files could be reached.
    pub filesystem: String,
    pub network: String,
    /// What becomes of processes that outlive their parent, and whom they can see.
    pub processes: String,
    pub privileges: String,
    /// Whether files such as .env and .git were hidden.
    pub protected_names: String,
    pub limits: String,
}

const NONE: &str = "none: sandbox = \"off\"";

impl Protections {
    pub(crate) fn of(level: &Level, settings: &ExecSettings, group: Option<String>) -> Self {
        let limits = limits(settings, level, group);
        match level {
            Level::Namespaces => Self {
                level: "namespaces".into(),
                filesystem: "only the workspace, system programs and toolchains exist; written are writable roots and \
                             a private /tmp (mount namespace, Landlock)"
                    .into(),
                network: network(settings.network, true),
                processes:
                    "sees and reaches only its own, all of which end with the call (process namespace, Landlock)".into(),
                privileges: "none, and none to gain (user namespace, no_new_privs, seccomp)".into(),
                protected_names: "hidden (mount namespace)".into(),
                limits,
            },
            Level::Landlock { why } => Self {
                level: "landlock".into(),
                filesystem: format!(
                    "reads the workspace, system programs and toolchains; writes writable roots and a private TMPDIR \
                     (Landlock); names, sizes and modes of other files can be seen, and modes and times of the user's own \
                     be changed, because there is no mount namespace ({why})"
                ),
                network: network(settings.network, false),
                processes: "reaches only its own (Landlock), which are swept up when the call ends (subreaper)".into(),
                privileges: "none, and none to gain (no_new_privs, seccomp)".into(),
                protected_names: format!("not hidden: that needs a mount namespace ({why})"),
                limits,
            },
            Level::Off => Self {
                level: "off".into(),
                filesystem: NONE.into(),
                network: NONE.into(),
                processes: "swept up when the call ends (subreaper)".into(),
                privileges: "those of the server, none to gain (no_new_privs)".into(),
                protected_names: NONE.into(),
                limits,
            },
        }
    }
}

fn network(network: Network, namespace: bool) -> String {
    let text = match (network, namespace) {
        (Network::Off, true) => "none (network namespace, seccomp)",
        (Network::Off, false) => "none (seccomp, Landlock)",
        (Network::Loopback, _) => "a loopback shared with other commands of this server (network namespace, seccomp)",
        (Network::On, _) => "open: exec.network = \"on\"; no raw sockets (seccomp)",
    };
    text.into()
}

fn limits(settings: &ExecSettings, level: &Level, group: Option<String>) -> String {
    let each = format!("{} open files, files of {} MB, no core dumps", settings.open_files, settings.file_mb);
    let each = match level {
        Level::Off => each,
        Level::Namespaces | Level::Landlock { .. } => format!("{} processes, {each}", settings.processes),
    };
    match group {
        Some(controllers) => format!("{each} (rlimits); {controllers} of all commands together (cgroup)"),
        None => format!("{each} (rlimits); memory is limited for each process by itself"),
    }
}
