//! `files_read_many`: several files in one call.

use mainstay_core::{Context, Effect, Error, Kind, Pace, Result, Spec, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text::Encoding;
use super::{Desk, blocking, read};

pub(crate) struct ReadMany(pub(crate) Desk);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// The files, relative to the workspace.
    #[schemars(length(min = 1, max = 100))]
    paths: Vec<String>,
    /// How the contents come back: as text, or as base64, which takes any bytes.
    #[serde(default)]
    encoding: Encoding,
    /// The most bytes of content in all. A file that does not fit in what is left is not returned.
    #[schemars(range(min = 1))]
    max_bytes: Option<u64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// One item for each path, in the order they were given.
    files: Vec<Item>,
}

/// Either a file or the reason why there is none.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Item {
    Read(read::Output),
    Failed {
        /// The path as it was given.
        path: String,
        /// Why it could not be read.
        error: Failure,
    },
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Failure {
    /// One word: `not_found`, `denied`, `invalid`, `too_large` …
    kind: &'static str,
    /// What happened, and what to do about it.
    message: String,
}

impl Tool for ReadMany {
    const SPEC: Spec = Spec {
        title: "Read Several Files",
        description: "Reads up to 100 files of the workspace in one call. Each comes back with its content or with the \
                      reason why not; one that cannot be read does not hold up the others.",
        pace: Pace::Instant,
        tags: &["fs"],
        ..Spec::new("files", "read_many", Effect::Reads)
    };
    type Args = Args;
    type Output = Output;

    async fn call(&self, args: Args, context: &Context) -> Result<Output> {
        let (desk, context) = (self.0.clone(), context.clone());
        blocking(move || read_many(&desk, args, &context)).await
    }
}

fn read_many(desk: &Desk, args: Args, context: &Context) -> Result<Output> {
    let mut left = args.max_bytes.unwrap_or(u64::MAX).min(desk.read_bytes);
    let mut files = Vec::with_capacity(args.paths.len());
    for path in args.paths {
        context.check()?;
        files.push(match read_one(desk, &path, args.encoding, left, context) {
            Ok(output) => {
                left = left.saturating_sub(output.size);
                Item::Read(output)
            }
            Err(error) => {
                Item::Failed { path, error: Failure { kind: error.kind.as_str(), message: error.public.into_owned() } }
            }
        });
    }
    Ok(Output { files })
}

fn read_one(desk: &Desk, path: &str, encoding: Encoding, left: u64, context: &Context) -> Result<read::Output> {
    let args =
        read::Args { path: path.to_owned(), encoding, max_bytes: Some(left), etag: None, offset: None, length: None };
    read::read(desk, &args, &context.cancel).map_err(|error| {
        if error.kind != Kind::TooLarge {
            return error;
        }
        let message = format!("{path} is larger than the {left} bytes left for this call; read it by itself.");
        Error::new(Kind::TooLarge, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::sample::Sample;

    async fn read_all(desk: Desk, paths: &[&str], max_bytes: Option<u64>) -> Vec<String> {
        let paths = paths.iter().map(|path| (*path).to_owned()).collect();
        let args = Args { paths, encoding: Encoding::Utf8, max_bytes };
        let out = ReadMany(desk).call(args, &Context::detached()).await.unwrap();
        let told = |item| match item {
            Item::Read(output) => output.content.unwrap(),
            Item::Failed { error, .. } => error.kind.to_owned(),
        };
        out.files.into_iter().map(told).collect()
    }

    #[tokio::test]
    async fn one_that_fails_does_not_hold_up_the_others() {
        let sample = Sample::with(&[("a", "A"), ("b", "B"), (".env", "SECRET")]);
        sample.write("binary", &[0xff]);
        sample.pipe("pipe");
        let told = read_all(sample.desk(), &["a", "no", ".env", "binary", "pipe", "", "../x", "b"], None).await;
        assert_eq!(told, ["A", "not_found", "denied", "invalid", "invalid", "invalid", "invalid", "B"]);
    }

    #[tokio::test]
    async fn all_together_stay_within_the_budget() {
        let sample = Sample::with(&[("a", "1234"), ("b", "123456"), ("c", "12"), ("empty", "")]);
        assert_eq!(read_all(sample.desk(), &["a", "b", "c"], Some(7)).await, ["1234", "too_large", "12"]);
        assert_eq!(
            read_all(sample.desk_that_reads(4), &["a", "b", "empty"], Some(100)).await,
            ["1234", "too_large", ""]
        );
    }
}
