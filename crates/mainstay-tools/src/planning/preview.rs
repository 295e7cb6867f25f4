//! The unified diff of a plan.

use mainstay_core::{CancellationToken, Result};
use mainstay_sandbox::{Content, Dir, EntryKind, OpenFile};

use crate::diff::render::{Diff, FileVersion};
use crate::planning::errors::MAX_WHOLE_FILE;
use crate::planning::plan::{Item, NewState, Plan};
use crate::planning::subtree::walk_tree;

impl Plan {
    /// What the plan changes in files. Of a diff longer than `max_bytes` only the beginning is kept.
    pub(crate) fn diff(&self, max_bytes: usize) -> Result<Diff> {
        let mut diff = Diff::new(max_bytes);
        for at in 0..self.items.len() {
            crate::progress::check_cancelled(&self.cancel)?;
            self.add_item(&mut diff, at)?;
        }
        Ok(diff)
    }

    fn add_item(&self, diff: &mut Diff, at: usize) -> Result<()> {
        let item = &self.items[at];
        match &item.state {
            NewState::Removed if item.before.is_none() || self.is_moved_elsewhere(&item.path) => Ok(()),
            // All files of a removed directory are shown, as git does.
            NewState::Removed => match self.removed_directory(item)? {
                Some(directory) => add_tree(diff, &directory, None, &self.cancel),
                None => self.add_file(diff, item, None),
            },
            NewState::CopiedTree(directory, _) => add_tree(diff, directory, Some(&item.path), &self.cancel),
            NewState::MovedHere(EntryKind::File) | NewState::File(_) => {
                let mode = self.mode(at).unwrap_or(0o644);
                if self.size_on_disk(item) > MAX_WHOLE_FILE {
                    diff.omit_file();
                    return Ok(());
                }
                self.add_file(diff, item, Some((&self.content(at)?, mode)))
            }
            // A moved directory keeps its contents, and a link has no content of its own.
            NewState::Untouched
            | NewState::MovedAway
            | NewState::NewDirectory
            | NewState::MovedHere(EntryKind::Directory | EntryKind::Symlink | EntryKind::Other) => Ok(()),
        }
    }

    /// The directory that is removed, if the item is one.
    pub(crate) fn removed_directory(&self, item: &Item) -> Result<Option<Dir>> {
        if item.before.is_some_and(|metadata| metadata.kind == EntryKind::Directory) {
            return self.workspace.find(&item.path)?.open_dir().map(Some);
        }
        Ok(None)
    }

    /// How much would have to be read to show the item; 0 where the plan holds the content.
    pub(crate) fn size_on_disk(&self, item: &Item) -> u64 {
        if let NewState::File(Content::Copy(file)) = &item.state {
            return file.metadata().size;
        }
        let moved = matches!(item.state, NewState::MovedHere(_));
        self.old_version(item).before.filter(|_| moved).map_or(0, |metadata| metadata.size)
    }

    /// The item whose old content this item's new content is compared with.
    fn old_version<'a>(&'a self, item: &'a Item) -> &'a Item {
        let from = item.from.as_ref().and_then(|from| self.items.iter().find(|other| other.path == *from));
        from.unwrap_or(item)
    }

    fn add_file(&self, diff: &mut Diff, item: &Item, new: Option<(&[u8], u32)>) -> Result<()> {
        // A moved file is compared with what was at its old path.
        let old = self.old_version(item);
        let is_file = old.before.is_some_and(|metadata| metadata.kind == EntryKind::File);
        let file = if is_file { old.target.current()? } else { None };
        let content = file.as_ref().map(|file| file.read_whole(MAX_WHOLE_FILE)).transpose()?;
        // Larger than what is read whole.
        if matches!(content, Some(None)) {
            diff.omit_file();
            return Ok(());
        }
        let content = content.flatten();
        let old = file.as_ref().zip(content.as_deref()).map(|(file, content)| version(&old.path, content, file));
        let new = new.map(|(content, mode)| FileVersion { path: &item.path, content, executable: mode & 0o111 != 0 });
        if old.is_some() || new.is_some() {
            diff.add_file(old, new);
        }
        Ok(())
    }
}

fn version<'a>(path: &'a str, content: &'a [u8], file: &OpenFile) -> FileVersion<'a> {
    FileVersion { path, content, executable: file.metadata().mode & 0o111 != 0 }
}

/// Shows every file of a directory as removed, or as new in its copy.
fn add_tree(diff: &mut Diff, directory: &Dir, copy: Option<&str>, cancel: &CancellationToken) -> Result<()> {
    let top = directory.display();
    walk_tree(directory, cancel, 0, &mut |at, entry| {
        if entry.kind != EntryKind::File {
            return Ok(());
        }
        // Once the diff is full the files are only counted.
        let file = if diff.is_full() { None } else { Some(at.file(&entry.name)?) };
        let content = file.as_ref().map(|file| file.read_whole(MAX_WHOLE_FILE)).transpose()?.flatten();
        let (Some(file), Some(content)) = (file, content) else {
            diff.omit_file();
            return Ok(());
        };
        let path = at.display_child(&entry.name);
        match copy {
            None => diff.add_file(Some(version(&path, &content, &file)), None),
            Some(to) => {
                let path = format!("{to}{}", path.strip_prefix(&top).unwrap_or(&path));
                diff.add_file(None, Some(version(&path, &content, &file)));
            }
        }
        Ok(())
    })
}
