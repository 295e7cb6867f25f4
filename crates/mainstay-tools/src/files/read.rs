//! `files_read`: returns the content of one file, or of a part of it.

use mainstay_core::{CancellationToken, Context, Effect, Error, Kind, Reason, Result, Spec, Tool, WithText};
use mainstay_sandbox::{OpenFile, etag_of};

use super::file_tools::{FileTools, spec};
use crate::text::encoding::{self, Encoding};
use crate::text::modified;

/// The etag is always that of the whole file, also if only a part is returned.
pub(crate) struct Read(pub(crate) FileTools);

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct Args {
    /// File, relative to the workspace.
    pub(crate) path: String,
    /// Return the content as text, or as base64 for any bytes.
    #[serde(default)]
    pub(crate) encoding: Encoding,
    /// Fail rather than return more bytes than this.
    #[schemars(range(min = 1))]
    pub(crate) max_bytes: Option<u64>,
    /// Etag of an earlier reply. If the file is unchanged, no content is returned.
    pub(crate) etag: Option<String>,
    /// First byte to read. Text never ends inside a character: continue at offset plus the bytes returned.
    #[schemars(range(min = 0))]
    pub(crate) offset: Option<u64>,
    /// Maximum bytes to read.
    #[schemars(range(min = 1))]
    pub(crate) length: Option<u64>,
}

#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
pub(crate) struct Output {
    /// Path of the file.
    pub(crate) path: String,
    /// The text; null for base64 and for an unchanged file.
    pub(crate) content: Option<String>,
    /// The bytes as base64; null for utf-8 and for an unchanged file.
    pub(crate) content_base64: Option<String>,
    /// `utf-8` or `base64`.
    pub(crate) encoding: Encoding,
    /// Size of the whole file in bytes.
    pub(crate) size: u64,
    /// Etag of the whole file. Pass it to a tool that changes the file, to detect changes by others.
    pub(crate) etag: String,
    /// Modification time, ISO 8601.
    pub(crate) mtime: String,
}

impl Tool for Read {
    const SPEC: Spec = Spec {
        title: "Read file",
        description: "Reads a file of the workspace, as text or base64. Use offset and length for parts of a large file, \
                      files_head or files_tail for lines. With the etag of an earlier read, an unchanged file is not \
                      sent again.",
        ..spec("read", Effect::Reads)
    };
    type Args = Args;
    type Output = WithText<Output>;

    async fn call(&self, args: Args, context: &Context) -> Result<WithText<Output>> {
        if let Some(output) = read_cached(&self.0, &args) {
            return output.map(Output::with_text);
        }
        let (tools, cancel) = (self.0.clone(), context.cancel.clone());
        crate::progress::blocking(move || read(&tools, &args, &cancel).map(Output::with_text)).await
    }
}

impl Output {
    /// The reply for clients that read only text: the plain content.
    fn with_text(self) -> WithText<Self> {
        let content = self.content.as_ref().or(self.content_base64.as_ref());
        let text = content.cloned().unwrap_or_else(|| format!("{} has not changed.", self.path));
        WithText { value: self, text }
    }

    /// Adds the content, in the encoding that the caller chose.
    fn with_content(mut self, bytes: Vec<u8>, decode: impl FnOnce(Vec<u8>) -> Result<String>) -> Result<Self> {
        match self.encoding {
            Encoding::Utf8 => self.content = Some(decode(bytes)?),
            Encoding::Base64 => self.content_base64 = Some(encoding::encode_base64(&bytes)),
        }
        Ok(self)
    }
}

