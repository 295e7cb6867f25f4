//! `files_patch`: a unified diff, applied to all its files or to none.

use mainstay_core::{Context, Effect, Error, Kind, Pace, Reason, Result, Spec, Tool};
use mainstay_sandbox::{Expect, etag_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::hunks::{self, Moved};
use super::outcome::{Report, Shown};
use super::pattern::Effort;
use super::plan::{Meant, Now, Plan, alive, in_field, missing};
use super::unified::{self, FilePatch};
use super::{Desk, copy, rename};

pub(crate) struct Patch(pub(crate) Desk);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// A unified diff, as diff -u and git write it; new, removed and renamed files too. The form between
    /// "*** Begin Patch" and "*** End Patch" is read as well.
    patch: String,
    /// How many leading names to take off the paths. Left out: the a/ and b/ of git if they are there, otherwise none.
    #[serde(default)]
    #[schemars(range(max = 100))]
    strip: Option<u32>,
    /// Change nothing; tell what would be changed.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Output {
    #[serde(flatten)]
    report: Report,
    /// Hunks that were found at other lines than the patch says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    moved_hunks: Vec<Moved>,
}

impl Tool for Patch {
    const SPEC: Spec = Spec {
        title: "Apply patch",
        description: "Applies a unified diff (git's too) to one or several files in one atomic step. The lines it is \
                      about must be there exactly, though they may have moved; otherwise nothing is changed and the \
                      error names the file, the hunk and the first line that differs.",
        pace: Pace::Long,
        dry_run: true,
        weigh: Some(weigh),
        tags: &["fs"],
        ..Spec::new("files", "patch", Effect::Writes)
    };
    type Args = Args;
    type Output = Output;

    async fn call(&self, args: Args, context: &Context) -> Result<Output> {
        let planning = move |plan: &mut Plan| {
            let files = unified::parse(&args.patch, args.strip.map(|strip| strip as usize))?;
            let (mut moved_hunks, mut effort) = (Vec::new(), Effort::new(&plan.cancel));
            for file in files {
                alive(&plan.cancel)?;
                let moved = file.plan(plan, &mut effort).map_err(|error| in_field(error, "patch"))?;
                moved_hunks.extend(moved);
            }
            Ok(moved_hunks)
        };
        let (moved_hunks, report) = self.0.change(context, args.dry_run, Shown::IfSmall, planning).await?;
        Ok(Output { report, moved_hunks })
    }
}

/// A patch that removes files takes what removing them takes, whatever their paths are.
fn weigh(args: &Value) -> Effect {
    let files = args["patch"].as_str().and_then(|text| unified::parse(text, None).ok()).unwrap_or_default();
    if files.iter().any(|file| file.new.is_none()) { Effect::Destroys } else { Effect::Writes }
}

impl FilePatch {
    fn plan(mut self, plan: &mut Plan, effort: &mut Effort) -> Result<Vec<Moved>> {
        match (self.old.take(), self.new.take()) {
            (None, Some(new)) => self.create(plan, &new, effort),
            (Some(old), None) => self.remove(plan, &old, effort),
            (Some(old), Some(new)) if self.renames && old != new => {
                if self.copies {
                    copy::Change::new(old, new.clone()).plan(plan)?;
                } else {
                    rename::Change::new(old, new.clone()).plan(plan)?;
                }
                self.revise(plan, &new, effort)
            }
            (Some(old), Some(new)) => {
                let there = plan.spot("patch", &new)?.metadata()?.is_some();
                self.revise(plan, if there { &new } else { &old }, effort)
            }
            (None, None) => Ok(Vec::new()),
        }
    }

