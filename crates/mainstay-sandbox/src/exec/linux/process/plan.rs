//! Everything that a command needs to start, prepared before the fork, because nothing may be allocated after it.

use std::ffi::{CString, c_char};
use std::os::fd::{OwnedFd, RawFd};
use std::sync::Arc;

use rustix::process::Resource;

use crate::exec::TerminalSize;
use crate::exec::linux::confinement::Confinement;
use crate::exec::linux::failure::Failure;
use crate::exec::linux::mounts::{Mask, PinnedTree};
use crate::identity::FileId;

/// A command, ready to be started.
pub(crate) struct Plan {
    pub(crate) confinement: Arc<Confinement>,
    pub(crate) program: CString,
    pub(crate) arguments: Vec<CString>,
    pub(crate) environment: Vec<CString>,
    pub(crate) directory: CString,
    /// What the working directory was when its path was checked; it must be the same when it is entered.
    pub(crate) directory_id: FileId,
    /// Standard input, output and error; empty if there is a terminal.
    pub(crate) streams: Vec<OwnedFd>,
    pub(crate) terminal: Option<TerminalSize>,
    /// The supervisor's end of the channel to the server.
    pub(crate) channel: OwnedFd,
    pub(crate) masks: Arc<Vec<Mask>>,
    /// What the command can neither rename nor remove.
    pub(crate) pinned: Vec<PinnedTree>,
    /// The Landlock rules, where commands are confined.
    pub(crate) ruleset: Option<OwnedFd>,
    pub(crate) limits: Vec<(Resource, u64)>,
    /// Space for the list of processes, where a command's have to be searched for. Otherwise empty.
    pub(crate) process_table: Vec<libc::pid_t>,
}

/// A plan that is being carried out. The processes share it: the first with the server, the third with the second.
pub(super) struct Launch<'a> {
    pub(super) plan: &'a mut Plan,
    /// For `execve`: pointers into the plan, and a null at the end.
    pub(super) arguments: &'a [*const c_char],
    pub(super) environment: &'a [*const c_char],
    pub(super) init_stack: &'a mut [u8],
    pub(super) command_stack: &'a mut [u8],
    pub(super) pidfd: RawFd,
    /// Set by a process that shares this memory.
    pub(super) failure: Option<Failure>,
    /// The programs' side of the terminal.
    pub(super) terminal: Option<OwnedFd>,
}
