//! What a change is made of, and what it relies on.

use super::staged_file::Content;
use crate::workspace::{EntryKind, Metadata, WriteTarget};

/// What the caller expects to find at a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expect {
    Nothing,
    /// A file whose content has this etag.
    Etag(String),
    Anything,
}

/// One step of a change.
#[derive(Debug)]
pub enum Step {
    /// Writes a file. Missing directories are created.
    Put {
        target: WriteTarget,
        content: Content,
        expect: Expect,
        mode: Option<u32>,
    },
    /// Removes an entry of this kind. A directory that is not empty is removed only if `recursive` is set.
    Remove {
        target: WriteTarget,
        expect: Expect,
        kind: EntryKind,
        recursive: bool,
    },
    /// Renames an entry; `expect` is about what has the new name at present.
    Move {
        from: WriteTarget,
        to: WriteTarget,
        expect: Expect,
    },
    MakeDirectory {
        target: WriteTarget,
        mode: Option<u32>,
    },
}

impl Step {
    /// What the step creates, with the directories above that are missing.
    pub(super) fn created(&self) -> Option<&WriteTarget> {
        match self {
            Self::Put { target, .. } | Self::MakeDirectory { target, .. } | Self::Move { to: target, .. } => {
                Some(target)
            }
            Self::Remove { .. } => None,
        }
    }
}

/// The result of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepResult {
    /// Metadata of the file that is there now.
    pub metadata: Option<Metadata>,
    pub etag: Option<String>,
    /// Whether something was there before that is not there any more.
    pub replaced: bool,
}