    fn create(&self, plan: &mut Plan, path: &str, effort: &mut Effort) -> Result<Vec<Moved>> {
        let at = plan.item("patch", path, Meant::Target)?;
        if plan.kind(at).is_some() {
            return Err(Error::new(Kind::Conflict, format!("{path} exists already, and the patch makes it anew."))
                .with_reason(Reason::path(path)));
        }
        let (content, _) = hunks::apply(path, Vec::new(), &self.hunks, effort)?;
        plan.put(at, Now::Bytes(content))?;
        plan.items[at].mode = self.mode.filter(|mode| mode & 0o111 != 0);
        Ok(Vec::new())
    }

    fn remove(&self, plan: &mut Plan, path: &str, effort: &mut Effort) -> Result<Vec<Moved>> {
        let at = plan.item("patch", path, Meant::Entry)?;
        if !plan.is_file("patch", at)? {
            return Err(missing(path));
        }
        if !self.unseen {
            let before = plan.content(at)?;
            plan.make_room(before.len() + hunks::room_for(&before))?;
            let seen = etag_of(&before);
            let (rest, _) = hunks::apply(path, before, &self.hunks, effort)?;
            if !rest.is_empty() {
                let reason = format!("The patch removes {path}, but {} of its bytes are not in the patch.", rest.len());
                return Err(Error::field("patch", reason));
            }
            if matches!(plan.items[at].now, Now::Untouched) {
                plan.items[at].expect = Expect::Etag(seen);
            }
        }
        plan.put(at, Now::Gone)?;
        Ok(Vec::new())
    }

