//! Standard input and output as lines, the same for every dialect: one message a line.

use std::fs::File;
use std::io::{BufRead, Read, Write};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mainstay_wire::jsonrpc::Refusal;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout};

/// Messages read ahead of the server, and replies waiting for a slow reader.
pub(super) const AHEAD: usize = 256;

/// What tells the writer that nothing follows: the reader may still hold its end of the channel.
const END: Vec<u8> = Vec::new();

/// Lines that are shorter together are written together.
const PIECE: usize = 64 * 1024;

/// How long the last lines may take to leave.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// How long calls that were told to end may take to do so.
pub(super) const CUT_OFF: Duration = Duration::from_secs(2);

/// How often it is looked whether the lines still leave.
const LOOK: Duration = Duration::from_secs(1);

/// What was read of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// All of it, or of one that is too long the beginning: its id may be there.
    pub(super) bytes: &'a [u8],
    /// The limit it does not keep, if it is too long.
    pub(super) over: Option<usize>,
}

impl<'a> Line<'a> {
    /// The whole line, or its refusal.
    pub(super) fn whole(&self) -> Result<&'a [u8], Refusal> {
        self.over.map_or(Ok(self.bytes), |limit| Err(Refusal::too_long(limit)))
    }
}

/// Reads to the end of the input, or until `take` returns false. Blocks, so it has a thread of its own.
pub(super) fn each_line(mut input: impl BufRead, limit: usize, mut take: impl FnMut(Line<'_>) -> bool) {
    let mut buffer = Vec::new();
    while let Ok(Some(line)) = next_line(&mut input, limit, &mut buffer) {
        let is_blank = line.over.is_none() && line.bytes.iter().all(u8::is_ascii_whitespace);
        if !is_blank && !take(line) {
            return;
        }
    }
}

/// Reads one line, never holding more than `limit` bytes of it; nothing at the end.
fn next_line<'a>(input: &mut impl BufRead, limit: usize, line: &'a mut Vec<u8>) -> std::io::Result<Option<Line<'a>>> {
    line.clear();
    line.shrink_to(64 * 1024);
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    if input.by_ref().take(most).read_until(b'\n', line)? == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') || line.len() <= limit {
        return Ok(Some(Line { bytes: line, over: None }));
    }
    skip_line(input)?;
    Ok(Some(Line { bytes: &line[..limit], over: Some(limit) }))
}

fn skip_line(input: &mut impl BufRead) -> std::io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        let newline = buffer.iter().position(|byte| *byte == b'\n');
        let used = newline.map_or(buffer.len(), |at| at + 1);
        input.consume(used);
        if newline.is_some() {
            return Ok(());
        }
    }
}

/// Standard output, written by a thread that blocks so that no call ever does.
#[derive(Clone)]
pub(super) struct Output {
    lines: mpsc::Sender<Vec<u8>>,
    pipe: Arc<Pipe>,
    /// How many lines have been taken up for writing.
    taken: Arc<AtomicU64>,
    written: watch::Receiver<bool>,
}

impl Output {
    pub(super) fn open() -> std::io::Result<Self> {
        let (lines, to_client) = mpsc::channel(AHEAD);
        let (done, written) = watch::channel(false);
        let taken = Arc::<AtomicU64>::default();
        let pipe = Arc::new(Pipe::open()?);
        let (count, output) = (taken.clone(), pipe.clone());
        std::thread::spawn(move || {
            let _ = output.write(to_client, &count);
            done.send_replace(true);
        });
        Ok(Self { lines, pipe, taken, written })
    }

    pub(super) fn lines(&self) -> &mpsc::Sender<Vec<u8>> {
        &self.lines
    }

    /// Says something from a thread that may wait a little. False if nobody reads any more.
    pub(super) fn say(&self, line: Vec<u8>) -> bool {
        let nothing_waits = self.lines.capacity() == self.lines.max_capacity();
        match if nothing_waits { self.pipe.write_at_once(line) } else { Err(line) } {
            Ok(written) => written.is_ok(),
            Err(line) => self.lines.blocking_send(line).is_ok(),
        }
    }

    /// Waits until everything that was said has left, within reason: nobody may be reading.
    pub(super) async fn finish(mut self) {
        let _ = timeout(LAST_WORDS, async {
            let _ = self.lines.send(END).await;
            let _ = self.written.wait_for(|done| *done).await;
        })
        .await;
    }

