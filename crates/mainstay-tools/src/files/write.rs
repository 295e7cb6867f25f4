//! `files_write`: a file is to hold this.

use mainstay_core::{Context, Effect, Error, Kind, Pace, Reason, Result, Spec, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Desk;
use super::asked::Asked;
use super::content::{self, Encoding};
use super::outcome::{Shown, What};
use super::plan::{Meant, Now, Plan, missing};

pub(crate) struct Write(pub(crate) Desk);

/// Makes a file or replaces its content.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Change {
    /// The file, relative to the workspace or absolute beneath one of its roots.
    path: String,
    /// The new content as text. Give either this or content_base64.
    #[serde(default)]
    content: Option<String>,
    /// The new content as base64, for what is no text.
    #[serde(default)]
    content_base64: Option<String>,
    /// How `content` is to be read.
    #[serde(default)]
    encoding: Encoding,
    /// Make the file if it is not there.
    #[serde(default = "crate::yes")]
    create: bool,
    /// Replace the file if it is there, whatever it holds.
    #[serde(default)]
    overwrite: bool,
    /// Replace the file only if this is its etag.
    #[serde(default)]
    etag: Option<String>,
    /// POSIX permission bits, 0 to 511 (octal 777); an existing file keeps its own if this is left out.
    #[serde(default)]
    mode: Option<u32>,
    /// Make missing directories.
    #[serde(default = "crate::yes")]
    mkdirs: bool,
}

impl Change {
    pub(super) fn plan(self, plan: &mut Plan) -> Result<()> {
        let bytes = content::bytes(self.content, self.content_base64, self.encoding)?;
        if let Some(mode) = self.mode.filter(|mode| *mode > 0o777) {
            return Err(Error::field(
                "mode",
                format!("The mode {mode} (octal {mode:o}) is not between 0 and octal 777."),
            ));
        }
        if self.path.ends_with('/') {
            return Err(Error::field(
                "path",
                format!("{} names a directory; a file has no slash at its end.", self.path),
            ));
        }
        let at = plan.item("path", &self.path, Meant::Target)?;
        let there = plan.is_file("path", at)?;
        plan.check_etag(at, self.etag.as_deref())?;
        if there && !self.overwrite && self.etag.is_none() {
            return Err(exists("overwrite", &plan.items[at].path));
        }
        if !there && !self.create {
            return Err(missing(&plan.items[at].path));
        }
        if !self.mkdirs {
            plan.has_directory(at)?;
        }
        plan.put(at, Now::Bytes(bytes))?;
        plan.items[at].mode = self.mode.or(plan.items[at].mode);
        Ok(())
    }
}

impl Plan {
    /// Whether an item could be made without making its directory first.
    fn has_directory(&self, at: usize) -> Result<()> {
        let made = |path: &str| self.items.iter().any(|item| matches!(item.now, Now::Directory) && item.path == path);
        match self.items[at].place.missing_directories().into_iter().find(|path| !made(path)) {
            Some(directory) => Err(Error::not_found(format!(
                "There is no directory {directory}; set mkdirs to have it made, or make it with files_mkdir."
            ))
            .with_reason(Reason::path(directory))),
            None => Ok(()),
        }
    }
}

