//! `files_change`: makes several changes in one transaction.

use mainstay_core::{Context, Effect, Error, Pace, Result, Spec, Tool};
use serde_json::Value;

use super::file_tools::{ChangeArgs, FileTools, spec};
use super::{append, copy, delete, edit, mkdir, move_path, write};
use crate::planning::{DiffInReply, Plan, Report};

/// All changes go into one plan, which the sandbox commits as one transaction with a journal.
pub(crate) struct Change(pub(crate) FileTools);

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct Changes {
    /// Changes, in order; each sees the result of those before.
    #[schemars(length(min = 1, max = 200))]
    changes: Vec<Operation>,
}

/// One change; `op` says which.
#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case")]
enum Operation {
    Write(write::Change),
    Edit(edit::Change),
    Append(append::Change),
    Copy(copy::Change),
    Move(move_path::Change),
    Delete(delete::Change),
    Mkdir(mkdir::Change),
}

impl Operation {
    /// Adds the change to the plan; the arguments are those of the tool with the same name.
    fn plan(self, plan: &mut Plan) -> Result<()> {
        match self {
            Self::Write(change) => change.plan(plan),
            Self::Edit(change) => change.plan(plan).map(drop),
            Self::Append(change) => change.plan(plan),
            Self::Copy(change) => change.plan(plan),
            Self::Move(change) => change.plan(plan),
            Self::Delete(change) => change.plan(plan),
            Self::Mkdir(change) => change.plan(plan),
        }
    }
}

impl Tool for Change {
    const SPEC: Spec = Spec {
        title: "Change several files",
        description: "Makes several changes (write, edit, append, copy, move, delete, mkdir) in one atomic step: all or \
                      none. Later changes see the result of earlier ones. Use it for changes that belong together.",
        pace: Pace::Long,
        weigh: Some(weigh),
        ..spec("change", Effect::Writes)
    };
    type Args = ChangeArgs<Changes>;
    type Output = Report;

    async fn call(&self, args: ChangeArgs<Changes>, context: &Context) -> Result<Report> {
        // The order matters: later changes see the state that earlier ones planned.
        let planner = |plan: &mut Plan| {
            args.change.changes.into_iter().enumerate().try_for_each(|(number, operation)| {
                crate::progress::check_cancelled(&plan.cancel)?;
                operation.plan(plan).map_err(|error| numbered(error, number))
            })
        };
        let done = self.0.change(context, args.dry_run, DiffInReply::IfSmall, planner);
        done.await.map(|((), report)| report)
    }
}

/// A call that removes files among other changes needs the same permission as files_delete.
fn weigh(args: &Value) -> Effect {
    // Called before the arguments are parsed, because the consent policy needs the effect of the call first.
    let mut operations = args["changes"].as_array().into_iter().flatten();
    if operations.any(|operation| operation["op"] == "delete") { Effect::Destroys } else { Effect::Writes }
}

/// Adds the number of the change to its error.
fn numbered(mut error: Error, number: usize) -> Error {
    error.public = format!("changes/{number}: {}", error.public).into();
    error.rename_field(|field| format!("changes/{number}/{field}"));
    error
}

#[cfg(test)]
mod tests {
    use mainstay_core::Kind;
    use serde_json::json;

    use super::*;
    use crate::files::testing::calls::{self, call, dry_run_then_call, snapshot};
    use crate::files::testing::workspace::{SampleWorkspace, field};

    async fn change(sample: &SampleWorkspace, changes: Value) -> Result<Value> {
        call(Change(sample.tools()), json!({ "changes": changes })).await
    }

    async fn expect_error(sample: &SampleWorkspace, changes: Value) -> Error {
        calls::expect_error(sample, Change, json!({ "changes": changes })).await
    }

    fn files(sample: &SampleWorkspace) -> Vec<(String, String)> {
        let files = snapshot(sample.path()).into_iter().filter(|(_, (kind, _))| *kind == 'f');
        files.map(|(path, (_, content))| (path, String::from_utf8(content).unwrap())).collect()
    }

