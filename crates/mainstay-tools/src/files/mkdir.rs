//! `files_mkdir`: a directory is to be there.

use mainstay_core::{Context, Effect, Error, Kind, Pace, Reason, Result, Spec, Tool};
use mainstay_sandbox::EntryKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Desk;
use super::asked::Asked;
use super::outcome::Shown;
use super::plan::{Meant, Now, Plan, beneath};

pub(crate) struct Mkdir(pub(crate) Desk);

/// Makes a directory and those above it; one that is there already is fine.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Change {
    /// The directory.
    path: String,
}

impl Change {
    pub(super) fn plan(self, plan: &mut Plan) -> Result<()> {
        let spot = plan.spot("path", &self.path)?;
        // A root, or a directory that must not be changed, is there as well as any other.
        let planned = plan.items.iter().any(|item| beneath(spot.display(), &item.path));
        if !planned && spot.open_dir().is_ok() {
            return Ok(());
        }
        let at = plan.item("path", &self.path, Meant::Target)?;
        match plan.kind(at) {
            Some(EntryKind::Directory) => Ok(()),
            None => plan.put(at, Now::Directory),
            Some(EntryKind::File | EntryKind::Symlink | EntryKind::Other) => {
                let path = &plan.items[at].path;
                Err(Error::new(Kind::Conflict, format!("{path} exists already and is not a directory."))
                    .with_reason(Reason::path(path)))
            }
        }
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Output {
    path: String,
    /// The directory is new.
    created: bool,
    /// Every directory that was made, from the uppermost down.
    directories: Vec<String>,
    /// Nothing was changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
}

impl Tool for Mkdir {
    const SPEC: Spec = Spec {
        title: "Make directory",
        description: "Makes a directory and every missing directory above it. A directory that is there already is \
                      fine and is left as it is. files_write makes directories by itself.",
        pace: Pace::Instant,
        idempotent: true,
        dry_run: true,
        tags: &["fs"],
        ..Spec::new("files", "mkdir", Effect::Writes)
    };
    type Args = Asked<Change>;
    type Output = Output;

    async fn call(&self, args: Asked<Change>, context: &Context) -> Result<Output> {
        let planning = |plan: &mut Plan| {
            let path = plan.spot("path", &args.change.path)?.display().to_owned();
            args.change.plan(plan).map(|()| path)
        };
        let (path, report) = self.0.change(context, args.dry_run, Shown::Not, planning).await?;
        let mut directories = report.directories;
        directories.extend(report.changes.into_iter().map(|changed| changed.path));
        Ok(Output { path, created: !directories.is_empty(), directories, dry_run: report.dry_run })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::files::sample::Sample;
    use crate::files::trial::{call, rehearsed};

    #[tokio::test]
    async fn a_directory_is_made_with_those_above_it() {
        let sample = Sample::with(&[]);
        let (told, done) = rehearsed(&sample, || Mkdir(sample.desk()), json!({"path": "a/b/c"})).await;
        assert!(sample.path().join("a/b/c").is_dir());
        for reply in [told, done] {
            assert_eq!((&reply["created"], &reply["directories"]), (&json!(true), &json!(["a", "a/b", "a/b/c"])));
        }
    }

    #[tokio::test]
    async fn one_that_is_there_is_fine() {
        let sample = Sample::with(&[("a/x", "")]);
        for path in ["a", "."] {
            let done = call(Mkdir(sample.desk()), json!({"path": path})).await.unwrap();
            assert_eq!((&done["created"], &done["directories"]), (&json!(false), &json!([])), "{path}");
        }
    }

    #[tokio::test]
    async fn a_file_in_the_way_is_a_conflict() {
        let sample = Sample::with(&[("a", "")]);
        let error = call(Mkdir(sample.desk()), json!({"path": "a"})).await.unwrap_err();
        assert_eq!(error.kind, Kind::Conflict);
        assert!(call(Mkdir(sample.desk()), json!({"path": ".git"})).await.is_err());
    }
}
