//! Reads the source files of a directory one after the other, in the order of their paths, and finds what they share.
//!
//! Not in parallel: all tokens are in one list, whose order decides how groups and places are numbered, and equal trees
//! have to give equal reports.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;
use std::sync::Arc;

use mainstay_code::report::{DuplicateReport, FailedFile};
use mainstay_code::{Duplicates, Language, NotMeasured};
use mainstay_core::{Error, Kind, Result};
use mainstay_sandbox::{Dir, OpenFile};

use super::measure::{check_count, walk};
use crate::progress::Progress;
use crate::setup::CodeSettings;
use crate::walk::{Collected, StopSignal, Visitor, WalkEntry};

/// A source file: its path relative to the start, and its language.
type Found = (Vec<u8>, Language);

/// Finds source files by their names.
///
/// Scripts without an extension are left out: it would take reading every such file to know them.
struct SourceFinder(&'static [Language]);

impl Visitor for SourceFinder {
    type Worker = ();
    type Item = Found;
    const PARALLEL_ENTRIES: bool = false;

    fn worker(&self) -> Self::Worker {}

    fn visit(&self, (): &mut (), found: &WalkEntry<'_>, _: &StopSignal, all: &mut Collected<Found>) {
        let language = Language::from_file_name(&found.entry.name.to_string_lossy());
        if let Some(language) = language.filter(|language| self.0.contains(language)) {
            all.add((found.path().as_os_str().as_bytes().to_vec(), language), 1, 0);
        }
    }
}

/// The source files below a directory, by path.
pub(super) fn find_sources(
    start: &Arc<Dir>,
    languages: &'static [Language],
    settings: &CodeSettings,
    progress: &Progress,
) -> Result<Vec<Found>> {
    let found = walk(settings, progress).run(start, &SourceFinder(languages))?;
    check_count(found.items, settings)?;
    Ok(found.list)
}

/// The files to compare.
pub(super) struct Files<'a> {
    /// The directory that all paths are relative to.
    pub(super) start: &'a Arc<Dir>,
    /// What paths in the report begin with.
    pub(super) prefix: String,
    pub(super) found: Vec<Found>,
}

impl Files<'_> {
    /// `limit` is the most groups to report, beside the words for what was looked for.
    pub(super) fn report(
        &self,
        mut duplicates: Duplicates,
        settings: &CodeSettings,
        (limit, sought): (usize, &str),
        progress: &Progress,
    ) -> Result<DuplicateReport> {
        let wanted = || !progress.is_cancelled();
        let (mut compared, mut failed) = (Vec::new(), Vec::new());
        // The directory of the file before: the files of one directory follow each other.
        let mut opened: Option<(&[u8], Dir)> = None;
        for (path, language) in &self.found {
            progress.check()?;
            let shown = format!("{}{}", self.prefix, String::from_utf8_lossy(path));
            let content = self.open(path, &mut opened).and_then(|file| file.read_whole(settings.file_bytes));
            let added = match content {
                Ok(Some(content)) => match duplicates.add(*language, &content, &wanted) {
                    // Not the file's fault, so it is not reported as failed.
                    Err(NotMeasured::Cancelled) => return Err(stopped(NotMeasured::Cancelled)),
                    added => added.map_err(|reason| reason.to_string()),
                },
                Ok(None) => Err(format!("The file is larger than {} bytes (code.file_bytes).", settings.file_bytes)),
                Err(error) => Err(error.public.into_owned()),
            };
            match added {
                // Files have numbers in the order in which they were added.
                Ok(_) => compared.push(shown),
                Err(reason) => failed.push(FailedFile { file: shown, reason }),
            }
            progress.add(1);
        }
        let groups = duplicates.find(&wanted).map_err(stopped)?;
        Ok(DuplicateReport::new(&groups, &compared, failed, limit, sought))
    }

    /// Opens a file name by name, from the handle of the start.
    fn open<'p>(&self, path: &'p [u8], opened: &mut Option<(&'p [u8], Dir)>) -> Result<OpenFile> {
        let (directory, name) = match path.iter().rposition(|byte| *byte == b'/') {
            Some(slash) => (&path[..slash], &path[slash + 1..]),
            None => (&[][..], path),
        };
        let name = OsString::from_vec(name.to_vec());
        if directory.is_empty() {
            return self.start.file(&name);
        }
        if opened.as_ref().is_none_or(|(known, _)| *known != directory) {
            *opened = Some((directory, self.descend(Path::new(std::ffi::OsStr::from_bytes(directory)))?));
        }
        match opened {
            Some((_, directory)) => directory.file(&name),
            None => self.start.file(&name),
        }
    }

    /// Opens a directory name by name: a link that has taken the place of one of them is refused.
    fn descend(&self, path: &Path) -> Result<Dir> {
        let mut here: Option<Dir> = None;
        for name in path {
            here = Some(here.as_ref().unwrap_or(self.start).child(name)?);
        }
        here.ok_or_else(|| Error::internal("a directory without a name"))
    }
}

/// Turns what ended the search into an error of the call.
fn stopped(reason: NotMeasured) -> Error {
    match reason {
        NotMeasured::Cancelled => Error::new(Kind::Cancelled, "The call was cancelled."),
        NotMeasured::NotText
        | NotMeasured::Syntax { .. }
        | NotMeasured::TooLarge
        | NotMeasured::TooDeep
        | NotMeasured::TooSlow
        | NotMeasured::NoParser => Error::new(Kind::TooLarge, reason.to_string()),
    }
}
