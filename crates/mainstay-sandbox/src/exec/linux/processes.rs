//! The processes of the machine and their parents, read without allocating.

#![expect(unsafe_code, reason = "the kernel fills a buffer with entries of a directory")]

use std::ffi::CStr;
use std::os::fd::RawFd;

use super::sys;

pub(super) fn own_number() -> libc::pid_t {
    // SAFETY: no pointers.
    unsafe { libc::getpid() }
}

/// Fills `room` with pairs of a process and its parent, and says how many pairs there are.
pub(super) fn list(room: &mut [libc::pid_t]) -> usize {
    let Ok(directory) = sys::open(c"/proc", libc::O_RDONLY | libc::O_DIRECTORY, 0) else { return 0 };
    let mut buffer = [0u8; 8192];
    let mut pairs = room.chunks_exact_mut(2);
    let mut found = 0;
    while let Some(filled) = entries(directory, &mut buffer) {
        let mut at = 0;
        while let Some((name, next)) = entry(&buffer[..filled], at) {
            at = next;
            let Some(process) = number(name) else { continue };
            let Some(parent) = parent_of(directory, name) else { continue };
            let Some(pair) = pairs.next() else { break };
            pair.copy_from_slice(&[process, parent]);
            found += 1;
        }
    }
    sys::close(directory);
    found
}

fn entries(directory: RawFd, buffer: &mut [u8]) -> Option<usize> {
    // SAFETY: the buffer is as long as it says.
    let filled = unsafe { libc::syscall(libc::SYS_getdents64, directory, buffer.as_mut_ptr(), buffer.len()) };
    usize::try_from(filled).ok().filter(|filled| *filled > 0)
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

fn parent_of(directory: RawFd, process: &[u8]) -> Option<libc::pid_t> {
    let mut path = [0u8; 32];
    path.get_mut(..process.len())?.copy_from_slice(process);
    path.get_mut(process.len()..process.len() + 5)?.copy_from_slice(b"/stat");
    let path = CStr::from_bytes_until_nul(&path).ok()?;
    let mut buffer = [0u8; 512];
    // SAFETY: a string that ends, and a buffer as long as it says.
    let filled = unsafe {
        let file = libc::openat(directory, path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file == -1 {
            return None;
        }
        let filled = libc::read(file, buffer.as_mut_ptr().cast(), buffer.len());
        libc::close(file);
        filled
    };
    parent_in(buffer.get(..usize::try_from(filled).ok()?)?)
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
        let found = list(&mut room);
        let own = i32::try_from(std::process::id()).unwrap();
        let parent = i32::try_from(std::os::unix::process::parent_id()).unwrap();
        assert!(room[..found * 2].chunks_exact(2).any(|pair| pair == [own, parent]));
    }

    #[test]
    fn a_name_full_of_parentheses_does_not_hide_the_parent() {
        assert_eq!(parent_in(b"7 (a) S 9) R 42 1 1"), Some(42));
        assert_eq!(number(b"12a"), None);
    }
}
