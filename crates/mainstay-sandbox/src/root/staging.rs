//! A directory that is put together step by step, before it is moved to where it shall be.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use mainstay_core::Result;

use super::fault::About as _;
use super::journal::Record;
use super::trace::{Trace, Where};
use super::{Place, Root, Spot, Workspace};

/// A name that nothing has. What has it when this is dropped is removed; if this process dies, by the next one that
/// opens the workspace.
pub struct Staging {
    workspace: Workspace,
    root: Arc<Root>,
    /// The names that lead to it from the root.
    names: Vec<OsString>,
    directory: OwnedFd,
    trace: Trace,
    record: Option<Record>,
}

impl Workspace {
    /// A name in the last directory on the way to `place` that is there: from one to the other is one rename.
    pub fn staging(&self, place: &Place) -> Result<Staging> {
        let trace = Trace::of_leftover(Where::of(place));
        Ok(Staging {
            workspace: self.clone(),
            root: place.root.clone(),
            names: place.names.iter().chain([&trace.backup]).cloned().collect(),
            directory: place.directory.try_clone().about(place.shown())?,
            record: self.journal.as_deref().map(|journal| journal.doom(&trace)).transpose()?,
            trace,
        })
    }
}

impl Staging {
    /// What has the name, or something in it.
    pub fn spot(&self, inside: &Path) -> Spot {
        let inside = inside.iter().map(OsString::from);
        self.workspace.spot(&self.root, self.names.iter().cloned().chain(inside).collect())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        self.trace.clear(&self.directory, None);
        if let Some(record) = self.record.take() {
            record.close();
        }
    }
}
