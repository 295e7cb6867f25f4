//! Namespaces that are made once and entered by every command: a user without privileges, a file tree, no network.

#![expect(unsafe_code, reason = "the process that makes them begins with a fork")]

use std::io::{Read as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use libc::{c_int, c_void};

use super::layout::{Beneath, Layout};
use super::plan::{At as _, Failure, Message, NOT_OPEN, Step};
use super::sys;

/// Handles of namespaces: they live as long as these do.
pub(super) struct Stage {
    pub(super) user: OwnedFd,
    pub(super) mounts: OwnedFd,
    pub(super) network: OwnedFd,
    pub(super) names: OwnedFd,
    pub(super) beneath_tmp: Vec<Beneath>,
}

const KINDS: c_int = libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWNET | libc::CLONE_NEWUTS;

/// How long the kernel may take to set up a few mounts.
const PATIENCE: Duration = Duration::from_secs(20);

struct Builder<'a> {
    layout: &'a mut Layout,
    line: RawFd,
}

impl Stage {
    /// Makes the namespaces in a process that ends when they are made.
    pub(super) fn build(mut layout: Layout, stack: &mut [u8]) -> Result<Self, Failure> {
        let (mut ours, theirs) = UnixStream::pair().map_err(|error| failure(Step::Namespaces, &error))?;
        ours.set_read_timeout(Some(PATIENCE)).map_err(|error| failure(Step::Namespaces, &error))?;
        let mut builder = Builder { layout: &mut layout, line: theirs.as_raw_fd() };
        let (argument, mut handle) = ((&raw mut builder).cast(), NOT_OPEN);
        let flags = KINDS | libc::CLONE_PIDFD | libc::SIGCHLD;
        let process = sys::clone(build, stack, flags, argument, &mut handle).at(Step::Namespaces)?;
        drop(theirs);
        let built = Self::follow(process, &mut ours);
        let _ = sys::kill_by_handle(handle, libc::SIGKILL);
        let _ = sys::reap_one(process);
        sys::close(handle);
        let [user, mounts, network, names] = built?;
        Ok(Self { user, mounts, network, names, beneath_tmp: layout.beneath_tmp })
    }

    /// Gives the new user its number, waits until the tree is built, and takes hold of the namespaces.
    fn follow(process: libc::pid_t, line: &mut UnixStream) -> Result<[OwnedFd; 4], Failure> {
        let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        let set = |name: &str, text: String| std::fs::write(format!("/proc/{process}/{name}"), text);
        set("setgroups", "deny".to_owned())
            .and_then(|()| set("uid_map", format!("{user} {user} 1")))
            .and_then(|()| set("gid_map", format!("{group} {group} 1")))
            .and_then(|()| line.write_all(b"g"))
            .map_err(|error| failure(Step::Maps, &error))?;
        let mut reply = [0; Message::SIZE];
        line.read_exact(&mut reply).map_err(|error| failure(Step::Namespaces, &error))?;
        match Message::from_bytes(&reply) {
            Some(Message::Started) => {}
            Some(Message::Failed(failure)) => return Err(failure),
            Some(Message::Ended { .. } | Message::Terminal) | None => {
                return Err(Failure { step: Step::Namespaces, errno: libc::EPROTO });
            }
        }
        let open = |name: &str| std::fs::File::open(format!("/proc/{process}/ns/{name}")).map(OwnedFd::from);
        let opened = (|| Ok([open("user")?, open("mnt")?, open("net")?, open("uts")?]))();
        opened.map_err(|error: std::io::Error| failure(Step::Namespaces, &error))
    }
}

fn failure(step: Step, error: &std::io::Error) -> Failure {
    Failure { step, errno: error.raw_os_error().unwrap_or(libc::EIO) }
}

/// The process that makes them: nothing but system calls.
extern "C" fn build(argument: *mut c_void) -> c_int {
    // SAFETY: the caller's own value, copied by the fork.
    let builder = unsafe { &mut *argument.cast::<Builder<'_>>() };
    let built = (|| {
        sys::set(libc::PR_SET_PDEATHSIG, 9).at(Step::Namespaces)?;
        let mut go = [0];
        if sys::receive(builder.line, &mut go).at(Step::Maps)? == 0 {
            sys::exit(1);
        }
        // Before the tree is made read-only nothing of it is visible to anybody else.
        sys::raise_loopback().at(Step::Loopback)?;
        builder.layout.build()
    })();
    let message = match built {
        Ok(()) => Message::Started,
        Err(failure) => Message::Failed(failure),
    };
    let _ = sys::send(builder.line, &message.to_bytes());
    // The namespaces have to be taken hold of before the last process in them is gone.
    let _ = sys::receive(builder.line, &mut [0]);
    sys::exit(0)
}
