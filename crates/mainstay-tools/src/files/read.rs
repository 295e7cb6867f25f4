//! `files_read`: the content of one file, or of a part of it.

use mainstay_core::{CancellationToken, Context, Effect, Error, Kind, Pace, Reason, Result, Spec, Told, Tool};
use mainstay_sandbox::{OpenFile, etag_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text::{self, Encoding};
use super::{Desk, blocking, facts};

pub(crate) struct Read(pub(crate) Desk);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// The file, relative to the workspace.
    pub(crate) path: String,
    /// How the content comes back: as text, or as base64, which takes any bytes.
    #[serde(default)]
    pub(crate) encoding: Encoding,
    /// Refuse to return more bytes than this.
    #[schemars(range(min = 1))]
    pub(crate) max_bytes: Option<u64>,
    /// The etag of an earlier reply. If the file still has it, no content comes back.
    pub(crate) etag: Option<String>,
    /// Where to begin, in bytes. A text range that ends inside a character ends before it: go on at offset plus the
    /// bytes of content.
    #[schemars(range(min = 0))]
    pub(crate) offset: Option<u64>,
    /// How many bytes to read at most.
    #[schemars(range(min = 1))]
    pub(crate) length: Option<u64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The path of the file.
    pub(crate) path: String,
    /// The text; null if the encoding is base64 or the etag that was given is still true.
    pub(crate) content: Option<String>,
    /// The bytes as base64; null if the encoding is utf-8 or the etag that was given is still true.
    pub(crate) content_base64: Option<String>,
    /// `utf-8` or `base64`.
    pub(crate) encoding: Encoding,
    /// Bytes of the whole file.
    pub(crate) size: u64,
    /// The tag of the whole file's content. Give it to a tool that changes the file, to change only what was read.
    pub(crate) etag: String,
    /// When the file was last modified, in ISO-8601.
    pub(crate) mtime: String,
}

impl Tool for Read {
    const SPEC: Spec = Spec {
        title: "Read File",
        description: "Reads a file from the workspace, as text or as base64. Use offset and length for parts of a large \
                      file, and files_head or files_tail for lines of one. A given etag that is still true saves the \
                      content.",
        pace: Pace::Instant,
        tags: &["fs"],
        ..Spec::new("files", "read", Effect::Reads)
    };
    type Args = Args;
    type Output = Told<Output>;

    async fn call(&self, args: Args, context: &Context) -> Result<Told<Output>> {
        if let Some(output) = at_hand(&self.0, &args) {
            return output.map(Output::told);
        }
        let (desk, cancel) = (self.0.clone(), context.cancel.clone());
        blocking(move || read(&desk, &args, &cancel).map(Output::told)).await
    }
}

impl Output {
    /// The content as it is: whoever reads only text gets what the file says.
    fn told(self) -> Told<Self> {
        let content = self.content.as_ref().or(self.content_base64.as_ref());
        let text = content.cloned().unwrap_or_else(|| format!("{} has not changed.", self.path));
        Told { value: self, text }
    }
}

pub(crate) fn read(desk: &Desk, args: &Args, cancel: &CancellationToken) -> Result<Output> {
    let file = desk.workspace.find(&args.path)?.open_file()?;
    let limit = args.max_bytes.unwrap_or(u64::MAX).min(desk.read_bytes);
    if args.offset.is_none() && args.length.is_none() {
        return read_whole(&file, args, limit, cancel);
    }
    read_part(&file, args, limit, cancel)
}

fn read_whole(file: &OpenFile, args: &Args, limit: u64, cancel: &CancellationToken) -> Result<Output> {
    let Some(bytes) = file.read_whole(limit)? else {
        // Too large to return, but perhaps nothing has to be.
        return match &args.etag {
            Some(known) if *known == file.etag_while(&|| !cancel.is_cancelled())? => {
                Ok(bare(file, args, file.metadata().size, known.clone()))
            }
            Some(_) | None => Err(too_large(file, file.metadata().size, limit)),
        };
    };
    told_whole(file, args, bytes)
}

