//! How a command ended, and the signals that can be sent to it.

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExitStatus {
    /// The exit code; 128 plus the signal's number if a signal ended it, as in a shell.
    pub code: i32,
    pub signal: Option<i32>,
}

impl ExitStatus {
    /// From the status that `wait` returns.
    pub(super) fn from_wait(status: i32) -> Self {
        if libc::WIFSIGNALED(status) {
            Self::killed_by(libc::WTERMSIG(status))
        } else {
            Self { code: libc::WEXITSTATUS(status), signal: None }
        }
    }

    /// The status of a process that a signal ended.
    pub(super) fn killed_by(signal: i32) -> Self {
        Self { code: 128 + signal, signal: Some(signal) }
    }
}

/// A signal for all processes of a command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Signal {
    /// Ask the command to end (SIGTERM).
    #[default]
    Term,
    /// Interrupt it, as Ctrl-C does (SIGINT).
    Int,
    /// Tell it that its terminal is gone (SIGHUP).
    Hup,
    /// End it at once (SIGKILL).
    Kill,
}
