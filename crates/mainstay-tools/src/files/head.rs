//! `files_head`: lines from a place in a text file on.

use std::io::{BufRead as _, BufReader};

use mainstay_core::{Context, Effect, Error, Pace, Result, Spec, Told, Tool};
use mainstay_sandbox::OpenFile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text::{self, LONGEST_LINE};
use super::{Desk, blocking};

pub(crate) struct Head(pub(crate) Desk);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// The file, relative to the workspace.
    path: String,
    /// How many lines.
    #[serde(default = "usual_lines")]
    #[schemars(range(min = 1, max = 10000))]
    lines: usize,
    /// The number of the first line; the file begins with line 1.
    #[serde(default = "first")]
    #[schemars(range(min = 1))]
    start: u64,
}

pub(crate) fn usual_lines() -> usize {
    50
}

fn first() -> u64 {
    1
}

/// Lines of a file.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Excerpt {
    /// The path of the file.
    pub(crate) path: String,
    /// The number of the first line that is returned; null where the file is too large to count.
    pub(crate) first_line: Option<u64>,
    /// How many lines are returned.
    pub(crate) lines: usize,
    /// The lines, each ended with a newline but the last.
    pub(crate) text: String,
    /// There is more: after these lines for a head, before them for a tail.
    pub(crate) more: bool,
    /// Some bytes are not UTF-8 and are shown as U+FFFD.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) lossy: bool,
    /// Which of the returned lines (1 is the first of them) are too long and were cut.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) cut: Vec<usize>,
}

impl Excerpt {
    /// The lines as they are, and whether these are all.
    pub(crate) fn told(self, more: &str) -> Told<Self> {
        let text = if self.more { format!("{}\n[{more}]", self.text) } else { self.text.clone() };
        Told { value: self, text }
    }

    /// Adds a line without its newline. `whole` says that these are all its bytes.
    pub(crate) fn add(&mut self, bytes: &[u8], whole: bool) {
        let shown = text::line(bytes);
        if self.lines > 0 {
            self.text.push('\n');
        }
        self.text.push_str(&shown.text);
        self.lines += 1;
        self.lossy |= shown.lossy;
        if shown.cut || !whole {
            self.cut.push(self.lines);
        }
    }
}

impl Tool for Head {
    const SPEC: Spec = Spec {
        title: "First Lines",
        description: "Returns lines of a text file of any size, from the first or from a given line on. Use it to look \
                      into a large file, or at the place that files_grep named.",
        pace: Pace::Instant,
        tags: &["fs"],
        ..Spec::new("files", "head", Effect::Reads)
    };
    type Args = Args;
    type Output = Told<Excerpt>;

    async fn call(&self, args: Args, context: &Context) -> Result<Told<Excerpt>> {
        let (desk, context) = (self.0.clone(), context.clone());
        blocking(move || {
            let file = desk.workspace.find(&args.path)?.open_file()?;
            head(&file, &args, desk.read_bytes, &context).map(|lines| lines.told("more lines follow"))
        })
        .await
    }
}

fn head(file: &OpenFile, args: &Args, most_bytes: u64, context: &Context) -> Result<Excerpt> {
    let mut source = Source { from: BufReader::with_capacity(256 * 1024, file.reader(0)), context };
    let mut lines = Excerpt { path: file.display().to_owned(), first_line: Some(args.start), ..Excerpt::default() };
    for _ in 1..args.start {
        if !source.line(&mut Vec::new(), 0)?.found {
            return Ok(lines);
        }
    }
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let line = source.line(&mut bytes, LONGEST_LINE + 1)?;
        if !line.found {
            return Ok(lines);
        }
        if lines.lines >= args.lines || lines.text.len() as u64 >= most_bytes {
            lines.more = true;
            return Ok(lines);
        }
        lines.add(&bytes, line.whole);
    }
}

struct Source<'a, R> {
    from: BufReader<R>,
    context: &'a Context,
}

