//! Limits for all commands together, by control groups of version 1, where the server may create some. Unlike resource
//! limits they hold for root too.
//!
//! Only version 1 lets a single thread of a process be in a group of its own, which is how the thread that starts
//! commands is limited without limiting the server.

use std::path::{Path, PathBuf};

/// The groups that commands are in. Removed on drop.
pub(super) struct Cgroup {
    directories: Vec<PathBuf>,
    /// How many processes and how many bytes all commands may have together, where that is limited.
    pub(super) processes: Option<u32>,
    pub(super) memory: Option<u64>,
}

/// All commands together may have this many times the processes of one.
const COMMANDS: u32 = 8;

impl Cgroup {
    /// Creates groups beneath the server's own and moves this thread into them.
    pub(super) fn join(processes: u32, memory: u64) -> Option<Self> {
        let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
        let processes = processes.saturating_mul(COMMANDS);
        let mut group = Self { directories: Vec::new(), processes: None, memory: None };
        group.processes = group.enter(&own, "pids", "pids.max", &processes.to_string()).map(|()| processes);
        group.memory = group.enter(&own, "memory", "memory.limit_in_bytes", &memory.to_string()).map(|()| memory);
        (!group.directories.is_empty()).then_some(group)
    }

    /// Creates a group of one controller, sets its limit and moves this thread into it; `None` if the server may not,
    /// and then nothing is left behind.
    fn enter(&mut self, own: &str, controller: &str, file: &str, value: &str) -> Option<()> {
        let parent = own_group(own, controller)?;
        remove_leftovers(&parent);
        let directory = parent.join(format!("mainstay-{}-{}", std::process::id(), thread_id()));
        std::fs::create_dir(&directory).ok()?;
        let limited = std::fs::write(directory.join(file), value);
        if limited.and_then(|()| std::fs::write(directory.join("tasks"), thread_id())).is_err() {
            let _ = std::fs::remove_dir(&directory);
            return None;
        }
        self.directories.push(directory);
        Some(())
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        for directory in &self.directories {
            // A group can be removed only when its last thread has left; what stays is removed by the next server.
            let parent = directory.parent().map(|parent| parent.join("tasks"));
            let _ = parent.map(|tasks| std::fs::write(tasks, thread_id()));
            let _ = std::fs::remove_dir(directory);
        }
    }
}

/// The directory of the server's own group in the hierarchy of a controller.
fn own_group(own: &str, controller: &str) -> Option<PathBuf> {
    let path = own.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        controllers.split(',').any(|name| name == controller).then_some(path)
    })?;
    let directory = Path::new("/sys/fs/cgroup").join(controller).join(path.trim_start_matches('/'));
    directory.is_dir().then_some(directory)
}

/// Removes groups of servers that were killed.
fn remove_leftovers(parent: &Path) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(owner);
        if owner.is_some_and(|owner| !Path::new("/proc").join(owner).exists()) {
            let _ = std::fs::remove_dir(entry.path());
        }
    }
}

/// The number of the process that created a group of this name; the other number is that of a thread.
fn owner(name: &str) -> Option<&str> {
    let (process, thread) = name.strip_prefix("mainstay-")?.split_once('-')?;
    (process.parse::<u32>().is_ok() && thread.parse::<u32>().is_ok()).then_some(process)
}

fn thread_id() -> String {
    rustix::thread::gettid().as_raw_nonzero().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_that_only_begins_with_the_same_word_has_no_owner() {
        assert_eq!(owner("mainstay-12-34"), Some("12"));
        for name in ["mainstay-12", "mainstay-12-x", "mainstay-x-12", "mainstay-12-34-56", "other-12-34"] {
            assert_eq!(owner(name), None, "{name}");
        }
    }

    #[test]
    fn a_controller_that_is_not_there_has_no_group() {
        let own = "8:pids:/\n4:memory:/a/b\n0::/x\n";
        assert_eq!(own_group(own, "freezer"), None);
        assert_eq!(own_group(own, "pids").is_some(), Path::new("/sys/fs/cgroup/pids").is_dir());
    }
}
