//! Paths of the entries of one directory, from the root, in one buffer: there may be a hundred thousand of them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use mainstay_sandbox::Dir;

pub(crate) struct Trail {
    bytes: Vec<u8>,
    /// Where the names begin.
    base: usize,
}

impl Trail {
    pub(crate) fn new(directory: &Dir) -> Self {
        let mut bytes = Vec::new();
        for name in directory.names() {
            bytes.extend_from_slice(name.as_bytes());
            bytes.push(b'/');
        }
        Self { base: bytes.len(), bytes }
    }

    /// The length of what comes before the names, with its slash.
    pub(crate) fn base(&self) -> usize {
        self.base
    }

    /// The directory itself.
    pub(crate) fn directory(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.bytes[..self.base.saturating_sub(1)]))
    }

    pub(crate) fn to(&mut self, name: &OsStr) -> &Path {
        self.bytes.truncate(self.base);
        self.bytes.extend_from_slice(name.as_bytes());
        Path::new(OsStr::from_bytes(&self.bytes))
    }
}
