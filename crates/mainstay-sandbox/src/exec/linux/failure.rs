//! What goes wrong while a command is set up, and the messages in which its processes report to the server.
//!
//! Everything here is plain data: it is used between fork and exec, where nothing may allocate.

use rustix::io::Errno;

/// The result of a system call, or with [`Failure`] that of a phase.
pub(super) type Result<T, E = Errno> = std::result::Result<T, E>;

/// The phase of setting up a command in which something failed. The numbers travel in [`Message`]s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub(super) enum Phase {
    Namespaces,
    Init,
    Private,
    Temporary,
    Processes,
    Devices,
    Mask,
    Moved,
    Terminal,
    Session,
    Streams,
    Directory,
    Limits,
    Privileges,
    Files,
    Calls,
    Program,
    Maps,
    Tree,
    Root,
    Loopback,
}

/// Every phase at the index of its number, with what could not be done in it.
const PHASES: [(Phase, &str); 21] = [
    (Phase::Namespaces, "namespaces could not be entered"),
    (Phase::Init, "the process that supervises a command could not be started"),
    (Phase::Private, "the mounts could not be made private"),
    (Phase::Temporary, "the private temporary directory could not be mounted"),
    (Phase::Processes, "a private /proc could not be mounted"),
    (Phase::Devices, "the devices could not be mounted"),
    (Phase::Mask, "a protected name could not be hidden"),
    (Phase::Moved, "a protected name moved while the command was being started"),
    (Phase::Terminal, "a terminal could not be opened"),
    (Phase::Session, "a new session could not be started"),
    (Phase::Streams, "the standard streams could not be connected"),
    (Phase::Directory, "the working directory could not be entered"),
    (Phase::Limits, "the resource limits could not be set"),
    (Phase::Privileges, "privileges could not be dropped"),
    (Phase::Files, "the file rules (Landlock) could not be set"),
    (Phase::Calls, "the system call filter (seccomp) could not be set"),
    (Phase::Program, "the program could not be started"),
    (Phase::Maps, "the user of a new namespace could not be set"),
    (Phase::Tree, "a directory could not be mounted in the new file tree"),
    (Phase::Root, "the new file tree could not be entered"),
    (Phase::Loopback, "the loopback interface could not be enabled"),
];

/// A phase that failed, and the kernel's reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) phase: Phase,
    pub(super) errno: i32,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (_, text) = PHASES[self.phase as usize];
        write!(f, "{text}: {}", std::io::Error::from_raw_os_error(self.errno))
    }
}

/// Adds the phase in which a system call failed.
pub(super) trait InPhase<T> {
    fn during(self, phase: Phase) -> Result<T, Failure>;
}

impl<T> InPhase<T> for rustix::io::Result<T> {
    fn during(self, phase: Phase) -> Result<T, Failure> {
        self.map_err(|errno| Failure { phase, errno: errno.raw_os_error() })
    }
}

impl<T> InPhase<T> for std::io::Result<T> {
    fn during(self, phase: Phase) -> Result<T, Failure> {
        self.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO)).during(phase)
    }
}

/// What the processes of a command send to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Message {
    Failed(Failure),
    Started,
    Ended {
        status: i32,
    },
    /// Carries the controlling side of a terminal.
    Terminal,
}

impl Message {
    pub(super) const SIZE: usize = 12;

    pub(super) fn to_bytes(self) -> [u8; Self::SIZE] {
        let words = match self {
            Self::Failed(failure) => [1, failure.phase as i32, failure.errno],
            Self::Started => [2, 0, 0],
            Self::Ended { status } => [3, status, 0],
            Self::Terminal => [4, 0, 0],
        };
        let mut bytes = [0; Self::SIZE];
        for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
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
            assert_eq!(Message::from_bytes(&message.to_bytes()), Some(message));
        }
        assert_eq!(Message::from_bytes(&[9; 12]), None);
        assert_eq!(Message::from_bytes(&[1, 0]), None);
    }
}