/// Reads a file as `files_read` does; blocks on the disk.
pub(crate) fn read(tools: &FileTools, args: &Args, cancel: &CancellationToken) -> Result<Output> {
    let file = tools.workspace.find(&args.path)?.open_file()?;
    let limit = args.max_bytes.unwrap_or(u64::MAX).min(tools.read_bytes);
    let is_whole = args.offset.is_none() && args.length.is_none();
    if is_whole && let Some(bytes) = file.read_whole(limit)? {
        return whole_output(&file, args, bytes);
    }
    let size = file.metadata().size;
    let (offset, length) = (args.offset.unwrap_or(0), args.length.unwrap_or(u64::MAX));
    let selected = size.saturating_sub(offset).min(length);
    let is_too_large = is_whole || selected > limit;
    if is_too_large && args.etag.is_none() {
        return Err(too_large(&file, selected, limit));
    }
    // Too large to return, but if the file is unchanged nothing has to be returned.
    let output = metadata_only(&file, args, size, file.etag_while(&|| !cancel.is_cancelled())?);
    if args.etag.as_ref() == Some(&output.etag) {
        return Ok(output);
    }
    if is_too_large {
        return Err(too_large(&file, selected, limit));
    }
    // Bytes that were appended since the file was opened are left for the next call.
    let bytes = file.read_range(offset, selected)?;
    let at_end = offset.saturating_add(bytes.len() as u64) >= size;
    output.with_content(bytes, |bytes| encoding::decode_range(bytes, offset, at_end, file.display()))
}

/// Reads a small file that is in the page cache on the calling thread: handing it to a blocking thread would take longer
/// than the read. `None` if the file is large, not cached, or cannot be opened; then [`read`] finds out.
fn read_cached(tools: &FileTools, args: &Args) -> Option<Result<Output>> {
    const MAX_CACHED_READ: u64 = 128 * 1024;
    if args.offset.is_some() || args.length.is_some() {
        return None;
    }
    let file = tools.workspace.find(&args.path).ok()?.open_cached()?;
    let limit = args.max_bytes.unwrap_or(u64::MAX).min(tools.read_bytes).min(MAX_CACHED_READ);
    let bytes = file.read_cached(limit)?;
    Some(whole_output(&file, args, bytes))
}

fn whole_output(file: &OpenFile, args: &Args, bytes: Vec<u8>) -> Result<Output> {
    let output = metadata_only(file, args, bytes.len() as u64, etag_of(&bytes));
    if args.etag.as_ref() == Some(&output.etag) {
        return Ok(output);
    }
    output.with_content(bytes, |bytes| encoding::decode_file(bytes, file.display()))
}

fn metadata_only(file: &OpenFile, args: &Args, size: u64, etag: String) -> Output {
    Output {
        path: file.display().to_owned(),
        content: None,
        content_base64: None,
        encoding: args.encoding,
        size,
        etag,
        mtime: modified(file.metadata()),
    }
}

