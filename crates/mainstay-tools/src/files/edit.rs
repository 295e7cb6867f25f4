//! `files_edit`: replaces exact text in one file.

use mainstay_core::{Context, Effect, Result, Spec, Tool};
use mainstay_sandbox::etag_of;

use super::file_tools::{ChangeArgs, FileTools, spec};
use crate::planning::{DiffInReply, FileReply, LinkHandling, Plan, not_found};
use crate::text::replace::{self, Edit as Replacement};

/// Works on bytes, so a file that is not UTF-8 keeps every byte outside of the replaced text.
pub(crate) struct Edit(pub(crate) FileTools);

/// Replaces text in a file.
#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Change {
    /// File, relative to the workspace.
    path: String,
    /// Replacements, applied in order, each to the result of those before; all or none.
    #[schemars(length(min = 1, max = 100))]
    edits: Vec<Replacement>,
    /// Edit only if the file has this etag.
    etag: Option<String>,
}

impl Change {
    /// Returns the number of replacements.
    pub(super) fn plan(self, plan: &mut Plan) -> Result<u64> {
        let at = plan.item("path", &self.path, LinkHandling::Follow)?;
        if !plan.is_file("path", at)? {
            return Err(not_found(&plan.items[at].path));
        }
        plan.check_etag(at, self.etag.as_deref())?;
        // The etag of what was read is checked again at commit time: nobody else's change is overwritten.
        let before = plan.content(at)?;
        let etag = etag_of(&before);
        let (after, replaced) = replace::replace(&plan.items[at].path, before, &self.edits)?;
        plan.set_content(at, after, etag)?;
        Ok(replaced)
    }
}

#[derive(serde::Serialize, schemars::JsonSchema)]
pub(crate) struct Output {
    #[serde(flatten)]
    file: FileReply,
    /// Number of replacements.
    replaced: u64,
}

impl Tool for Edit {
    const SPEC: Spec = Spec {
        title: "Edit file",
        description: "Replaces exact text in a file, atomically. Each `old` must occur exactly once unless `all` is set; \
                      otherwise nothing changes and the error says what differs. Use it instead of files_write to \
                      change a part of a file.",
        ..spec("edit", Effect::Writes)
    };
    type Args = ChangeArgs<Change>;
    type Output = Output;

    async fn call(&self, args: ChangeArgs<Change>, context: &Context) -> Result<Output> {
        let done = self.0.change(context, args.dry_run, DiffInReply::IfSmall, |plan| args.change.plan(plan));
        let (replaced, report) = done.await?;
        let (file, _) = report.into_file_reply(context)?;
        Ok(Output { file, replaced })
    }
}

#[cfg(test)]
mod tests {
    use mainstay_core::{Kind, Reason};
    use serde_json::{Value, json};

    use super::*;
    use crate::files::testing::calls::{call, dry_run_then_call, expect_error};
    use crate::files::testing::workspace::{SampleWorkspace, field};

    async fn edited(content: &[u8], edits: Value) -> Vec<u8> {
        let sample = SampleWorkspace::with(&[]);
        sample.write("x", content);
        let args = json!({"path": "x", "edits": edits});
        let (preview, result) = dry_run_then_call(&sample, || Edit(sample.tools()), args).await;
        assert_eq!((&preview["etag"], &preview["size"]), (&result["etag"], &result["size"]));
        let now = std::fs::read(sample.path().join("x")).unwrap();
        assert_eq!(result["etag"], etag_of(&now));
        now
    }

    #[tokio::test]
    async fn bytes_outside_the_replaced_text_do_not_change() {
        let one = json!([{"old": "b", "new": "c"}]);
        for (before, after) in [
            (&b"a\r\nb\r\n"[..], &b"a\r\nc\r\n"[..]),
            (b"\xef\xbb\xbfb\n", b"\xef\xbb\xbfc\n"),
            (b"b", b"c"),
            (b"\x00\xff b \xfe", b"\x00\xff c \xfe"),
        ] {
            assert_eq!(edited(before, one.clone()).await, after);
        }
        let long = [b"x".repeat(3_000_000).as_slice(), b"b"].concat();
        assert_eq!(edited(&long, one).await.len(), long.len());
    }

    #[tokio::test]
    async fn either_all_edits_are_made_or_none() {
        let sample = SampleWorkspace::with(&[("x", "a\n")]);
        let args = json!({"path": "x", "edits": [{"old": "a", "new": "b"}, {"old": "missing", "new": "c"}]});
        let error = expect_error(&sample, Edit, args).await;
        assert_eq!((error.kind, field(&error).as_str()), (Kind::Invalid, "edits/1/old"));
    }

    #[tokio::test]
    async fn a_small_change_returns_its_diff() {
        let sample = SampleWorkspace::with(&[("x", "a\n")]);
        let args = json!({"path": "x", "edits": [{"old": "a", "new": "b"}]});
        let result = call(Edit(sample.tools()), args).await.unwrap();
        assert_eq!((&result["replaced"], result.get("dry_run")), (&json!(1), None));
        assert!(result["diff"].as_str().unwrap().contains("\n-a\n+b\n"));
        let args = json!({"path": "x", "edits": [{"old": "b", "new": "long line\n".repeat(9_000)}]});
        assert_eq!(call(Edit(sample.tools()), args).await.unwrap().get("diff"), None);
    }

    #[tokio::test]
    async fn a_wrong_etag_is_a_conflict() {
        let sample = SampleWorkspace::with(&[("x", "a")]);
        let args = |etag: String| json!({"path": "x", "etag": etag, "edits": [{"old": "a", "new": "b"}]});
        let error = call(Edit(sample.tools()), args("0".into())).await.unwrap_err();
        let mismatch = Reason::EtagMismatch { path: "x".into(), etag: etag_of(b"a") };
        assert_eq!((error.kind, *error.reason.unwrap()), (Kind::Conflict, mismatch));
        call(Edit(sample.tools()), args(etag_of(b"a"))).await.unwrap();
    }

    #[tokio::test]
    async fn a_missing_file_and_one_that_is_too_large_are_rejected() {
        let sample = SampleWorkspace::with(&[]);
        let args = json!({"path": "x", "edits": [{"old": "a", "new": "b"}]});
        assert_eq!(call(Edit(sample.tools()), args.clone()).await.unwrap_err().kind, Kind::NotFound);
        let file = std::fs::File::create(sample.path().join("x")).unwrap();
        file.set_len(crate::planning::MAX_WHOLE_FILE + 1).unwrap();
        assert_eq!(call(Edit(sample.tools()), args).await.unwrap_err().kind, Kind::TooLarge);
    }

    #[test]
    fn of_two_edits_planned_on_the_same_content_one_wins() {
        let sample = SampleWorkspace::with(&[("x", "a b")]);
        let plans = ["a", "b"].map(|old| {
            let mut plan = sample.tools().plan(&Context::detached());
            let edits = vec![Replacement { old: old.to_owned(), new: "c".to_owned(), all: false }];
            Change { path: "x".to_owned(), edits, etag: None }.plan(&mut plan).unwrap();
            plan
        });
        let [first, second] = plans.map(|plan| plan.finish(false, DiffInReply::Never));
        assert!(first.is_ok());
        assert_eq!(second.unwrap_err().kind, Kind::Conflict);
        assert_eq!(std::fs::read(sample.path().join("x")).unwrap(), b"c b");
    }
}
