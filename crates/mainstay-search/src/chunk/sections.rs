//! Text cut along its headings.
//!
//! A section is named by the path of its headings, since a title such as "Linux" means little without "Install" above
//! it. Sections of one heading or a few lines are merged with the next, so that a result has something to read.

use super::block::{Subject, Writer};
use super::lines::Lines;
use super::split::{fits, levels_of_text, split};
use super::{Chunk, ChunkKind};

use mainstay_code::NO_CUT;

/// Between the headings of a path.
const SEPARATOR: &str = " > ";

/// Sections this short become one with the next, up to the size of a block.
const SHORT_BYTES: usize = 300;
const BLOCK_BYTES: usize = 1200;

/// Titles are repeated in the name of every section below them; a paragraph marked as a heading must not fill them.
const LONGEST_TITLE: usize = 120;

/// How a text marks its headings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Markup {
    Markdown,
    ReStructuredText,
    AsciiDoc,
}

impl Markup {
    pub(super) fn of(language: &str) -> Option<Self> {
        match language {
            "markdown" => Some(Self::Markdown),
            "restructuredtext" => Some(Self::ReStructuredText),
            "asciidoc" => Some(Self::AsciiDoc),
            _ => None,
        }
    }
}

struct Heading {
    row: u32,
    /// Where what follows the heading begins.
    after: u32,
    level: usize,
    title: String,
}

struct Section {
    rows: (u32, u32),
    heading: Option<(u32, u32)>,
    /// The end of each title of the path, so that it can be shortened to what sections have in common.
    path: Vec<String>,
}

pub(super) fn cut(lines: Lines<'_>, markup: Markup) -> Vec<Chunk> {
    let mut levels = levels_of_text(lines);
    let headings = headings(lines, markup, &mut levels);
    let mut writer = Writer::new(lines);
    let mut pending: Option<Section> = None;
    for section in sections(lines, headings) {
        pending = Some(match pending.take() {
            None => section,
            Some(before) => match merged(lines, before, section) {
                Ok(both) => both,
                Err(separate) => {
                    let (before, section) = *separate;
                    add(&mut writer, &levels, &before);
                    section
                }
            },
        });
    }
    if let Some(last) = pending {
        add(&mut writer, &levels, &last);
    }
    writer.chunks
}

fn sections(lines: Lines<'_>, headings: Vec<Heading>) -> Vec<Section> {
    let mut sections = Vec::new();
    let mut path: Vec<(usize, String)> = Vec::new();
    let mut start = (0, None);
    for heading in headings {
        let titles = path.iter().map(|(_, title)| title.clone()).collect();
        sections.push(Section { rows: (start.0, heading.row), heading: start.1, path: titles });
        // A heading ends all sections of its own level and of deeper ones.
        while path.pop_if(|(level, _)| *level >= heading.level).is_some() {}
        path.push((heading.level, heading.title));
        start = (heading.row, Some((heading.row, heading.after)));
    }
    let titles = path.into_iter().map(|(_, title)| title).collect();
    sections.push(Section { rows: (start.0, lines.count()), heading: start.1, path: titles });
    sections.retain(|section| lines.trim(section.rows.0, section.rows.1).is_some());
    sections
}

/// Two sections as one, if the first has nothing but a heading or both are short.
fn merged(lines: Lines<'_>, first: Section, second: Section) -> Result<Section, Box<(Section, Section)>> {
    let size = |section: &Section| lines.bytes(section.rows.0, section.rows.1);
    let is_empty = first.heading.is_some_and(|(_, after)| lines.trim(after, first.rows.1).is_none());
    let both = lines.bytes(first.rows.0, second.rows.1);
    let are_short = size(&second) <= SHORT_BYTES && both <= BLOCK_BYTES;
    // What stands before the first heading: a label, a badge.
    let is_preface = first.path.is_empty() && size(&first) <= SHORT_BYTES;
    if (is_preface || (is_empty && first.path.len() < second.path.len())) && fits(lines, first.rows.0, second.rows.1) {
        return Ok(Section { rows: (first.rows.0, second.rows.1), ..second });
    }
    let common = first.path.iter().zip(&second.path).take_while(|(one, other)| one == other).count();
    if are_short && common > 0 && size(&first) <= SHORT_BYTES.max(both / 2) {
        let mut path = first.path;
        path.truncate(common);
        return Ok(Section { rows: (first.rows.0, second.rows.1), heading: first.heading, path });
    }
    Err(Box::new((first, second)))
}

fn add(writer: &mut Writer<'_>, levels: &[u16], section: &Section) {
    let lines = writer.lines;
    let Some((first, end)) = lines.trim(section.rows.0, section.rows.1) else { return };
    let name = section.path.join(SEPARATOR);
    let qualifier = section.path.last().map_or(0, |last| name.len() - last.len());
    let signature = section.heading.map_or(0..0, |(row, after)| lines.start(row)..lines.end(after - 1));
    let subject = Subject {
        kind: Some(ChunkKind::Section),
        name: &name,
        qualifier: u16::try_from(qualifier).unwrap_or(0),
        signature,
        ..Subject::default()
    };
    let starts = split(lines, levels, first, end);
    for (index, start) in starts.iter().enumerate() {
        let part = u16::try_from(index).unwrap_or(u16::MAX);
        writer.add(*start, starts.get(index + 1).copied().unwrap_or(end), part, &subject);
    }
}

