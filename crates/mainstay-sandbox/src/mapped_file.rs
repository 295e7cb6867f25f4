//! The server's own files in memory, without reading them first.

use std::fs::File;
use std::io;

/// The content of a file, loaded by the kernel when it is first touched.
pub struct MappedFile(memmap2::Mmap);

impl AsRef<[u8]> for MappedFile {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Maps a file of the server itself, which it writes once and never changes.
///
/// Not for files of users: a program that shortens a mapped file ends every process that then reads the missing part.
#[expect(unsafe_code, reason = "a mapping cannot promise that no other process changes the file")]
pub fn map_own_file(file: &File) -> io::Result<MappedFile> {
    // SAFETY: the bytes are only read as numbers and text that are checked; a file of the data directory is replaced and
    // removed by name, never written to after it has its name.
    unsafe { memmap2::Mmap::map(file) }.map(MappedFile)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapped_file_has_its_content_even_after_its_name_is_gone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        std::fs::write(&path, "content").unwrap();
        let mapped = map_own_file(&File::open(&path).unwrap()).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(mapped.as_ref(), b"content");
    }
}
