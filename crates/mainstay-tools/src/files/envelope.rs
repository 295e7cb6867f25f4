//! The patch form between `*** Begin Patch` and `*** End Patch`: no line numbers, only lines.

use mainstay_core::Result;

use super::hunk::{Count, Hunk, Line, Sign};
use super::unified::{FilePatch, Reader, wrong};

/// Reads on after `*** Begin Patch`.
pub(super) fn parse(reader: &mut Reader<'_>) -> Result<Vec<FilePatch>> {
    let mut files = Vec::new();
    while let Some(line) = reader.peek() {
        let at = reader.number();
        reader.advance();
        let named = |prefix: &str| line.strip_prefix(prefix).map(|path| Some(path.trim().to_owned()));
        if line.trim_end() == "*** End Patch" {
            return Ok(files);
        } else if let Some(new) = named("*** Add File: ") {
            let hunk = Hunk { lines: added(reader)?, at, ..Hunk::default() };
            files.push(FilePatch { new, hunks: vec![hunk], ..FilePatch::default() });
        } else if let Some(old) = named("*** Delete File: ") {
            files.push(FilePatch { old, unseen: true, ..FilePatch::default() });
        } else if let Some(old) = named("*** Update File: ") {
            files.push(updated(reader, old)?);
        } else if !line.trim().is_empty() {
            return Err(wrong(at, "\"*** Add File: \", \"*** Update File: \" or \"*** Delete File: \" has to be here"));
        }
    }
    Err(wrong(reader.number(), "\"*** End Patch\" is missing, so something may be cut off"))
}

fn added(reader: &mut Reader<'_>) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    while let Some(line) = reader.peek_whole().filter(|line| !line.starts_with("*** ")) {
        let text =
            line.strip_prefix('+').ok_or_else(|| wrong(reader.number(), "a line of a new file begins with +"))?;
        lines.push(Line { sign: Sign::Added, text: text.to_owned() });
        reader.advance();
    }
    Ok(lines)
}

fn updated(reader: &mut Reader<'_>, old: Option<String>) -> Result<FilePatch> {
    let mut file = FilePatch { new: old.clone(), old, ..FilePatch::default() };
    if let Some(path) = reader.peek().and_then(|line| line.strip_prefix("*** Move to: ")) {
        file.new = Some(path.trim().to_owned());
        file.renames = true;
        reader.advance();
    }
    while let Some(line) = reader.peek() {
        let at = reader.number();
        if line == "*** End of File" {
            reader.advance();
            continue;
        }
        if line.starts_with("*** ") {
            break;
        }
        let mut anchor = None;
        if line.starts_with("@@") {
            anchor = Some(line.trim_start_matches('@').trim().to_owned()).filter(|anchor| !anchor.is_empty());
            reader.advance();
        }
        let lines = reader.uncounted(Count::default())?;
        if lines.is_empty() && anchor.is_none() && !line.starts_with("@@") {
            return Err(wrong(at, "a line of a change begins with a space, + or -"));
        }
        if !lines.is_empty() {
            file.hunks.push(Hunk { anchor, lines, loose_end: true, at, start: None });
        }
    }
    Ok(file)
}
