//! The channel between the server and the supervisor of a command.

use std::io;
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::exec::linux::failure::Message;

/// The server's end. When it is closed, for whatever reason, the supervisor ends the command.
pub(crate) struct Channel(AsyncFd<OwnedFd>);

impl Channel {
    /// The server's end, and the supervisor's.
    pub(crate) fn pair() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        rustix::io::ioctl_fionbio(&ours, true)?;
        Ok((Self(watched(ours, Interest::READABLE)?), theirs))
    }

    /// The next message and the handle it carries, if any; `None` when the supervisor's end is closed.
    pub(crate) async fn receive(&self) -> io::Result<Option<(Message, Option<OwnedFd>)>> {
        loop {
            let mut ready = self.0.readable().await?;
            match ready.try_io(|channel| receive_now(channel.get_ref())) {
                Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
                Ok(received) => return received,
                Err(_would_block) => {}
            }
        }
    }

    /// Has a signal sent to every process of the command.
    pub(crate) fn signal(&self, signal: u8) {
        let _ = rustix::net::send(self.0.get_ref(), &[signal], SendFlags::NOSIGNAL);
    }

    /// Closes the channel while others still hold it: the supervisor ends the command, and itself.
    pub(crate) fn shut_down(&self) {
        let _ = rustix::net::shutdown(self.0.get_ref(), Shutdown::Both);
    }
}

/// Receives one message; `EAGAIN` if there is none. A handle that comes with it is owned by the caller.
fn receive_now(channel: &OwnedFd) -> io::Result<Option<(Message, Option<OwnedFd>)>> {
    let mut bytes = [0; Message::SIZE];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let received = rustix::net::recvmsg(channel, &mut [IoSliceMut::new(&mut bytes)], &mut control, flags)?;
    let handle = control.drain().find_map(|message| {
        if let RecvAncillaryMessage::ScmRights(mut handles) = message { handles.next() } else { None }
    });
    Ok(Message::from_bytes(&bytes[..received.bytes]).map(|message| (message, handle)))
}

/// Registers a handle with the runtime.
#[expect(unsafe_code, reason = "the runtime has to be told that the handle stays the same")]
pub(crate) fn watched(handle: OwnedFd, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an owned handle always has the same number, and keeps it open until it is dropped.
    unsafe { AsyncFd::register_with_interest(handle, interest) }.map_err(Into::into)
}
