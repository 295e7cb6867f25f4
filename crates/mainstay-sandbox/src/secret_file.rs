//! Secrets of the operator in files, such as keys.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use zeroize::Zeroizing;

/// The content of a file, with what says who else could read it.
pub struct SecretFile {
    /// Wiped when it is dropped.
    pub contents: Zeroizing<String>,
    /// Kind and permissions.
    pub mode: u32,
    /// Whether the file belongs to the user of this process.
    pub is_own: bool,
}

/// Reads a file of at most this many bytes. A symbolic link in the last place is not followed, and nothing that is not a
/// regular file is read or waited for. Mode and owner are those of the file that was read.
pub fn read_secret_file(path: &Path, max_bytes: usize) -> io::Result<SecretFile> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let handle = rustix::fs::open(path, flags, Mode::empty())?;
    let stat = rustix::fs::fstat(&handle)?;
    let is_own = stat.st_uid == rustix::process::geteuid().as_raw();
    // The whole capacity at once: a string that grows leaves copies of the secret behind.
    let mut contents = Zeroizing::new(String::with_capacity(max_bytes + 1));
    if rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file() {
        let longest = u64::try_from(max_bytes).unwrap_or(u64::MAX).saturating_add(1);
        File::from(handle).take(longest).read_to_string(&mut contents)?;
        if contents.len() > max_bytes {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it is longer than {max_bytes} bytes")));
        }
    }
    Ok(SecretFile { contents, mode: stat.st_mode, is_own })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_file_is_read_with_its_mode_up_to_its_limit() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        std::fs::write(&path, "secret").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let file = read_secret_file(&path, 6).unwrap();
        assert_eq!((file.contents.as_str(), file.mode & 0o7777, file.is_own), ("secret", 0o640, true));
        let error = read_secret_file(&path, 5).err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn links_are_not_followed_and_pipes_are_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let (path, link, pipe) =
            (directory.path().join("key"), directory.path().join("link"), directory.path().join("pipe"));
        std::fs::write(&path, "secret").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(read_secret_file(&link, 10).is_err());
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let file = read_secret_file(&pipe, 10).unwrap();
        assert!(file.contents.is_empty() && file.mode & 0o170_000 == 0o010_000);
        assert!(read_secret_file(directory.path(), 10).is_ok_and(|file| file.contents.is_empty()));
    }
}
