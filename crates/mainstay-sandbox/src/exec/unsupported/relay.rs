//! Ends the output when the command ends. A process that has left the group may keep its end of a pipe open for as long
//! as it likes, and no caller should wait for that.

use std::io;
use std::os::fd::AsFd as _;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe;
use tokio::sync::watch;

use crate::exec::exit_status::ExitStatus;

/// More than a pipe holds: what was written before the end is passed on, an endless stream is not.
const MAX_AFTER_EXIT: usize = 1024 * 1024;

/// A copy of the stream that ends with the command.
pub(super) fn relay(from: pipe::Receiver, ended: watch::Receiver<Option<ExitStatus>>) -> io::Result<pipe::Receiver> {
    let (ours, theirs) = io::pipe()?;
    let to = pipe::Sender::from_owned_fd(theirs.into())?;
    tokio::spawn(pass_on(from, to, ended));
    pipe::Receiver::from_owned_fd(ours.into())
}

/// Ends with an error when nobody reads any more, which is ignored.
async fn pass_on(
    mut from: pipe::Receiver,
    mut to: pipe::Sender,
    mut ended: watch::Receiver<Option<ExitStatus>>,
) -> io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = tokio::select! {
            read = from.read(&mut buffer) => read?,
            () = has_ended(&mut ended) => break,
        };
        if read == 0 {
            return Ok(());
        }
        to.write_all(&buffer[..read]).await?;
    }
    let mut passed = 0;
    while passed < MAX_AFTER_EXIT {
        // A direct read: the runtime may not know yet that there is something.
        match rustix::io::read(from.as_fd(), &mut buffer[..]) {
            Ok(0) | Err(_) => break,
            Ok(read) => {
                to.write_all(&buffer[..read]).await?;
                passed += read;
            }
        }
    }
    Ok(())
}

async fn has_ended(ended: &mut watch::Receiver<Option<ExitStatus>>) {
    let _ = ended.wait_for(Option::is_some).await;
}