fn too_large(file: &OpenFile, selected: u64, limit: u64) -> Error {
    let (shown, size) = (file.display(), file.metadata().size);
    let message = format!(
        "{shown}: {selected} bytes are more than the {limit} that one call returns; use offset and length to read parts."
    );
    Error::new(Kind::TooLarge, message).with_reason(Reason::ReadTooLarge { size, max_bytes: limit })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::testing::workspace::{SampleWorkspace, field};

    fn read_file(tools: &FileTools, args: &Args) -> Result<Output> {
        read(tools, args, &CancellationToken::new())
    }

    fn args(path: &str) -> Args {
        Args { path: path.into(), encoding: Encoding::Utf8, max_bytes: None, etag: None, offset: None, length: None }
    }

    fn part(path: &str, offset: u64, length: u64) -> Args {
        Args { offset: Some(offset), length: Some(length), ..args(path) }
    }

    #[tokio::test]
    async fn a_file_is_returned_with_its_metadata() {
        let sample = SampleWorkspace::with(&[("src/main.rs", "fn main() {}\n")]);
        let reply = Read(sample.tools()).call(args("src/main.rs"), &Context::detached()).await.unwrap();
        assert_eq!(reply.text, "fn main() {}\n");
        let out = reply.value;
        assert_eq!(out.content.as_deref(), Some("fn main() {}\n"));
        assert_eq!((out.path.as_str(), out.size, out.content_base64), ("src/main.rs", 13, None));
        assert_eq!(out.etag, etag_of(b"fn main() {}\n"));
        assert!(out.mtime.parse::<jiff::Timestamp>().is_ok(), "{}", out.mtime);
    }

    #[test]
    fn an_unchanged_file_is_returned_without_content() {
        let sample = SampleWorkspace::with(&[("a", "text")]);
        let etag = read_file(&sample.tools(), &args("a")).unwrap().etag;
        let known = |etag: &str| Args { etag: Some(etag.into()), ..args("a") };
        let again = read_file(&sample.tools(), &known(&etag)).unwrap();
        assert_eq!((again.content, again.etag), (None, etag.clone()));
        let small = Args { max_bytes: Some(1), ..known(&etag) };
        assert!(read_file(&sample.tools(), &small).unwrap().content.is_none(), "nothing has to be returned");
        sample.write("a", b"other");
        assert_eq!(read_file(&sample.tools(), &known(&etag)).unwrap().content.as_deref(), Some("other"));
    }

    #[test]
    fn any_bytes_are_returned_as_base64_and_only_text_as_text() {
        let sample = SampleWorkspace::with(&[]);
        sample.write("b", &[0, 0xff, 0xfe]);
        let base64 = Args { encoding: Encoding::Base64, ..args("b") };
        let out = read_file(&sample.tools(), &base64).unwrap();
        assert_eq!((out.content, out.content_base64.as_deref()), (None, Some("AP/+")));
        let error = read_file(&sample.tools(), &args("b")).unwrap_err();
        assert_eq!(field(&error), "encoding");
        assert!(error.public.contains("base64"));
    }

    #[test]
    fn too_large_a_read_is_rejected_with_a_hint() {
        let sample = SampleWorkspace::with(&[("a", "0123456789")]);
        let tools = sample.tools_reading(8);
        let expect_error = |args: &Args| {
            let error = read_file(&tools, args).unwrap_err();
            assert_eq!(error.kind, Kind::TooLarge);
            assert!(error.public.contains("offset"), "{error}");
            error.reason.unwrap()
        };
        assert_eq!(*expect_error(&args("a")), Reason::ReadTooLarge { size: 10, max_bytes: 8 });
        assert_eq!(
            *expect_error(&Args { max_bytes: Some(3), ..args("a") }),
            Reason::ReadTooLarge { size: 10, max_bytes: 3 }
        );
        expect_error(&Args { offset: Some(1), ..args("a") });
        assert_eq!(read_file(&tools, &Args { offset: Some(2), ..args("a") }).unwrap().content.unwrap(), "23456789");
    }

    #[test]
    fn parts_of_a_text_join_to_the_whole() {
        let text = "añ€😀".repeat(5);
        let sample = SampleWorkspace::with(&[("t", &text)]);
        let (mut joined, mut offset) = (String::new(), 0);
        while offset < text.len() as u64 {
            let out = read_file(&sample.tools(), &part("t", offset, 7)).unwrap();
            assert_eq!((out.size, &out.etag), (text.len() as u64, &etag_of(text.as_bytes())));
            let content = out.content.unwrap();
            offset += content.len() as u64;
            joined += &content;
        }
        assert_eq!(joined, text);
        assert_eq!(field(&read_file(&sample.tools(), &part("t", 2, 7)).unwrap_err()), "offset");
    }

    #[test]
    fn a_range_past_the_end_is_empty() {
        let sample = SampleWorkspace::with(&[("a", "abc")]);
        let out = read_file(&sample.tools(), &part("a", 10, 5)).unwrap();
        assert_eq!((out.content.as_deref(), out.size), (Some(""), 3));
    }

    #[test]
    fn missing_protected_and_special_files_are_rejected() {
        let sample = SampleWorkspace::with(&[("d/f", ""), (".env", "SECRET=1")]);
        sample.pipe("pipe");
        sample.link("/etc/passwd", "out");
        let kind = |path: &str| read_file(&sample.tools(), &args(path)).unwrap_err().kind;
        assert_eq!(kind("missing"), Kind::NotFound);
        assert_eq!(kind(".env"), Kind::Denied);
        assert_eq!(
            (kind("d"), kind("pipe"), kind("out"), kind("../x")),
            (Kind::Invalid, Kind::Invalid, Kind::Invalid, Kind::Invalid)
        );
    }

    #[test]
    fn a_cancelled_read_stops_computing_the_etag() {
        let sample = SampleWorkspace::with(&[("big", &"x".repeat(1 << 20))]);
        let cancel = CancellationToken::new();
        cancel.cancel();
        let error = read(&sample.tools(), &part("big", 0, 5), &cancel).unwrap_err();
        assert_eq!(error.kind, Kind::Cancelled);
    }
}
