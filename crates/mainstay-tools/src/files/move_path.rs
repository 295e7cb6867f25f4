//! `files_move`: moves or renames a file or a directory.

use mainstay_core::{Context, Effect, Error, Pace, Result, Spec, Tool};
use mainstay_sandbox::EntryKind;

use super::file_tools::{ChangeArgs, FileTools, spec};
use crate::planning::{
    LinkHandling, Plan, Report, check_contains_no_root, check_free, check_not_into_itself, not_found, walk_tree,
};

/// One rename on disk, also for a directory; the content is not touched.
pub(crate) struct MovePath(pub(crate) FileTools);

/// Moves or renames a file, a link or a directory.
#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Change {
    /// Path to move. A link is moved itself.
    pub(super) from: String,
    /// Full new path, not its parent directory. Missing directories are created.
    pub(super) to: String,
    /// Replace a file at the destination.
    #[serde(default)]
    pub(super) overwrite: bool,
}

impl Change {
    pub(super) fn plan(self, plan: &mut Plan) -> Result<()> {
        let from = plan.item("from", &self.from, LinkHandling::NoFollow)?;
        let path = plan.items[from].path.clone();
        let kind = plan.kind(from).ok_or_else(|| not_found(&path))?;
        // Compared as resolved paths, because `./x` and `x` are the same.
        let to = plan.locate("to", &self.to)?.display().to_owned();
        // A rename onto itself succeeds on POSIX and does nothing; here it is a mistake.
        if to == path {
            return Err(Error::field("to", format!("{path} cannot be moved onto itself.")));
        }
        if kind == EntryKind::Directory {
            check_movable(plan, &path, &to)?;
        }
        let at = plan.item("to", &self.to, LinkHandling::NoFollow)?;
        check_free(plan, at, &path, &self.to, self.overwrite)?;
        plan.move_item(from, at, kind)
    }
}

/// Fails if the directory contains something protected or a root of the workspace, or if it would move into itself.
fn check_movable(plan: &Plan, path: &str, to: &str) -> Result<()> {
    match plan.locate("from", path)?.open_dir() {
        Ok(directory) => {
            check_not_into_itself(plan, &directory, to)?;
            check_contains_no_root(&directory)?;
            // Walking it finds protected entries; nothing else about its contents matters.
            walk_tree(&directory, &plan.cancel, 0, &mut |_, _| Ok(()))
        }
        // Created by this plan: it is empty.
        Err(_) => Ok(()),
    }
}

impl Tool for MovePath {
    const SPEC: Spec = Spec {
        title: "Move",
        description: "Moves or renames a file or a directory, atomically, with missing parent directories. Replaces an \
                      existing file only with overwrite=true, a directory never.",
        pace: Pace::Long,
        ..spec("move", Effect::Writes)
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
    use serde_json::json;

    use super::*;
    use crate::files::testing::calls::{call, dry_run_then_call, expect_error, snapshot};
    use crate::files::testing::workspace::{SampleWorkspace, field};

    #[tokio::test]
    async fn a_file_moves_and_its_directories_are_created() {
        let sample = SampleWorkspace::with(&[("x", "a\n")]);
        let args = json!({"from": "x", "to": "n/m/y"});
        let (preview, result) = dry_run_then_call(&sample, || MovePath(sample.tools()), args).await;
        assert_eq!(std::fs::read(sample.path().join("n/m/y")).unwrap(), b"a\n");
        assert!(!sample.path().join("x").exists());
        assert!(preview["diff"].as_str().unwrap().contains("rename from x\nrename to n/m/y\n"), "{preview}");
        assert_eq!((&result["changes"][0]["what"], &result["changes"][0]["from"]), (&json!("moved"), &json!("x")));
        assert_eq!(result["directories"], json!(["n", "n/m"]));
    }

    #[tokio::test]
    async fn a_directory_moves_with_its_contents() {
        let sample = SampleWorkspace::with(&[("d/e/x", "a")]);
        dry_run_then_call(&sample, || MovePath(sample.tools()), json!({"from": "d", "to": "f"})).await;
        assert_eq!(snapshot(sample.path()).into_keys().collect::<Vec<_>>(), ["f", "f/e", "f/e/x"]);
    }

    #[tokio::test]
    async fn a_link_moves_as_a_link() {
        let sample = SampleWorkspace::with(&[("d/x", "a")]);
        sample.link("d", "link");
        call(MovePath(sample.tools()), json!({"from": "link", "to": "other"})).await.unwrap();
        assert!(sample.path().join("other").is_symlink() && sample.path().join("d/x").exists());
    }

    #[tokio::test]
    async fn a_file_is_replaced_only_with_overwrite_and_a_directory_never() {
        let sample = SampleWorkspace::with(&[("x", "new"), ("y", "old"), ("d/z", "")]);
        assert_eq!(expect_error(&sample, MovePath, json!({"from": "x", "to": "y"})).await.kind, Kind::Conflict);
        let error = expect_error(&sample, MovePath, json!({"from": "x", "to": "d", "overwrite": true})).await;
        assert!(field(&error) == "to" && error.public.contains("d/x"), "{error}");
        let error = expect_error(&sample, MovePath, json!({"from": "x", "to": "new/"})).await;
        assert!(field(&error) == "to" && error.public.contains("new/x"), "{error}");
        let args = json!({"from": "x", "to": "y", "overwrite": true});
        let (preview, result) = dry_run_then_call(&sample, || MovePath(sample.tools()), args).await;
        assert_eq!(
            (&preview["changes"][0]["replaced"], &result["changes"][0]["replaced"]),
            (&json!(true), &json!(true))
        );
        assert_eq!(std::fs::read(sample.path().join("y")).unwrap(), b"new");
    }

    #[tokio::test]
    async fn nothing_moves_into_itself_or_from_a_missing_path() {
        let sample = SampleWorkspace::with(&[("d/x", "")]);
        sample.link("d", "link");
        for to in ["d", "d/e", "link/e"] {
            let error = expect_error(&sample, MovePath, json!({"from": "d", "to": to})).await;
            assert_eq!(field(&error), "to", "{to}: {error}");
        }
        assert_eq!(expect_error(&sample, MovePath, json!({"from": "y", "to": "z"})).await.kind, Kind::NotFound);
        assert_eq!(field(&expect_error(&sample, MovePath, json!({"from": "d/x", "to": "../x"})).await), "to");
    }

    #[tokio::test]
    async fn protected_names_can_neither_be_moved_nor_created() {
        let sample = SampleWorkspace::with(&[("x", ""), (".env", ""), ("d/.git/config", "")]);
        for (from, to) in [("x", ".npmrc"), (".env", "y"), ("d", "e")] {
            assert_eq!(
                expect_error(&sample, MovePath, json!({"from": from, "to": to})).await.kind,
                Kind::Denied,
                "{from} {to}"
            );
        }
    }
}
