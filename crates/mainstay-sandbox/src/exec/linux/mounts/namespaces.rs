//! Namespaces that are created once and entered by every command: a user without privileges, a file tree, no network.

#![expect(unsafe_code, reason = "the process that creates them starts at a function pointer")]

use std::ffi::{c_int, c_void};
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::net::{RecvFlags, SendFlags};
use rustix::process::Signal;

use super::tree::{FileTree, MountPoint};
use crate::exec::linux::failure::{Failure, InPhase as _, Message, Phase};
use crate::exec::linux::syscalls::{self, NOT_OPEN};

/// Handles of namespaces, which exist as long as these do.
pub(crate) struct Namespaces {
    pub(crate) user: OwnedFd,
    pub(crate) mounts: OwnedFd,
    pub(crate) network: OwnedFd,
    pub(crate) host_name: OwnedFd,
    pub(super) below_tmp: Vec<MountPoint>,
}

/// What all commands share. Process and IPC namespaces are created for each command.
const KINDS: c_int = libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWNET | libc::CLONE_NEWUTS;

/// How long the kernel may take to set up a few mounts.
const TIMEOUT: Duration = Duration::from_secs(20);

/// How many inotify instances all commands may have together. A user has 128 unless the system is set up otherwise, for
/// all of its programs: commands must not take the last one from an editor or a server.
const INOTIFY_INSTANCES: &[u8] = b"64";

/// What the process that creates the namespaces works on.
struct Builder<'a> {
    tree: &'a mut FileTree,
    channel: BorrowedFd<'a>,
}

impl Namespaces {
    /// Creates the namespaces in a process that ends when they are complete.
    pub(crate) fn create(mut tree: FileTree, stack: &mut [u8]) -> Result<Self, Failure> {
        let (mut ours, theirs) = UnixStream::pair().during(Phase::Namespaces)?;
        ours.set_read_timeout(Some(TIMEOUT)).during(Phase::Namespaces)?;
        let mut builder = Builder { tree: &mut tree, channel: theirs.as_fd() };
        let (argument, mut pidfd) = ((&raw mut builder).cast(), NOT_OPEN);
        let flags = KINDS | libc::CLONE_PIDFD | libc::SIGCHLD;
        let process = syscalls::clone(build, stack, flags, argument, &mut pidfd).during(Phase::Namespaces)?;
        // SAFETY: the kernel has just opened it, and nobody else knows it.
        let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
        drop(theirs);
        let opened = Self::supervise(process, &mut ours);
        let _ = rustix::process::pidfd_send_signal(&pidfd, Signal::KILL);
        let _ = syscalls::wait(process, 0);
        let [user, mounts, network, host_name] = opened?;
        Ok(Self { user, mounts, network, host_name, below_tmp: tree.below_tmp })
    }

    /// Maps the user and group of the new namespace, waits until the tree is built, and opens the namespaces.
    fn supervise(process: libc::pid_t, channel: &mut UnixStream) -> Result<[OwnedFd; 4], Failure> {
        let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        let set = |name: &str, text: String| std::fs::write(format!("/proc/{process}/{name}"), text);
        set("setgroups", "deny".to_owned())
            .and_then(|()| set("uid_map", format!("{user} {user} 1")))
            .and_then(|()| set("gid_map", format!("{group} {group} 1")))
            .and_then(|()| channel.write_all(b"g"))
            .during(Phase::Maps)?;
        let mut reply = [0; Message::SIZE];
        channel.read_exact(&mut reply).during(Phase::Namespaces)?;
        match Message::from_bytes(&reply) {
            Some(Message::Started) => {}
            Some(Message::Failed(failure)) => return Err(failure),
            Some(Message::Ended { .. } | Message::Terminal) | None => {
                return Err(Failure { phase: Phase::Namespaces, errno: libc::EPROTO });
            }
        }
        let open = |name: &str| std::fs::File::open(format!("/proc/{process}/ns/{name}")).map(OwnedFd::from);
        let opened = || Ok([open("user")?, open("mnt")?, open("net")?, open("uts")?]);
        std::io::Result::during(opened(), Phase::Namespaces)
    }
}

/// The process that creates the namespaces: nothing but system calls.
extern "C" fn build(argument: *mut c_void) -> c_int {
    // SAFETY: the caller's own value, copied by the fork.
    let builder = unsafe { &mut *argument.cast::<Builder<'_>>() };
    let channel = builder.channel;
    let built = (|| {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).during(Phase::Namespaces)?;
        // The server maps the user first: until then this process has no rights in its namespace.
        if rustix::net::recv(channel, &mut [0], RecvFlags::empty()).during(Phase::Maps)?.1 == 0 {
            syscalls::exit(1);
        }
        syscalls::enable_loopback().during(Phase::Loopback)?;
        limit_inotify();
        builder.tree.build()
    })();
    let message = match built {
        Ok(()) => Message::Started,
        Err(failure) => Message::Failed(failure),
    };
    let _ = rustix::net::send(channel, message.to_bytes().as_flattened(), SendFlags::NOSIGNAL);
    // The namespaces vanish with their last process, so it waits until the server has opened them and ends it.
    let _ = rustix::net::recv(channel, &mut [0], RecvFlags::empty());
    syscalls::exit(0)
}

/// Sets the limit of the new user namespace, before the tree of the commands hides the file. Where containers have it
/// read-only, the limit of the user is the only one.
fn limit_inotify() {
    let limit = c"/proc/sys/user/max_inotify_instances";
    if let Ok(file) = rustix::fs::open(limit, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty()) {
        let _ = rustix::io::write(&file, INOTIFY_INSTANCES);
    }
}
