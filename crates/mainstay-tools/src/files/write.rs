//! `files_write`: creates a file or replaces its content.

use mainstay_core::{Context, Effect, Error, Reason, Result, Spec, Tool};
use mainstay_sandbox::Content;

use super::file_tools::{ChangeArgs, FileTools, spec};
use crate::planning::{ChangeKind, DiffInReply, FileReply, LinkHandling, NewState, Plan, already_exists, not_found};
use crate::text::encoding::{self, Encoding};

/// Refuses to overwrite by default, because a model that does not know the file exists should learn of it.
pub(crate) struct Write(pub(crate) FileTools);

/// Creates a file or replaces its content.
#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Change {
    /// File, relative to the workspace, or absolute inside one of its roots.
    path: String,
    /// New content as text. Give this or content_base64.
    content: Option<String>,
    /// New content as base64, for bytes that are not text.
    content_base64: Option<String>,
    /// Encoding of `content`.
    #[serde(default)]
    encoding: Encoding,
    /// Create the file if it does not exist.
    #[serde(default = "crate::defaults::yes")]
    create: bool,
    /// Replace the file if it exists.
    #[serde(default)]
    overwrite: bool,
    /// Replace the file only if it has this etag.
    etag: Option<String>,
    /// POSIX permission bits, 0 to 511 (octal 777). Default: those of the existing file.
    mode: Option<u32>,
    /// Create missing parent directories.
    #[serde(default = "crate::defaults::yes")]
    mkdirs: bool,
}

impl Change {
    pub(super) fn plan(self, plan: &mut Plan) -> Result<()> {
        let bytes = encoding::content_bytes(self.content, self.content_base64, self.encoding)?;
        if let Some(mode) = self.mode.filter(|mode| *mode > 0o777) {
            return Err(Error::field("mode", format!("Mode {mode} (octal {mode:o}) is not between 0 and octal 777.")));
        }
        if self.path.ends_with('/') {
            let reason = format!("{} is a directory path; a file path does not end with a slash.", self.path);
            return Err(Error::field("path", reason));
        }
        let at = plan.item("path", &self.path, LinkHandling::Follow)?;
        let there = plan.is_file("path", at)?;
        plan.check_etag(at, self.etag.as_deref())?;
        // The right etag proves that the caller knows the content it replaces.
        if there && !self.overwrite && self.etag.is_none() {
            return Err(already_exists(&plan.items[at].path));
        }
        if !there && !self.create {
            return Err(not_found(&plan.items[at].path));
        }
        if !self.mkdirs {
            plan.check_parent_exists(at)?;
        }
        plan.set_state(at, NewState::File(Content::Bytes(bytes)))?;
        plan.items[at].mode = self.mode.or(plan.items[at].mode);
        Ok(())
    }
}

impl Plan {
    /// Fails if the parent directory of an item neither exists nor is created by this plan.
    fn check_parent_exists(&self, at: usize) -> Result<()> {
        let planned = |path: &str| {
            self.items.iter().any(|item| matches!(item.state, NewState::NewDirectory) && item.path == path)
        };
        match self.items[at].target.missing_directories().into_iter().find(|path| !planned(path)) {
            Some(directory) => Err(Error::not_found(format!(
                "Directory {directory} does not exist; set mkdirs, or create it with files_mkdir."
            ))
            .with_reason(Reason::path(directory))),
            None => Ok(()),
        }
    }
}

#[derive(serde::Serialize, schemars::JsonSchema)]
pub(crate) struct Output {
    #[serde(flatten)]
    file: FileReply,
    /// The file was created.
    created: bool,
    /// The file existed and its content was replaced.
    overwritten: bool,
}

impl Tool for Write {
    const SPEC: Spec = Spec {
        title: "Write file",
        description: "Creates a file or replaces its whole content, atomically, with missing parent directories. \
                      Replaces an existing file only with overwrite=true or its current etag. To change a part of a \
                      file, use files_edit.",
        idempotent: true,
        ..spec("write", Effect::Writes)
    };
    type Args = ChangeArgs<Change>;
    type Output = Output;

    async fn call(&self, args: ChangeArgs<Change>, context: &Context) -> Result<Output> {
        let done = self.0.change(context, args.dry_run, DiffInReply::Never, |plan| args.change.plan(plan));
        let (file, what) = done.await?.1.into_file_reply(context)?;
        Ok(Output { file, created: what == ChangeKind::Created, overwritten: what == ChangeKind::Overwritten })
    }
}

#[cfg(test)]
mod tests {
    use mainstay_core::Kind;
    use serde_json::json;
    use std::os::unix::fs::PermissionsExt as _;

    use mainstay_sandbox::etag_of;
    use serde_json::Value;

    use super::*;
    use crate::files::testing::calls::{call, dry_run_then_call, expect_error};
    use crate::files::testing::workspace::{SampleWorkspace, field};

    async fn write(sample: &SampleWorkspace, args: Value) -> Result<Value> {
        call(Write(sample.tools()), args).await
    }

    async fn kind(sample: &SampleWorkspace, args: Value) -> Kind {
        expect_error(sample, Write, args).await.kind
    }

    fn content(sample: &SampleWorkspace, path: &str) -> Vec<u8> {
        std::fs::read(sample.path().join(path)).unwrap()
    }

