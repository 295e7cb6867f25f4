//! Standard input and output as lines, one message each, the same for every dialect. Reading and writing have a thread of
//! their own, because both block.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mainstay_wire::{Id, IdScanner};
use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout};

use crate::memory_limit::{Counted, MemoryLimit, MemoryShare};

/// How many messages are read ahead of the server, and how many replies wait for a slow reader. Beyond it, reading and
/// calls wait.
pub(super) const QUEUE_LENGTH: usize = 256;

/// Tells the writing thread that nothing follows. Closing the channel would not: the reading thread holds a sender.
const END: Vec<u8> = Vec::new();

/// Shorter lines are kept however many wait already: errors and confirmations of changes must not be lost.
const SHORT: usize = 64 * 1024;

/// The program at the other end is the only principal.
const SHARES: usize = 1;

/// Waiting lines are written together, up to this many bytes in one system call.
const BATCH: usize = 64 * 1024;

/// How much of standard input is read in one system call; std's own buffer has an eighth of it.
const READ_BYTES: usize = 64 * 1024;

/// How long the last lines may take to be read.
const FINISH: Duration = Duration::from_secs(5);

/// How long cancelled calls may take to end.
pub(super) const CANCEL_GRACE: Duration = Duration::from_secs(2);

/// How often to check whether the client still reads.
const CHECK: Duration = Duration::from_secs(1);

/// A whole line that was read, or what is known of one that is too long.
pub(super) type Line<'a> = Result<&'a [u8], TooLong>;

/// A line that was passed over because it is longer than `limit` bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TooLong {
    pub(super) limit: usize,
    /// That of the message, or null if none was seen.
    pub(super) id: Id,
}

/// Standard input with a larger buffer. Nothing else reads it: what is in a buffer is lost to others.
pub(super) fn standard_input() -> std::io::Result<impl BufRead + Send + use<>> {
    let input = std::io::stdin().as_fd().try_clone_to_owned()?;
    Ok(BufReader::with_capacity(READ_BYTES, File::from(input)))
}

/// Calls `take` for each line that is not blank, until the end of the input or until it returns false. Blocks.
pub(super) fn each_line(mut input: impl BufRead, limit: usize, mut take: impl FnMut(Line<'_>) -> bool) {
    let mut buffer = Vec::new();
    while let Ok(Some(line)) = next_line(&mut input, limit, &mut buffer) {
        let is_blank = line.as_ref().is_ok_and(|line| line.iter().all(u8::is_ascii_whitespace));
        if !is_blank && !take(line) {
            return;
        }
    }
}

/// Reads one line and keeps at most `limit` bytes of it; `None` at the end of the input.
fn next_line<'a>(input: &mut impl BufRead, limit: usize, line: &'a mut Vec<u8>) -> std::io::Result<Option<Line<'a>>> {
    line.clear();
    // One long line must not keep its memory for as long as the client stays.
    line.shrink_to(64 * 1024);
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    if input.by_ref().take(most).read_until(b'\n', line)? == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') || line.len() <= limit {
        return Ok(Some(Ok(line.as_slice())));
    }
    let mut scanner = IdScanner::default();
    scanner.read(line);
    skip_line(input, &mut scanner)?;
    Ok(Some(Err(TooLong { limit, id: scanner.id().unwrap_or_else(Id::null) })))
}

/// Reads to the end of a line and keeps nothing of it but the id, so that a line of any length costs no memory.
fn skip_line(input: &mut impl BufRead, scanner: &mut IdScanner) -> std::io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        let newline = buffer.iter().position(|byte| *byte == b'\n');
        let used = newline.map_or(buffer.len(), |at| at + 1);
        scanner.read(&buffer[..used]);
        input.consume(used);
        if newline.is_some() {
            return Ok(());
        }
    }
}

/// A line that there was no memory for, because too much is waiting to be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct NotKept {
    length: usize,
}

