//! Output that ends when the command does. A process that has left the group may hold its end of a pipe open for as long
//! as it likes, and nobody is to wait for that.

use std::io;
use std::os::fd::AsFd as _;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe;
use tokio::sync::watch;

use crate::exec::ending::ExitStatus;

/// More than a pipe holds: what was written before the end is passed on, what is written without end is not.
const LAST: usize = 1024 * 1024;

/// The stream as it is to be read.
pub(super) fn relay(from: pipe::Receiver, ended: watch::Receiver<Option<ExitStatus>>) -> io::Result<pipe::Receiver> {
    let (ours, theirs) = io::pipe()?;
    let to = pipe::Sender::from_owned_fd(theirs.into())?;
    tokio::spawn(pass_on(from, to, ended));
    pipe::Receiver::from_owned_fd(ours.into())
}

/// Fails when nobody reads any more, and that is just as well.
async fn pass_on(
    mut from: pipe::Receiver,
    mut to: pipe::Sender,
    mut ended: watch::Receiver<Option<ExitStatus>>,
) -> io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = tokio::select! {
            read = from.read(&mut buffer) => read?,
            () = over(&mut ended) => break,
        };
        if read == 0 {
            return Ok(());
        }
        to.write_all(&buffer[..read]).await?;
    }
    let mut passed = 0;
    while passed < LAST {
        // Asked of the system itself: the runtime may not have heard yet that there is something.
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

async fn over(ended: &mut watch::Receiver<Option<ExitStatus>>) {
    let _ = ended.wait_for(Option::is_some).await;
}