    fn expected(files: &[(&str, &str)]) -> Vec<(String, String)> {
        files.iter().map(|(path, content)| ((*path).to_owned(), (*content).to_owned())).collect()
    }

    #[tokio::test]
    async fn every_kind_of_change_is_made_in_one_step() {
        let sample =
            SampleWorkspace::with(&[("e", "a\n"), ("p", "1"), ("c", "c"), ("m", "m"), ("d/x", ""), ("t/u", "u")]);
        let changes = json!([
            {"op": "write", "path": "w/new", "content": "w"},
            {"op": "edit", "path": "e", "edits": [{"old": "a", "new": "b"}]},
            {"op": "append", "path": "p", "content": "2"},
            {"op": "copy", "from": "c", "to": "c2"},
            {"op": "copy", "from": "t", "to": "t2"},
            {"op": "move", "from": "m", "to": "m2"},
            {"op": "delete", "path": "d", "recursive": true},
            {"op": "mkdir", "path": "empty"}
        ]);
        let (preview, result) =
            dry_run_then_call(&sample, || Change(sample.tools()), json!({ "changes": changes })).await;
        let after = [
            ("c", "c"),
            ("c2", "c"),
            ("e", "b\n"),
            ("m2", "m"),
            ("p", "12"),
            ("t/u", "u"),
            ("t2/u", "u"),
            ("w/new", "w"),
        ];
        assert_eq!(files(&sample), expected(&after));
        assert!(sample.path().join("empty").is_dir() && !sample.path().join("d").exists());
        assert_eq!(preview["changes"].as_array().unwrap().len(), result["changes"].as_array().unwrap().len());
        assert_eq!(result["directories"], json!(["w"]));
    }

    #[tokio::test]
    async fn a_later_change_sees_the_result_of_an_earlier_one() {
        let sample = SampleWorkspace::with(&[("x", "a\n"), ("y", "old")]);
        let changes = json!([
            {"op": "edit", "path": "x", "edits": [{"old": "a", "new": "b"}]},
            {"op": "edit", "path": "x", "edits": [{"old": "b", "new": "c"}]},
            {"op": "append", "path": "x", "content": "d\n"},
            {"op": "copy", "from": "x", "to": "copy"},
            {"op": "move", "from": "x", "to": "moved"},
            {"op": "edit", "path": "moved", "edits": [{"old": "c", "new": "C"}]},
            {"op": "write", "path": "x", "content": "anew"},
            {"op": "write", "path": "n/z", "content": "1"},
            {"op": "edit", "path": "n/z", "edits": [{"old": "1", "new": "2"}]},
            {"op": "delete", "path": "y"},
            {"op": "write", "path": "y", "content": "new"}
        ]);
        dry_run_then_call(&sample, || Change(sample.tools()), json!({ "changes": changes })).await;
        let after = [("copy", "c\nd\n"), ("moved", "C\nd\n"), ("n/z", "2"), ("x", "anew"), ("y", "new")];
        assert_eq!(files(&sample), expected(&after));
    }

    #[tokio::test]
    async fn two_files_can_be_swapped() {
        let sample = SampleWorkspace::with(&[("x", "1"), ("y", "2")]);
        let changes = json!([
            {"op": "move", "from": "x", "to": "t"},
            {"op": "move", "from": "y", "to": "x"},
            {"op": "move", "from": "t", "to": "y"}
        ]);
        dry_run_then_call(&sample, || Change(sample.tools()), json!({ "changes": changes })).await;
        assert_eq!(files(&sample), expected(&[("x", "2"), ("y", "1")]));
    }

    #[tokio::test]
    async fn what_one_call_creates_and_removes_leaves_no_trace() {
        let sample = SampleWorkspace::with(&[("x", "1")]);
        let changes = json!([
            {"op": "write", "path": "t", "content": ""},
            {"op": "delete", "path": "t"},
            {"op": "move", "from": "x", "to": "y"},
            {"op": "move", "from": "y", "to": "z"}
        ]);
        let (_, result) = dry_run_then_call(&sample, || Change(sample.tools()), json!({ "changes": changes })).await;
        assert_eq!(files(&sample), expected(&[("z", "1")]));
        assert_eq!(result["changes"].as_array().unwrap().len(), 1, "{result}");
        assert_eq!(result["changes"][0]["from"], "x");
    }

