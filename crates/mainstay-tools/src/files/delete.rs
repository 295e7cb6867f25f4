//! `files_delete`: removes a file or a directory.

use mainstay_core::{Context, Effect, Error, Pace, Result, Spec, Tool};
use mainstay_sandbox::EntryKind;

use super::file_tools::{ChangeArgs, FileTools, spec};
use crate::planning::{LinkHandling, NewState, Plan, Report, check_contains_no_root, not_found};

/// There is no trash: what is removed is gone, which is why this tool has the effect `destroys`.
pub(crate) struct Delete(pub(crate) FileTools);

/// Removes a file, a link or a directory.
#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Change {
    /// Path to remove. Of a link, only the link is removed.
    path: String,
    /// Remove a directory with its contents.
    #[serde(default)]
    recursive: bool,
    /// Remove the file only if it has this etag.
    etag: Option<String>,
}

impl Change {
    pub(super) fn plan(self, plan: &mut Plan) -> Result<()> {
        let at = plan.item("path", &self.path, LinkHandling::NoFollow)?;
        let path = plan.items[at].path.clone();
        let kind = plan.kind(at).ok_or_else(|| not_found(&path))?;
        if kind == EntryKind::Directory {
            self.check_directory(plan, &path)?;
        } else if kind == EntryKind::File {
            plan.check_etag(at, self.etag.as_deref())?;
        } else if self.etag.is_some() {
            return Err(Error::field("etag", format!("{path} is not a regular file and has no etag.")));
        }
        // Without it a directory that is filled before the commit stays.
        plan.items[at].recursive = self.recursive;
        plan.set_state(at, NewState::Removed)
    }

    /// Fails unless the directory may be removed.
    fn check_directory(&self, plan: &Plan, path: &str) -> Result<()> {
        if self.etag.is_some() {
            return Err(Error::field("etag", format!("{path} is a directory and has no etag.")));
        }
        // A directory that this plan creates does not exist yet.
        let Ok(directory) = plan.locate("path", path)?.open_dir() else { return Ok(()) };
        check_contains_no_root(&directory)?;
        let entries = directory.entries()?.len();
        if entries > 0 && !self.recursive {
            let reason = format!("{path} is a directory with {entries} entries; set recursive to remove them too.");
            return Err(Error::field("recursive", reason));
        }
        Ok(())
    }
}

impl Tool for Delete {
    const SPEC: Spec = Spec {
        title: "Delete",
        description: "Removes a file, a link or a directory permanently; a directory that is not empty needs \
                      recursive=true. Fails if the directory contains a protected file. Use dry_run first to see \
                      what would be removed.",
        pace: Pace::Long,
        ..spec("delete", Effect::Destroys)
    };
    type Args = ChangeArgs<Change>;
    type Output = Report;

    async fn call(&self, args: ChangeArgs<Change>, context: &Context) -> Result<Report> {
        self.0.report(context, args, Change::plan).await
    }
}

#[cfg(test)]
mod tests {
    use mainstay_core::Kind;
    use mainstay_sandbox::etag_of;
    use serde_json::json;

    use super::*;
    use crate::files::testing::calls::{call, dry_run_then_call, expect_error, snapshot};
    use crate::files::testing::workspace::{SampleWorkspace, field};
    use crate::planning::DiffInReply;

    #[tokio::test]
    async fn a_file_is_removed_and_its_dry_run_shows_it() {
        let sample = SampleWorkspace::with(&[("x", "a\n"), ("y", "")]);
        let (preview, _) = dry_run_then_call(&sample, || Delete(sample.tools()), json!({"path": "x"})).await;
        assert_eq!(snapshot(sample.path()).into_keys().collect::<Vec<_>>(), ["y"]);
        assert!(preview["diff"].as_str().unwrap().contains("--- a/x\n+++ /dev/null\n"), "{preview}");
        assert_eq!(expect_error(&sample, Delete, json!({"path": "x"})).await.kind, Kind::NotFound);
    }

    #[tokio::test]
    async fn a_directory_is_removed_only_with_recursive() {
        let sample = SampleWorkspace::with(&[("d/e/x", "1\n"), ("d/y", "22\n"), ("z", "")]);
        let error = expect_error(&sample, Delete, json!({"path": "d"})).await;
        assert_eq!(field(&error), "recursive");
        let args = json!({"path": "d", "recursive": true});
        let (preview, result) = dry_run_then_call(&sample, || Delete(sample.tools()), args).await;
        let holds = json!({"files": 2, "directories": 1, "others": 0, "paths": ["d/e", "d/e/x", "d/y"]});
        assert_eq!(preview["changes"][0]["holds"], holds);
        assert_eq!(result["changes"][0]["holds"], holds);
        assert!(preview["diff"].as_str().unwrap().contains("--- a/d/e/x\n"), "{preview}");
        assert_eq!(snapshot(sample.path()).into_keys().collect::<Vec<_>>(), ["z"]);
    }

