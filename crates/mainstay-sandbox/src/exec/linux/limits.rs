//! The limits of a command where the kernel confines it.

use libc::c_uint;
use rustix::process::Resource;

use super::spawner::memory_limit;
use crate::exec::limits::{of_each, within};
use crate::exec::settings::{ExecSettings, SandboxMode};

/// The limits of every process of a command. None is above what the server itself has.
pub(crate) fn limits(settings: &ExecSettings, own_user: bool) -> Vec<(c_uint, u64)> {
    let mut limits = of_each(settings);
    if settings.sandbox != SandboxMode::Off {
        limits.push((Resource::Data, within(Resource::Data, memory_limit(settings))));
        limits.push((Resource::Nproc, within(Resource::Nproc, processes(settings, own_user))));
    }
    limits.into_iter().map(|(resource, most)| (resource as c_uint, most)).collect()
}

/// A user of a namespace is counted by itself; elsewhere the count is of everything that the server's user runs.
fn processes(settings: &ExecSettings, own_user: bool) -> u64 {
    let others = if own_user { 0 } else { u64::from(rustix::system::sysinfo().procs) };
    others + u64::from(settings.processes)
}
