//! `files_patch`: applies a unified diff, to all its files or to none.

use mainstay_core::{Context, Effect, Error, Pace, Result, Spec, Tool};
use mainstay_sandbox::{Content, Expect, etag_of};
use serde_json::Value;

use super::file_tools::{ChangeArgs, FileTools, spec};
use super::{copy, move_path};
use crate::diff::apply::{self, MovedHunk};
use crate::diff::line_search::{ComparisonBudget, MAX_COMPARISONS};
use crate::diff::patch::FilePatch;
use crate::diff::unified;
use crate::planning::{DiffInReply, LinkHandling, NewState, Plan, Report, conflict, not_found, with_field};

/// Hunks may be offset, but never fuzzy: applying a patch to lines it was not written for corrupts files silently.
pub(crate) struct Patch(pub(crate) FileTools);

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct Change {
    /// Unified diff, as `diff -u` and git write it, or a patch between "*** Begin Patch" and "*** End Patch". May create,
    /// remove and rename files.
    patch: String,
    /// Leading path components to remove. Default: the a/ and b/ of git, if present.
    #[schemars(range(max = 100))]
    strip: Option<u32>,
}

#[derive(serde::Serialize, schemars::JsonSchema)]
pub(crate) struct Output {
    #[serde(flatten)]
    report: Report,
    /// Hunks that were applied at other lines than the patch says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    moved_hunks: Vec<MovedHunk>,
}

impl Tool for Patch {
    const SPEC: Spec = Spec {
        title: "Apply patch",
        description: "Applies a unified diff to one or several files in one atomic step. Context and removed lines must \
                      match exactly but may have moved; otherwise nothing changes and the error names the file, the \
                      hunk and the first line that differs.",
        pace: Pace::Long,
        weigh: Some(weigh),
        ..spec("patch", Effect::Writes)
    };
    type Args = ChangeArgs<Change>;
    type Output = Output;

    async fn call(&self, args: ChangeArgs<Change>, context: &Context) -> Result<Output> {
        let planner = move |plan: &mut Plan| {
            let Change { patch, strip } = args.change;
            let files = unified::parse(&patch, strip.map(|strip| strip as usize))?;
            let (mut moved_hunks, budget) = (Vec::new(), ComparisonBudget::new(MAX_COMPARISONS, &plan.cancel));
            for file in files {
                crate::progress::check_cancelled(&plan.cancel)?;
                let moved = file.plan(plan, &budget).map_err(|error| with_field(error, "patch"))?;
                moved_hunks.extend(moved);
            }
            Ok(moved_hunks)
        };
        let (moved_hunks, report) = self.0.change(context, args.dry_run, DiffInReply::IfSmall, planner).await?;
        Ok(Output { report, moved_hunks })
    }
}

/// A patch that removes files needs the same permission as files_delete.
fn weigh(args: &Value) -> Effect {
    // A patch that cannot be parsed changes nothing, so it needs no more than writing.
    let files = args["patch"].as_str().and_then(|text| unified::parse(text, None).ok()).unwrap_or_default();
    if files.iter().any(|file| file.new.is_none()) { Effect::Destroys } else { Effect::Writes }
}

/// Planning: a patch of a file becomes the same plan items as the other tools make.
impl FilePatch {
    fn plan(mut self, plan: &mut Plan, budget: &ComparisonBudget) -> Result<Vec<MovedHunk>> {
        match (self.old.take(), self.new.take()) {
            (None, Some(new)) => self.create(plan, &new, budget),
            (Some(old), None) => self.remove(plan, &old, budget),
            (Some(old), Some(new)) if self.renames && old != new => {
                if self.copies {
                    copy::Change { from: old, to: new.clone(), overwrite: false }.plan(plan)?;
                } else {
                    move_path::Change { from: old, to: new.clone(), overwrite: false }.plan(plan)?;
                }
                self.change_content(plan, &new, budget)
            }
            // Without a rename the names are two candidates, such as x.orig and x; the new one is preferred.
            (Some(old), Some(new)) => {
                let exists = plan.locate("patch", &new)?.metadata()?.is_some();
                self.change_content(plan, if exists { &new } else { &old }, budget)
            }
            (None, None) => Ok(Vec::new()),
        }
    }