    fn revise(&self, plan: &mut Plan, path: &str, effort: &mut Effort) -> Result<Vec<Moved>> {
        let at = plan.item("patch", path, Meant::Target)?;
        if !plan.is_file("patch", at)? {
            return Err(missing(path));
        }
        let now = plan.mode(at).unwrap_or(0o644);
        let mode = self.mode.map(|mode| if mode & 0o111 == 0 { now & !0o111 } else { now | 0o111 });
        let remoded = mode.is_some_and(|mode| mode != now);
        let mut moved = Vec::new();
        if !self.hunks.is_empty() || remoded {
            let before = plan.content(at)?;
            plan.make_room(before.len() + hunks::room_for(&before))?;
            let seen = etag_of(&before);
            let (after, found) = hunks::apply(path, before, &self.hunks, effort)?;
            plan.revise(at, after, seen)?;
            moved = found;
        }
        if remoded {
            plan.items[at].mode = mode;
        }
        Ok(moved)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use std::os::unix::fs::PermissionsExt as _;

    use serde_json::Value;

    use super::*;
    use crate::files::sample::{Sample, field};
    use crate::files::trial::{call, refused, rehearsed, snapshot};

    async fn patch(sample: &Sample, patch: &str) -> Result<Value> {
        call(Patch(sample.desk()), json!({ "patch": patch })).await
    }

    fn content(sample: &Sample, path: &str) -> String {
        std::fs::read_to_string(sample.path().join(path)).unwrap()
    }

    const SEVERAL: &str = "\
diff --git a/new b/d/new
new file mode 100755
--- /dev/null
+++ b/d/new
@@ -0,0 +1,2 @@
+1
+2
\\ No newline at end of file
diff --git a/gone b/gone
deleted file mode 100644
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/old name b/new name
similarity index 50%
rename from old name
rename to new name
--- a/old name\t
+++ b/new name\t
@@ -1,2 +1,2 @@
 a
-b
+B
diff --git a/run b/run
old mode 100644
new mode 100755
";

    #[tokio::test]
    async fn several_files_are_made_changed_renamed_and_removed_at_once() {
        let sample = Sample::with(&[("gone", "x\n"), ("old name", "a\nb\n"), ("run", "")]);
        let (told, done) = rehearsed(&sample, || Patch(sample.desk()), json!({ "patch": SEVERAL })).await;
        let names: Vec<String> = snapshot(sample.path()).into_keys().collect();
        assert_eq!(names, ["d", "d/new", "new name", "run"]);
        assert_eq!((content(&sample, "d/new").as_str(), content(&sample, "new name").as_str()), ("1\n2", "a\nB\n"));
        for path in ["d/new", "run"] {
            assert_ne!(std::fs::metadata(sample.path().join(path)).unwrap().permissions().mode() & 0o111, 0, "{path}");
        }
        let whats = |reply: &Value| -> Vec<Value> {
            reply["changes"].as_array().unwrap().iter().map(|change| change["what"].clone()).collect()
        };
        assert_eq!(whats(&told), whats(&done));
        assert_eq!(done["diff"], told["diff"]);
    }

    #[tokio::test]
    async fn a_patch_that_does_not_fit_in_one_file_changes_none() {
        let sample = Sample::with(&[("gone", "y\n"), ("old name", "a\nb\n"), ("run", "")]);
        let error = refused(&sample, Patch, json!({ "patch": SEVERAL })).await;
        assert!(field(&error) == "patch" && error.public.contains("Hunk 1 of gone"), "{error}");
    }

    #[tokio::test]
    async fn a_hunk_that_has_moved_is_reported() {
        let sample = Sample::with(&[("x", "0\na\n")]);
        let done = patch(&sample, "--- x\n+++ x\n@@ -1 +1 @@\n-a\n+b\n").await.unwrap();
        assert_eq!(done["moved_hunks"], json!([{"path": "x", "hunk": 1, "line": 2, "lines_off": 1}]));
    }

    #[tokio::test]
    async fn a_file_with_more_in_it_than_the_patch_says_is_not_removed() {
        let sample = Sample::with(&[("x", "a\nb\n")]);
        let error = patch(&sample, "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n").await.unwrap_err();
        assert!(error.public.contains("2 of its bytes"), "{error}");
    }

    #[tokio::test]
    async fn a_file_that_is_there_is_not_made_anew() {
        let sample = Sample::with(&[("x", "a\n")]);
        let error = patch(&sample, "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+b\n").await.unwrap_err();
        assert_eq!(error.kind, Kind::Conflict);
        let error = patch(&sample, "--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n").await.unwrap_err();
        assert_eq!(error.kind, Kind::NotFound);
    }

    #[tokio::test]
    async fn two_names_without_a_rename_are_two_guesses_at_one_file() {
        let sample = Sample::with(&[("x", "a\n")]);
        patch(&sample, "--- x.orig\t2020\n+++ x\t2021\n@@ -1 +1 @@\n-a\n+b\n").await.unwrap();
        assert_eq!(content(&sample, "x"), "b\n");
    }

    #[tokio::test]
    async fn the_other_form_is_applied_too() {
        let sample = Sample::with(&[("x", "a\nb\n"), ("z", "whatever")]);
        let text = "*** Begin Patch\n*** Update File: x\n*** Move to: y\n@@\n a\n-b\n+c\n*** Add File: n\n+1\n\
                    *** Delete File: z\n*** End Patch\n";
        patch(&sample, text).await.unwrap();
        assert_eq!(snapshot(sample.path()).into_keys().collect::<Vec<_>>(), ["n", "y"]);
        assert_eq!((content(&sample, "y").as_str(), content(&sample, "n").as_str()), ("a\nc\n", "1\n"));
    }

    #[tokio::test]
    async fn paths_out_of_the_workspace_are_refused() {
        let sample = Sample::with(&[("x", "a\n")]);
        for path in ["../x", ".git/config", "/etc/passwd"] {
            let text = format!("--- /dev/null\n+++ {path}\n@@ -0,0 +1 @@\n+a\n");
            assert!(patch(&sample, &text).await.is_err(), "{path}");
        }
    }

    #[test]
    fn a_patch_that_removes_a_file_counts_as_removing() {
        let weighed = |patch: &str| weigh(&json!({ "patch": patch }));
        assert_eq!(weighed("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"), Effect::Destroys);
        assert_eq!(weighed("*** Begin Patch\n*** Delete File: x\n*** End Patch\n"), Effect::Destroys);
        assert_eq!(weighed("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"), Effect::Writes);
    }
}
