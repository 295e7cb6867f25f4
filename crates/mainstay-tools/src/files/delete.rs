//! `files_delete`: something is to go.

use mainstay_core::{Context, Effect, Error, Pace, Result, Spec, Tool};
use mainstay_sandbox::EntryKind;
use schemars::JsonSchema;
use serde::Deserialize;

use super::Desk;
use super::asked::Asked;
use super::outcome::{Report, Shown};
use super::plan::{Meant, Now, Plan, missing};
use super::subtree::refuse_roots;

pub(crate) struct Delete(pub(crate) Desk);

/// Removes a file, a link or a directory.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Change {
    /// What is to be removed. Of a link, only the link.
    path: String,
    /// Remove a directory with all that is in it.
    #[serde(default)]
    recursive: bool,
    /// Remove the file only if this is its etag.
    #[serde(default)]
    etag: Option<String>,
}

impl Change {
    pub(super) fn plan(self, plan: &mut Plan) -> Result<()> {
        let at = plan.item("path", &self.path, Meant::Entry)?;
        let path = plan.items[at].path.clone();
        let kind = plan.kind(at).ok_or_else(|| missing(&path))?;
        if kind == EntryKind::Directory {
            self.directory(plan, &path)?;
        } else if kind == EntryKind::File {
            plan.check_etag(at, self.etag.as_deref())?;
        } else if self.etag.is_some() {
            return Err(Error::field("etag", format!("{path} is not a regular file and has no etag.")));
        }
        plan.items[at].recursive = self.recursive;
        plan.put(at, Now::Gone)
    }

    fn directory(&self, plan: &Plan, path: &str) -> Result<()> {
        if self.etag.is_some() {
            return Err(Error::field("etag", format!("{path} is a directory and has no etag.")));
        }
        // One that this very plan makes is not there to be looked at.
        let Ok(directory) = plan.spot("path", path)?.open_dir() else { return Ok(()) };
        refuse_roots(&directory)?;
        let entries = directory.entries()?.len();
        if entries > 0 && !self.recursive {
            let reason = format!("{path} is a directory with {entries} entries; set recursive to remove all of it.");
            return Err(Error::field("recursive", reason));
        }
        Ok(())
    }
}

impl Tool for Delete {
    const SPEC: Spec = Spec {
        title: "Delete",
        description: "Removes a file, a link or a directory for good; a directory that is not empty needs \
                      recursive=true. Nothing is removed if a protected file lies in it. Try dry_run first to see what \
                      would go.",
        pace: Pace::Long,
        dry_run: true,
        tags: &["fs"],
        ..Spec::new("files", "delete", Effect::Destroys)
    };
    type Args = Asked<Change>;
    type Output = Report;

    async fn call(&self, args: Asked<Change>, context: &Context) -> Result<Report> {
        let done = self.0.change(context, args.dry_run, Shown::Not, |plan| args.change.plan(plan));
        done.await.map(|((), report)| report)
    }
}

#[cfg(test)]
mod tests {
    use mainstay_core::Kind;
    use mainstay_sandbox::etag_of;
    use serde_json::json;

    use super::*;
    use crate::files::sample::{Sample, field};
    use crate::files::trial::{call, refused, rehearsed, snapshot};

    #[tokio::test]
    async fn a_file_goes_and_its_dry_run_shows_it() {
        let sample = Sample::with(&[("x", "a\n"), ("y", "")]);
        let (told, _) = rehearsed(&sample, || Delete(sample.desk()), json!({"path": "x"})).await;
        assert_eq!(snapshot(sample.path()).into_keys().collect::<Vec<_>>(), ["y"]);
        assert!(told["diff"].as_str().unwrap().contains("--- a/x\n+++ /dev/null\n"), "{told}");
        assert_eq!(refused(&sample, Delete, json!({"path": "x"})).await.kind, Kind::NotFound);
    }