    fn create(&self, plan: &mut Plan, path: &str, budget: &ComparisonBudget) -> Result<Vec<MovedHunk>> {
        let at = plan.item("patch", path, LinkHandling::Follow)?;
        if plan.kind(at).is_some() {
            return Err(conflict(path, format!("The patch creates {path}, which already exists.")));
        }
        let (content, _) = apply::apply(path, Vec::new(), &self.hunks, budget)?;
        plan.set_state(at, NewState::File(Content::Bytes(content)))?;
        plan.items[at].mode = self.mode.filter(|mode| mode & 0o111 != 0);
        Ok(Vec::new())
    }

    fn remove(&self, plan: &mut Plan, path: &str, budget: &ComparisonBudget) -> Result<Vec<MovedHunk>> {
        let at = plan.item("patch", path, LinkHandling::NoFollow)?;
        if !plan.is_file("patch", at)? {
            return Err(not_found(path));
        }
        // The patch shows the content it removes; a file with other content is not the one it means.
        if !self.content_unknown {
            let before = plan.content(at)?;
            // Splitting the file into lines takes memory in proportion to it.
            plan.reserve_memory(before.len() + apply::memory_needed(&before))?;
            let etag = etag_of(&before);
            let (rest, _) = apply::apply(path, before, &self.hunks, budget)?;
            if !rest.is_empty() {
                let reason = format!("The patch removes {path}, but does not contain {} of its bytes.", rest.len());
                return Err(Error::field("patch", reason));
            }
            if matches!(plan.items[at].state, NewState::Untouched) {
                plan.items[at].expect = Expect::Etag(etag);
            }
        }
        plan.set_state(at, NewState::Removed)?;
        Ok(Vec::new())
    }

    /// Applies the hunks and the mode to an existing file.
    fn change_content(&self, plan: &mut Plan, path: &str, budget: &ComparisonBudget) -> Result<Vec<MovedHunk>> {
        let at = plan.item("patch", path, LinkHandling::Follow)?;
        if !plan.is_file("patch", at)? {
            return Err(not_found(path));
        }
        let now = plan.mode(at).unwrap_or(0o644);
        // Git knows only whether a file is executable; the other permission bits stay.
        let mode = self.mode.map(|mode| if mode & 0o111 == 0 { now & !0o111 } else { now | 0o111 });
        let changes_mode = mode.is_some_and(|mode| mode != now);
        let mut moved = Vec::new();
        if !self.hunks.is_empty() || changes_mode {
            let before = plan.content(at)?;
            plan.reserve_memory(before.len() + apply::memory_needed(&before))?;
            let etag = etag_of(&before);
            let (after, found) = apply::apply(path, before, &self.hunks, budget)?;
            plan.set_content(at, after, etag)?;
            moved = found;
        }
        if changes_mode {
            plan.items[at].mode = mode;
        }
        Ok(moved)
    }
}

#[cfg(test)]
mod tests {
    use mainstay_core::Kind;
    use serde_json::json;
    use std::os::unix::fs::PermissionsExt as _;

    use serde_json::Value;

    use super::*;
    use crate::files::testing::calls::{call, dry_run_then_call, expect_error, snapshot};
    use crate::files::testing::workspace::{SampleWorkspace, field};

    async fn patch(sample: &SampleWorkspace, patch: &str) -> Result<Value> {
        call(Patch(sample.tools()), json!({ "patch": patch })).await
    }

