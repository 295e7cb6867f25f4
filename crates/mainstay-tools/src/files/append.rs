//! `files_append`: more at the end of a file.

use mainstay_core::{Context, Effect, Error, Kind, Pace, Result, Spec, Tool};
use mainstay_sandbox::{Expect, etag_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Desk;
use super::asked::Asked;
use super::content::{self, Encoding};
use super::outcome::{Shown, What};
use super::plan::{Meant, Now, Plan, WHOLE, missing, too_large};

/// Others may append to the same file at the same time; each time one of them is done.
const ATTEMPTS: usize = 100;

pub(crate) struct Append(pub(crate) Desk);

/// Adds content at the end of a file.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Change {
    /// The file.
    path: String,
    /// What is added, as text and exactly as it is: no newline is added before or after it.
    #[serde(default)]
    content: Option<String>,
    /// What is added, as base64.
    #[serde(default)]
    content_base64: Option<String>,
    /// Make the file if it is not there.
    #[serde(default = "crate::yes")]
    create: bool,
    /// Append only if this is the file's etag.
    #[serde(default)]
    etag: Option<String>,
}

impl Change {
    pub(super) fn plan(self, plan: &mut Plan) -> Result<()> {
        let more = content::bytes(self.content, self.content_base64, Encoding::Utf8)?;
        let at = plan.item("path", &self.path, Meant::Target)?;
        let there = plan.is_file("path", at)?;
        plan.check_etag(at, self.etag.as_deref())?;
        if !there {
            return if self.create { plan.put(at, Now::Bytes(more)) } else { Err(missing(&plan.items[at].path)) };
        }
        if !matches!(plan.items[at].now, Now::Untouched) {
            let before = plan.content(at)?;
            let seen = etag_of(&before);
            return plan.revise(at, [before, more].concat(), seen);
        }
        let item = &mut plan.items[at];
        let to = item.place.current()?.ok_or_else(|| missing(&item.path))?;
        if to.metadata().size > WHOLE {
            return Err(too_large(&item.path, to.metadata().size));
        }
        item.expect = Expect::Etag(to.etag()?);
        plan.put(at, Now::Append { to, more })
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Output {
    path: String,
    /// Of the whole file, in bytes.
    size: u64,
    /// Tells this content apart; give it with the next change of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    etag: Option<String>,
    /// When the file was changed; ISO-8601.
    #[serde(skip_serializing_if = "Option::is_none")]
    mtime: Option<String>,
    /// The file is new.
    created: bool,
    /// Nothing was changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
    /// What would be changed, if this is a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

impl Tool for Append {
    const SPEC: Spec = Spec {
        title: "Append to file",
        description: "Adds content at the end of a file, atomically, and creates the file if it is not there. Several \
                      callers may append to one file at the same time and nothing is lost. For files of up to 64 MiB.",
        pace: Pace::Instant,
        dry_run: true,
        tags: &["fs"],
        ..Spec::new("files", "append", Effect::Writes)
    };
    type Args = Asked<Change>;
    type Output = Output;

    async fn call(&self, args: Asked<Change>, context: &Context) -> Result<Output> {
        let mut attempts = 1;
        let mut report = loop {
            let change = args.change.clone();
            match self.0.change(context, args.dry_run, Shown::Not, |plan| change.plan(plan)).await {
                Ok(((), report)) => break report,
                // Who named an etag wants to know; everybody else wants it at the end, wherever that is by now.
                Err(error) if retries(&error, &args.change) && attempts < ATTEMPTS => attempts += 1,
                Err(error) => return Err(error),
            }
        };
        let changed = report.take_one()?;
        Ok(Output {
            path: changed.path,
            size: changed.size.unwrap_or(0),
            etag: changed.etag,
            mtime: changed.mtime,
            created: changed.what == What::Created,
            dry_run: report.dry_run,
            diff: report.diff,
        })
    }
}

fn retries(error: &Error, change: &Change) -> bool {
    error.kind == Kind::Conflict && change.etag.is_none()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::files::sample::Sample;
    use crate::files::trial::{call, rehearsed};

    async fn appended(sample: &Sample, args: Value) -> Result<Value> {
        call(Append(sample.desk()), args).await
    }

    fn content(sample: &Sample) -> Vec<u8> {
        std::fs::read(sample.path().join("x")).unwrap()
    }

    #[tokio::test]
    async fn content_is_added_exactly_as_it_is() {
        let sample = Sample::with(&[("x", "a")]);
        let args = json!({"path": "x", "content_base64": "AP8="});
        let (told, done) = rehearsed(&sample, || Append(sample.desk()), args).await;
        assert_eq!(content(&sample), b"a\x00\xff");
        assert_eq!((&told["size"], &done["size"], &done["created"]), (&json!(3), &json!(3), &json!(false)));
        assert_eq!(done["etag"], etag_of(b"a\x00\xff"));
    }

    #[tokio::test]
    async fn a_file_is_made_unless_it_was_to_be_there() {
        let sample = Sample::with(&[]);
        let error = appended(&sample, json!({"path": "x", "content": "a", "create": false})).await.unwrap_err();
        assert_eq!(error.kind, Kind::NotFound);
        let (told, done) = rehearsed(&sample, || Append(sample.desk()), json!({"path": "x", "content": "a"})).await;
        assert_eq!((&told["created"], &done["created"]), (&json!(true), &json!(true)));
    }

    #[tokio::test]
    async fn the_etag_is_held_against_the_file() {
        let sample = Sample::with(&[("x", "a")]);
        let error = appended(&sample, json!({"path": "x", "content": "b", "etag": "0"})).await.unwrap_err();
        assert_eq!(error.kind, Kind::Conflict);
        appended(&sample, json!({"path": "x", "content": "b", "etag": etag_of(b"a")})).await.unwrap();
        assert_eq!(content(&sample), b"ab");
    }

    #[tokio::test]
    async fn a_file_that_is_too_large_is_refused() {
        let sample = Sample::with(&[("x", "")]);
        std::fs::File::create(sample.path().join("x")).unwrap().set_len(WHOLE + 1).unwrap();
        let error = appended(&sample, json!({"path": "x", "content": "b"})).await.unwrap_err();
        assert_eq!(error.kind, Kind::TooLarge);
    }

    #[test]
    fn nothing_is_lost_when_many_append_at_once() {
        let sample = Sample::with(&[("x", "")]);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).build().unwrap();
        let tasks: Vec<_> = (0..8)
            .map(|writer| {
                let desk = sample.desk();
                runtime.spawn(async move {
                    for number in 0..25 {
                        let args = json!({"path": "x", "content": format!("{writer}.{number}\n")});
                        call(Append(desk.clone()), args).await.unwrap();
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