/// A small file that is in memory is read where the call is: handing it over would take longer.
fn at_hand(desk: &Desk, args: &Args) -> Option<Result<Output>> {
    const SMALL: u64 = 128 * 1024;
    if args.offset.is_some() || args.length.is_some() {
        return None;
    }
    let file = desk.workspace.find(&args.path).ok()?.open_cached()?;
    let limit = args.max_bytes.unwrap_or(u64::MAX).min(desk.read_bytes).min(SMALL);
    let bytes = file.read_cached(limit)?;
    Some(told_whole(&file, args, bytes))
}

fn told_whole(file: &OpenFile, args: &Args, bytes: Vec<u8>) -> Result<Output> {
    let (size, etag) = (bytes.len() as u64, etag_of(&bytes));
    if args.etag.as_ref() == Some(&etag) {
        return Ok(bare(file, args, size, etag));
    }
    let mut output = bare(file, args, size, etag);
    match args.encoding {
        Encoding::Utf8 => output.content = Some(text::whole(bytes, file.display())?),
        Encoding::Base64 => output.content_base64 = Some(text::base64(&bytes)),
    }
    Ok(output)
}

fn read_part(file: &OpenFile, args: &Args, limit: u64, cancel: &CancellationToken) -> Result<Output> {
    let size = file.metadata().size;
    let (offset, length) = (args.offset.unwrap_or(0), args.length.unwrap_or(u64::MAX));
    let selected = size.saturating_sub(offset).min(length);
    if selected > limit && args.etag.is_none() {
        return Err(too_large(file, selected, limit));
    }
    let etag = file.etag_while(&|| !cancel.is_cancelled())?;
    if args.etag.as_ref() == Some(&etag) {
        return Ok(bare(file, args, size, etag));
    }
    if selected > limit {
        return Err(too_large(file, selected, limit));
    }
    // What a file has gained since it was opened is left for the next call.
    let bytes = file.read_range(offset, selected)?;
    let ends = offset.saturating_add(bytes.len() as u64) >= size;
    let mut output = bare(file, args, size, etag);
    match args.encoding {
        Encoding::Utf8 => output.content = Some(text::part(bytes, offset, ends, file.display())?),
        Encoding::Base64 => output.content_base64 = Some(text::base64(&bytes)),
    }
    Ok(output)
}

/// Everything but the content.
fn bare(file: &OpenFile, args: &Args, size: u64, etag: String) -> Output {
    Output {
        path: file.display().to_owned(),
        content: None,
        content_base64: None,
        encoding: args.encoding,
        size,
        etag,
        mtime: facts::modified(file.metadata()),
    }
}