/// The headings of a text. Lines of blocks of code are none, and are not cut apart.
fn headings(lines: Lines<'_>, markup: Markup, levels: &mut [u16]) -> Vec<Heading> {
    let mut found = Vec::new();
    let mut fence: Option<(u8, usize)> = None;
    // The characters under titles, by the level they turned out to have.
    let mut underlines: Vec<u8> = Vec::new();
    let mut row = 0;
    // What is between two lines of dashes at the beginning describes the page.
    if lines.text(0) == b"---" && markup == Markup::Markdown {
        row = (1..lines.count()).find(|row| lines.text(*row) == b"---").map_or(0, |row| row + 1);
    }
    while row < lines.count() {
        let text = lines.text(row).trim_ascii();
        let marker = fence_marker(text, markup);
        match (fence, marker) {
            (Some(open), marker) => {
                levels[row as usize] = NO_CUT;
                // A fence is closed by one of the same kind that is at least as long and says nothing else.
                if marker.is_some_and(|(byte, length)| byte == open.0 && length >= open.1 && length == text.len()) {
                    fence = None;
                }
            }
            (None, Some(open)) => fence = Some(open),
            (None, None) => {
                if let Some(heading) = heading(lines, row, markup, &mut underlines) {
                    row = heading.after;
                    found.push(heading);
                    continue;
                }
            }
        }
        row += 1;
    }
    found
}

/// The marks of a line that opens or closes a block of code.
fn fence_marker(text: &[u8], markup: Markup) -> Option<(u8, usize)> {
    let marks: &[u8] = match markup {
        Markup::Markdown => b"`~",
        Markup::AsciiDoc => b"-.",
        Markup::ReStructuredText => return None,
    };
    let first = *text.first().filter(|first| marks.contains(first))?;
    let length = text.iter().take_while(|byte| **byte == first).count();
    let is_fence = if markup == Markup::Markdown { length >= 3 } else { length >= 4 && length == text.len() };
    is_fence.then_some((first, length))
}

fn heading(lines: Lines<'_>, row: u32, markup: Markup, underlines: &mut Vec<u8>) -> Option<Heading> {
    let text = lines.text(row);
    let sign = match markup {
        Markup::Markdown => b'#',
        Markup::AsciiDoc => b'=',
        Markup::ReStructuredText => return underlined(lines, row, underlines),
    };
    let marks = text.iter().take_while(|byte| **byte == sign).count();
    if (1..=6).contains(&marks) && matches!(text.get(marks), None | Some(b' ' | b'\t')) {
        let title = title(text[marks..].trim_ascii().trim_ascii_end());
        return Some(Heading { row, after: row + 1, level: marks, title });
    }
    let under = lines.text(row + 1).trim_ascii_end();
    let is_under = |sign: u8| !under.is_empty() && under.iter().all(|byte| *byte == sign);
    let is_text = !text.is_empty() && !text[0].is_ascii_whitespace() && !b"-=>|*+".contains(&text[0]);
    if markup == Markup::Markdown && is_text && row + 1 < lines.count() && (is_under(b'=') || is_under(b'-')) {
        let level = if is_under(b'=') { 1 } else { 2 };
        return Some(Heading { row, after: row + 2, level, title: title(text) });
    }
    None
}

/// reStructuredText: a title with a line of one sign below it that is at least as long. Levels are in the order of first use.
fn underlined(lines: Lines<'_>, row: u32, underlines: &mut Vec<u8>) -> Option<Heading> {
    let is_line =
        |text: &[u8]| text.len() >= 2 && text[0].is_ascii_punctuation() && text.iter().all(|byte| *byte == text[0]);
    // An optional line above the title belongs to it.
    let has_above = is_line(lines.text(row).trim_ascii_end()) && row + 2 < lines.count();
    let at = if has_above { row + 1 } else { row };
    let (text, under) = (lines.text(at).trim_ascii_end(), lines.text(at + 1).trim_ascii_end());
    let is_title = !text.is_empty() && !is_line(text) && (has_above || !text[0].is_ascii_whitespace());
    if at + 1 >= lines.count() || !is_title || !is_line(under) || under.len() < text.trim_ascii().len() {
        return None;
    }
    let level = underlines.iter().position(|sign| *sign == under[0]).unwrap_or_else(|| {
        underlines.push(under[0]);
        underlines.len() - 1
    });
    Some(Heading { row, after: at + 2, level, title: title(text) })
}

fn title(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let text = text.trim().trim_end_matches('#').trim_end();
    text.chars().take(LONGEST_TITLE).collect()
}