    fn content(sample: &SampleWorkspace, path: &str) -> String {
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
        let sample = SampleWorkspace::with(&[("gone", "x\n"), ("old name", "a\nb\n"), ("run", "")]);
        let (preview, result) = dry_run_then_call(&sample, || Patch(sample.tools()), json!({ "patch": SEVERAL })).await;
        let names: Vec<String> = snapshot(sample.path()).into_keys().collect();
        assert_eq!(names, ["d", "d/new", "new name", "run"]);
        assert_eq!((content(&sample, "d/new").as_str(), content(&sample, "new name").as_str()), ("1\n2", "a\nB\n"));
        for path in ["d/new", "run"] {
            assert_ne!(std::fs::metadata(sample.path().join(path)).unwrap().permissions().mode() & 0o111, 0, "{path}");
        }
        let whats = |reply: &Value| -> Vec<Value> {
            reply["changes"].as_array().unwrap().iter().map(|change| change["what"].clone()).collect()
        };
        assert_eq!(whats(&preview), whats(&result));
        assert_eq!(result["diff"], preview["diff"]);
    }

    #[tokio::test]
    async fn a_patch_that_does_not_apply_to_one_file_changes_none() {
        let sample = SampleWorkspace::with(&[("gone", "y\n"), ("old name", "a\nb\n"), ("run", "")]);
        let error = expect_error(&sample, Patch, json!({ "patch": SEVERAL })).await;
        assert!(field(&error) == "patch" && error.public.contains("Hunk 1 of gone"), "{error}");
    }

    #[tokio::test]
    async fn a_hunk_that_has_moved_is_reported() {
        let sample = SampleWorkspace::with(&[("x", "0\na\n")]);
        let result = patch(&sample, "--- x\n+++ x\n@@ -1 +1 @@\n-a\n+b\n").await.unwrap();
        assert_eq!(result["moved_hunks"], json!([{"path": "x", "hunk": 1, "line": 2, "lines_off": 1}]));
    }

    #[tokio::test]
    async fn a_file_with_more_content_than_in_the_patch_is_not_removed() {
        let sample = SampleWorkspace::with(&[("x", "a\nb\n")]);
        let error = patch(&sample, "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n").await.unwrap_err();
        assert!(error.public.contains("2 of its bytes"), "{error}");
    }

    #[tokio::test]
    async fn a_patch_does_not_create_a_file_that_exists() {
        let sample = SampleWorkspace::with(&[("x", "a\n")]);
        let error = patch(&sample, "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+b\n").await.unwrap_err();
        assert_eq!(error.kind, Kind::Conflict);
        let error = patch(&sample, "--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n").await.unwrap_err();
        assert_eq!(error.kind, Kind::NotFound);
    }

    #[tokio::test]
    async fn two_names_without_a_rename_are_candidates_for_one_file() {
        let sample = SampleWorkspace::with(&[("x", "a\n")]);
        patch(&sample, "--- x.orig\t2020\n+++ x\t2021\n@@ -1 +1 @@\n-a\n+b\n").await.unwrap();
        assert_eq!(content(&sample, "x"), "b\n");
    }

    #[tokio::test]
    async fn the_begin_patch_format_is_applied_too() {
        let sample = SampleWorkspace::with(&[("x", "a\nb\n"), ("z", "whatever")]);
        let text = "*** Begin Patch\n*** Update File: x\n*** Move to: y\n@@\n a\n-b\n+c\n*** Add File: n\n+1\n\
                    *** Delete File: z\n*** End Patch\n";
        patch(&sample, text).await.unwrap();
        assert_eq!(snapshot(sample.path()).into_keys().collect::<Vec<_>>(), ["n", "y"]);
        assert_eq!((content(&sample, "y").as_str(), content(&sample, "n").as_str()), ("a\nc\n", "1\n"));
    }

    #[tokio::test]
    async fn paths_outside_the_workspace_are_rejected() {
        let sample = SampleWorkspace::with(&[("x", "a\n")]);
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