impl NotKept {
    /// What the client is told in its place.
    pub(super) fn message(self) -> String {
        format!(
            "The request was carried out, but its response of {} bytes could not be kept, because earlier ones have not been \
             read (server.unsent_bytes). Read them first.",
            self.length
        )
    }
}

/// Standard output, written by a thread of its own so that no call waits for a slow reader.
#[derive(Clone)]
pub(super) struct Output {
    /// The queue of lines to write.
    pub(super) lines: mpsc::Sender<Counted<Vec<u8>>>,
    /// The memory of lines that are not read (`server.unsent_bytes`), those that wait for a place in the queue included.
    unsent: MemoryLimit,
    pipe: Arc<Pipe>,
    /// How many lines the writing thread has received: grows as long as the client reads.
    received: Arc<AtomicU64>,
    written: watch::Receiver<bool>,
}

impl Output {
    /// With room for `queue` lines of `unsent` bytes, written in parts of `part` bytes where a contract says so.
    pub(super) fn open(queue: usize, unsent: usize, part: Option<usize>) -> std::io::Result<Self> {
        let (lines, to_client) = mpsc::channel(queue);
        let (done, written) = watch::channel(false);
        let received = Arc::<AtomicU64>::default();
        let pipe = Arc::new(Pipe::open()?);
        let (count, output) = (received.clone(), pipe.clone());
        std::thread::spawn(move || {
            let _ = output.write(to_client, &count, part);
            done.send_replace(true);
        });
        Ok(Self { lines, unsent: MemoryLimit::new(unsent, SHARES), pipe, received, written })
    }

    /// Waits until so much has been read that another call may begin. What is under way is kept beyond that, as far as
    /// there is memory.
    pub(super) async fn room(&self) {
        self.unsent.room(None).await;
    }

    /// The same for a thread that may block.
    pub(super) fn wait_for_room(&self, runtime: &Handle) {
        if !self.unsent.has_room(None) {
            runtime.block_on(self.room());
        }
    }

    /// A line for the queue. Fails if the client has left so much unread that there is no memory for it.
    pub(super) fn count(&self, line: Vec<u8>) -> Result<Counted<Vec<u8>>, NotKept> {
        self.reserve(line.len()).map(|share| Counted::new(line, share))
    }

    /// The memory of a line that will be this long.
    pub(super) fn reserve(&self, length: usize) -> Result<MemoryShare, NotKept> {
        let mut share = self.unsent.share(None);
        if length <= SHORT {
            share.grow_beyond(length);
        } else if !share.grow(length) {
            return Err(NotKept { length });
        }
        Ok(share)
    }

    /// Writes a short line from a thread that may block. False if nobody reads any more.
    pub(super) fn write_line(&self, line: Vec<u8>) -> bool {
        // Not counted: while it waits, this thread reads nothing.
        self.write_directly(line).unwrap_or_else(|line| self.lines.blocking_send(line.into()).is_ok())
    }

    /// Writes a line if nothing waits to be written, or returns it. False if nobody reads any more.
    pub(super) fn write_directly(&self, line: Vec<u8>) -> Result<bool, Vec<u8>> {
        let nothing_waits = self.lines.capacity() == self.lines.max_capacity();
        if nothing_waits { self.pipe.write_now(line).map(|written| written.is_ok()) } else { Err(line) }
    }

    /// Waits until everything has been written, for a limited time: perhaps nobody reads.
    pub(super) async fn finish(mut self) {
        let _ = timeout(FINISH, async {
            let _ = self.lines.send(END.into()).await;
            let _ = self.written.wait_for(|done| *done).await;
        })
        .await;
    }

    /// Returns when the client has closed its end and has read nothing for `patience` although something waits for it. A
    /// client that is only slow is waited for. The end of input does not show this: with a full queue nothing is read.
    pub(super) async fn abandoned(&self, patience: Duration) {
        let (mut last, mut since) = (0, Instant::now());
        loop {
            tokio::time::sleep(CHECK).await;
            let received = self.received.load(Ordering::Relaxed);
            let is_full = self.lines.capacity() == 0 || !self.unsent.has_room(None);
            if received != last || !is_full {
                (last, since) = (received, Instant::now());
            } else if since.elapsed() >= patience && hung_up() {
                return;
            }
        }
    }
}