    #[tokio::test]
    async fn a_new_file_is_written_with_its_parent_directories() {
        let sample = SampleWorkspace::with(&[]);
        let result = write(&sample, json!({"path": "a/b/x", "content": "hi\n"})).await.unwrap();
        assert_eq!(content(&sample, "a/b/x"), b"hi\n");
        assert_eq!((&result["path"], &result["size"]), (&json!("a/b/x"), &json!(3)));
        assert_eq!((&result["created"], &result["overwritten"]), (&json!(true), &json!(false)));
        assert_eq!(result["etag"], etag_of(b"hi\n"));
        let names: Vec<&String> = result.as_object().unwrap().keys().collect();
        assert_eq!(names, ["created", "etag", "mtime", "overwritten", "path", "size"], "the contract's and no other");
        assert!(result["mtime"].as_str().unwrap().parse::<jiff::Timestamp>().is_ok());
    }

    #[tokio::test]
    async fn an_existing_file_is_kept_without_overwrite_or_etag() {
        let sample = SampleWorkspace::with(&[("x", "old")]);
        assert_eq!(kind(&sample, json!({"path": "x", "content": "new"})).await, Kind::Conflict);
        let result = write(&sample, json!({"path": "x", "content": "new", "overwrite": true})).await.unwrap();
        assert_eq!((&result["created"], &result["overwritten"]), (&json!(false), &json!(true)));
        assert_eq!(content(&sample, "x"), b"new");
    }

    #[tokio::test]
    async fn the_right_etag_replaces_and_a_wrong_one_conflicts_even_with_overwrite() {
        let sample = SampleWorkspace::with(&[("x", "old")]);
        let wrong = json!({"path": "x", "content": "new", "overwrite": true, "etag": "0"});
        let error = write(&sample, wrong).await.unwrap_err();
        assert_eq!(error.kind, Kind::Conflict);
        assert!(matches!(*error.reason.unwrap(), Reason::EtagMismatch { etag, .. } if etag == etag_of(b"old")));
        write(&sample, json!({"path": "x", "content": "new", "etag": etag_of(b"old")})).await.unwrap();
        assert_eq!(content(&sample, "x"), b"new");
    }

    #[tokio::test]
    async fn an_etag_of_a_missing_file_is_a_conflict() {
        let sample = SampleWorkspace::with(&[]);
        assert_eq!(kind(&sample, json!({"path": "x", "content": "", "etag": "0"})).await, Kind::Conflict);
    }

    #[tokio::test]
    async fn create_and_mkdirs_false_create_nothing() {
        let sample = SampleWorkspace::with(&[]);
        assert_eq!(kind(&sample, json!({"path": "x", "content": "", "create": false})).await, Kind::NotFound);
        let error = write(&sample, json!({"path": "a/b/x", "content": "", "mkdirs": false})).await.unwrap_err();
        assert!(error.kind == Kind::NotFound && error.public.contains("Directory a "), "{error}");
    }

    #[tokio::test]
    async fn invalid_values_are_rejected_by_field() {
        let sample = SampleWorkspace::with(&[("d/x", "")]);
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
    async fn an_unknown_argument_is_rejected() {
        let sample = SampleWorkspace::with(&[]);
        let error = write(&sample, json!({"path": "x", "content": "", "overwrit": true})).await.unwrap_err();
        assert!(error.public.contains("overwrit"), "{error}");
    }

    #[tokio::test]
    async fn bytes_that_are_not_text_are_written_unchanged() {
        let sample = SampleWorkspace::with(&[]);
        write(&sample, json!({"path": "x", "content_base64": "AP/+"})).await.unwrap();
        assert_eq!(content(&sample, "x"), [0, 255, 254]);
    }

    #[tokio::test]
    async fn the_mode_is_set_or_kept() {
        let sample = SampleWorkspace::with(&[("x", "")]);
        let mode = || std::fs::metadata(sample.path().join("x")).unwrap().permissions().mode() & 0o777;
        write(&sample, json!({"path": "x", "content": "1", "mode": 0o750, "overwrite": true})).await.unwrap();
        assert_eq!(mode(), 0o750);
        write(&sample, json!({"path": "x", "content": "2", "overwrite": true})).await.unwrap();
        assert_eq!(mode(), 0o750);
    }

    #[tokio::test]
    async fn a_link_stays_and_the_file_behind_it_is_written() {
        let sample = SampleWorkspace::with(&[("real", "old")]);
        sample.link("real", "link");
        write(&sample, json!({"path": "link", "content": "new", "overwrite": true})).await.unwrap();
        assert!(sample.path().join("link").is_symlink());
        assert_eq!(content(&sample, "real"), b"new");
    }

    #[tokio::test]
    async fn a_dry_run_shows_the_diff_and_changes_nothing() {
        let sample = SampleWorkspace::with(&[("x", "a\nb\n")]);
        let args = json!({"path": "x", "content": "a\nc\n", "overwrite": true});
        let (preview, result) = dry_run_then_call(&sample, || Write(sample.tools()), args).await;
        assert!(preview["diff"].as_str().unwrap().ends_with("@@ -1,2 +1,2 @@\n a\n-b\n+c\n"), "{preview}");
        for name in ["path", "size", "etag", "created", "overwritten"] {
            assert_eq!(preview[name], result[name]);
        }
        let preview = write(&sample, json!({"path": "n/y", "content": "", "dry_run": true})).await.unwrap();
        assert_eq!(preview["created"], true);
        assert!(!sample.path().join("n").exists());
    }

    #[tokio::test]
    async fn protected_names_are_not_written() {
        let sample = SampleWorkspace::with(&[]);
        for path in [".env", ".git/config", "a/.SSH/x"] {
            assert_eq!(kind(&sample, json!({"path": path, "content": ""})).await, Kind::Denied, "{path}");
        }
    }
}
