//! `files_head`: returns lines of a text file, from a line number on.

use std::io::{BufRead as _, BufReader};

use mainstay_core::{Context, Effect, Error, Result, Spec, Tool, WithText};
use mainstay_sandbox::OpenFile;

use super::file_tools::{FileTools, spec};
use crate::text::excerpt::Excerpt;
use crate::text::line::MAX_LINE_BYTES;

/// Reads from the start in blocks, with a buffer that does not grow with the file or with its lines.
pub(crate) struct Head(pub(crate) FileTools);

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct Args {
    /// File, relative to the workspace.
    path: String,
    /// Number of lines.
    #[serde(default = "crate::defaults::number::<usize, 50>")]
    #[schemars(range(min = 1, max = 10000))]
    lines: usize,
    /// Number of the first line to return, from 1.
    #[serde(default = "crate::defaults::number::<u64, 1>")]
    #[schemars(range(min = 1))]
    start: u64,
}

impl Tool for Head {
    const SPEC: Spec = Spec {
        title: "Read lines",
        description: "Reads lines of a text file of any size, from the start or from a given line. Use it for large \
                      files, or to see more around a line that files_grep found.",
        ..spec("head", Effect::Reads)
    };
    type Args = Args;
    type Output = WithText<Excerpt>;

    async fn call(&self, args: Args, context: &Context) -> Result<WithText<Excerpt>> {
        let (tools, context) = (self.0.clone(), context.clone());
        crate::progress::blocking(move || {
            let file = tools.workspace.find(&args.path)?.open_file()?;
            head(&file, &args, tools.read_bytes, &context).map(|lines| lines.with_text("more lines follow"))
        })
        .await
    }
}

fn head(file: &OpenFile, args: &Args, most_bytes: u64, context: &Context) -> Result<Excerpt> {
    let mut reader = BufReader::with_capacity(256 * 1024, file.reader(0));
    let mut lines = Excerpt { path: file.display().to_owned(), first_line: Some(args.start), ..Excerpt::default() };
    // There is no index of lines: those before the first one are read and dropped.
    for _ in 1..args.start {
        if read_line(&mut reader, &mut Vec::new(), 0, context)?.is_none() {
            return Ok(lines);
        }
    }
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        // One byte more than is shown tells whether the line is cut.
        let line = read_line(&mut reader, &mut bytes, MAX_LINE_BYTES + 1, context)?;
        let Some(whole) = line else { return Ok(lines) };
        if lines.lines >= args.lines || lines.text.len() as u64 >= most_bytes {
            lines.more = true;
            return Ok(lines);
        }
        lines.add(&bytes, whole);
    }
}

/// Reads past the next line, however long, and keeps at most `most` of its bytes. Returns whether that is the whole line,
/// and `None` at the end of the file. Notices cancellation.
fn read_line(
    reader: &mut BufReader<impl std::io::Read>,
    kept: &mut Vec<u8>,
    most: usize,
    context: &Context,
) -> Result<Option<bool>> {
    let mut whole = None;
    loop {
        if reader.buffer().is_empty() {
            context.check()?;
        }
        let block = reader.fill_buf().map_err(Error::internal)?;
        if block.is_empty() {
            return Ok(whole);
        }
        let end = memchr::memchr(b'\n', block);
        let part = &block[..end.unwrap_or(block.len())];
        let room = part.len().min(most.saturating_sub(kept.len()));
        kept.extend_from_slice(&part[..room]);
        whole = Some(whole != Some(false) && room == part.len());
        let consumed = end.map_or(block.len(), |end| end + 1);
        reader.consume(consumed);
        if end.is_some() {
            return Ok(whole);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::testing::workspace::SampleWorkspace;
    use mainstay_core::Kind;

    fn lines_of(sample: &SampleWorkspace, path: &str, lines: usize, start: u64) -> Excerpt {
        let args = Args { path: path.into(), lines, start };
        let file = sample.tools().workspace.find(path).unwrap().open_file().unwrap();
        head(&file, &args, 1000, &Context::detached()).unwrap()
    }

    #[tokio::test]
    async fn the_first_lines_come_with_their_number_and_more() {
        let sample = SampleWorkspace::with(&[("f", "one\ntwo\r\nthree\n")]);
        let args = Args { path: "f".into(), lines: 2, start: 1 };
        let out = Head(sample.tools()).call(args, &Context::detached()).await.unwrap().value;
        assert_eq!((out.text.as_str(), out.lines, out.first_line, out.more), ("one\ntwo\r", 2, Some(1), true));
        let rest = lines_of(&sample, "f", 5, 3);
        assert_eq!((rest.text.as_str(), rest.lines, rest.more), ("three", 1, false));
    }

    #[test]
    fn an_empty_line_counts_and_there_is_none_past_the_end() {
        let sample = SampleWorkspace::with(&[("f", "\n\nx"), ("empty", "")]);
        let out = lines_of(&sample, "f", 9, 1);
        assert_eq!((out.text.as_str(), out.lines), ("\n\nx", 3));
        assert_eq!((lines_of(&sample, "f", 9, 4).lines, lines_of(&sample, "empty", 9, 1).lines), (0, 0));
    }

    #[test]
    fn an_overlong_line_is_cut_and_invalid_utf8_is_marked() {
        let sample = SampleWorkspace::with(&[]);
        sample.write("f", &[vec![b'x'; 3_000_000], b"\nb\xff\n".to_vec()].concat());
        let out = lines_of(&sample, "f", 1, 1);
        assert_eq!((out.text.len(), out.cut.as_slice(), out.more), (MAX_LINE_BYTES, &[1][..], true));
        let second = lines_of(&sample, "f", 1, 2);
        assert_eq!((second.text.as_str(), second.lossy, second.cut.len()), ("b\u{fffd}", true, 0));
    }

    #[test]
    fn the_text_keeps_to_the_limit() {
        let sample = SampleWorkspace::with(&[("f", &"0123456789\n".repeat(1000))]);
        let out = lines_of(&sample, "f", 1000, 1);
        assert!(out.more && out.text.len() < 1020, "{}", out.text.len());
    }

    #[test]
    fn a_cancelled_call_stops() {
        let sample = SampleWorkspace::with(&[("f", "x\n")]);
        let context = Context::detached();
        context.cancel.cancel();
        let file = sample.tools().workspace.find("f").unwrap().open_file().unwrap();
        let args = Args { path: "f".into(), lines: 1, start: 1 };
        assert_eq!(head(&file, &args, 1000, &context).unwrap_err().kind, Kind::Cancelled);
    }
}
