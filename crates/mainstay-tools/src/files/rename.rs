//! `files_move`: something gets another name.

use mainstay_core::{Context, Effect, Error, Pace, Result, Spec, Tool};
use mainstay_sandbox::EntryKind;
use schemars::JsonSchema;
use serde::Deserialize;

use super::Desk;
use super::asked::Asked;
use super::copy::outside;
use super::outcome::{Report, Shown};
use super::plan::{Meant, Plan, missing};
use super::subtree::{refuse_roots, survey};

pub(crate) struct Rename(pub(crate) Desk);

/// Moves or renames a file, a link or a directory.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Change {
    /// What is to be moved. Of a link, the link itself.
    from: String,
    /// Its whole new path, not the directory it shall be in. Missing directories are made.
    to: String,
    /// Replace a file that has the new path.
    #[serde(default)]
    overwrite: bool,
}

impl Change {
    pub(super) fn new(from: String, to: String) -> Self {
        Self { from, to, overwrite: false }
    }

    pub(super) fn plan(self, plan: &mut Plan) -> Result<()> {
        let from = plan.item("from", &self.from, Meant::Entry)?;
        let path = plan.items[from].path.clone();
        let kind = plan.kind(from).ok_or_else(|| missing(&path))?;
        let to = plan.spot("to", &self.to)?.display().to_owned();
        if to == path {
            return Err(Error::field("to", format!("{path} is already there.")));
        }
        if kind == EntryKind::Directory {
            movable(plan, &path, &to)?;
        }
        let at = plan.item("to", &self.to, Meant::Entry)?;
        free(plan, at, &path, &self.to, self.overwrite)?;
        plan.relocate(from, at, kind)
    }
}

/// A directory moves with all that is in it, and none of that may be protected.
fn movable(plan: &Plan, path: &str, to: &str) -> Result<()> {
    match plan.spot("from", path)?.open_dir() {
        Ok(directory) => {
            outside(plan, &directory, to)?;
            refuse_roots(&directory)?;
            survey(&directory, &plan.cancel).map(drop)
        }
        // The plan makes it: there is nothing in it yet.
        Err(_) => Ok(()),
    }
}

/// Whether something may be put where the item is. `to` is how the caller wrote its path.
pub(super) fn free(plan: &Plan, at: usize, from: &str, to: &str, overwrite: bool) -> Result<()> {
    let path = &plan.items[at].path;
    let name = from.rsplit('/').next().unwrap_or(from);
    let whole =
        || Error::field("to", format!("{path} is a directory; give the whole new path, such as {path}/{name}."));
    match plan.kind(at) {
        // A slash at the end means a directory to put it into; only a directory may become one.
        None if to.ends_with('/') && plan.spot("from", from)?.open_dir().is_err() => Err(whole()),
        None => Ok(()),
        Some(EntryKind::Directory) => Err(whole()),
        Some(EntryKind::File | EntryKind::Symlink | EntryKind::Other) if overwrite => Ok(()),
        Some(EntryKind::File | EntryKind::Symlink | EntryKind::Other) => Err(super::write::exists("overwrite", path)),
    }
}

impl Tool for Rename {
    const SPEC: Spec = Spec {
        title: "Move",
        description: "Moves or renames a file or a directory, atomically; missing directories are made. A file that \
                      has the new path is replaced only with overwrite=true, a directory never.",
        pace: Pace::Long,
        dry_run: true,
        tags: &["fs"],
        ..Spec::new("files", "move", Effect::Writes)
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
    use serde_json::json;

    use super::*;
    use crate::files::sample::{Sample, field};
    use crate::files::trial::{call, refused, rehearsed, snapshot};

    #[tokio::test]
    async fn a_file_moves_and_its_directories_are_made() {
        let sample = Sample::with(&[("x", "a\n")]);
        let args = json!({"from": "x", "to": "n/m/y"});
        let (told, done) = rehearsed(&sample, || Rename(sample.desk()), args).await;
        assert_eq!(std::fs::read(sample.path().join("n/m/y")).unwrap(), b"a\n");
        assert!(!sample.path().join("x").exists());
        assert!(told["diff"].as_str().unwrap().contains("rename from x\nrename to n/m/y\n"), "{told}");
        assert_eq!((&done["changes"][0]["what"], &done["changes"][0]["from"]), (&json!("moved"), &json!("x")));
        assert_eq!(done["directories"], json!(["n", "n/m"]));
    }

    #[tokio::test]
    async fn a_directory_moves_with_all_that_is_in_it() {
        let sample = Sample::with(&[("d/e/x", "a")]);
        rehearsed(&sample, || Rename(sample.desk()), json!({"from": "d", "to": "f"})).await;
        assert_eq!(snapshot(sample.path()).into_keys().collect::<Vec<_>>(), ["f", "f/e", "f/e/x"]);
    }

    #[tokio::test]
    async fn a_link_moves_as_a_link() {
        let sample = Sample::with(&[("d/x", "a")]);
        sample.link("d", "link");
        call(Rename(sample.desk()), json!({"from": "link", "to": "other"})).await.unwrap();
        assert!(sample.path().join("other").is_symlink() && sample.path().join("d/x").exists());
    }

    #[tokio::test]
    async fn what_is_there_is_replaced_only_on_demand_and_a_directory_never() {
        let sample = Sample::with(&[("x", "new"), ("y", "old"), ("d/z", "")]);
        assert_eq!(refused(&sample, Rename, json!({"from": "x", "to": "y"})).await.kind, Kind::Conflict);
        let error = refused(&sample, Rename, json!({"from": "x", "to": "d", "overwrite": true})).await;
        assert!(field(&error) == "to" && error.public.contains("d/x"), "{error}");
        let error = refused(&sample, Rename, json!({"from": "x", "to": "new/"})).await;
        assert!(field(&error) == "to" && error.public.contains("new/x"), "{error}");
        let args = json!({"from": "x", "to": "y", "overwrite": true});
        let (told, done) = rehearsed(&sample, || Rename(sample.desk()), args).await;
        assert_eq!((&told["changes"][0]["replaced"], &done["changes"][0]["replaced"]), (&json!(true), &json!(true)));
        assert_eq!(std::fs::read(sample.path().join("y")).unwrap(), b"new");
    }

    #[tokio::test]
    async fn nothing_moves_into_itself_or_from_nowhere() {
        let sample = Sample::with(&[("d/x", "")]);
        sample.link("d", "link");
        for to in ["d", "d/e", "link/e"] {
            let error = refused(&sample, Rename, json!({"from": "d", "to": to})).await;
            assert_eq!(field(&error), "to", "{to}: {error}");
        }
        assert_eq!(refused(&sample, Rename, json!({"from": "y", "to": "z"})).await.kind, Kind::NotFound);
        assert_eq!(field(&refused(&sample, Rename, json!({"from": "d/x", "to": "../x"})).await), "to");
    }

    #[tokio::test]
    async fn protected_names_neither_move_nor_come_to_be() {
        let sample = Sample::with(&[("x", ""), (".env", ""), ("d/.git/config", "")]);
        for (from, to) in [("x", ".npmrc"), (".env", "y"), ("d", "e")] {
            assert_eq!(
                refused(&sample, Rename, json!({"from": from, "to": to})).await.kind,
                Kind::Denied,
                "{from} {to}"
            );
        }
    }
}
