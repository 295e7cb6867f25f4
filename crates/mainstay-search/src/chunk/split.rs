//! Where something long is cut.

use mainstay_code::NO_CUT;

use super::lines::{Lines, MOST_BYTES};

/// As much as the embedding model reads, and as fits a screen.
pub(super) const TARGET_BYTES: usize = 2000;
pub(super) const TARGET_LINES: u32 = 60;

/// A part shorter than this share of the target is not worth a better place to cut.
const LEAST: usize = 3;

/// Whether rows are short enough for one chunk.
pub(super) fn fits(lines: Lines<'_>, first: u32, end: u32) -> bool {
    end - first <= TARGET_LINES && lines.bytes(first, end) <= TARGET_BYTES
}

/// The rows at which each part begins, the first included. A part ends before the line with the lowest level that is not too
/// near or too far; of equal ones, behind a blank line, and of those the last.
pub(super) fn split(lines: Lines<'_>, levels: &[u16], first: u32, end: u32) -> Vec<u32> {
    let mut parts = vec![first];
    let mut start = first;
    while let Some(cut) = next_cut(lines, levels, start, end) {
        parts.push(cut);
        start = cut;
    }
    parts
}

fn next_cut(lines: Lines<'_>, levels: &[u16], start: u32, end: u32) -> Option<u32> {
    // A last part that is a little too long is better than a tiny one behind it.
    let is_last =
        end - start <= TARGET_LINES + TARGET_LINES / 4 && lines.bytes(start, end) <= TARGET_BYTES + TARGET_BYTES / 4;
    if is_last {
        return None;
    }
    let mut best: Option<((u16, bool), u32)> = None;
    // Where to cut if there is no good place.
    let mut hard = start + 1;
    for row in start + 1..end {
        let (bytes, count) = (lines.bytes(start, row), row - start);
        // The first row is always taken, however long: `Writer::add` cuts inside of it.
        if bytes > MOST_BYTES && row > start + 1 {
            break;
        }
        let is_far = bytes > TARGET_BYTES || count > TARGET_LINES;
        hard = if is_far { hard } else { row };
        if is_far && best.is_some() {
            break;
        }
        let is_near = bytes * LEAST < TARGET_BYTES && (count as usize) * LEAST < TARGET_LINES as usize;
        let level = levels.get(row as usize).copied().unwrap_or(NO_CUT);
        if level == NO_CUT || is_near || lines.is_blank(row) {
            continue;
        }
        // `<=` prefers the later of equal places: fewer and fuller parts.
        let rank = (level, !is_paragraph(lines, row));
        if best.is_none_or(|(found, _)| rank <= found) {
            best = Some((rank, row));
        }
    }
    Some(best.map_or(hard, |(_, row)| row)).filter(|cut| *cut < end)
}

/// Whether a line begins a paragraph: the line before is blank but for the marks of a comment.
fn is_paragraph(lines: Lines<'_>, row: u32) -> bool {
    row > 0 && lines.text(row - 1).trim_ascii().len() <= 3
}

/// Levels of lines for which there is no syntax: paragraphs and indentation.
pub(super) fn levels_of_text(lines: Lines<'_>) -> Vec<u16> {
    // Two steps of indentation: the start of a nested paragraph is no worse a place than the middle of an outer one.
    const WITHIN_PARAGRAPH: u16 = 8;
    let mut is_after_blank = true;
    let level = |row| {
        if lines.is_blank(row) {
            is_after_blank = true;
            return NO_CUT;
        }
        let text = lines.text(row);
        let indentation = text.iter().take(200).map_while(|byte| match byte {
            b' ' => Some(1),
            b'\t' => Some(4),
            _ => None,
        });
        let level = indentation.sum::<u16>() + if is_after_blank { 0 } else { WITHIN_PARAGRAPH };
        is_after_blank = false;
        if lines.is_closing(row) { NO_CUT } else { level }
    };
    (0..lines.count()).map(level).collect()
}
