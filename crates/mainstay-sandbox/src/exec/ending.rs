//! How commands end, and how they are asked to.

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExitStatus {
    /// Its own exit code; 128 and the signal's number if one ended it.
    pub code: i32,
    pub signal: Option<i32>,
}

impl ExitStatus {
    pub(crate) fn of(status: i32) -> Self {
        if libc::WIFSIGNALED(status) {
            Self::by(libc::WTERMSIG(status))
        } else {
            Self { code: libc::WEXITSTATUS(status), signal: None }
        }
    }

    pub(crate) fn by(signal: i32) -> Self {
        Self { code: 128 + signal, signal: Some(signal) }
    }
}

/// What can be sent to all processes of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Signal {
    /// Please end.
    Term,
    /// As if Ctrl-C had been typed.
    Int,
    /// The terminal has gone.
    Hup,
    /// End now.
    Kill,
}
