//! The standard streams of a command that has no terminal.

use std::io;
use std::os::fd::OwnedFd;

use tokio::net::unix::pipe;

use crate::exec::command::Command;

/// The server's ends.
#[derive(Default)]
pub(crate) struct Pipes {
    pub(crate) input: Option<pipe::Sender>,
    pub(crate) output: Option<pipe::Receiver>,
    pub(crate) errors: Option<pipe::Receiver>,
}

/// Creates the pipes: returns the server's ends, and the command's standard input, output and error. A command with a
/// terminal has none.
pub(crate) fn create_pipes(command: &Command) -> io::Result<(Pipes, Vec<OwnedFd>)> {
    if command.terminal.is_some() {
        return Ok((Pipes::default(), Vec::new()));
    }
    let (output, their_output) = io::pipe()?;
    let (errors, their_errors) = io::pipe()?;
    let (input, their_input) = if command.piped {
        let (their_input, input) = io::pipe()?;
        (Some(pipe::Sender::from_owned_fd(input.into())?), their_input.into())
    } else {
        (None, std::fs::File::open("/dev/null")?.into())
    };
    let ours = Pipes {
        input,
        output: Some(pipe::Receiver::from_owned_fd(output.into())?),
        errors: Some(pipe::Receiver::from_owned_fd(errors.into())?),
    };
    Ok((ours, vec![their_input, their_output.into(), their_errors.into()]))
}
