//! `files_copy`: the same once more, elsewhere.

use mainstay_core::{Context, Effect, Error, Pace, Result, Spec, Tool};
use mainstay_sandbox::{Dir, EntryKind, WorkspacePath};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Desk;
use super::asked::Asked;
use super::outcome::{Report, Shown, resolved};
use super::plan::{Meant, Now, Plan, beneath, in_field, inside, missing};
use super::rename::free;
use super::subtree::survey_to_copy;

pub(crate) struct Copy(pub(crate) Desk);

/// Copies a file, or a directory with all that is in it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Change {
    /// What is to be copied. Of a link, the file behind it.
    from: String,
    /// The whole path of the copy, not the directory it shall be in. Missing directories are made.
    to: String,
    /// Replace a file that has this path.
    #[serde(default)]
    overwrite: bool,
}

impl Change {
    pub(super) fn new(from: String, to: String) -> Self {
        Self { from, to, overwrite: false }
    }

    pub(super) fn plan(self, plan: &mut Plan) -> Result<()> {
        let spot = plan.spot("from", &self.from)?;
        plan.uncovered("from", spot.display())?;
        let (now, mode) = source(plan, &spot, &self.to)?;
        let at = plan.item("to", &self.to, Meant::Target)?;
        if plan.items[at].path == spot.display() {
            return Err(Error::field("to", format!("{} is already there.", spot.display())));
        }
        free(plan, at, spot.display(), &self.to, self.overwrite)?;
        if matches!(now, Now::Tree(..)) && plan.kind(at).is_some_and(|kind| kind != EntryKind::Directory) {
            return Err(Error::field("to", format!("{} is a file, and {} a directory.", self.to, spot.display())));
        }
        plan.put(at, now)?;
        plan.items[at].mode = mode;
        Ok(())
    }
}

/// What is to be copied, and the permissions of a file.
fn source(plan: &Plan, spot: &WorkspacePath, to: &str) -> Result<(Now, Option<u32>)> {
    if let Some(at) = plan.items.iter().position(|item| item.path == spot.display()) {
        return if plan.is_file("from", at)? {
            Ok((plan.copied(at)?, plan.mode(at)))
        } else {
            Err(missing(spot.display()))
        };
    }
    if let Ok(directory) = spot.open_dir() {
        if let Some(item) = plan.items.iter().find(|item| beneath(&item.path, spot.display())) {
            return Err(inside("from", &item.path, spot.display()));
        }
        outside(plan, &directory, to)?;
        let survey = survey_to_copy(&directory, &plan.cancel)?;
        return Ok((Now::Tree(directory, survey), None));
    }
    let file = spot.open_file().map_err(|error| in_field(error, "from"))?;
    let mode = file.metadata().mode & 0o777;
    Ok((Now::Copy(file), Some(mode)))
}

/// A directory cannot be put into itself, whichever way the path leads there.
pub(super) fn outside(plan: &Plan, directory: &Dir, to: &str) -> Result<()> {
    let to = plan.spot("to", to)?;
    if resolved(&plan.workspace, to.display())?.starts_with(directory.absolute()) {
        let reason = format!("{} lies in {}, which cannot be put into itself.", to.display(), directory.display());
        return Err(Error::field("to", reason));
    }
    Ok(())
}

impl Tool for Copy {
    const SPEC: Spec = Spec {
        title: "Copy",
        description: "Copies a file, or a directory with all that is in it, byte for byte and atomically. A file that \
                      has the new path is replaced only with overwrite=true, a directory never. Links in a directory \
                      are left out and named in the reply.",
        pace: Pace::Long,
        dry_run: true,
        tags: &["fs"],
        ..Spec::new("files", "copy", Effect::Writes)
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
    use std::os::unix::fs::PermissionsExt as _;

    use mainstay_core::Kind;
    use serde_json::json;

    use super::*;
    use crate::files::sample::{Sample, field};
    use crate::files::trial::{call, call_as, refused, rehearsed, snapshot};

    #[tokio::test]
    async fn a_file_is_copied_byte_for_byte_with_its_mode() {
        let sample = Sample::with(&[]);
        sample.write("x", b"\x00\xff");
        std::fs::set_permissions(sample.path().join("x"), std::fs::Permissions::from_mode(0o755)).unwrap();
        rehearsed(&sample, || Copy(sample.desk()), json!({"from": "x", "to": "n/y"})).await;
        assert_eq!(std::fs::read(sample.path().join("n/y")).unwrap(), b"\x00\xff");
        assert_eq!(std::fs::metadata(sample.path().join("n/y")).unwrap().permissions().mode() & 0o777, 0o755);
        assert!(sample.path().join("x").exists());
    }

    #[tokio::test]
    async fn a_directory_is_copied_without_its_links_and_they_are_named() {
        let sample = Sample::with(&[("d/e/x", "1\n"), ("d/y", "2\n")]);
        std::fs::create_dir(sample.path().join("d/empty")).unwrap();
        sample.link("y", "d/link");
        let args = json!({"from": "d", "to": "n/f"});
        let (told, done) = rehearsed(&sample, || Copy(sample.desk()), args).await;
        let there: Vec<String> = snapshot(&sample.path().join("n")).into_keys().collect();
        assert_eq!(there, ["f", "f/e", "f/e/x", "f/empty", "f/y"]);
        let holds = json!({"files": 2, "directories": 2, "others": 1, "paths": ["d/link"]});
        assert_eq!((&told["changes"][0]["holds"], &done["changes"][0]["holds"]), (&holds, &holds));
        assert!(told["diff"].as_str().unwrap().contains("+++ b/n/f/e/x\n@@ -0,0 +1,1 @@\n+1\n"), "{told}");
    }

    #[tokio::test]
    async fn directories_keep_their_modes() {
        let sample = Sample::with(&[("d/e/x", ""), ("d/f/x", "")]);
        let set = |path: &str, mode| {
            std::fs::set_permissions(sample.path().join(path), std::fs::Permissions::from_mode(mode)).unwrap();
        };
        set("d/e", 0o711);
        set("d/f", 0o500);
        set("d", 0o700);
        call(Copy(sample.desk()), json!({"from": "d", "to": "c"})).await.unwrap();
        let mode = |path: &str| std::fs::metadata(sample.path().join(path)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("c"), mode("c/e")), (0o700, 0o711));
        assert_eq!(mode("c/f"), 0o700, "its owner can write, so that something could be put into it");
        set("d/f", 0o700);
    }