    #[tokio::test]
    async fn a_directory_goes_only_when_all_of_it_is_meant() {
        let sample = Sample::with(&[("d/e/x", "1\n"), ("d/y", "22\n"), ("z", "")]);
        let error = refused(&sample, Delete, json!({"path": "d"})).await;
        assert_eq!(field(&error), "recursive");
        let args = json!({"path": "d", "recursive": true});
        let (told, done) = rehearsed(&sample, || Delete(sample.desk()), args).await;
        let holds = json!({"files": 2, "directories": 1, "others": 0, "paths": ["d/e", "d/e/x", "d/y"]});
        assert_eq!(told["changes"][0]["holds"], holds);
        assert_eq!(done["changes"][0]["holds"], holds);
        assert!(told["diff"].as_str().unwrap().contains("--- a/d/e/x\n"), "{told}");
        assert_eq!(snapshot(sample.path()).into_keys().collect::<Vec<_>>(), ["z"]);
    }

    #[tokio::test]
    async fn an_empty_directory_needs_no_more_than_its_name() {
        let sample = Sample::with(&[("d/x", "")]);
        std::fs::remove_file(sample.path().join("d/x")).unwrap();
        call(Delete(sample.desk()), json!({"path": "d"})).await.unwrap();
        assert!(snapshot(sample.path()).is_empty());
    }

    #[tokio::test]
    async fn of_a_link_only_the_link_goes() {
        let sample = Sample::with(&[("d/x", "")]);
        sample.link("d", "link");
        call(Delete(sample.desk()), json!({"path": "link"})).await.unwrap();
        assert_eq!(snapshot(sample.path()).into_keys().collect::<Vec<_>>(), ["d", "d/x"]);
    }

    #[tokio::test]
    async fn something_protected_keeps_the_directory_it_lies_in() {
        let sample = Sample::with(&[("d/e/.env", ""), ("d/x", "")]);
        for dry_run in [true, false] {
            let error = refused(&sample, Delete, json!({"path": "d", "recursive": true, "dry_run": dry_run})).await;
            assert!(error.kind == Kind::Denied && error.public.contains("d/e/.env"), "{error}");
        }
    }

    #[tokio::test]
    async fn a_root_stays_and_so_does_what_another_root_lies_in() {
        let sample = Sample::with(&[("d/inner/x", "")]);
        assert_eq!(refused(&sample, Delete, json!({"path": ".", "recursive": true})).await.kind, Kind::Denied);
        let inner = mainstay_sandbox::RootSettings { path: sample.path().join("d/inner"), read_only: true };
        let settings = mainstay_sandbox::FilesSettings { roots: vec![inner], ..Default::default() };
        let workspace = mainstay_sandbox::Workspace::open(sample.path(), &settings).unwrap();
        let tool = Delete(Desk { workspace, ..sample.desk() });
        let error = call(tool, json!({"path": "d", "recursive": true})).await.unwrap_err();
        assert_eq!(error.kind, Kind::Denied);
        assert!(sample.path().join("d/inner/x").exists());
    }

    #[tokio::test]
    async fn the_etag_is_held_against_the_file() {
        let sample = Sample::with(&[("x", "a"), ("d/y", "")]);
        assert_eq!(refused(&sample, Delete, json!({"path": "x", "etag": "0"})).await.kind, Kind::Conflict);
        assert_eq!(
            field(&refused(&sample, Delete, json!({"path": "d", "recursive": true, "etag": "0"})).await),
            "etag"
        );
        call(Delete(sample.desk()), json!({"path": "x", "etag": etag_of(b"a")})).await.unwrap();
    }

    /// A plan is made, then something else happens, then the plan is committed.
    fn late(sample: &Sample, path: &str, recursive: bool, meanwhile: impl FnOnce()) -> Result<Report> {
        let mut plan = Plan::new(&sample.desk().workspace, &mainstay_core::CancellationToken::new());
        Change { path: path.to_owned(), recursive, etag: None }.plan(&mut plan).unwrap();
        meanwhile();
        plan.finish(false, Shown::Not)
    }

    #[test]
    fn a_directory_that_has_been_filled_since_it_was_looked_at_stays() {
        let sample = Sample::with(&[]);
        std::fs::create_dir(sample.path().join("d")).unwrap();
        let error = late(&sample, "d", false, || sample.write("d/e/x", b"kept")).unwrap_err();
        assert_eq!(error.kind, Kind::Conflict);
        assert_eq!(std::fs::read(sample.path().join("d/e/x")).unwrap(), b"kept");
    }

    #[test]
    fn a_file_that_has_become_a_directory_since_it_was_looked_at_stays() {
        for recursive in [false, true] {
            let sample = Sample::with(&[("x", "")]);
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