/// Something is there that was not to be replaced.
pub(super) fn exists(way_out: &str, path: &str) -> Error {
    Error::new(Kind::Conflict, format!("{path} exists already; set {way_out}, or give its etag, to replace it."))
        .with_reason(Reason::path(path))
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Output {
    path: String,
    /// In bytes.
    size: u64,
    /// Tells this content apart; give it with the next change of the file.
    etag: String,
    /// When the file was changed; ISO-8601.
    mtime: String,
    /// The file is new.
    created: bool,
    /// The file was there and its content was replaced.
    overwritten: bool,
    /// Nothing was changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
    /// What would be changed, if this is a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

impl Tool for Write {
    const SPEC: Spec = Spec {
        title: "Write file",
        description: "Creates a file or replaces its whole content, atomically; missing directories are made. An \
                      existing file is replaced only with overwrite=true or with its current etag. To change a part of \
                      a file use files_edit.",
        pace: Pace::Instant,
        idempotent: true,
        dry_run: true,
        tags: &["fs"],
        ..Spec::new("files", "write", Effect::Writes)
    };
    type Args = Asked<Change>;
    type Output = Output;

    async fn call(&self, args: Asked<Change>, context: &Context) -> Result<Output> {
        let done = self.0.change(context, args.dry_run, Shown::Not, |plan| args.change.plan(plan));
        let ((), mut report) = done.await?;
        let changed = report.take_one()?;
        Ok(Output {
            path: changed.path,
            size: changed.size.unwrap_or(0),
            etag: changed.etag.unwrap_or_default(),
            mtime: changed.mtime.unwrap_or_else(|| context.clock.now().to_string()),
            created: changed.what == What::Created,
            overwritten: changed.what == What::Overwritten,
            dry_run: report.dry_run,
            diff: report.diff,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use std::os::unix::fs::PermissionsExt as _;

    use mainstay_sandbox::etag_of;
    use serde_json::Value;

    use super::*;
    use crate::files::sample::{Sample, field};
    use crate::files::trial::{call, refused, rehearsed};

    async fn write(sample: &Sample, args: Value) -> Result<Value> {
        call(Write(sample.desk()), args).await
    }

    async fn kind(sample: &Sample, args: Value) -> Kind {
        refused(sample, Write, args).await.kind
    }

    fn content(sample: &Sample, path: &str) -> Vec<u8> {
        std::fs::read(sample.path().join(path)).unwrap()
    }

    #[tokio::test]
    async fn a_new_file_is_written_with_its_directories() {
        let sample = Sample::with(&[]);
        let done = write(&sample, json!({"path": "a/b/x", "content": "hi\n"})).await.unwrap();
        assert_eq!(content(&sample, "a/b/x"), b"hi\n");
        assert_eq!((&done["path"], &done["size"]), (&json!("a/b/x"), &json!(3)));
        assert_eq!((&done["created"], &done["overwritten"]), (&json!(true), &json!(false)));
        assert_eq!(done["etag"], etag_of(b"hi\n"));
        let names: Vec<&String> = done.as_object().unwrap().keys().collect();
        assert_eq!(names, ["created", "etag", "mtime", "overwritten", "path", "size"], "the contract's and no other");
        assert!(done["mtime"].as_str().unwrap().parse::<jiff::Timestamp>().is_ok());
    }

    #[tokio::test]
    async fn an_existing_file_is_kept_without_overwrite_or_etag() {
        let sample = Sample::with(&[("x", "old")]);
        assert_eq!(kind(&sample, json!({"path": "x", "content": "new"})).await, Kind::Conflict);
        let done = write(&sample, json!({"path": "x", "content": "new", "overwrite": true})).await.unwrap();
        assert_eq!((&done["created"], &done["overwritten"]), (&json!(false), &json!(true)));
        assert_eq!(content(&sample, "x"), b"new");
    }

    #[tokio::test]
    async fn the_right_etag_replaces_and_a_wrong_one_conflicts_even_with_overwrite() {
        let sample = Sample::with(&[("x", "old")]);
        let wrong = json!({"path": "x", "content": "new", "overwrite": true, "etag": "0"});
        let error = write(&sample, wrong).await.unwrap_err();
        assert_eq!(error.kind, Kind::Conflict);
        assert!(matches!(*error.reason.unwrap(), Reason::EtagMismatch { etag, .. } if etag == etag_of(b"old")));
        write(&sample, json!({"path": "x", "content": "new", "etag": etag_of(b"old")})).await.unwrap();
        assert_eq!(content(&sample, "x"), b"new");
    }

    #[tokio::test]
    async fn an_etag_of_a_file_that_is_gone_conflicts() {
        let sample = Sample::with(&[]);
        assert_eq!(kind(&sample, json!({"path": "x", "content": "", "etag": "0"})).await, Kind::Conflict);
    }

    #[tokio::test]
    async fn nothing_is_made_that_was_not_to_be_made() {
        let sample = Sample::with(&[]);
        assert_eq!(kind(&sample, json!({"path": "x", "content": "", "create": false})).await, Kind::NotFound);
        let error = write(&sample, json!({"path": "a/b/x", "content": "", "mkdirs": false})).await.unwrap_err();
        assert!(error.kind == Kind::NotFound && error.public.contains("directory a;"), "{error}");
    }

    #[tokio::test]
    async fn wrong_values_are_refused_by_field() {
        let sample = Sample::with(&[("d/x", "")]);
        for (args, name) in [
            (json!({"path": "x"}), "content"),
            (json!({"path": "x", "content": "a", "content_base64": "YQ=="}), "content"),
            (json!({"path": "x", "content_base64": "?"}), "content_base64"),
            (json!({"path": "x", "content": "?", "encoding": "base64"}), "content"),
            (json!({"path": "x", "content": "", "mode": 0o1000}), "mode"),
            (json!({"path": "d", "content": "", "overwrite": true}), "path"),
            (json!({"path": "y/", "content": ""}), "path"),
            (json!({"path": "../x", "content": ""}), "path"),
            (json!({"path": "", "content": ""}), "path"),
        ] {
            let error = write(&sample, args.clone()).await.unwrap_err();
            assert_eq!((error.kind, field(&error)), (Kind::Invalid, name.to_owned()), "{args}");
        }
    }

    #[tokio::test]
    async fn an_argument_nobody_knows_is_refused() {
        let sample = Sample::with(&[]);
        let error = write(&sample, json!({"path": "x", "content": "", "overwrit": true})).await.unwrap_err();
        assert!(error.public.contains("overwrit"), "{error}");
    }

    #[tokio::test]
    async fn bytes_that_are_no_text_arrive_unchanged() {
        let sample = Sample::with(&[]);
        write(&sample, json!({"path": "x", "content_base64": "AP/+"})).await.unwrap();
        assert_eq!(content(&sample, "x"), [0, 255, 254]);
    }

    #[tokio::test]
    async fn the_mode_is_set_or_kept() {
        let sample = Sample::with(&[("x", "")]);
        let mode = || std::fs::metadata(sample.path().join("x")).unwrap().permissions().mode() & 0o777;
        write(&sample, json!({"path": "x", "content": "1", "mode": 0o750, "overwrite": true})).await.unwrap();
        assert_eq!(mode(), 0o750);
        write(&sample, json!({"path": "x", "content": "2", "overwrite": true})).await.unwrap();
        assert_eq!(mode(), 0o750);
    }

    #[tokio::test]
    async fn a_link_stays_and_the_file_behind_it_is_written() {
        let sample = Sample::with(&[("real", "old")]);
        sample.link("real", "link");
        write(&sample, json!({"path": "link", "content": "new", "overwrite": true})).await.unwrap();
        assert!(sample.path().join("link").is_symlink());
        assert_eq!(content(&sample, "real"), b"new");
    }

    #[tokio::test]
    async fn a_dry_run_shows_the_diff_and_changes_nothing() {
        let sample = Sample::with(&[("x", "a\nb\n")]);
        let args = json!({"path": "x", "content": "a\nc\n", "overwrite": true});
        let (told, done) = rehearsed(&sample, || Write(sample.desk()), args).await;
        assert!(told["diff"].as_str().unwrap().ends_with("@@ -1,2 +1,2 @@\n a\n-b\n+c\n"), "{told}");
        for name in ["path", "size", "etag", "created", "overwritten"] {
            assert_eq!(told[name], done[name]);
        }
        let told = write(&sample, json!({"path": "n/y", "content": "", "dry_run": true})).await.unwrap();
        assert_eq!(told["created"], true);
        assert!(!sample.path().join("n").exists());
    }

    #[tokio::test]
    async fn protected_names_are_not_written() {
        let sample = Sample::with(&[]);
        for path in [".env", ".git/config", "a/.SSH/x"] {
            assert_eq!(kind(&sample, json!({"path": path, "content": ""})).await, Kind::Denied, "{path}");
        }
    }
}
