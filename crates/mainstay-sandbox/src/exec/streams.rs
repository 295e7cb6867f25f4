//! The standard streams of a command that has no terminal.

use std::io;
use std::os::fd::OwnedFd;

use tokio::net::unix::pipe;

use super::command::Command;

/// The server's ends.
#[derive(Default)]
pub(crate) struct Ours {
    pub(crate) input: Option<pipe::Sender>,
    pub(crate) output: Option<pipe::Receiver>,
    pub(crate) errors: Option<pipe::Receiver>,
}

/// The server's ends, and the command's: standard input, output and error.
pub(crate) fn streams(command: &Command) -> io::Result<(Ours, Vec<OwnedFd>)> {
    if command.terminal.is_some() {
        return Ok((Ours::default(), Vec::new()));
    }
    let (output, their_output) = io::pipe()?;
    let (errors, their_errors) = io::pipe()?;
    let (input, their_input) = if command.piped {
        let (their_input, input) = io::pipe()?;
        (Some(pipe::Sender::from_owned_fd(input.into())?), their_input.into())
    } else {
        (None, std::fs::File::open("/dev/null")?.into())
    };
    let ours = Ours {
        input,
        output: Some(pipe::Receiver::from_owned_fd(output.into())?),
        errors: Some(pipe::Receiver::from_owned_fd(errors.into())?),
    };
    Ok((ours, vec![their_input, their_output.into(), their_errors.into()]))
}
