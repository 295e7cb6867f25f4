//! `files_mkdir`: creates a directory.

use mainstay_core::{Context, Effect, Result, Spec, Tool};
use mainstay_sandbox::EntryKind;

use super::file_tools::{ChangeArgs, FileTools, spec};
use crate::planning::{DiffInReply, LinkHandling, NewState, Plan, conflict, is_within};

/// Idempotent: a directory that exists is a success with `created: false`.
pub(crate) struct Mkdir(pub(crate) FileTools);

/// Creates a directory with its parents; an existing directory is fine.
#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Change {
    /// Directory, relative to the workspace.
    path: String,
}

impl Change {
    pub(super) fn plan(self, plan: &mut Plan) -> Result<()> {
        let location = plan.locate("path", &self.path)?;
        // A root or a protected directory is never an item of a plan, but it exists, and that is all the caller wants.
        let planned = plan.items.iter().any(|item| is_within(location.display(), &item.path));
        if !planned && location.open_dir().is_ok() {
            return Ok(());
        }
        let at = plan.item("path", &self.path, LinkHandling::Follow)?;
        match plan.kind(at) {
            Some(EntryKind::Directory) => Ok(()),
            None => plan.set_state(at, NewState::NewDirectory),
            Some(EntryKind::File | EntryKind::Symlink | EntryKind::Other) => {
                let path = &plan.items[at].path;
                Err(conflict(path, format!("{path} already exists and is not a directory.")))
            }
        }
    }
}

#[derive(serde::Serialize, schemars::JsonSchema)]
pub(crate) struct Output {
    path: String,
    /// The directory was created.
    created: bool,
    /// Every directory that was created, from the top down.
    directories: Vec<String>,
    /// Nothing was changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

impl Tool for Mkdir {
    const SPEC: Spec = Spec {
        title: "Create directory",
        description: "Creates a directory and its missing parents. An existing directory is left as it is. Not needed \
                      before files_write, which creates directories itself.",
        idempotent: true,
        ..spec("mkdir", Effect::Writes)
    };
    type Args = ChangeArgs<Change>;
    type Output = Output;

    async fn call(&self, args: ChangeArgs<Change>, context: &Context) -> Result<Output> {
        let planner = |plan: &mut Plan| {
            let path = plan.locate("path", &args.change.path)?.display().to_owned();
            args.change.plan(plan).map(|()| path)
        };
        let (path, report) = self.0.change(context, args.dry_run, DiffInReply::Never, planner).await?;
        // The parents come first, then the directory itself.
        let mut directories = report.directories;
        directories.extend(report.changes.into_iter().map(|changed| changed.path));
        Ok(Output { path, created: !directories.is_empty(), directories, dry_run: report.dry_run })
    }
}

#[cfg(test)]
mod tests {
    use mainstay_core::Kind;
    use serde_json::json;

    use super::*;
    use crate::files::testing::calls::{call, dry_run_then_call};
    use crate::files::testing::workspace::SampleWorkspace;

    #[tokio::test]
    async fn a_directory_is_created_with_its_parents() {
        let sample = SampleWorkspace::with(&[]);
        let (preview, result) = dry_run_then_call(&sample, || Mkdir(sample.tools()), json!({"path": "a/b/c"})).await;
        assert!(sample.path().join("a/b/c").is_dir());
        for reply in [preview, result] {
            assert_eq!((&reply["created"], &reply["directories"]), (&json!(true), &json!(["a", "a/b", "a/b/c"])));
        }
    }

    #[tokio::test]
    async fn an_existing_directory_is_left_as_it_is() {
        let sample = SampleWorkspace::with(&[("a/x", "")]);
        for path in ["a", "."] {
            let result = call(Mkdir(sample.tools()), json!({"path": path})).await.unwrap();
            assert_eq!((&result["created"], &result["directories"]), (&json!(false), &json!([])), "{path}");
        }
    }

    #[tokio::test]
    async fn a_file_in_the_way_is_a_conflict() {
        let sample = SampleWorkspace::with(&[("a", "")]);
        let error = call(Mkdir(sample.tools()), json!({"path": "a"})).await.unwrap_err();
        assert_eq!(error.kind, Kind::Conflict);
        assert!(call(Mkdir(sample.tools()), json!({"path": ".git"})).await.is_err());
    }
}