/// Whether the other end of standard input is closed, even if there is still something to read. Always false for a file.
fn hung_up() -> bool {
    // A socket whose other side only stopped writing reports RDHUP instead of HUP.
    #[cfg(target_os = "linux")]
    let gone = PollFlags::HUP | PollFlags::RDHUP;
    #[cfg(not(target_os = "linux"))]
    let gone = PollFlags::HUP;
    let input = std::io::stdin();
    let mut polled = [PollFd::new(&input, gone)];
    poll(&mut polled, Some(&Timespec::default())).is_ok() && polled[0].revents().intersects(gone)
}

/// Standard output without std's line buffer, which searches everything written for line ends.
struct Pipe {
    output: Mutex<File>,
    /// How many bytes can be written without blocking while the pipe is empty; 0 if it is not a pipe.
    capacity: usize,
}

impl Pipe {
    fn open() -> std::io::Result<Self> {
        let output = std::io::stdout().as_fd().try_clone_to_owned()?;
        let capacity = capacity(&output);
        Ok(Self { output: Mutex::new(output.into()), capacity })
    }

    /// Writes a line without the detour through the writing thread if the client has read everything so far and the line
    /// fits into the pipe; otherwise returns the line.
    fn write_now(&self, mut line: Vec<u8>) -> Result<std::io::Result<()>, Vec<u8>> {
        let Some(mut output) = self.output.try_lock() else { return Err(line) };
        if line.len() >= self.capacity || rustix::io::ioctl_fionread(&*output) != Ok(0) {
            return Err(line);
        }
        line.push(b'\n');
        Ok(output.write_all(&line))
    }

    /// Writes lines until [`END`], those that wait in batches. A line that is longer than a batch is written at once, or in
    /// parts where a contract says so: each part is a system call, and wakes the reader.
    fn write(
        &self,
        mut lines: mpsc::Receiver<Counted<Vec<u8>>>,
        received: &AtomicU64,
        part: Option<usize>,
    ) -> std::io::Result<()> {
        let size = part.unwrap_or(BATCH);
        let mut batch = Vec::with_capacity(size);
        while let Some(line) = lines.blocking_recv() {
            // Held for a whole batch: a line of `write_now` in between would be out of order.
            let mut output = self.output.lock();
            let mut next = Some(line);
            while let Some(counted) = next {
                // Counted until it is written, or in the batch.
                let (mut line, _share) = counted.into_parts();
                received.fetch_add(1, Ordering::Relaxed);
                if line == END {
                    return output.write_all(&batch);
                }
                line.push(b'\n');
                if batch.len() + line.len() > size {
                    output.write_all(&batch)?;
                    batch.clear();
                }
                if line.len() > size {
                    // Nothing is buffered behind this: each part is with the client when the next one is written.
                    let part = part.unwrap_or(line.len());
                    line.chunks(part).try_for_each(|part| output.write_all(part))?;
                } else {
                    batch.extend_from_slice(&line);
                }
                next = lines.try_recv().ok();
            }
            output.write_all(&batch)?;
            batch.clear();
        }
        Ok(())
    }
}

/// Enlarges the pipe, if it is one, so that most replies fit into it and need not wait for the reader half-way. Returns
/// how much of it [`Pipe::write_now`] may use.
#[cfg(target_os = "linux")]
fn capacity(output: &OwnedFd) -> usize {
    const WANTED: usize = 1024 * 1024;
    let size = rustix::pipe::fcntl_setpipe_size(output, WANTED).or_else(|_| rustix::pipe::fcntl_getpipe_size(output));
    size.map_or(0, |size| size / 2)
}

