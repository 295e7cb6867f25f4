//! The processes of a command, as far as they stay in the group that it begins.

use std::os::unix::process::ExitStatusExt as _;
use std::process;
use std::sync::{Arc, Mutex, PoisonError};

use mainstay_core::{Error, Result};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, Signal as Number, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::sync::{oneshot, watch};

use crate::exec::ending::{ExitStatus, Signal};
use crate::exec::private_dir::PrivateDir;

/// Nothing once the first process has been waited for: its number may then mean another group.
struct Group(Mutex<Option<Pid>>);

impl Group {
    fn signal(&self, signal: Number) {
        let leader = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(leader) = *leader {
            let _ = kill_process_group(leader, signal);
        }
    }

    /// Waits for the first process and ends the others. The first keeps the group's number until it is taken from it.
    fn see_out(&self, mut first: process::Child) -> ExitStatus {
        let id = Pid::from_child(&first);
        let _ = retry_on_intr(|| waitid(WaitId::Pid(id), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT));
        self.signal(Number::KILL);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
        first.wait().map_or(ExitStatus::by(libc::SIGKILL), |status| ExitStatus::of(status.into_raw()))
    }
}

/// A command that has been started. Dropped, it is ended.
pub(super) struct Running {
    group: Arc<Group>,
    ended: watch::Receiver<Option<ExitStatus>>,
}

impl Running {
    /// Starts a command on a thread that stays with it to its end.
    pub(super) async fn begin(
        start: impl FnOnce() -> Result<(process::Child, PrivateDir)> + Send + 'static,
    ) -> Result<Self> {
        let (reply, answer) = oneshot::channel();
        std::thread::Builder::new()
            .name("mainstay-exec".into())
            .spawn(move || accompany(start, reply))
            .map_err(|error| Error::unavailable(format!("There is no thread to run a command from: {error}.")))?;
        answer.await.map_err(|_| Error::internal("the thread that starts a command has ended"))?
    }

    pub(super) async fn ended(&mut self) -> ExitStatus {
        match self.ended.wait_for(Option::is_some).await {
            Ok(ending) => ending.unwrap_or(ExitStatus::by(libc::SIGKILL)),
            Err(_) => ExitStatus::by(libc::SIGKILL),
        }
    }

    pub(super) fn news(&self) -> watch::Receiver<Option<ExitStatus>> {
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

fn accompany(start: impl FnOnce() -> Result<(process::Child, PrivateDir)>, reply: oneshot::Sender<Result<Running>>) {
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
    let (say, ended) = watch::channel(None);
    // A caller who went away meanwhile leaves it to be dropped here.
    drop(reply.send(Ok(Running { group: group.clone(), ended })));
    let ending = group.see_out(first);
    drop(tmp);
    say.send_replace(Some(ending));
}

/// Ends a command, or passes a signal on to it, while somebody else waits for its end.
pub struct StopHandle(Arc<Group>);

impl StopHandle {
    pub fn signal(&self, signal: Signal) {
        self.0.signal(match signal {
            Signal::Term => Number::TERM,
            Signal::Int => Number::INT,
            Signal::Hup => Number::HUP,
            Signal::Kill => Number::KILL,
        });
    }
}
