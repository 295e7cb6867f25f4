//! How much a command may use of the machine.

use rustix::process::{Resource, getrlimit};

use super::settings::ExecSettings;

/// The limits that every process of a command has, whatever else holds it. None is above what the server itself has.
pub(crate) fn of_each(settings: &ExecSettings) -> Vec<(Resource, u64)> {
    let files = u64::from(settings.open_files);
    vec![
        (Resource::Core, 0),
        (Resource::Nofile, most_open_files().map_or(files, |most| most.min(files))),
        (Resource::Fsize, within(Resource::Fsize, settings.file_mb.saturating_mul(1 << 20))),
    ]
}

pub(crate) fn within(resource: Resource, wanted: u64) -> u64 {
    getrlimit(resource).maximum.map_or(wanted, |most| most.min(wanted))
}

/// How many files this process may have open at once.
pub(crate) fn most_open_files() -> Option<u64> {
    // This system says that there is no limit, and then refuses to go above this one.
    const OPEN_MAX: u64 = 10_240;
    let most = getrlimit(Resource::Nofile).maximum;
    if cfg!(target_vendor = "apple") { Some(most.map_or(OPEN_MAX, |most| most.min(OPEN_MAX))) } else { most }
}