#[cfg(not(target_os = "linux"))]
fn capacity(_output: &OwnedFd) -> usize {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every line that is taken; `None` for one that is too long.
    fn lines(input: &str, limit: usize) -> Vec<Option<String>> {
        let mut lines = Vec::new();
        each_line(input.as_bytes(), limit, |line| {
            lines.push(line.ok().map(|line| String::from_utf8(line.to_vec()).unwrap()));
            true
        });
        lines
    }

    #[test]
    fn a_line_over_the_limit_is_skipped_and_the_next_line_is_read_whole() {
        let expected = [Some("abcd\n"), None, None, None, Some("e")];
        let read = lines("abcd\n\nabcde\n        x\n  \nabcdefghijklmnop\ne", 4);
        assert_eq!(read, expected.map(|line| line.map(str::to_owned)));
        assert_eq!(lines("abcde", 4), [None], "without a line end as well");
    }

    #[test]
    fn the_id_of_a_line_over_the_limit_is_known_before_and_after_the_part_that_was_kept() {
        let long = "x".repeat(200_000);
        let first = format!(r#"{{"jsonrpc":"2.0","id":"a","params":{{"x":"{long}"}}}}"#);
        let last = format!(r#"{{"jsonrpc":"2.0","params":{{"x":"{long}"}},"id":7}}"#);
        let mut ids = Vec::new();
        let input = [first, last, long].join("\n");
        each_line(std::io::BufReader::with_capacity(1000, input.as_bytes()), 100, |line| {
            ids.push(line.unwrap_err().id.to_string());
            true
        });
        assert_eq!(ids, ["\"a\"", "7", "null"]);
    }

    /// The lengths of the writes for lines of these lengths.
    fn writes(lengths: &[usize], part: Option<usize>) -> Vec<usize> {
        // A datagram for each write.
        let (ours, theirs) = std::os::unix::net::UnixDatagram::pair().unwrap();
        let pipe = Pipe { output: Mutex::new(File::from(OwnedFd::from(ours))), capacity: 0 };
        let (lines, to_client) = mpsc::channel(8);
        for length in lengths {
            lines.try_send(vec![b'x'; *length].into()).unwrap();
        }
        lines.try_send(END.into()).unwrap();
        pipe.write(to_client, &AtomicU64::new(0), part).unwrap();
        drop(pipe);
        theirs.set_nonblocking(true).unwrap();
        let mut buffer = vec![0; 128 * 1024];
        std::iter::from_fn(|| theirs.recv(&mut buffer).ok().filter(|length| *length > 0)).collect()
    }

    #[test]
    fn a_long_line_is_written_in_parts_where_a_contract_says_so_and_short_ones_together() {
        let written = writes(&[20_000, 10, 20, 8191, 8192], Some(8192));
        assert_eq!(written, [8192, 8192, 3617, 32, 8192, 8192, 1]);
    }

    #[test]
    fn a_long_line_is_written_at_once_otherwise() {
        assert_eq!(writes(&[BATCH + 100, 10, 20], None), [BATCH + 101, 32]);
    }

    #[test]
    fn long_lines_are_kept_as_far_as_there_is_memory_and_short_ones_always() {
        let (lines, _to_client) = mpsc::channel(1);
        let (ours, _theirs) = std::os::unix::net::UnixDatagram::pair().unwrap();
        let pipe = Arc::new(Pipe { output: Mutex::new(File::from(OwnedFd::from(ours))), capacity: 0 });
        let unsent = MemoryLimit::new(4 * SHORT, SHARES);
        let output = Output { lines, unsent, pipe, received: Arc::default(), written: watch::channel(false).1 };
        let long = || output.count(vec![b'x'; 2 * SHORT]);
        let first = long().ok().unwrap();
        assert!(!output.unsent.has_room(None), "no further call begins when half of it is taken");
        let second = long().ok().unwrap();
        assert!(long().err().unwrap().message().contains("server.unsent_bytes"));
        assert!(output.count(vec![b'x'; SHORT]).is_ok());
        drop((first, second));
        assert!(output.unsent.has_room(None) && long().is_ok());
    }
}
