//! How much a command may use of the machine.

use libc::c_uint;
use rustix::process::{Resource, getrlimit};

use super::linux::memory_limit;
use super::settings::{ExecSettings, SandboxMode};

/// The limits of every process of a command. None is above what the server itself has.
pub(crate) fn of(settings: &ExecSettings, own_user: bool) -> Vec<(c_uint, u64)> {
    let within = |resource: Resource, wanted: u64| getrlimit(resource).maximum.map_or(wanted, |most| most.min(wanted));
    let mut limits = vec![
        (libc::RLIMIT_CORE, 0),
        (libc::RLIMIT_NOFILE, within(Resource::Nofile, u64::from(settings.open_files))),
        (libc::RLIMIT_FSIZE, within(Resource::Fsize, settings.file_mb.saturating_mul(1 << 20))),
    ];
    if settings.sandbox != SandboxMode::Off {
        limits.push((libc::RLIMIT_DATA, within(Resource::Data, memory_limit(settings))));
        limits.push((libc::RLIMIT_NPROC, within(Resource::Nproc, processes(settings, own_user))));
    }
    limits
}

/// A user of a namespace is counted by itself; elsewhere the count is of everything that the server's user runs.
fn processes(settings: &ExecSettings, own_user: bool) -> u64 {
    let others = if own_user { 0 } else { u64::from(rustix::system::sysinfo().procs) };
    others + u64::from(settings.processes)
}
