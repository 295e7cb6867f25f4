//! Control groups of the first version, where the server may make some: limits for all commands together, which hold
//! for root too.

use std::path::{Path, PathBuf};

pub(super) struct Group {
    directories: Vec<PathBuf>,
    /// How many processes and how many bytes all commands may have together, where that is limited.
    pub(super) processes: Option<u32>,
    pub(super) memory: Option<u64>,
}

/// How many commands' worth of processes all of them may have together.
const COMMANDS: u32 = 8;

impl Group {
    /// Makes groups beneath the server's own and puts this thread into them.
    pub(super) fn join(processes: u32, memory: u64) -> Option<Self> {
        let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
        let processes = processes.saturating_mul(COMMANDS);
        let mut group = Self { directories: Vec::new(), processes: None, memory: None };
        group.processes = group.enter(&own, "pids", "pids.max", &processes.to_string()).map(|()| processes);
        group.memory = group.enter(&own, "memory", "memory.limit_in_bytes", &memory.to_string()).map(|()| memory);
        (!group.directories.is_empty()).then_some(group)
    }

    fn enter(&mut self, own: &str, controller: &str, file: &str, value: &str) -> Option<()> {
        let directory = join(&place(own, controller)?, file, value)?;
        self.directories.push(directory);
        Some(())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for directory in &self.directories {
            // The thread leaves before the group can go; what is left over is removed by the next server.
            let parent = directory.parent().map(|parent| parent.join("tasks"));
            let _ = parent.map(|tasks| std::fs::write(tasks, thread_number()));
            let _ = std::fs::remove_dir(directory);
        }
    }
}

/// Where the server stands in the hierarchy of a controller.
fn place(own: &str, controller: &str) -> Option<PathBuf> {
    let path = own.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        controllers.split(',').any(|name| name == controller).then_some(path)
    })?;
    let directory = Path::new("/sys/fs/cgroup").join(controller).join(path.trim_start_matches('/'));
    directory.is_dir().then_some(directory)
}

fn join(parent: &Path, file: &str, value: &str) -> Option<PathBuf> {
    forget_old(parent);
    let directory = parent.join(format!("mainstay-{}-{}", std::process::id(), thread_number()));
    std::fs::create_dir(&directory).ok()?;
    let joined = std::fs::write(directory.join(file), value)
        .and_then(|()| std::fs::write(directory.join("tasks"), thread_number()));
    if joined.is_err() {
        let _ = std::fs::remove_dir(&directory);
        return None;
    }
    Some(directory)
}

/// Groups of servers that were killed.
fn forget_old(parent: &Path) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(owner);
        if owner.is_some_and(|owner| !Path::new("/proc").join(owner).exists()) {
            let _ = std::fs::remove_dir(entry.path());
        }
    }
}

/// The process that made a group of this name: its number, and that of a thread.
fn owner(name: &str) -> Option<&str> {
    let (process, thread) = name.strip_prefix("mainstay-")?.split_once('-')?;
    (process.parse::<u32>().is_ok() && thread.parse::<u32>().is_ok()).then_some(process)
}

fn thread_number() -> String {
    rustix::thread::gettid().as_raw_nonzero().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_that_only_begins_with_the_same_word_is_nobodys() {
        assert_eq!(owner("mainstay-12-34"), Some("12"));
        for name in ["mainstay-12", "mainstay-12-x", "mainstay-x-12", "mainstay-12-34-56", "other-12-34"] {
            assert_eq!(owner(name), None, "{name}");
        }
    }

    #[test]
    fn a_controller_that_is_not_there_has_no_place() {
        let own = "8:pids:/\n4:memory:/a/b\n0::/x\n";
        assert_eq!(place(own, "freezer"), None);
        assert_eq!(place(own, "pids").is_some(), Path::new("/sys/fs/cgroup/pids").is_dir());
    }
}
