//! `files_append`: adds content at the end of a file.

use mainstay_core::{Context, Effect, Error, Kind, Result, Spec, Tool};
use mainstay_sandbox::{Content, Expect, etag_of};

use super::file_tools::{ChangeArgs, FileTools, spec};
use crate::planning::{
    ChangeKind, DiffInReply, FileReply, LinkHandling, MAX_WHOLE_FILE, NewState, Plan, not_found, too_large,
};
use crate::text::encoding::{self, Encoding};

/// How often to plan again when another caller has changed the file meanwhile. Each time one of the callers succeeds, so
/// this many can append to one file at the same time.
const ATTEMPTS: usize = 100;

/// The content is written to a new file that replaces the old one: a crash leaves the old file or the new one.
pub(crate) struct Append(pub(crate) FileTools);

/// Adds content at the end of a file.
#[derive(Clone, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Change {
    /// File, relative to the workspace.
    path: String,
    /// Text to append exactly as given: no newline is added.
    content: Option<String>,
    /// Bytes to append, as base64.
    content_base64: Option<String>,
    /// Create the file if it does not exist.
    #[serde(default = "crate::defaults::yes")]
    create: bool,
    /// Append only if the file has this etag.
    etag: Option<String>,
}

impl Change {
    pub(super) fn plan(self, plan: &mut Plan) -> Result<()> {
        let more = encoding::content_bytes(self.content, self.content_base64, Encoding::Utf8)?;
        let at = plan.item("path", &self.path, LinkHandling::Follow)?;
        let there = plan.is_file("path", at)?;
        plan.check_etag(at, self.etag.as_deref())?;
        if !there {
            return if self.create {
                plan.set_state(at, NewState::File(Content::Bytes(more)))
            } else {
                Err(not_found(&plan.items[at].path))
            };
        }
        // An earlier change of the same call holds the content in memory: append there.
        if !matches!(plan.items[at].state, NewState::Untouched) {
            let before = plan.content(at)?;
            let etag = etag_of(&before);
            return plan.set_content(at, [before, more].concat(), etag);
        }
        let item = &mut plan.items[at];
        let to = item.target.current()?.ok_or_else(|| not_found(&item.path))?;
        if to.metadata().size > MAX_WHOLE_FILE {
            return Err(too_large(&item.path, to.metadata().size));
        }
        item.expect = Expect::Etag(to.etag_while(&|| !plan.cancel.is_cancelled())?);
        plan.set_state(at, NewState::File(Content::Append { to, more }))
    }
}

#[derive(serde::Serialize, schemars::JsonSchema)]
pub(crate) struct Output {
    #[serde(flatten)]
    file: FileReply,
    /// The file was created.
    created: bool,
}

impl Tool for Append {
    const SPEC: Spec = Spec {
        title: "Append to file",
        description: "Appends content to a file, atomically, and creates the file if it does not exist. Concurrent \
                      appends to one file are not lost. For files up to 64 MiB.",
        ..spec("append", Effect::Writes)
    };
    type Args = ChangeArgs<Change>;
    type Output = Output;

    async fn call(&self, args: ChangeArgs<Change>, context: &Context) -> Result<Output> {
        let mut attempts = 1;
        let report = loop {
            let change = args.change.clone();
            match self.0.change(context, args.dry_run, DiffInReply::Never, |plan| change.plan(plan)).await {
                Ok(((), report)) => break report,
                // Without an etag the caller wants the content at the end, wherever the end is by now.
                Err(error) if retries(&error, &args.change) && attempts < ATTEMPTS => attempts += 1,
                Err(error) => return Err(error),
            }
        };
        let (file, what) = report.into_file_reply(context)?;
        Ok(Output { file, created: what == ChangeKind::Created })
    }
}

fn retries(error: &Error, change: &Change) -> bool {
    error.kind == Kind::Conflict && change.etag.is_none()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::files::testing::calls::{call, dry_run_then_call};
    use crate::files::testing::workspace::SampleWorkspace;

    async fn appended(sample: &SampleWorkspace, args: Value) -> Result<Value> {
        call(Append(sample.tools()), args).await
    }

    fn content(sample: &SampleWorkspace) -> Vec<u8> {
        std::fs::read(sample.path().join("x")).unwrap()
    }

    #[tokio::test]
    async fn content_is_appended_exactly_as_given() {
        let sample = SampleWorkspace::with(&[("x", "a")]);
        let args = json!({"path": "x", "content_base64": "AP8="});
        let (preview, result) = dry_run_then_call(&sample, || Append(sample.tools()), args).await;
        assert_eq!(content(&sample), b"a\x00\xff");
        assert_eq!((&preview["size"], &result["size"], &result["created"]), (&json!(3), &json!(3), &json!(false)));
        assert_eq!(result["etag"], etag_of(b"a\x00\xff"));
    }

    #[tokio::test]
    async fn a_missing_file_is_created_unless_create_is_false() {
        let sample = SampleWorkspace::with(&[]);
        let error = appended(&sample, json!({"path": "x", "content": "a", "create": false})).await.unwrap_err();
        assert_eq!(error.kind, Kind::NotFound);
        let (preview, result) =
            dry_run_then_call(&sample, || Append(sample.tools()), json!({"path": "x", "content": "a"})).await;
        assert_eq!((&preview["created"], &result["created"]), (&json!(true), &json!(true)));
    }

    #[tokio::test]
    async fn the_etag_is_compared_with_the_file() {
        let sample = SampleWorkspace::with(&[("x", "a")]);
        let error = appended(&sample, json!({"path": "x", "content": "b", "etag": "0"})).await.unwrap_err();
        assert_eq!(error.kind, Kind::Conflict);
        appended(&sample, json!({"path": "x", "content": "b", "etag": etag_of(b"a")})).await.unwrap();
        assert_eq!(content(&sample), b"ab");
    }

    #[tokio::test]
    async fn a_file_that_is_too_large_is_rejected() {
        let sample = SampleWorkspace::with(&[("x", "")]);
        std::fs::File::create(sample.path().join("x")).unwrap().set_len(MAX_WHOLE_FILE + 1).unwrap();
        let error = appended(&sample, json!({"path": "x", "content": "b"})).await.unwrap_err();
        assert_eq!(error.kind, Kind::TooLarge);
    }

    #[test]
    fn nothing_is_lost_when_many_append_at_once() {
        let sample = SampleWorkspace::with(&[("x", "")]);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).build().unwrap();
        let tasks: Vec<_> = (0..8)
            .map(|writer| {
                let tools = sample.tools();
                runtime.spawn(async move {
                    for number in 0..25 {
                        let args = json!({"path": "x", "content": format!("{writer}.{number}\n")});
                        call(Append(tools.clone()), args).await.unwrap();
                    }
                })
            })
            .collect();
        for task in tasks {
            runtime.block_on(task).unwrap();
        }
        let content = String::from_utf8(content(&sample)).unwrap();
        let lines: std::collections::HashSet<&str> = content.lines().collect();
        assert_eq!((content.lines().count(), lines.len()), (200, 200));
    }
}
