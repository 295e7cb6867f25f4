//! Parses the patch format between `*** Begin Patch` and `*** End Patch`, which many models write: hunks have no line
//! numbers, only context lines and an optional anchor line after `@@`.

use mainstay_core::Result;

use crate::diff::hunk::LineCount;
use crate::diff::patch::{FilePatch, Hunk, Line, Reader, Sign, parse_error};

/// Parses what follows `*** Begin Patch`. A missing end is an error: the patch may have been truncated.
pub(crate) fn parse(reader: &mut Reader<'_>) -> Result<Vec<FilePatch>> {
    let mut files = Vec::new();
    while let Some(line) = reader.peek() {
        let at = reader.line_number();
        reader.advance();
        let named = |prefix: &str| line.strip_prefix(prefix).map(|path| Some(path.trim().to_owned()));
        if line.trim_end() == "*** End Patch" {
            return Ok(files);
        } else if let Some(new) = named("*** Add File: ") {
            // A new file is a hunk without old lines, applied to an empty file.
            let hunk = Hunk { lines: added_lines(reader)?, at, ..Hunk::default() };
            files.push(FilePatch { new, hunks: vec![hunk], ..FilePatch::default() });
        } else if let Some(old) = named("*** Delete File: ") {
            // This format removes a file by its name alone.
            files.push(FilePatch { old, content_unknown: true, ..FilePatch::default() });
        } else if let Some(old) = named("*** Update File: ") {
            files.push(updated_file(reader, old)?);
        } else if !line.trim().is_empty() {
            return Err(parse_error(at, "\"*** Add File: \", \"*** Update File: \" or \"*** Delete File: \" expected"));
        }
    }
    Err(reader.error("\"*** End Patch\" is missing; the patch may be truncated"))
}

/// The lines of a new file, each with a `+`.
fn added_lines(reader: &mut Reader<'_>) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    while let Some(line) = reader.peek_with_ending().filter(|line| !line.starts_with("*** ")) {
        let text = line.strip_prefix('+').ok_or_else(|| reader.error("every line of a new file begins with +"))?;
        lines.push(Line { sign: Sign::Added, text: text.to_owned() });
        reader.advance();
    }
    Ok(lines)
}

/// The hunks of an existing file, and its new path if it is renamed.
fn updated_file(reader: &mut Reader<'_>, old: Option<String>) -> Result<FilePatch> {
    let mut file = FilePatch { new: old.clone(), old, ..FilePatch::default() };
    if let Some(path) = reader.peek().and_then(|line| line.strip_prefix("*** Move to: ")) {
        file.new = Some(path.trim().to_owned());
        file.renames = true;
        reader.advance();
    }
    while let Some(line) = reader.peek() {
        let at = reader.line_number();
        // A marker that some models write after the last hunk; the hunk is found without it.
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
        let lines = reader.lines_until_other(LineCount::default())?;
        // Otherwise this would loop forever on a line that belongs to nothing.
        if lines.is_empty() && anchor.is_none() && !line.starts_with("@@") {
            return Err(parse_error(at, "every line of a change begins with a space, + or -"));
        }
        if !lines.is_empty() {
            file.hunks.push(Hunk { anchor, lines, keeps_file_end: true, at, start: None });
        }
    }
    Ok(file)
}
