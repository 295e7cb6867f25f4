//! The running and finished tasks of the tasks extension, apart for each principal.

use std::time::{Duration, Instant};

use dashmap::DashMap;
use mainstay_core::Principal;
use rmcp::task_manager::TaskManager;

/// Tasks one principal may have running. Further calls are served as ordinary calls, without a task.
const RUNNING_PER_PRINCIPAL: usize = 256;

/// One set of tasks for each principal, so that nobody can address another principal's task.
#[derive(Default)]
pub(crate) struct TaskSets(DashMap<Principal, TaskSet>);

struct TaskSet {
    manager: TaskManager,
    last_started: Instant,
}

impl TaskSets {
    /// The principal's tasks; an empty set if it has none.
    pub(crate) fn of(&self, principal: &Principal) -> TaskManager {
        self.0.get(principal).map(|set| set.manager.clone()).unwrap_or_default()
    }

    /// The set to start a task in, or `None` if it is full. Sets without a running task that were not used for twice the
    /// life of a task are removed on the way.
    pub(crate) fn with_capacity(&self, principal: &Principal, life: Duration) -> Option<TaskManager> {
        self.0.retain(|_, set| set.last_started.elapsed() < 2 * life || set.manager.running_task_count() > 0);
        let new = || TaskSet { manager: TaskManager::new(), last_started: Instant::now() };
        let mut set = self.0.entry(principal.clone()).or_insert_with(new);
        set.last_started = Instant::now();
        (set.manager.running_task_count() < RUNNING_PER_PRINCIPAL).then(|| set.manager.clone())
    }
}