    #[tokio::test]
    async fn an_empty_directory_is_removed_without_recursive() {
        let sample = SampleWorkspace::with(&[("d/x", "")]);
        std::fs::remove_file(sample.path().join("d/x")).unwrap();
        call(Delete(sample.tools()), json!({"path": "d"})).await.unwrap();
        assert!(snapshot(sample.path()).is_empty());
    }

    #[tokio::test]
    async fn of_a_link_only_the_link_is_removed() {
        let sample = SampleWorkspace::with(&[("d/x", "")]);
        sample.link("d", "link");
        call(Delete(sample.tools()), json!({"path": "link"})).await.unwrap();
        assert_eq!(snapshot(sample.path()).into_keys().collect::<Vec<_>>(), ["d", "d/x"]);
    }

    #[tokio::test]
    async fn a_protected_file_prevents_the_removal_of_its_directory() {
        let sample = SampleWorkspace::with(&[("d/e/.env", ""), ("d/x", "")]);
        for dry_run in [true, false] {
            let error =
                expect_error(&sample, Delete, json!({"path": "d", "recursive": true, "dry_run": dry_run})).await;
            assert!(error.kind == Kind::Denied && error.public.contains("d/e/.env"), "{error}");
        }
    }

    #[tokio::test]
    async fn a_root_and_a_directory_that_contains_one_are_not_removed() {
        let sample = SampleWorkspace::with(&[("d/inner/x", "")]);
        assert_eq!(expect_error(&sample, Delete, json!({"path": ".", "recursive": true})).await.kind, Kind::Denied);
        let inner = mainstay_sandbox::RootSettings { path: sample.path().join("d/inner"), read_only: true };
        let settings = mainstay_sandbox::FilesSettings { roots: vec![inner], ..Default::default() };
        let workspace = mainstay_sandbox::Workspace::open(sample.path(), &settings).unwrap();
        let tool = Delete(FileTools { workspace, ..sample.tools() });
        let error = call(tool, json!({"path": "d", "recursive": true})).await.unwrap_err();
        assert_eq!(error.kind, Kind::Denied);
        assert!(sample.path().join("d/inner/x").exists());
    }

    #[tokio::test]
    async fn the_etag_is_compared_with_the_file() {
        let sample = SampleWorkspace::with(&[("x", "a"), ("d/y", "")]);
        assert_eq!(expect_error(&sample, Delete, json!({"path": "x", "etag": "0"})).await.kind, Kind::Conflict);
        assert_eq!(
            field(&expect_error(&sample, Delete, json!({"path": "d", "recursive": true, "etag": "0"})).await),
            "etag"
        );
        call(Delete(sample.tools()), json!({"path": "x", "etag": etag_of(b"a")})).await.unwrap();
    }

    /// A plan is made, then something else happens, then the plan is committed.
    fn late(sample: &SampleWorkspace, path: &str, recursive: bool, meanwhile: impl FnOnce()) -> Result<Report> {
        let mut plan = sample.tools().plan(&Context::detached());
        Change { path: path.to_owned(), recursive, etag: None }.plan(&mut plan).unwrap();
        meanwhile();
        plan.finish(false, DiffInReply::Never)
    }

    #[test]
    fn a_directory_that_was_filled_after_planning_is_not_removed() {
        let sample = SampleWorkspace::with(&[]);
        std::fs::create_dir(sample.path().join("d")).unwrap();
        let error = late(&sample, "d", false, || sample.write("d/e/x", b"kept")).unwrap_err();
        assert_eq!(error.kind, Kind::Conflict);
        assert_eq!(std::fs::read(sample.path().join("d/e/x")).unwrap(), b"kept");
    }

    #[test]
    fn a_file_that_became_a_directory_after_planning_is_not_removed() {
        for recursive in [false, true] {
            let sample = SampleWorkspace::with(&[("x", "")]);
            let exchange = || {
                std::fs::remove_file(sample.path().join("x")).unwrap();
                sample.write("x/y", b"kept");
            };
            let error = late(&sample, "x", recursive, exchange).unwrap_err();
            assert_eq!(error.kind, Kind::Conflict);
            assert_eq!(std::fs::read(sample.path().join("x/y")).unwrap(), b"kept");
        }
    }
}
