//! The processes of the machine and their parents, read from `/proc` without allocating.

use std::ffi::CStr;
use std::io::Write as _;
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, RawDir, SeekFrom};
use rustix::io::{Errno, Result};

/// Opens the list of processes.
pub(super) fn open() -> Result<OwnedFd> {
    rustix::fs::open(c"/proc", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// The result of reading the list once.
pub(super) struct Listed {
    pub(super) pairs: usize,
    /// Whether no process was left out.
    pub(super) complete: bool,
}

/// Fills `table` with pairs of a process and its parent.
pub(super) fn list(directory: BorrowedFd<'_>, table: &mut [libc::pid_t]) -> Listed {
    let mut listed = Listed { pairs: 0, complete: true };
    if rustix::fs::seek(directory, SeekFrom::Start(0)).is_err() {
        return Listed { complete: false, ..listed };
    }
    let mut buffer = [MaybeUninit::uninit(); 8192];
    let mut entries = RawDir::new(directory, &mut buffer);
    let mut pairs = table.chunks_exact_mut(2);
    while let Some(entry) = entries.next() {
        let Ok(entry) = entry else { return Listed { complete: false, ..listed } };
        let Some(process) = number(entry.file_name().to_bytes()) else { continue };
        let parent = match parent_of(directory, process) {
            Ok(Some(parent)) => parent,
            Ok(None) => continue,
            Err(_) => {
                listed.complete = false;
                continue;
            }
        };
        // Only a process that still exists takes a pair, so there is no gap among those that are counted.
        match pairs.next() {
            Some(pair) => {
                pair.copy_from_slice(&[process, parent]);
                listed.pairs += 1;
            }
            None => listed.complete = false,
        }
    }
    listed
}

fn number(digits: &[u8]) -> Option<libc::pid_t> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// `None` if the process is gone.
fn parent_of(directory: BorrowedFd<'_>, process: libc::pid_t) -> Result<Option<libc::pid_t>> {
    let mut path = [0u8; 32];
    write!(&mut path[..31], "{process}/stat").map_err(|_| Errno::NAMETOOLONG)?;
    let path = CStr::from_bytes_until_nul(&path).map_err(|_| Errno::NAMETOOLONG)?;
    let mut buffer = [0u8; 512];
    let read = rustix::fs::openat(directory, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        .and_then(|file| rustix::io::read(&file, &mut buffer));
    match read {
        Ok(filled) => Ok(buffer.get(..filled).and_then(parent_in)),
        Err(Errno::NOENT | Errno::SRCH) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// The parent follows the state, which follows the name. A name may contain anything; it ends with the last
/// parenthesis.
fn parent_in(stat: &[u8]) -> Option<libc::pid_t> {
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let mut fields = stat.get(name_end + 2..)?.split(|byte| *byte == b' ');
    number(fields.nth(1)?)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;

    use super::*;

    #[test]
    fn this_process_is_listed_with_its_parent() {
        let mut table = vec![0; 65_536];
        let directory = open().unwrap();
        let listed = list(directory.as_fd(), &mut table);
        let again = list(directory.as_fd(), &mut []);
        let own = i32::try_from(std::process::id()).unwrap();
        let parent = i32::try_from(std::os::unix::process::parent_id()).unwrap();
        assert!(listed.complete && table[..listed.pairs * 2].chunks_exact(2).any(|pair| pair == [own, parent]));
        assert!(again.pairs == 0 && !again.complete, "the table was too small, and that shows");
    }

    #[test]
    fn a_list_that_cannot_be_read_is_not_taken_for_an_empty_one() {
        let no_directory = std::fs::File::open("/dev/null").unwrap();
        assert!(!list(no_directory.as_fd(), &mut [0; 8]).complete);
    }

    #[test]
    fn a_name_full_of_parentheses_does_not_hide_the_parent() {
        assert_eq!(parent_in(b"7 (a) S 9) R 42 1 1"), Some(42));
        assert_eq!(number(b"12a"), None);
    }
}
