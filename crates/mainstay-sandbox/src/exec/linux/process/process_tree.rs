//! The server's hold on all processes of a command.

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;

use rustix::process::{Signal as SystemSignal, WaitId, WaitIdOptions, pidfd_send_signal, waitid};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::channel::{Channel, watched};
use crate::exec::exit_status::Signal;
use crate::exec::private_dir::PrivateDir;

/// Ends a command, or passes a signal on to it, while another task waits for its end.
pub struct StopHandle {
    channel: Arc<Channel>,
    /// The supervisor, if killing it ends everything.
    pidfd: Option<OwnedFd>,
}

impl StopHandle {
    pub(crate) fn new(channel: Arc<Channel>, processes: Option<&ProcessTree>) -> io::Result<Self> {
        let pidfd = processes.filter(|processes| processes.namespace).and_then(|processes| processes.pidfd.as_ref());
        Ok(Self { channel, pidfd: pidfd.map(|pidfd| pidfd.get_ref().try_clone()).transpose()? })
    }

    /// Sends a signal to every process of the command.
    pub fn signal(&self, signal: Signal) {
        let number: c_int = match (signal, &self.pidfd) {
            (Signal::Term, _) => libc::SIGTERM,
            (Signal::Int, _) => libc::SIGINT,
            (Signal::Hup, _) => libc::SIGHUP,
            (Signal::Kill, Some(pidfd)) => {
                let _ = pidfd_send_signal(pidfd, SystemSignal::KILL);
                return;
            }
            (Signal::Kill, None) => return self.channel.shut_down(),
        };
        self.channel.signal(u8::try_from(number).unwrap_or_default());
    }
}

/// All processes of one command, and the temporary directory they have for themselves. Dropped, they are ended.
pub(crate) struct ProcessTree {
    /// The supervisor's handle, until it has been reaped.
    pidfd: Option<AsyncFd<OwnedFd>>,
    /// Whether the kernel ends all other processes with the supervisor, so that it may be killed.
    namespace: bool,
    tmp: Option<PrivateDir>,
}

impl ProcessTree {
    /// `namespace` says whether killing the supervisor is enough to end everything.
    pub(crate) fn new(pidfd: OwnedFd, namespace: bool, tmp: Option<PrivateDir>) -> io::Result<Self> {
        Ok(Self { pidfd: Some(watched(pidfd, Interest::READABLE)?), namespace, tmp })
    }

    /// Waits until the last process has ended, and removes the temporary directory.
    pub(crate) async fn wait(&mut self) -> io::Result<()> {
        let Some(pidfd) = &self.pidfd else { return Ok(()) };
        let _ = pidfd.readable().await?;
        let _ = waitid(WaitId::PidFd(pidfd.get_ref().as_fd()), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
        self.pidfd = None;
        if let Some(tmp) = self.tmp.take() {
            let _ = tokio::task::spawn_blocking(move || drop(tmp)).await;
        }
        Ok(())
    }

    /// Whether there is a temporary directory to remove.
    pub(crate) fn has_files(&self) -> bool {
        self.tmp.is_some()
    }
}

impl Drop for ProcessTree {
    fn drop(&mut self) {
        if let Some(pidfd) = self.pidfd.take() {
            abandon(pidfd.into_inner(), self.namespace, self.tmp.take());
        }
    }
}

/// Ends a command that nobody wants any more: without a namespace, its closed channel tells the supervisor to. Reaping
/// it takes milliseconds, but the calling thread may be one of the runtime's, so another one waits.
pub(super) fn abandon(pidfd: OwnedFd, namespace: bool, tmp: Option<PrivateDir>) {
    if namespace {
        let _ = pidfd_send_signal(&pidfd, SystemSignal::KILL);
    }
    let reap = move || {
        let _ = rustix::io::retry_on_intr(|| waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED));
        drop(tmp);
    };
    let _ = std::thread::Builder::new().name("mainstay-reap".into()).stack_size(64 * 1024).spawn(reap);
}
