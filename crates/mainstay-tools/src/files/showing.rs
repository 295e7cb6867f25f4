//! The diff of a plan.

use mainstay_core::{CancellationToken, Result};
use mainstay_sandbox::{Dir, EntryKind, OpenFile};

use super::diff::{Diff, Side};
use super::plan::{Item, Now, Plan, WHOLE, alive};
use super::subtree::visit;

impl Plan {
    /// What the plan changes in files, as far as there is room.
    pub(super) fn diff(&self, room: usize) -> Result<Diff> {
        let mut diff = Diff::new(room);
        for at in 0..self.items.len() {
            alive(&self.cancel)?;
            self.show(&mut diff, at)?;
        }
        Ok(diff)
    }

    fn show(&self, diff: &mut Diff, at: usize) -> Result<()> {
        let item = &self.items[at];
        match &item.now {
            Now::Gone if item.before.is_none() || self.moved_from(&item.path) => Ok(()),
            Now::Gone => match self.removed_directory(item)? {
                Some(directory) => show_all(diff, &directory, None, &self.cancel),
                None => self.show_file(diff, item, None),
            },
            Now::Tree(directory, _) => show_all(diff, directory, Some(&item.path), &self.cancel),
            Now::Whole(EntryKind::File) | Now::Bytes(_) | Now::Copy(_) | Now::Append { .. } => {
                let mode = self.mode(at).unwrap_or(0o644);
                if let Some(content) = self.shown_content(at)? {
                    return self.show_file(diff, item, Some((&content, mode)));
                }
                diff.leave_out();
                Ok(())
            }
            // A directory keeps what it holds, and a link has no content of its own.
            Now::Untouched
            | Now::MovedAway
            | Now::Directory
            | Now::Whole(EntryKind::Directory | EntryKind::Symlink | EntryKind::Other) => Ok(()),
        }
    }

    /// The directory that goes, if the item is one.
    pub(super) fn removed_directory(&self, item: &Item) -> Result<Option<Dir>> {
        if item.before.is_some_and(|facts| facts.kind == EntryKind::Directory) {
            return self.workspace.find(&item.path)?.open_dir().map(Some);
        }
        Ok(None)
    }

    /// What the item is to hold, if it is not too much to be shown.
    fn shown_content(&self, at: usize) -> Result<Option<Vec<u8>>> {
        let item = &self.items[at];
        let size = match &item.now {
            Now::Copy(file) => file.metadata().size,
            Now::Whole(_) => self.old_side(item).before.map_or(0, |facts| facts.size),
            Now::Untouched
            | Now::Gone
            | Now::MovedAway
            | Now::Bytes(_)
            | Now::Append { .. }
            | Now::Directory
            | Now::Tree(..) => 0,
        };
        if size > WHOLE { Ok(None) } else { self.content(at).map(Some) }
    }

    /// The item whose old content this one's new content is compared to.
    fn old_side<'a>(&'a self, item: &'a Item) -> &'a Item {
        let from = item.from.as_ref().and_then(|from| self.items.iter().find(|other| other.path == *from));
        from.unwrap_or(item)
    }

    fn show_file(&self, diff: &mut Diff, item: &Item, new: Option<(&[u8], u32)>) -> Result<()> {
        let old = self.old_side(item);
        let is_file = old.before.is_some_and(|facts| facts.kind == EntryKind::File);
        let file = if is_file { old.place.current()? } else { None };
        let content = file.as_ref().map(|file| file.read_whole(WHOLE)).transpose()?;
        if matches!(content, Some(None)) {
            diff.leave_out();
            return Ok(());
        }
        let content = content.flatten();
        let old = file.as_ref().zip(content.as_deref()).map(|(file, content)| side(&old.path, content, file));
        let new = new.map(|(content, mode)| Side { path: &item.path, content, executable: mode & 0o111 != 0 });
        if old.is_some() || new.is_some() {
            diff.file(old, new);
        }
        Ok(())
    }
}

fn side<'a>(path: &'a str, content: &'a [u8], file: &OpenFile) -> Side<'a> {
    Side { path, content, executable: file.metadata().mode & 0o111 != 0 }
}

/// Shows every file of a directory as gone, or as new in its copy.
fn show_all(diff: &mut Diff, directory: &Dir, copy: Option<&str>, cancel: &CancellationToken) -> Result<()> {
    let above = directory.display();
    visit(directory, cancel, 0, &mut |at, entry| {
        if entry.kind != EntryKind::File {
            return Ok(());
        }
        let file = if diff.is_full() { None } else { Some(at.file(&entry.name)?) };
        let content = file.as_ref().map(|file| file.read_whole(WHOLE)).transpose()?.flatten();
        let (Some(file), Some(content)) = (file, content) else {
            diff.leave_out();
            return Ok(());
        };
        let path = at.display_child(&entry.name);
        match copy {
            None => diff.file(Some(side(&path, &content, &file)), None),
            Some(to) => {
                let path = format!("{to}{}", path.strip_prefix(&above).unwrap_or(&path));
                diff.file(None, Some(side(&path, &content, &file)));
            }
        }
        Ok(())
    })
}