struct Line {
    /// The file has not ended before it.
    found: bool,
    /// All of it was kept.
    whole: bool,
}

impl<R: std::io::Read> Source<'_, R> {
    /// Goes past the next line and keeps its first bytes.
    fn line(&mut self, kept: &mut Vec<u8>, most: usize) -> Result<Line> {
        let mut line = Line { found: false, whole: true };
        loop {
            if self.from.buffer().is_empty() {
                self.context.check()?;
            }
            let block = self.from.fill_buf().map_err(Error::internal)?;
            if block.is_empty() {
                return Ok(line);
            }
            let end = memchr::memchr(b'\n', block);
            let part = &block[..end.unwrap_or(block.len())];
            let room = part.len().min(most.saturating_sub(kept.len()));
            kept.extend_from_slice(&part[..room]);
            line.found = true;
            line.whole &= room == part.len();
            let gone = end.map_or(block.len(), |end| end + 1);
            self.from.consume(gone);
            if end.is_some() {
                return Ok(line);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::sample::Sample;
    use mainstay_core::Kind;

    fn lines_of(sample: &Sample, path: &str, lines: usize, start: u64) -> Excerpt {
        let args = Args { path: path.into(), lines, start };
        let file = sample.desk().workspace.find(path).unwrap().open_file().unwrap();
        head(&file, &args, 1000, &Context::detached()).unwrap()
    }

    #[tokio::test]
    async fn the_first_lines_come_with_their_number_and_whether_there_is_more() {
        let sample = Sample::with(&[("f", "one\ntwo\r\nthree\n")]);
        let args = Args { path: "f".into(), lines: 2, start: 1 };
        let out = Head(sample.desk()).call(args, &Context::detached()).await.unwrap().value;
        assert_eq!((out.text.as_str(), out.lines, out.first_line, out.more), ("one\ntwo\r", 2, Some(1), true));
        let rest = lines_of(&sample, "f", 5, 3);
        assert_eq!((rest.text.as_str(), rest.lines, rest.more), ("three", 1, false));
    }

    #[test]
    fn an_empty_line_is_a_line_and_past_the_end_there_is_none() {
        let sample = Sample::with(&[("f", "\n\nx"), ("empty", "")]);
        let out = lines_of(&sample, "f", 9, 1);
        assert_eq!((out.text.as_str(), out.lines), ("\n\nx", 3));
        assert_eq!((lines_of(&sample, "f", 9, 4).lines, lines_of(&sample, "empty", 9, 1).lines), (0, 0));
    }

    #[test]
    fn a_line_without_end_is_cut_and_what_is_no_text_is_marked() {
        let sample = Sample::with(&[]);
        sample.write("f", &[vec![b'x'; 3_000_000], b"\nb\xff\n".to_vec()].concat());
        let out = lines_of(&sample, "f", 1, 1);
        assert_eq!((out.text.len(), out.cut.as_slice(), out.more), (LONGEST_LINE, &[1][..], true));
        let second = lines_of(&sample, "f", 1, 2);
        assert_eq!((second.text.as_str(), second.lossy, second.cut.len()), ("b\u{fffd}", true, 0));
    }

    #[test]
    fn the_text_stays_within_its_bytes() {
        let sample = Sample::with(&[("f", &"0123456789\n".repeat(1000))]);
        let out = lines_of(&sample, "f", 1000, 1);
        assert!(out.more && out.text.len() < 1020, "{}", out.text.len());
    }

    #[test]
    fn a_cancelled_call_stops() {
        let sample = Sample::with(&[("f", "x\n")]);
        let context = Context::detached();
        context.cancel.cancel();
        let file = sample.desk().workspace.find("f").unwrap().open_file().unwrap();
        let args = Args { path: "f".into(), lines: 1, start: 1 };
        assert_eq!(head(&file, &args, 1000, &context).unwrap_err().kind, Kind::Cancelled);
    }
}
