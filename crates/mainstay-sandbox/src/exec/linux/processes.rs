//! The processes of the machine and their parents, read without allocating.

#![expect(unsafe_code, reason = "the kernel fills a buffer with entries of a directory")]

use std::ffi::CStr;
use std::os::fd::RawFd;

use super::sys;

pub(super) fn own_number() -> libc::pid_t {
    // SAFETY: no pointers.
    unsafe { libc::getpid() }
}

pub(super) fn parent_number() -> libc::pid_t {
    // SAFETY: no pointers.
    unsafe { libc::getppid() }
}

/// Where the processes of the machine are listed.
pub(super) fn directory() -> sys::Outcome<RawFd> {
    sys::open(c"/proc", libc::O_RDONLY | libc::O_DIRECTORY, 0)
}

/// What was found in one look.
pub(super) struct Listed {
    pub(super) pairs: usize,
    /// Nobody was left out.
    pub(super) complete: bool,
}

/// Fills `room` with pairs of a process and its parent.
pub(super) fn list(directory: RawFd, room: &mut [libc::pid_t]) -> Listed {
    let mut buffer = [0u8; 8192];
    let mut pairs = room.chunks_exact_mut(2);
    let mut listed = Listed { pairs: 0, complete: sys::rewind(directory).is_ok() };
    while listed.complete {
        let Ok(filled) = entries(directory, &mut buffer) else {
            listed.complete = false;
            break;
        };
        if filled == 0 {
            break;
        }
        let mut at = 0;
        while let Some((name, next)) = entry(&buffer[..filled], at) {
            at = next;
            let Some(process) = number(name) else { continue };
            let parent = match parent_of(directory, name) {
                Ok(Some(parent)) => parent,
                Ok(None) => continue,
                Err(_) => {
                    listed.complete = false;
                    continue;
                }
            };
            // A place is taken only by somebody who is there: between the pairs that are counted there is no gap.
            match pairs.next() {
                Some(pair) => {
                    pair.copy_from_slice(&[process, parent]);
                    listed.pairs += 1;
                }
                None => listed.complete = false,
            }
        }
    }
    listed
}

/// Nothing is filled at the end.
fn entries(directory: RawFd, buffer: &mut [u8]) -> sys::Outcome<usize> {
    // SAFETY: the buffer is as long as it says.
    let filled = unsafe { libc::syscall(libc::SYS_getdents64, directory, buffer.as_mut_ptr(), buffer.len()) };
    usize::try_from(filled).map_err(|_| sys::errno())
}

/// The name of the entry at a place, and the place of the next. An entry is an inode, an offset, its length, a type and
/// a name that ends with a NUL.
fn entry(entries: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let length = usize::from(u16::from_ne_bytes(entries.get(at + 16..at + 18)?.try_into().ok()?));
    let name = entries.get(at + 19..at + length)?;
    let end = name.iter().position(|byte| *byte == 0)?;
    Some((&name[..end], at + length))
}

fn number(digits: &[u8]) -> Option<libc::pid_t> {
    let mut value: libc::pid_t = 0;
    for digit in digits {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit < 10)?;
        value = value.checked_mul(10)?.checked_add(libc::pid_t::from(digit))?;
    }
    (!digits.is_empty()).then_some(value)
}

/// Nothing if the process is gone.
fn parent_of(directory: RawFd, process: &[u8]) -> sys::Outcome<Option<libc::pid_t>> {
    let mut path = [0u8; 32];
    let room = path.get_mut(..process.len() + 5).ok_or(libc::ENAMETOOLONG)?;
    let (digits, rest) = room.split_at_mut(process.len());
    digits.copy_from_slice(process);
    rest.copy_from_slice(b"/stat");
    let path = CStr::from_bytes_until_nul(&path).map_err(|_| libc::ENAMETOOLONG)?;
    let mut buffer = [0u8; 512];
    match sys::read_at(directory, path, &mut buffer) {
        Ok(filled) => Ok(buffer.get(..filled).and_then(parent_in)),
        Err(libc::ENOENT | libc::ESRCH) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// The parent follows the name, which may have anything in it but ends with the last parenthesis, and the state.
fn parent_in(stat: &[u8]) -> Option<libc::pid_t> {
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let mut fields = stat.get(name_end + 2..)?.split(|byte| *byte == b' ');
    number(fields.nth(1)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_listed_with_its_parent() {
        let mut room = vec![0; 65_536];
        let directory = directory().unwrap();
        let listed = list(directory, &mut room);
        let again = list(directory, &mut []);
        sys::close(directory);
        let own = i32::try_from(std::process::id()).unwrap();
        let parent = i32::try_from(std::os::unix::process::parent_id()).unwrap();
        assert!(listed.complete && room[..listed.pairs * 2].chunks_exact(2).any(|pair| pair == [own, parent]));
        assert!(again.pairs == 0 && !again.complete, "the room was too small, and that shows");
    }

    #[test]
    fn a_list_that_cannot_be_read_is_not_taken_for_an_empty_one() {
        assert!(!list(-1, &mut [0; 8]).complete);
    }

    #[test]
    fn a_name_full_of_parentheses_does_not_hide_the_parent() {
        assert_eq!(parent_in(b"7 (a) S 9) R 42 1 1"), Some(42));
        assert_eq!(number(b"12a"), None);
    }
}
