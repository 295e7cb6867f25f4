//! The one thread that starts processes.
//!
//! The kernel ends a supervisor when the thread that started it ends (`PR_SET_PDEATHSIG`), so this thread lives as long
//! as the server. Where control groups of threads are available, it is in one with limits, which its children inherit.

use std::os::fd::OwnedFd;
use std::sync::{Arc, mpsc};

use mainstay_core::{Error, Result};
use tokio::sync::oneshot;

use super::launch::{Stacks, launch};
use super::plan::Plan;
use super::process_tree::abandon;
use crate::exec::linux::cgroup::Cgroup;
use crate::exec::linux::confinement::Confinement;
use crate::exec::linux::failure::Failure;
use crate::exec::linux::limits::memory_limit;
use crate::exec::private_dir::PrivateDir;
use crate::exec::settings::ExecSettings;
use crate::exec::visibility::Visibility;

/// Work for the thread, with its stacks and its control group.
type Job = Box<dyn FnOnce(&mut Stacks, Option<&Cgroup>) + Send>;

/// The handle of a supervisor, and the temporary directory of its command.
type Launched = Result<(OwnedFd, Option<PrivateDir>), Failure>;

/// The handle of the thread; it ends when this is dropped.
pub(crate) struct Spawner {
    jobs: mpsc::Sender<Job>,
}

impl Spawner {
    /// Starts the thread. It joins the control group first, so that every command inherits the limits.
    pub(crate) fn start(settings: &ExecSettings) -> Result<Self> {
        let (jobs, queue) = mpsc::channel::<Job>();
        let (processes, memory) = (settings.processes, memory_limit(settings));
        let body = move || {
            let cgroup = Cgroup::join(processes, memory);
            let mut stacks = Stacks::new();
            while let Ok(job) = queue.recv() {
                job(&mut stacks, cgroup.as_ref());
            }
        };
        std::thread::Builder::new()
            .name("mainstay-exec".into())
            .spawn(body)
            .map_err(|error| Error::internal(format!("no thread to start commands from: {error}")))?;
        Ok(Self { jobs })
    }

    /// Finds out what this machine can enforce.
    pub(crate) async fn probe(
        &self,
        settings: &ExecSettings,
        visibility: Arc<Visibility>,
        namespaces: bool,
    ) -> Result<Confinement> {
        let (reply, answer) = oneshot::channel();
        let settings = settings.clone();
        self.send(Box::new(move |stacks, cgroup| {
            let _ = reply.send(Confinement::probe(&settings, &visibility, namespaces, stacks.any(), cgroup));
        }))?;
        answer.await.map_err(|_| thread_ended())?
    }

    /// Starts a command. Everything slow has been done before, because other commands wait for this thread too.
    pub(crate) async fn launch(&self, mut plan: Plan, tmp: Option<PrivateDir>) -> Result<Launched> {
        let (reply, answer) = oneshot::channel();
        self.send(Box::new(move |stacks, _| {
            // The caller may have given up before its turn.
            if reply.is_closed() {
                return;
            }
            let namespace = plan.confinement.namespaces.is_some();
            let launched = launch(&mut plan, stacks).map(|pidfd| (pidfd, tmp));
            if let Err(Ok((pidfd, tmp))) = reply.send(launched) {
                abandon(pidfd, namespace, tmp);
            }
        }))?;
        answer.await.map_err(|_| thread_ended())
    }

    fn send(&self, job: Job) -> Result<()> {
        self.jobs.send(job).map_err(|_| thread_ended())
    }
}

fn thread_ended() -> Error {
    Error::internal("the thread that starts commands has ended")
}
