//! Everything that a command needs to start, prepared before the fork, because nothing may be allocated after it.

use std::ffi::{CString, c_char};
use std::os::fd::{OwnedFd, RawFd};
use std::sync::Arc;

use rustix::process::Resource;

use crate::exec::command::TerminalSize;
use crate::exec::linux::confinement::Confinement;
use crate::exec::linux::failure::Failure;
use crate::exec::linux::mounts::Mask;
use crate::identity::FileId;

/// A command, ready to be started.
pub(in crate::exec::linux) struct Plan {
    pub(in crate::exec::linux) confinement: Arc<Confinement>,
    pub(in crate::exec::linux) program: CString,
    pub(in crate::exec::linux) arguments: Vec<CString>,
    pub(in crate::exec::linux) environment: Vec<CString>,
    pub(in crate::exec::linux) directory: CString,
    /// What the working directory was when its path was checked; it must be the same when it is entered.
    pub(in crate::exec::linux) directory_id: FileId,
    /// Standard input, output and error; empty if there is a terminal.
    pub(in crate::exec::linux) streams: Vec<OwnedFd>,
    pub(in crate::exec::linux) terminal: Option<TerminalSize>,
    /// The supervisor's end of the channel to the server.
    pub(in crate::exec::linux) channel: OwnedFd,
    pub(in crate::exec::linux) masks: Vec<Mask>,
    /// The Landlock rules, where commands are confined.
    pub(in crate::exec::linux) ruleset: Option<OwnedFd>,
    pub(in crate::exec::linux) limits: Vec<(Resource, u64)>,
    /// Space for the list of processes, where a command's have to be searched for. Otherwise empty.
    pub(in crate::exec::linux) process_table: Vec<libc::pid_t>,
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