    /// Ends when the client has closed its end and for so long has read nothing of what waits for it. A client that
    /// only does not read is waited for; then no more is read of its input either, so that its end is not seen there.
    pub(super) async fn abandoned(&self, patience: Duration) {
        let (mut seen, mut since) = (0, Instant::now());
        loop {
            tokio::time::sleep(LOOK).await;
            let taken = self.taken.load(Ordering::Relaxed);
            if taken != seen || self.lines.capacity() > 0 {
                (seen, since) = (taken, Instant::now());
            } else if since.elapsed() >= patience && hung_up() {
                return;
            }
        }
    }
}

/// Whether nobody can write to standard input any more, whatever is still to be read there. A file never hangs up.
fn hung_up() -> bool {
    // A socket that is closed on one side only says so in a way of its own.
    #[cfg(target_os = "linux")]
    let gone = PollFlags::HUP | PollFlags::RDHUP;
    #[cfg(not(target_os = "linux"))]
    let gone = PollFlags::HUP;
    let input = std::io::stdin();
    let mut asked = [PollFd::new(&input, gone)];
    poll(&mut asked, Some(&Timespec::default())).is_ok() && asked[0].revents().intersects(gone)
}

/// Standard output without the library's buffer, which looks for the end of every line.
struct Pipe {
    output: Mutex<File>,
    /// How much can be written to it without waiting as long as there is nothing in it; nothing if it is no pipe.
    room: usize,
}

impl Pipe {
    fn open() -> std::io::Result<Self> {
        let output = std::io::stdout().as_fd().try_clone_to_owned()?;
        let room = room(&output);
        Ok(Self { output: Mutex::new(output.into()), room })
    }

    fn lock(&self) -> MutexGuard<'_, File> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Spares a line the detour through the other thread if the reader has taken all there was; else gives it back.
    fn write_at_once(&self, mut line: Vec<u8>) -> Result<std::io::Result<()>, Vec<u8>> {
        let Ok(mut output) = self.output.try_lock() else { return Err(line) };
        if line.len() >= self.room || rustix::io::ioctl_fionread(&*output) != Ok(0) {
            return Err(line);
        }
        line.push(b'\n');
        Ok(output.write_all(&line))
    }

    /// Writes line after line, those that wait together in one piece, to the last one.
    fn write(&self, mut lines: mpsc::Receiver<Vec<u8>>, taken: &AtomicU64) -> std::io::Result<()> {
        let mut piece = Vec::with_capacity(PIECE);
        while let Some(line) = lines.blocking_recv() {
            let mut output = self.lock();
            let mut next = Some(line);
            while let Some(mut line) = next {
                taken.fetch_add(1, Ordering::Relaxed);
                if line == END {
                    return output.write_all(&piece);
                }
                line.push(b'\n');
                if piece.len() + line.len() > PIECE {
                    output.write_all(&piece)?;
                    piece.clear();
                }
                if line.len() > PIECE {
                    output.write_all(&line)?;
                } else {
                    piece.extend_from_slice(&line);
                }
                next = lines.try_recv().ok();
            }
            output.write_all(&piece)?;
            piece.clear();
        }
        Ok(())
    }
}

/// Makes the pipe larger, if it is one: most replies then leave in one piece instead of waiting half-way for the reader.
#[cfg(target_os = "linux")]
fn room(output: &OwnedFd) -> usize {
    const WANTED: usize = 1024 * 1024;
    let size = rustix::pipe::fcntl_setpipe_size(output, WANTED).or_else(|_| rustix::pipe::fcntl_getpipe_size(output));
    size.map_or(0, |size| size / 2)
}

#[cfg(not(target_os = "linux"))]
fn room(_output: &OwnedFd) -> usize {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every line that is taken, and whether it is whole.
    fn lines(input: &str, limit: usize) -> Vec<(String, bool)> {
        let mut lines = Vec::new();
        each_line(input.as_bytes(), limit, |line| {
            lines.push((String::from_utf8(line.bytes.to_vec()).unwrap(), line.whole().is_ok()));
            true
        });
        lines
    }

    #[test]
    fn of_a_line_that_is_too_long_the_beginning_is_left_and_the_next_is_whole() {
        let expected = [("abcd\n", true), ("abcd", false), ("    ", false), ("abcd", false), ("e", true)];
        let read = lines("abcd\n\nabcde\n        x\n  \nabcdefghijklmnop\ne", 4);
        assert_eq!(read, expected.map(|(line, whole)| (line.to_owned(), whole)));
        assert_eq!(lines("abcde", 4), [("abcd".to_owned(), false)], "nor does it need an end");
    }
}
