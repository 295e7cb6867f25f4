//! The last steps before a process becomes the command: each takes something away from it.

use std::os::fd::AsFd;

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::Rlimit;
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use rustix::thread::{CapabilitiesSecureBits, CapabilitySet, CapabilitySets, remove_capability_from_bounding_set};

use super::plan::{Launch, Plan};
use crate::exec::linux::failure::{Failure, InPhase as _, Phase, Result};
use crate::exec::linux::seccomp::Program;
use crate::exec::linux::syscalls;
use crate::identity::FileId;

/// Becomes the command. Returns only if something went wrong.
///
/// The order matters: privileges are dropped before Landlock, which needs none, and the filter comes last, because it
/// forbids calls that the earlier steps make.
pub(super) fn exec(launch: &Launch<'_>) -> Result<(), Failure> {
    let plan: &Plan = launch.plan;
    let confinement = &plan.confinement;
    rustix::process::setsid().during(Phase::Session)?;
    connect_streams(launch).during(Phase::Streams)?;
    rustix::process::chdir(plan.directory.as_c_str()).during(Phase::Directory)?;
    check_directory(plan)?;
    for (resource, value) in &plan.limits {
        let limit = Rlimit { current: Some(*value), maximum: Some(*value) };
        rustix::process::setrlimit(*resource, limit).during(Phase::Limits)?;
    }
    rustix::thread::set_no_new_privs(true).during(Phase::Privileges)?;
    if confinement.confined {
        drop_privileges(confinement.root).during(Phase::Privileges)?;
        confine_files(plan).during(Phase::Files)?;
    }
    syscalls::close_from(3).during(Phase::Streams)?;
    if confinement.confined {
        let filter = confinement.filter.as_ref().ok_or(Errno::BADF);
        filter.and_then(Program::install).during(Phase::Calls)?;
    }
    syscalls::block_signals(false);
    let errno = syscalls::execute(&plan.program, launch.arguments, launch.environment);
    Err(Failure { phase: Phase::Program, errno: errno.raw_os_error() })
}

/// Connects the standard streams; a terminal also becomes the controlling one of the new session.
fn connect_streams(launch: &Launch<'_>) -> Result<()> {
    if let Some(terminal) = &launch.terminal {
        rustix::process::ioctl_tiocsctty(terminal)?;
        return connect(terminal, terminal, terminal);
    }
    match launch.plan.streams.as_slice() {
        [input, output, errors] => connect(input, output, errors),
        _ => Err(Errno::BADF),
    }
}

fn connect(input: impl AsFd, output: impl AsFd, errors: impl AsFd) -> Result<()> {
    dup2_stdin(input)?;
    dup2_stdout(output)?;
    dup2_stderr(errors)
}

/// The directory as it appears in this mount namespace must be the one whose path was checked.
fn check_directory(plan: &Plan) -> Result<(), Failure> {
    let here = syscalls::open_path(c".", OFlags::DIRECTORY).during(Phase::Directory)?;
    let same = FileId::of(&here).during(Phase::Directory)? == plan.directory_id;
    if same { Ok(()) } else { Err(Failure { phase: Phase::Directory, errno: libc::ESTALE }) }
}

/// Drops all capabilities for good. The server's user may lack the right to drop some that it does not have anyway; for
/// root a failure counts.
fn drop_privileges(root: bool) -> Result<()> {
    // Keep none across a change of user, gain none from being root, and none ambient; each locked.
    const LOCKED: CapabilitiesSecureBits = CapabilitiesSecureBits::from_bits_retain(0b1110_1111);
    let for_root = |done: Result<()>| if root { done } else { Ok(()) };
    for_root(drop_bounding_set())?;
    for_root(rustix::thread::set_capabilities_secure_bits(LOCKED))?;
    drop_capabilities()
}

/// Removes every capability that the kernel knows from the bounding set; `EINVAL` ends the list.
fn drop_bounding_set() -> Result<()> {
    for number in 0..u64::BITS {
        match remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << number)) {
            Err(Errno::INVAL) => break,
            other => other?,
        }
    }
    Ok(())
}

/// Gives up every capability of this process.
pub(super) fn drop_capabilities() -> Result<()> {
    let none = CapabilitySet::empty();
    rustix::thread::set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
}

/// Enforces the file rules, after adding those about the mounts that this command has for itself.
fn confine_files(plan: &Plan) -> Result<()> {
    let ruleset = plan.ruleset.as_ref().ok_or(Errno::BADF)?;
    let rights = plan.confinement.rights;
    if plan.confinement.namespaces.is_some() {
        for (path, allowed) in
            [(c"/tmp", rights.writable()), (c"/proc", rights.readable()), (c"/dev", rights.devices())]
        {
            let directory = syscalls::open_path(path, OFlags::empty())?;
            syscalls::landlock_add_rule(ruleset, &directory, allowed.bits())?;
        }
    }
    syscalls::landlock_restrict_self(ruleset)
}
