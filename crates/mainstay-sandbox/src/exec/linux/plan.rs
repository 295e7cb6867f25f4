//! Everything a command needs to start, made ready before the fork.

use std::ffi::CString;
use std::os::fd::{OwnedFd, RawFd};
use std::sync::Arc;

use super::ground::Ground;
use crate::exec::command::TerminalSize;

pub(crate) use crate::identity::FileId as Identity;

/// A protected file or directory that is to be hidden.
#[derive(Debug, Clone)]
pub(crate) struct Mask {
    pub(crate) path: CString,
    pub(crate) identity: Identity,
    pub(crate) directory: bool,
}

pub(crate) struct Plan {
    pub(super) ground: Arc<Ground>,
    pub(super) program: CString,
    pub(super) arguments: Vec<CString>,
    pub(super) environment: Vec<CString>,
    pub(super) directory: CString,
    pub(super) directory_identity: Identity,
    /// Standard input, output and error; a terminal takes the place of all three.
    pub(super) streams: Vec<OwnedFd>,
    pub(super) terminal: Option<TerminalSize>,
    /// The child's end of the line to the server.
    pub(super) line: OwnedFd,
    pub(super) masks: Vec<Mask>,
    /// The private temporary directory, where it is a directory of this machine.
    pub(super) tmp: Option<OwnedFd>,
    pub(super) limits: Vec<(libc::c_uint, u64)>,
    /// Room for the sweep that ends a tree which nothing holds together.
    pub(super) sweep: Vec<libc::pid_t>,
}

impl Plan {
    pub(crate) fn new(
        ground: Arc<Ground>,
        program: CString,
        arguments: Vec<CString>,
        environment: Vec<CString>,
        line: OwnedFd,
    ) -> Self {
        // Only a tree that nothing holds together has to be swept up.
        let sweep = if ground.confined { Vec::new() } else { vec![0; super::sweep::ROOM] };
        Self {
            ground,
            program,
            arguments,
            environment,
            directory: CString::default(),
            directory_identity: Identity { device: 0, inode: 0 },
            streams: Vec::new(),
            terminal: None,
            line,
            masks: Vec::new(),
            tmp: None,
            limits: Vec::new(),
            sweep,
        }
    }

    pub(crate) fn in_directory(mut self, path: CString, identity: Identity) -> Self {
        (self.directory, self.directory_identity) = (path, identity);
        self
    }

    pub(crate) fn with_streams(mut self, streams: Vec<OwnedFd>, terminal: Option<TerminalSize>) -> Self {
        (self.streams, self.terminal) = (streams, terminal);
        self
    }

    pub(crate) fn with_bounds(mut self, masks: Vec<Mask>, limits: Vec<(libc::c_uint, u64)>) -> Self {
        (self.masks, self.limits) = (masks, limits);
        self
    }

    pub(crate) fn with_tmp(mut self, tmp: Option<OwnedFd>) -> Self {
        self.tmp = tmp;
        self
    }
}

/// Where the setting up of a command stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Step {
    Namespaces = 1,
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

impl Step {
    const ALL: [Self; 21] = [
        Self::Namespaces,
        Self::Init,
        Self::Private,
        Self::Temporary,
        Self::Processes,
        Self::Devices,
        Self::Mask,
        Self::Moved,
        Self::Terminal,
        Self::Session,
        Self::Streams,
        Self::Directory,
        Self::Limits,
        Self::Privileges,
        Self::Files,
        Self::Calls,
        Self::Program,
        Self::Maps,
        Self::Tree,
        Self::Root,
        Self::Loopback,
    ];

    pub(super) fn from_number(number: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|step| *step as i32 == number)
    }

    /// What could not be done.
    pub(crate) fn what(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces could not be entered",
            Self::Init => "the process that watches over a command could not be started",
            Self::Private => "the mounts could not be made private",
            Self::Temporary => "the private temporary directory could not be mounted",
            Self::Processes => "the view of processes could not be mounted",
            Self::Devices => "the devices could not be mounted",
            Self::Mask => "a protected name could not be hidden",
            Self::Moved => "a protected name moved while the command was being started",
            Self::Terminal => "a terminal could not be opened",
            Self::Session => "a session could not be begun",
            Self::Streams => "the standard streams could not be connected",
            Self::Directory => "the working directory could not be entered",
            Self::Limits => "the limits could not be set",
            Self::Privileges => "privileges could not be dropped",
            Self::Files => "the file rules (Landlock) could not be set",
            Self::Calls => "the system call filter (seccomp) could not be set",
            Self::Program => "the program could not be started",
            Self::Maps => "the user of a new namespace could not be set",
            Self::Tree => "a directory could not be brought into a new file tree",
            Self::Root => "a new file tree could not be entered",
            Self::Loopback => "the loopback interface could not be switched on",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) step: Step,
    pub(crate) errno: i32,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.step.what(), std::io::Error::from_raw_os_error(self.errno))
    }
}

/// Says at which step a call of the kernel failed.
pub(super) trait At<T> {
    fn at(self, step: Step) -> Result<T, Failure>;
}

impl<T> At<T> for Result<T, i32> {
    fn at(self, step: Step) -> Result<T, Failure> {
        self.map_err(|errno| Failure { step, errno })
    }
}

/// What travels on the line from the child to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Message {
    Failed(Failure),
    Started,
    Ended {
        status: i32,
    },
    /// Comes with a descriptor.
    Terminal,
}

impl Message {
    pub(super) const SIZE: usize = 12;

    pub(super) fn to_bytes(self) -> [u8; Self::SIZE] {
        let words = match self {
            Self::Failed(failure) => [1, failure.step as i32, failure.errno],
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
            1 => Some(Self::Failed(Failure { step: Step::from_number(word(4)?)?, errno: word(8)? })),
            2 => Some(Self::Started),
            3 => Some(Self::Ended { status: word(4)? }),
            4 => Some(Self::Terminal),
            _ => None,
        }
    }
}

/// A process that has been started, by a handle that never means another one.
pub(crate) struct Process {
    pub(crate) handle: OwnedFd,
}

/// The lists `execve` takes: pointers, and a null at the end.
pub(super) fn pointers(strings: &[CString]) -> Vec<*const libc::c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([std::ptr::null()]).collect()
}

pub(super) const NOT_OPEN: RawFd = -1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_as_they_were_sent() {
        let failure = Failure { step: Step::Loopback, errno: libc::EPERM };
        for message in [Message::Failed(failure), Message::Started, Message::Ended { status: 9 }, Message::Terminal] {
            assert_eq!(Message::from_bytes(&message.to_bytes()), Some(message));
        }
        assert_eq!(Message::from_bytes(&[9; 12]), None);
        assert_eq!(Message::from_bytes(&[1, 0]), None);
    }
}
