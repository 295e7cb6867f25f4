//! `files_read_many`: returns the content of several files.

use mainstay_core::{Context, Effect, Kind, Result, Spec, Tool};

use super::file_tools::{FileTools, spec};
use super::read;
use crate::text::encoding::Encoding;

/// The limit is for all files together, in the order in which they are given.
pub(crate) struct ReadMany(pub(crate) FileTools);

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct Args {
    /// Files, relative to the workspace.
    #[schemars(length(min = 1, max = 100))]
    paths: Vec<String>,
    /// Return the contents as text, or as base64 for any bytes.
    #[serde(default)]
    encoding: Encoding,
    /// Maximum bytes of content in total. Files that exceed what is left are not returned.
    #[schemars(range(min = 1))]
    max_bytes: Option<u64>,
}

#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
pub(crate) struct Output {
    /// One item per path, in the given order.
    files: Vec<Item>,
}

/// A file, or the reason why it could not be read.
#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub(crate) enum Item {
    Read(read::Output),
    Failed {
        /// Path as given.
        path: String,
        /// Why it could not be read.
        error: Failure,
    },
}

#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
pub(crate) struct Failure {
    /// `not_found`, `denied`, `invalid`, `too_large` …
    kind: &'static str,
    /// What happened, and what to do about it.
    message: String,
}

impl Tool for ReadMany {
    const SPEC: Spec = Spec {
        title: "Read several files",
        description: "Reads up to 100 files of the workspace in one call. Returns the content of each file, or why it \
                      could not be read.",
        ..spec("read_many", Effect::Reads)
    };
    type Args = Args;
    type Output = Output;

    async fn call(&self, args: Args, context: &Context) -> Result<Output> {
        let (tools, context) = (self.0.clone(), context.clone());
        crate::progress::blocking(move || read_many(&tools, args, &context)).await
    }
}

fn read_many(tools: &FileTools, args: Args, context: &Context) -> Result<Output> {
    let mut left = args.max_bytes.unwrap_or(u64::MAX).min(tools.read_bytes);
    let mut files = Vec::with_capacity(args.paths.len());
    for path in args.paths {
        context.check()?;
        let encoding = args.encoding;
        let one = read::Args { path, encoding, max_bytes: Some(left), etag: None, offset: None, length: None };
        // An error of one file is part of the result and does not end the call.
        files.push(match read::read(tools, &one, &context.cancel) {
            Ok(output) => {
                left = left.saturating_sub(output.size);
                Item::Read(output)
            }
            Err(error) => {
                let (path, kind) = (one.path, error.kind.as_str());
                let message = if error.kind == Kind::TooLarge {
                    format!("{path} is larger than the {left} bytes left for this call; read it with files_read.")
                } else {
                    error.public.into_owned()
                };
                Item::Failed { path, error: Failure { kind, message } }
            }
        });
    }
    Ok(Output { files })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::testing::workspace::SampleWorkspace;

    async fn read_all(tools: FileTools, paths: &[&str], max_bytes: Option<u64>) -> Vec<String> {
        let paths = paths.iter().map(|path| (*path).to_owned()).collect();
        let args = Args { paths, encoding: Encoding::Utf8, max_bytes };
        let out = ReadMany(tools).call(args, &Context::detached()).await.unwrap();
        let summary = |item| match item {
            Item::Read(output) => output.content.unwrap(),
            Item::Failed { error, .. } => error.kind.to_owned(),
        };
        out.files.into_iter().map(summary).collect()
    }

    #[tokio::test]
    async fn a_file_that_cannot_be_read_does_not_affect_the_others() {
        let sample = SampleWorkspace::with(&[("a", "A"), ("b", "B"), (".env", "SECRET")]);
        sample.write("binary", &[0xff]);
        sample.pipe("pipe");
        let results = read_all(sample.tools(), &["a", "no", ".env", "binary", "pipe", "", "../x", "b"], None).await;
        assert_eq!(results, ["A", "not_found", "denied", "invalid", "invalid", "invalid", "invalid", "B"]);
    }

    #[tokio::test]
    async fn all_files_together_stay_within_the_limit() {
        let sample = SampleWorkspace::with(&[("a", "1234"), ("b", "123456"), ("c", "12"), ("empty", "")]);
        assert_eq!(read_all(sample.tools(), &["a", "b", "c"], Some(7)).await, ["1234", "too_large", "12"]);
        assert_eq!(read_all(sample.tools_reading(4), &["a", "b", "empty"], Some(100)).await, ["1234", "too_large", ""]);
    }
}