    #[tokio::test]
    async fn many_files_are_copied_with_few_open_at_once() {
        let sample = Sample::with(&[]);
        for number in 0..300 {
            sample.write(format!("d/{}/{number}", number % 7), number.to_string().as_bytes());
        }
        call(Copy(sample.desk()), json!({"from": "d", "to": "e"})).await.unwrap();
        assert_eq!(snapshot(&sample.path().join("d")), snapshot(&sample.path().join("e")));
    }

    #[tokio::test]
    async fn what_is_there_is_replaced_only_on_demand_and_a_directory_never() {
        let sample = Sample::with(&[("x", "new"), ("y", "old"), ("d/z", "")]);
        assert_eq!(refused(&sample, Copy, json!({"from": "x", "to": "y"})).await.kind, Kind::Conflict);
        assert_eq!(field(&refused(&sample, Copy, json!({"from": "x", "to": "d", "overwrite": true})).await), "to");
        assert_eq!(field(&refused(&sample, Copy, json!({"from": "d", "to": "x", "overwrite": true})).await), "to");
        call(Copy(sample.desk()), json!({"from": "x", "to": "y", "overwrite": true})).await.unwrap();
        assert_eq!(std::fs::read(sample.path().join("y")).unwrap(), b"new");
    }

    #[tokio::test]
    async fn nothing_is_copied_into_itself_or_from_nowhere() {
        let sample = Sample::with(&[("d/x", "")]);
        sample.link("d", "link");
        for to in ["d/e", "link/e", "d/e/f"] {
            assert_eq!(field(&refused(&sample, Copy, json!({"from": "d", "to": to})).await), "to", "{to}");
        }
        assert_eq!(field(&refused(&sample, Copy, json!({"from": "d/x", "to": "d/x", "overwrite": true})).await), "to");
        assert_eq!(refused(&sample, Copy, json!({"from": "y", "to": "z"})).await.kind, Kind::NotFound);
    }

    #[tokio::test]
    async fn something_protected_keeps_a_directory_from_being_copied() {
        let sample = Sample::with(&[("d/e/id_rsa", ""), ("d/x", "")]);
        let error = refused(&sample, Copy, json!({"from": "d", "to": "f"})).await;
        assert!(error.kind == Kind::Denied && error.public.contains("d/e/id_rsa"), "{error}");
    }

    #[tokio::test]
    async fn a_name_that_cannot_be_written_as_text_keeps_a_directory_from_being_copied() {
        use std::os::unix::ffi::OsStrExt as _;
        let sample = Sample::with(&[("d/a", "")]);
        sample.write(std::path::Path::new("d").join(std::ffi::OsStr::from_bytes(b"z\xff")), b"");
        assert_eq!(field(&refused(&sample, Copy, json!({"from": "d", "to": "f"})).await), "from");
    }

    #[tokio::test]
    async fn a_cancelled_copy_leaves_nothing_behind() {
        let sample = Sample::with(&[("d/x", "")]);
        let before = snapshot(sample.path());
        let context = Context::detached();
        context.cancel.cancel();
        let error = call_as(&context, Copy(sample.desk()), json!({"from": "d", "to": "f"})).await.unwrap_err();
        assert_eq!(error.kind, Kind::Cancelled);
        assert_eq!(snapshot(sample.path()), before);
    }
}
