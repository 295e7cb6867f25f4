//! Running other programs, with their output shown or logged and always with a time limit or to their end.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// How long a program has to clean up after it was asked to stop, before it is killed.
const GRACE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(25);
const TAIL: usize = 40;

/// Runs a command to its end with its output shown; anything but success is an error.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    println!("$ {}", line(command));
    let status = command.status().with_context(|| format!("{} could not be started", program(command)))?;
    succeed(command, status)
}

/// As `run`, but stopped when `limit` has passed.
pub(crate) fn run_within(limit: Duration, command: &mut Command) -> Result<()> {
    println!("$ {}", line(command));
    let mut child = command.spawn().with_context(|| format!("{} could not be started", program(command)))?;
    let status = wait(&mut child, limit).with_context(|| line(command))?;
    succeed(command, status)
}

/// As `run_within`, but with its output in the file `log`; the end of it is part of the error.
pub(crate) fn run_logged(limit: Duration, command: &mut Command, log: &Path) -> Result<()> {
    let status = logged(limit, command, log)?;
    if !status.success() {
        bail!("`{}` failed ({status}); the end of {}:\n{}", line(command), log.display(), tail(log));
    }
    Ok(())
}

/// Runs a command with its output in the file `log`, and returns its exit status.
pub(crate) fn logged(limit: Duration, command: &mut Command, log: &Path) -> Result<ExitStatus> {
    let mut child = start_logged(command, log)?;
    wait(&mut child, limit).with_context(|| format!("{}; the end of {}:\n{}", line(command), log.display(), tail(log)))
}

/// Starts a command with its output in the file `log`.
pub(crate) fn start_logged(command: &mut Command, log: &Path) -> Result<Child> {
    if let Some(directory) = log.parent() {
        std::fs::create_dir_all(directory)?;
    }
    let file = File::create(log).with_context(|| format!("{} could not be written", log.display()))?;
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
    command.spawn().with_context(|| format!("{} could not be started", program(command)))
}

/// Waits for a child; one that outlives `limit` is asked to stop, then killed.
fn wait(child: &mut Child, limit: Duration) -> Result<ExitStatus> {
    if let Some(status) = wait_until(child, Instant::now() + limit)? {
        return Ok(status);
    }
    stop(child)?;
    bail!("still running after {} s: stopped", limit.as_secs())
}

/// Waits for a child that was told to end; one that outlives `limit` is killed, and that is an error.
pub(crate) fn wait_ended(child: &mut Child, limit: Duration) -> Result<()> {
    if wait_until(child, Instant::now() + limit)?.is_none() {
        child.kill()?;
        child.wait()?;
        bail!("still running {} s after it was told to end: killed", limit.as_secs());
    }
    Ok(())
}

/// Stops a child of ours: asks first (TERM), kills after a grace period.
pub(crate) fn stop(child: &mut Child) -> Result<()> {
    if child.try_wait()?.is_some() {
        return Ok(());
    }
    // The shell's own `kill` is there even where the program of that name is not.
    let mut ask = Command::new("sh");
    ask.args(["-c", r#"kill -TERM "$1""#, "stop", &child.id().to_string()]).stderr(Stdio::null());
    let asked = ask.status();
    if asked.is_ok_and(|status| status.success()) && wait_until(child, Instant::now() + GRACE)?.is_some() {
        return Ok(());
    }
    child.kill()?;
    child.wait()?;
    Ok(())
}

fn wait_until(child: &mut Child, deadline: Instant) -> Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            return Ok(None);
        }
        sleep(POLL);
    }
}

/// Asks `ready` again and again until it says yes; an error once `limit` has passed or the child has ended.
pub(crate) fn wait_ready(child: &mut Child, limit: Duration, mut ready: impl FnMut() -> bool) -> Result<()> {
    let deadline = Instant::now() + limit;
    while !ready() {
        if let Some(status) = child.try_wait()? {
            bail!("it ended before it was ready ({status})");
        }
        if Instant::now() >= deadline {
            bail!("it was not ready after {} s", limit.as_secs());
        }
        sleep(POLL);
    }
    Ok(())
}

/// The last lines of a log.
pub(crate) fn tail(log: &Path) -> String {
    let text = std::fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(TAIL)..].join("\n")
}

fn succeed(command: &Command, status: ExitStatus) -> Result<()> {
    if status.success() { Ok(()) } else { bail!("`{}` failed ({status})", line(command)) }
}

fn program(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

/// The command as one would type it, the program by its bare name.
fn line(command: &Command) -> String {
    let name = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(name).chain(command.get_args()).map(std::ffi::OsStr::to_string_lossy);
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn a_program_that_does_not_end_is_stopped() {
        let begun = Instant::now();
        let error = run_within(Duration::from_millis(100), Command::new("sleep").arg("60")).unwrap_err();
        assert!(format!("{error:#}").contains("still running"), "{error:#}");
        assert!(begun.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn a_failure_shows_the_end_of_the_log() {
        let scratch = Scratch::new("process").unwrap();
        let log = scratch.path().join("log");
        let mut command = Command::new("sh");
        command.args(["-c", "echo the reason; exit 3"]);
        let error = run_logged(Duration::from_secs(5), &mut command, &log).unwrap_err();
        assert!(format!("{error:#}").contains("the reason"), "{error:#}");
    }

    #[test]
    fn a_server_that_dies_at_once_is_not_waited_for() {
        let mut child = Command::new("true").spawn().unwrap();
        let error = wait_ready(&mut child, Duration::from_secs(30), || false).unwrap_err();
        assert!(error.to_string().contains("ended before it was ready"), "{error}");
    }
}
