//! The resource limits of a command that the kernel confines.

use rustix::process::Resource;

use crate::exec::limits::{of_each, within};
use crate::exec::{ExecSettings, SandboxMode};

/// The limits of every process of a command. None is above what the server itself has.
pub(super) fn limits(settings: &ExecSettings, own_user: bool) -> Vec<(Resource, u64)> {
    let mut limits = of_each(settings);
    if settings.sandbox != SandboxMode::Off {
        // A user of a namespace is counted by itself; otherwise the kernel counts everything that the server's user runs.
        let others = if own_user { 0 } else { u64::from(rustix::system::sysinfo().procs) };
        let processes = others + u64::from(settings.processes);
        limits.push((Resource::Data, within(Resource::Data, memory_limit(settings))));
        limits.push((Resource::Nproc, within(Resource::Nproc, processes)));
    }
    limits
}

/// How much memory a command may have: the setting, or half of the machine's.
pub(super) fn memory_limit(settings: &ExecSettings) -> u64 {
    let machine = rustix::system::sysinfo();
    let total = machine.totalram as u64 * u64::from(machine.mem_unit.max(1));
    settings.memory_mb.map_or(total / 2, |mb| mb.saturating_mul(1 << 20))
}
