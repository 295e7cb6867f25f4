//! The processes of a command, as far as they stay in its process group.

use std::os::unix::process::ExitStatusExt as _;
use std::process;
use std::sync::{Arc, Mutex, PoisonError};

use mainstay_core::{Error, Result};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, Signal as Number, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::sync::{oneshot, watch};

use crate::exec::exit_status::{ExitStatus, Signal};
use crate::exec::private_dir::PrivateDir;

/// The group's number; `None` once its leader has been reaped, because the number may then mean another group.
struct Group(Mutex<Option<Pid>>);

impl Group {
    /// Signals the whole group, unless its number may belong to another by now.
    fn signal(&self, signal: Number) {
        let leader = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(leader) = *leader {
            let _ = kill_process_group(leader, signal);
        }
    }

    /// Waits for the leader and kills the others. The leader keeps the group's number reserved until it is reaped.
    fn wait_and_kill(&self, mut leader: process::Child) -> ExitStatus {
        let id = Pid::from_child(&leader);
        let _ = retry_on_intr(|| waitid(WaitId::Pid(id), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT));
        self.signal(Number::KILL);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
        leader.wait().map_or(ExitStatus::killed_by(libc::SIGKILL), |status| ExitStatus::from_wait(status.into_raw()))
    }
}

/// A command that has been started. Dropped, it is ended.
pub(super) struct Running {
    group: Arc<Group>,
    ended: watch::Receiver<Option<ExitStatus>>,
}

impl Running {
    /// Starts a command on a thread that waits for its end.
    pub(super) async fn begin(
        start: impl FnOnce() -> Result<(process::Child, PrivateDir)> + Send + 'static,
    ) -> Result<Self> {
        let (reply, answer) = oneshot::channel();
        std::thread::Builder::new()
            .name("mainstay-exec".into())
            .spawn(move || run_on_thread(start, reply))
            .map_err(|error| Error::unavailable(format!("No thread could be started to run a command: {error}.")))?;
        answer.await.map_err(|_| Error::internal("the thread that starts a command has ended"))?
    }

    /// Waits for the exit status.
    pub(super) async fn ended(&mut self) -> ExitStatus {
        match self.ended.wait_for(Option::is_some).await {
            Ok(status) => status.unwrap_or(ExitStatus::killed_by(libc::SIGKILL)),
            Err(_) => ExitStatus::killed_by(libc::SIGKILL),
        }
    }

    /// Receives the exit status when there is one.
    pub(super) fn subscribe(&self) -> watch::Receiver<Option<ExitStatus>> {
        self.ended.clone()
    }

    pub(super) fn stop_handle(&self) -> StopHandle {
        StopHandle(self.group.clone())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.group.signal(Number::KILL);
    }
}

/// Starts the command and waits for it; its temporary directory is removed before the status is reported.
fn run_on_thread(
    start: impl FnOnce() -> Result<(process::Child, PrivateDir)>,
    reply: oneshot::Sender<Result<Running>>,
) {
    if reply.is_closed() {
        return;
    }
    let (first, tmp) = match start() {
        Ok(started) => started,
        Err(error) => {
            let _ = reply.send(Err(error));
            return;
        }
    };
    let group = Arc::new(Group(Mutex::new(Some(Pid::from_child(&first)))));
    let (report, ended) = watch::channel(None);
    // If the caller has gone, this drops the command, which ends it.
    drop(reply.send(Ok(Running { group: group.clone(), ended })));
    let status = group.wait_and_kill(first);
    drop(tmp);
    report.send_replace(Some(status));
}

/// Ends a command, or passes a signal on to it, while another task waits for its end.
pub struct StopHandle(Arc<Group>);

impl StopHandle {
    /// Sends a signal to every process of the group.
    pub fn signal(&self, signal: Signal) {
        self.0.signal(match signal {
            Signal::Term => Number::TERM,
            Signal::Int => Number::INT,
            Signal::Hup => Number::HUP,
            Signal::Kill => Number::KILL,
        });
    }
}
