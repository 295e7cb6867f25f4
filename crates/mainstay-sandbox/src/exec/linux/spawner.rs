//! The one thread that starts processes. The kernel ends them when it ends, so it lives as long as the server does; and
//! where control groups of threads are to be had it stands in one with limits, which its children inherit.

use std::sync::{Arc, mpsc};

use mainstay_core::{Error, Result};
use tokio::sync::oneshot;

use super::cgroup::Group;
use super::ground::Ground;
use super::launch::{Stacks, launch};
use super::plan::{Failure, Plan, Process};
use crate::exec::private_dir::PrivateDir;
use crate::exec::reach::Reach;
use crate::exec::settings::ExecSettings;

enum Job {
    Find { settings: Box<ExecSettings>, reach: Arc<Reach>, namespaces: bool, reply: oneshot::Sender<Result<Ground>> },
    Launch { plan: Box<Plan>, tmp: Option<PrivateDir>, reply: oneshot::Sender<Launched> },
}

/// What has been started, and the directory it has for itself.
type Launched = Result<(Process, Option<PrivateDir>), Failure>;

pub(crate) struct Spawner {
    jobs: mpsc::Sender<Job>,
}

impl Spawner {
    pub(crate) fn start(settings: &ExecSettings) -> Result<Self> {
        let (jobs, queue) = mpsc::channel::<Job>();
        let limits = (settings.processes, memory_limit(settings));
        let body = move || {
            let group = Group::join(limits.0, limits.1);
            let mut stacks = Stacks::new();
            while let Ok(job) = queue.recv() {
                perform(job, &mut stacks, group.as_ref());
            }
        };
        std::thread::Builder::new()
            .name("mainstay-exec".into())
            .spawn(body)
            .map_err(|error| Error::internal(format!("no thread to start commands from: {error}")))?;
        Ok(Self { jobs })
    }

    pub(crate) async fn find(&self, settings: &ExecSettings, reach: Arc<Reach>, namespaces: bool) -> Result<Ground> {
        let (reply, answer) = oneshot::channel();
        self.send(Job::Find { settings: Box::new(settings.clone()), reach, namespaces, reply })?;
        answer.await.map_err(|_| gone())?
    }

    /// Everything that could take long has been done before: others wait for this thread too.
    pub(crate) async fn launch(&self, plan: Plan, tmp: Option<PrivateDir>) -> Result<Launched> {
        let (reply, answer) = oneshot::channel();
        self.send(Job::Launch { plan: Box::new(plan), tmp, reply })?;
        answer.await.map_err(|_| gone())
    }

    fn send(&self, job: Job) -> Result<()> {
        self.jobs.send(job).map_err(|_| gone())
    }
}

fn gone() -> Error {
    Error::internal("the thread that starts commands has ended")
}

fn perform(job: Job, stacks: &mut Stacks, group: Option<&Group>) {
    match job {
        Job::Find { settings, reach, namespaces, reply } => {
            let _ = reply.send(Ground::find(&settings, &reach, namespaces, stacks.any(), group));
        }
        Job::Launch { mut plan, tmp, reply } if !reply.is_closed() => {
            let whole = plan.ground.stage.is_some();
            let launched = launch(&mut plan, stacks).map(|process| (process, tmp));
            // The caller may have gone away meanwhile.
            if let Err(Ok((unwanted, tmp))) = reply.send(launched) {
                unwanted.end(whole, tmp);
            }
        }
        // The caller went away before its turn came.
        Job::Launch { .. } => {}
    }
}

/// How much memory a command may have: what is set, or half of the machine.
pub(super) fn memory_limit(settings: &ExecSettings) -> u64 {
    let machine = rustix::system::sysinfo();
    let total = machine.totalram as u64 * u64::from(machine.mem_unit.max(1));
    settings.memory_mb.map_or(total / 2, |mb| mb.saturating_mul(1 << 20))
}