fn too_large(file: &OpenFile, selected: u64, limit: u64) -> Error {
    let (shown, size) = (file.display(), file.metadata().size);
    let sentence = format!(
        "{selected} bytes of {shown} were asked for, and this call returns {limit} at most; \
         read it in parts with offset and length."
    );
    Error::new(Kind::TooLarge, sentence).with_reason(Reason::ReadTooLarge { size, max_bytes: limit })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::sample::{Sample, field};

    fn look(desk: &Desk, args: &Args) -> Result<Output> {
        read(desk, args, &CancellationToken::new())
    }

    fn args(path: &str) -> Args {
        Args { path: path.into(), encoding: Encoding::Utf8, max_bytes: None, etag: None, offset: None, length: None }
    }

    fn part(path: &str, offset: u64, length: u64) -> Args {
        Args { offset: Some(offset), length: Some(length), ..args(path) }
    }

    #[tokio::test]
    async fn a_file_comes_back_with_what_is_known_of_it() {
        let sample = Sample::with(&[("src/main.rs", "fn main() {}\n")]);
        let told = Read(sample.desk()).call(args("src/main.rs"), &Context::detached()).await.unwrap();
        assert_eq!(told.text, "fn main() {}\n");
        let out = told.value;
        assert_eq!(out.content.as_deref(), Some("fn main() {}\n"));
        assert_eq!((out.path.as_str(), out.size, out.content_base64), ("src/main.rs", 13, None));
        assert_eq!(out.etag, etag_of(b"fn main() {}\n"));
        assert!(out.mtime.parse::<jiff::Timestamp>().is_ok(), "{}", out.mtime);
    }

    #[test]
    fn an_etag_that_is_still_true_saves_the_content() {
        let sample = Sample::with(&[("a", "text")]);
        let etag = look(&sample.desk(), &args("a")).unwrap().etag;
        let known = |etag: &str| Args { etag: Some(etag.into()), ..args("a") };
        let again = look(&sample.desk(), &known(&etag)).unwrap();
        assert_eq!((again.content, again.etag), (None, etag.clone()));
        let small = Args { max_bytes: Some(1), ..known(&etag) };
        assert!(look(&sample.desk(), &small).unwrap().content.is_none(), "nothing has to be returned");
        sample.write("a", b"other");
        assert_eq!(look(&sample.desk(), &known(&etag)).unwrap().content.as_deref(), Some("other"));
    }

    #[test]
    fn any_bytes_come_back_as_base64_and_text_alone_as_text() {
        let sample = Sample::with(&[]);
        sample.write("b", &[0, 0xff, 0xfe]);
        let base64 = Args { encoding: Encoding::Base64, ..args("b") };
        let out = look(&sample.desk(), &base64).unwrap();
        assert_eq!((out.content, out.content_base64.as_deref()), (None, Some("AP/+")));
        let error = look(&sample.desk(), &args("b")).unwrap_err();
        assert_eq!(field(&error), "encoding");
        assert!(error.public.contains("base64"));
    }

    #[test]
    fn more_than_allowed_is_refused_and_says_how_to_go_on() {
        let sample = Sample::with(&[("a", "0123456789")]);
        let desk = sample.desk_that_reads(8);
        let refused = |args: &Args| {
            let error = look(&desk, args).unwrap_err();
            assert_eq!(error.kind, Kind::TooLarge);
            assert!(error.public.contains("offset"), "{error}");
            error.reason.unwrap()
        };
        assert_eq!(*refused(&args("a")), Reason::ReadTooLarge { size: 10, max_bytes: 8 });
        assert_eq!(
            *refused(&Args { max_bytes: Some(3), ..args("a") }),
            Reason::ReadTooLarge { size: 10, max_bytes: 3 }
        );
        refused(&Args { offset: Some(1), ..args("a") });
        assert_eq!(look(&desk, &Args { offset: Some(2), ..args("a") }).unwrap().content.unwrap(), "23456789");
    }

    #[test]
    fn parts_of_a_text_join_to_the_whole() {
        let text = "añ€😀".repeat(5);
        let sample = Sample::with(&[("t", &text)]);
        let (mut joined, mut offset) = (String::new(), 0);
        while offset < text.len() as u64 {
            let out = look(&sample.desk(), &part("t", offset, 7)).unwrap();
            assert_eq!((out.size, &out.etag), (text.len() as u64, &etag_of(text.as_bytes())));
            let content = out.content.unwrap();
            offset += content.len() as u64;
            joined += &content;
        }
        assert_eq!(joined, text);
        assert_eq!(field(&look(&sample.desk(), &part("t", 2, 7)).unwrap_err()), "offset");
    }

    #[test]
    fn past_the_end_there_is_nothing() {
        let sample = Sample::with(&[("a", "abc")]);
        let out = look(&sample.desk(), &part("a", 10, 5)).unwrap();
        assert_eq!((out.content.as_deref(), out.size), (Some(""), 3));
    }

    #[test]
    fn what_is_no_readable_file_is_refused_for_its_reason() {
        let sample = Sample::with(&[("d/f", ""), (".env", "SECRET=1")]);
        sample.pipe("pipe");
        sample.link("/etc/passwd", "out");
        let kind = |path: &str| look(&sample.desk(), &args(path)).unwrap_err().kind;
        assert_eq!(kind("missing"), Kind::NotFound);
        assert_eq!(kind(".env"), Kind::Denied);
        assert_eq!(
            (kind("d"), kind("pipe"), kind("out"), kind("../x")),
            (Kind::Invalid, Kind::Invalid, Kind::Invalid, Kind::Invalid)
        );
    }

    #[test]
    fn nobody_waits_for_the_tag_of_a_file_that_nobody_wants_any_more() {
        let sample = Sample::with(&[("big", &"x".repeat(1 << 20))]);
        let cancel = CancellationToken::new();
        cancel.cancel();
        let error = read(&sample.desk(), &part("big", 0, 5), &cancel).unwrap_err();
        assert_eq!(error.kind, Kind::Cancelled);
    }
}
