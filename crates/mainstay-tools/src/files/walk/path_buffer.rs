//! Paths of the entries of one directory, built in one buffer: a directory may have a hundred thousand entries.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use mainstay_sandbox::Dir;

/// The path of a directory from its root, with room for the name of an entry.
pub(crate) struct PathBuffer {
    bytes: Vec<u8>,
    /// The length of the directory's part, with its slash.
    base: usize,
}

impl PathBuffer {
    pub(crate) fn new(directory: &Dir) -> Self {
        let mut bytes = Vec::new();
        for name in directory.names() {
            bytes.extend_from_slice(name.as_bytes());
            bytes.push(b'/');
        }
        Self { base: bytes.len(), bytes }
    }

    /// The length of the directory's part, with its slash.
    pub(crate) fn base(&self) -> usize {
        self.base
    }

    pub(crate) fn directory(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.bytes[..self.base.saturating_sub(1)]))
    }

    /// The path of an entry. It replaces the entry before it.
    pub(crate) fn join(&mut self, name: &OsStr) -> &Path {
        self.bytes.truncate(self.base);
        self.bytes.extend_from_slice(name.as_bytes());
        Path::new(OsStr::from_bytes(&self.bytes))
    }
}