    #[tokio::test]
    async fn a_change_that_fails_prevents_all_changes() {
        let sample = SampleWorkspace::with(&[("x", "a")]);
        let error = expect_error(
            &sample,
            json!([
                {"op": "write", "path": "n/new", "content": ""},
                {"op": "edit", "path": "x", "edits": [{"old": "missing", "new": ""}]}
            ]),
        )
        .await;
        assert_eq!(field(&error), "changes/1/edits/0/old");
        let error =
            expect_error(&sample, json!([{"op": "mkdir", "path": "n"}, {"op": "write", "path": "x", "content": ""}]))
                .await;
        assert!(error.kind == Kind::Conflict && error.public.starts_with("changes/1: "), "{error}");
    }

    #[tokio::test]
    async fn a_file_changed_since_its_etag_prevents_all_changes() {
        let sample = SampleWorkspace::with(&[("x", "a"), ("y", "b")]);
        let changes = json!([
            {"op": "write", "path": "y", "content": "c", "overwrite": true},
            {"op": "write", "path": "x", "content": "c", "etag": "0"}
        ]);
        assert_eq!(expect_error(&sample, changes).await.kind, Kind::Conflict);
    }

    #[tokio::test]
    async fn directories_that_several_changes_need_are_created_once() {
        let sample = SampleWorkspace::with(&[]);
        let changes = json!([
            {"op": "mkdir", "path": "a"},
            {"op": "mkdir", "path": "a/b"},
            {"op": "write", "path": "a/b/x", "content": "1", "mkdirs": false},
            {"op": "write", "path": "a/y", "content": "2"}
        ]);
        change(&sample, changes).await.unwrap();
        assert_eq!(files(&sample), expected(&[("a/b/x", "1"), ("a/y", "2")]));
    }

    #[tokio::test]
    async fn nothing_is_changed_inside_a_directory_that_is_removed_or_moved() {
        let sample = SampleWorkspace::with(&[("d/x", "a")]);
        sample.link("d", "link");
        let write = |path: &str| json!({"op": "write", "path": path, "content": "b", "overwrite": true});
        for first in
            [json!({"op": "delete", "path": "d", "recursive": true}), json!({"op": "move", "from": "d", "to": "e"})]
        {
            for path in ["d/x", "d/n", "link/x", "e/x"] {
                if path == "e/x" && first["op"] == "delete" {
                    continue;
                }
                let second = write(path);
                let error = expect_error(&sample, json!([first, second])).await;
                assert!(error.public.contains("use two calls"), "{path}: {error}");
                expect_error(&sample, json!([second, first])).await;
            }
        }
    }

    #[tokio::test]
    async fn an_unknown_operation_and_an_unknown_field_are_rejected() {
        let sample = SampleWorkspace::with(&[("x", "a")]);
        expect_error(&sample, json!([{"op": "explode", "path": "x"}])).await;
        expect_error(&sample, json!([{"op": "delete", "path": "x", "recursiv": true}])).await;
        expect_error(&sample, json!([])).await;
    }

    #[tokio::test]
    async fn the_maximum_number_of_changes_can_be_made_at_once() {
        let sample = SampleWorkspace::with(&[]);
        let changes: Vec<Value> =
            (0..200).map(|n| json!({"op": "write", "path": format!("d{}/{n}", n % 9), "content": "x"})).collect();
        change(&sample, changes.into()).await.unwrap();
        assert_eq!(files(&sample).len(), 200);
    }

    #[test]
    fn removing_among_other_changes_counts_as_removing() {
        let weighed = |changes: Value| weigh(&json!({ "changes": changes }));
        assert_eq!(weighed(json!([{"op": "mkdir", "path": "a"}, {"op": "delete", "path": "b"}])), Effect::Destroys);
        assert_eq!(weighed(json!([{"op": "mkdir", "path": "a"}])), Effect::Writes);
    }
}
