//! What goes wrong while a command is set up, and the messages in which its processes report to the server.
//!
//! Everything here is plain data: it is used between fork and exec, where nothing may allocate.

use rustix::io::Errno;

/// The result of a system call, or with [`Failure`] that of a phase.
pub(crate) type Result<T, E = Errno> = std::result::Result<T, E>;

/// Defines [`Phase`] and the text of each phase, in the order of their numbers.
macro_rules! phases {
    ($($phase:ident: $text:literal,)*) => {
        /// The phase of setting up a command in which something failed. Its number travels in a [`Message`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(i32)]
        pub(crate) enum Phase {
            $($phase,)*
        }

        /// Every phase at the index of its number, with what could not be done in it.
        const PHASES: &[(Phase, &str)] = &[$((Phase::$phase, $text),)*];
    };
}

phases! {
    Namespaces: "namespaces could not be entered",
    Init: "the process that supervises a command could not be started",
    Private: "the mounts could not be made private",
    Temporary: "the private temporary directory could not be mounted",
    Processes: "a private /proc could not be mounted",
    Devices: "the devices could not be mounted",
    Mask: "a protected name could not be hidden",
    Moved: "a protected name moved while the command was being started",
    Terminal: "a terminal could not be opened",
    Session: "a new session could not be started",
    Streams: "the standard streams could not be connected",
    Directory: "the working directory could not be entered",
    Limits: "the resource limits could not be set",
    Privileges: "privileges could not be dropped",
    Files: "the file rules (Landlock) could not be set",
    Calls: "the system call filter (seccomp) could not be set",
    Program: "the program could not be started",
    Maps: "the user of a new namespace could not be set",
    Tree: "a directory could not be mounted in the new file tree",
    Root: "the new file tree could not be entered",
    Loopback: "the loopback interface could not be enabled",
}

/// A phase that failed, and the kernel's reason; of [`Phase::Moved`], which of the masks it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) phase: Phase,
    pub(crate) errno: i32,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (_, text) = PHASES[self.phase as usize];
        write!(f, "{text}: {}", std::io::Error::from_raw_os_error(self.errno))
    }
}

/// Adds the phase in which a system call failed.
pub(crate) trait InPhase<T> {
    fn during(self, phase: Phase) -> Result<T, Failure>;
}

impl<T, E: Into<std::io::Error>> InPhase<T> for Result<T, E> {
    fn during(self, phase: Phase) -> Result<T, Failure> {
        // An error that is only a number of the system's is converted without allocating.
        self.map_err(|error| Failure { phase, errno: error.into().raw_os_error().unwrap_or(libc::EIO) })
    }
}

/// What the processes of a command send to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Message {
    Failed(Failure),
    Started,
    Ended {
        status: i32,
    },
    /// Carries the controlling side of a terminal.
    Terminal,
}

impl Message {
    /// Three words of 32 bits: the kind of message and up to two numbers.
    pub(crate) const SIZE: usize = 12;

    pub(crate) fn to_bytes(self) -> [[u8; 4]; 3] {
        let words = match self {
            Self::Failed(failure) => [1, failure.phase as i32, failure.errno],
            Self::Started => [2, 0, 0],
            Self::Ended { status } => [3, status, 0],
            Self::Terminal => [4, 0, 0],
        };
        words.map(i32::to_ne_bytes)
    }

    /// `None` if the bytes are no message; the caller treats that as a broken channel.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| bytes.get(at..at + 4)?.try_into().ok().map(i32::from_ne_bytes);
        match word(0)? {
            1 => {
                let (phase, _) = PHASES.get(usize::try_from(word(4)?).ok()?)?;
                Some(Self::Failed(Failure { phase: *phase, errno: word(8)? }))
            }
            2 => Some(Self::Started),
            3 => Some(Self::Ended { status: word(4)? }),
            4 => Some(Self::Terminal),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_as_they_were_sent() {
        for (number, (phase, _)) in PHASES.iter().enumerate() {
            assert_eq!(*phase as usize, number);
        }
        let failure = Failure { phase: Phase::Loopback, errno: libc::EPERM };
        for message in [Message::Failed(failure), Message::Started, Message::Ended { status: 9 }, Message::Terminal] {
            assert_eq!(Message::from_bytes(message.to_bytes().as_flattened()), Some(message));
        }
        assert_eq!(Message::from_bytes(&[9; 12]), None);
        assert_eq!(Message::from_bytes(&[1, 0]), None);
    }
}
