//! The files that an answer shows parts of.

use std::collections::HashMap;

use mainstay_sandbox::Workspace;
use mainstay_search::ranking::Hit;

use super::matches::snippet;

/// Files that were read for an answer, each once.
pub(super) struct FileContents<'a> {
    workspace: &'a Workspace,
    max_bytes: u64,
    files: HashMap<String, Option<Vec<u8>>>,
}

impl<'a> FileContents<'a> {
    pub(super) fn new(workspace: &'a Workspace, max_bytes: u64) -> Self {
        Self { workspace, max_bytes, files: HashMap::new() }
    }

    /// The content of a file, if it is still the one that was indexed: lines of another would be wrong.
    pub(super) fn of(&mut self, path: &str, etag: [u8; 16]) -> Option<&[u8]> {
        let read = || {
            let file = self.workspace.find(path).ok()?.open_file().ok()?;
            let content = file.read_whole(self.max_bytes).ok()??;
            blake3::hash(&content).as_bytes().starts_with(&etag).then_some(content)
        };
        self.files.entry(path.to_owned()).or_insert_with(read).as_deref()
    }

    /// The first lines of what was found; none if no lines are wanted.
    pub(super) fn snippet(&mut self, path: &str, hit: &Hit, lines: usize) -> Option<String> {
        let content = self.of(path, hit.etag).filter(|_| lines > 0)?;
        snippet(content, hit.start_byte, hit.end_byte, lines)
    }
}
