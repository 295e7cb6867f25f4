//! `files_tail`: returns the last lines of a text file.

use mainstay_core::{Context, Effect, Result, Spec, Tool, WithText};
use mainstay_sandbox::OpenFile;

use super::file_tools::{FileTools, spec};
use crate::text::excerpt::Excerpt;
use crate::text::line::{MAX_LINE_BYTES, split_lines};

/// How much is read at a time, from the end backwards.
const BLOCK_BYTES: u64 = 64 * 1024;

/// In a larger file the lines before the excerpt are not counted: that would read all of it.
const MAX_COUNTED_BYTES: u64 = 64 * 1024 * 1024;

/// Reads backwards from the end, so the size of the file does not matter.
pub(crate) struct Tail(pub(crate) FileTools);

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct Args {
    /// File, relative to the workspace.
    path: String,
    /// Number of lines.
    #[serde(default = "crate::defaults::number::<usize, 50>")]
    #[schemars(range(min = 1, max = 10000))]
    lines: usize,
}

impl Tool for Tail {
    const SPEC: Spec = Spec {
        title: "Read last lines",
        description: "Reads the last lines of a text file of any size, such as a log.",
        ..spec("tail", Effect::Reads)
    };
    type Args = Args;
    type Output = WithText<Excerpt>;

    async fn call(&self, args: Args, context: &Context) -> Result<WithText<Excerpt>> {
        let (tools, context) = (self.0.clone(), context.clone());
        crate::progress::blocking(move || {
            let file = tools.workspace.find(&args.path)?.open_file()?;
            tail(&file, args.lines, tools.read_bytes, &context).map(|lines| lines.with_text("more lines come before"))
        })
        .await
    }
}

fn tail(file: &OpenFile, wanted: usize, most_bytes: u64, context: &Context) -> Result<Excerpt> {
    let size = file.metadata().size;
    let lowest = size.saturating_sub(most_bytes.max(MAX_LINE_BYTES as u64));
    let found = start_of_last_lines(file, wanted, lowest, context)?;
    let mut start = found.unwrap_or(lowest);
    let mut bytes = file.read_range(start, size - start)?;
    let mut whole = true;
    // A first line whose start is too far away is dropped; if it is the only line, its end is kept.
    if found.is_none() && lowest > 0 {
        let next = memchr::memchr(b'\n', &bytes).map(|at| at + 1).filter(|next| *next < bytes.len());
        let dropped = next.unwrap_or(bytes.len().saturating_sub(MAX_LINE_BYTES));
        bytes.drain(..dropped);
        start += dropped as u64;
        whole = next.is_some();
    }
    let mut lines = Excerpt { path: file.display().to_owned(), more: start > 0, ..Excerpt::default() };
    // The number of the first line needs all newlines before it.
    if start <= MAX_COUNTED_BYTES {
        lines.first_line = Some(1 + newlines_before(file, start, context)?);
    }
    for (at, line) in split_lines(&bytes).enumerate() {
        lines.add(line.strip_suffix(b"\n").unwrap_or(line), at > 0 || whole);
    }
    Ok(lines)
}

/// Where the last `wanted` lines begin, searched backwards; `None` if that is before `lowest`.
fn start_of_last_lines(file: &OpenFile, wanted: usize, lowest: u64, context: &Context) -> Result<Option<u64>> {
    let size = file.metadata().size;
    let (mut start, mut newlines) = (size, 0);
    while start > lowest {
        context.check()?;
        let from = start.saturating_sub(BLOCK_BYTES).max(lowest);
        let block = file.read_range(from, start - from)?;
        // A newline at the very end of the file ends the last line and does not begin another.
        let searched = if start == size { block.strip_suffix(b"\n").unwrap_or(&block) } else { &block };
        for at in memchr::memrchr_iter(b'\n', searched) {
            newlines += 1;
            if newlines == wanted {
                return Ok(Some(from + at as u64 + 1));
            }
        }
        start = from;
    }
    Ok(None)
}

fn newlines_before(file: &OpenFile, end: u64, context: &Context) -> Result<u64> {
    let (mut at, mut count) = (0, 0);
    while at < end {
        context.check()?;
        let block = file.read_range(at, (end - at).min(4 * BLOCK_BYTES))?;
        if block.is_empty() {
            break;
        }
        count += memchr::memchr_iter(b'\n', &block).count() as u64;
        at += block.len() as u64;
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::testing::workspace::SampleWorkspace;

    fn last(sample: &SampleWorkspace, path: &str, lines: usize, most_bytes: u64) -> Excerpt {
        let file = sample.tools().workspace.find(path).unwrap().open_file().unwrap();
        tail(&file, lines, most_bytes, &Context::detached()).unwrap()
    }

    #[tokio::test]
    async fn the_last_lines_come_with_the_number_of_the_first() {
        let sample = SampleWorkspace::with(&[("f", "one\ntwo\nthree\n")]);
        let args = Args { path: "f".into(), lines: 2 };
        let out = Tail(sample.tools()).call(args, &Context::detached()).await.unwrap().value;
        assert_eq!((out.text.as_str(), out.lines, out.first_line, out.more), ("two\nthree", 2, Some(2), true));
        let all = last(&sample, "f", 3, 1000);
        assert_eq!((all.lines, all.first_line, all.more), (3, Some(1), false));
        assert_eq!(last(&sample, "f", 10, 1000).text, "one\ntwo\nthree");
    }

    #[test]
    fn a_file_may_be_empty_or_end_without_a_newline() {
        let sample = SampleWorkspace::with(&[("empty", ""), ("one", "x"), ("blank", "\n"), ("two", "a\n\nb")]);
        let last = |path: &str, lines| {
            let out = last(&sample, path, lines, 1000);
            (out.text, out.lines)
        };
        assert_eq!(last("empty", 5), (String::new(), 0));
        assert_eq!(last("one", 5), ("x".into(), 1));
        assert_eq!(last("blank", 5), (String::new(), 1));
        assert_eq!(last("two", 2), ("\nb".into(), 2));
    }

    #[test]
    fn lines_are_found_across_blocks() {
        let lines: Vec<String> = (1..=50_000).map(|number| format!("line {number}")).collect();
        let sample = SampleWorkspace::with(&[("log", &lines.join("\n"))]);
        let out = last(&sample, "log", 20_000, 4_000_000);
        assert_eq!((out.lines, out.first_line), (20_000, Some(30_001)));
        assert_eq!(out.text, lines[30_000..].join("\n"));
    }

    #[test]
    fn the_end_of_an_overlong_line_is_shown_and_marked() {
        let sample = SampleWorkspace::with(&[]);
        sample.write("long", &[vec![b'x'; 100_000], b"END".to_vec()].concat());
        let out = last(&sample, "long", 5, 10_000);
        assert_eq!((out.lines, out.cut.as_slice(), out.more, out.first_line), (1, &[1][..], true, Some(1)));
        assert!(out.text.ends_with("END") && out.text.len() <= MAX_LINE_BYTES);
    }

    #[test]
    fn the_text_keeps_to_the_limit_and_begins_with_a_line() {
        let sample = SampleWorkspace::with(&[("f", &"0123456789\n".repeat(1000))]);
        let out = last(&sample, "f", 1000, 2500);
        assert!(out.more && out.text.len() <= 2500 && out.text.starts_with('0'), "{}", out.text.len());
        assert_eq!(out.first_line, Some(1001 - out.lines as u64));
    }
}
