//! What bounds the plan of a file tool: shared memory, the number of paths, the bytes to copy, the wish of the caller; and what it may do
//! without an approval of its own.

use std::time::Duration;

use mainstay_core::{Approval, Context, Effect, Error, Kind, PlannedChange, Reason, Result};
use mainstay_sandbox::{AutoRunPolicy, Content, FilesSettings};
use serde_json::{Value, json};

use crate::files::change::Change;
use crate::files::copy::Copy;
use crate::files::delete::Delete;
use crate::files::edit::Edit;
use crate::files::file_tools::FileTools;
use crate::files::move_path::MovePath;
use crate::files::patch::Patch;
use crate::files::testing::calls::{call, call_as, snapshot};
use crate::files::testing::workspace::SampleWorkspace;
use crate::files::write::Write;
use crate::planning::{ChangeLimits, DiffInReply, LinkHandling, MemoryBudget, MemoryReservation, NewState, Plan};

static SMALL: MemoryBudget = MemoryBudget::new(1000, Duration::ZERO);

fn plan(sample: &SampleWorkspace) -> Plan {
    let plan = sample.tools().plan(&Context::detached());
    Plan { memory: MemoryReservation::of(&SMALL), ..plan }
}

#[test]
fn plans_share_one_memory_budget_and_release_it() {
    let sample = SampleWorkspace::with(&[("x", &"x".repeat(600))]);
    let (mut first, mut second) = (plan(&sample), plan(&sample));
    let new = first.item("path", "y", LinkHandling::Follow).unwrap();
    first.set_state(new, NewState::File(Content::Bytes(vec![0; 600]))).unwrap();
    let old = second.item("path", "x", LinkHandling::Follow).unwrap();
    assert_eq!(second.content(old).unwrap_err().kind, Kind::Unavailable);
    first.finish(false, DiffInReply::Never).unwrap();
    assert_eq!(second.content(old).unwrap().len(), 600);
}

#[tokio::test]
async fn a_patch_of_very_many_files_is_refused_before_it_takes_their_descriptors() {
    let sample = SampleWorkspace::with(&[]);
    let one = |n: u32| format!("--- /dev/null\n+++ b/f{n}\n@@ -0,0 +1 @@\n+x\n");
    let patch = (0..60_000).fold(String::new(), |patch, n| patch + &one(n));
    for dry_run in [true, false] {
        let args = json!({"patch": patch, "dry_run": dry_run});
        let error = call(Patch(limited(&sample, |settings| settings.change_paths = 50)), args).await.unwrap_err();
        assert_eq!(error.kind, Kind::TooLarge, "{error}");
        assert!(error.public.contains("files.change_paths"), "{error}");
    }
    assert!(snapshot(sample.path()).is_empty());
}

fn limited(sample: &SampleWorkspace, change: impl FnOnce(&mut FilesSettings)) -> FileTools {
    let mut settings = FilesSettings::default();
    change(&mut settings);
    FileTools { limits: ChangeLimits::new(&settings), ..sample.tools() }
}

#[tokio::test]
async fn one_call_copies_no_more_bytes_than_configured() {
    let sample = SampleWorkspace::with(&[("a", "12345"), ("d/b", "12345"), ("d/c", "12345")]);
    let before = snapshot(sample.path());
    let tools = |copy_bytes| limited(&sample, |settings| settings.copy_bytes = copy_bytes);
    let several = json!({"changes": [{"op": "copy", "from": "a", "to": "x"}, {"op": "copy", "from": "d", "to": "y"}]});
    for dry_run in [true, false] {
        let args = json!({"from": "a", "to": "x", "dry_run": dry_run});
        assert_eq!(call(Copy(tools(4)), args).await.unwrap_err().kind, Kind::TooLarge);
        let args = json!({"from": "d", "to": "x", "dry_run": dry_run});
        assert_eq!(call(Copy(tools(9)), args).await.unwrap_err().kind, Kind::TooLarge);
        assert_eq!(call(Change(tools(14)), several.clone()).await.unwrap_err().kind, Kind::TooLarge);
        // A patch that renames with changes copies nothing, one that copies does.
        let patch = "diff --git a/a b/x\nsimilarity index 100%\ncopy from a\ncopy to x\n";
        let args = json!({"patch": patch, "dry_run": dry_run});
        assert_eq!(call(Patch(tools(4)), args).await.unwrap_err().kind, Kind::TooLarge);
    }
    assert_eq!(snapshot(sample.path()), before);
    call(Change(tools(15)), several).await.unwrap();
}

#[tokio::test]
async fn a_copy_that_is_cancelled_in_the_middle_of_a_file_is_not_completed() {
    let sample = SampleWorkspace::with(&[]);
    // So large that it cannot be copied before it is cancelled, and with nothing in it that would fill a disk.
    std::fs::File::create(sample.path().join("large")).unwrap().set_len(2 << 30).unwrap();
    let context = Context::detached();
    let cancel = context.cancel.clone();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(30));
        cancel.cancel();
    });
    let error = call_as(&context, Copy(sample.tools()), json!({"from": "large", "to": "copy"})).await.unwrap_err();
    assert_eq!(error.kind, Kind::Cancelled);
    assert_eq!(std::fs::read_dir(sample.path()).unwrap().count(), 1);
}

/// A call that may write, as the pipeline runs it.
fn writing() -> Context {
    approved(Approval::Effect(Effect::Writes))
}

fn approved(approval: Approval) -> Context {
    let mut context = Context::detached();
    context.approval = approval;
    context
}

async fn run(tools: FileTools, context: &Context, tool: &str, args: Value) -> Result<Value> {
    match tool {
        "write" => call_as(context, Write(tools), args).await,
        "edit" => call_as(context, Edit(tools), args).await,
        "patch" => call_as(context, Patch(tools), args).await,
        "copy" => call_as(context, Copy(tools), args).await,
        "move" => call_as(context, MovePath(tools), args).await,
        "delete" => call_as(context, Delete(tools), args).await,
        "change" => call_as(context, Change(tools), args).await,
        other => panic!("there is no {other}"),
    }
}

fn unapproved(error: Error) -> PlannedChange {
    let text = error.to_string();
    match error.reason.map(|reason| *reason) {
        Some(Reason::Unapproved(plan)) => plan,
        _ => panic!("{text}"),
    }
}

#[tokio::test]
async fn overwriting_a_file_with_nothing_destroys_its_content() {
    for (tool, args) in [
        ("write", json!({"path": "x", "content": "", "overwrite": true})),
        ("write", json!({"path": "link", "content_base64": "", "overwrite": true})),
        ("edit", json!({"path": "x", "edits": [{"old": "text\n", "new": ""}]})),
        ("patch", json!({"patch": "--- a/x\n+++ b/x\n@@ -1 +0,0 @@\n-text\n"})),
        ("patch", json!({"patch": "--- q/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-text\n", "strip": 1})),
        ("copy", json!({"from": "empty", "to": "x", "overwrite": true})),
        ("move", json!({"from": "empty", "to": "x", "overwrite": true})),
        ("change", json!({"changes": [{"op": "write", "path": "x", "content": "", "overwrite": true}]})),
        (
            "change",
            json!({"changes": [{"op": "write", "path": "x", "content": "a", "overwrite": true},
                                      {"op": "edit", "path": "x", "edits": [{"old": "a", "new": ""}]}]}),
        ),
        ("delete", json!({"path": "x"})),
    ] {
        let sample = SampleWorkspace::with(&[("x", "text\n"), ("empty", "")]);
        sample.link("x", "link");
        let before = snapshot(sample.path());
        let plan = unapproved(run(sample.tools(), &writing(), tool, args.clone()).await.unwrap_err());
        assert_eq!((plan.effect, plan.ask), (Effect::Destroys, false), "{args}");
        assert_eq!(snapshot(sample.path()), before, "{args}");
        let context = approved(Approval::Plan(plan.state));
        run(sample.tools(), &context, tool, args.clone()).await.unwrap();
    }
}

#[tokio::test]
async fn a_change_that_keeps_content_only_writes() {
    for (tool, args) in [
        ("write", json!({"path": "x", "content": "other", "overwrite": true})),
        ("write", json!({"path": "empty", "content": "", "overwrite": true})),
        ("write", json!({"path": "new", "content": ""})),
        ("move", json!({"from": "x", "to": "y"})),
        (
            "change",
            json!({"changes": [{"op": "move", "from": "x", "to": "y"},
                                      {"op": "write", "path": "x", "content": ""}]}),
        ),
    ] {
        let sample = SampleWorkspace::with(&[("x", "text\n"), ("empty", "")]);
        run(sample.tools(), &writing(), tool, args).await.unwrap();
    }
}

#[tokio::test]
async fn an_approved_plan_is_carried_out_only_on_what_was_there() {
    let delete = |path: &str| ("delete", json!({"path": path, "recursive": true}));
    for ((tool, args), path) in [
        (("write", json!({"path": "x", "content": "", "overwrite": true})), "x"),
        (delete("x"), "x"),
        (delete("d"), "d/e/y"),
        (delete("d"), "d/e/new"),
    ] {
        let sample = SampleWorkspace::with(&[("x", "text\n"), ("d/e/y", "text\n")]);
        let missing = approved(Approval::Missing);
        let plan = unapproved(run(sample.tools(), &missing, tool, args.clone()).await.unwrap_err());
        let again = unapproved(run(sample.tools(), &missing, tool, args.clone()).await.unwrap_err());
        assert_eq!(plan, again, "the same state is the same plan");
        sample.write(path, b"other content");
        let context = approved(Approval::Plan(plan.state.clone()));
        let other = unapproved(run(sample.tools(), &context, tool, args.clone()).await.unwrap_err());
        assert_ne!(plan.state, other.state, "{args}");
        assert_eq!(std::fs::read(sample.path().join(path)).unwrap(), b"other content", "{args}");
    }
}

/// Paths of files that programs outside the sandbox run, and how a caller could write to them.
fn auto_run_changes() -> Vec<(&'static str, Value)> {
    let mut changes: Vec<_> = [
        ".mcp.json",
        "sub/.MCP.json",
        ".claude/settings.json",
        ".claude/hooks/deep/x",
        "CLAUDE.md",
        "sub/claude.md",
        ".vscode/tasks.json",
        ".cargo/config.toml",
        ".husky/pre-commit",
        "any.code-workspace",
        ".config/autostart/x.desktop",
        ".bashrc",
        "new/HEAD",
        "bare/config",
        "bare/commondir",
        "bare/config.worktree",
        "bare/hooks/post-update",
        "bare/hooks/new/post-update",
        "link/tasks.json",
        "alias",
        "sub/../.mcp.json",
    ]
    .map(|path| ("write", json!({"path": path, "content": "x", "overwrite": true})))
    .into();
    changes.extend([
        ("move", json!({"from": "vs", "to": ".vscode2/../.vscode"})),
        ("copy", json!({"from": "vs", "to": "sub/.vscode"})),
        ("copy", json!({"from": "template", "to": "project"})),
        ("move", json!({"from": "template", "to": "project"})),
        ("move", json!({"from": "x", "to": ".mcp.json"})),
        ("delete", json!({"path": ".claude/deny.json"})),
        ("patch", json!({"patch": "--- /dev/null\n+++ b/.mcp.json\n@@ -0,0 +1 @@\n+x\n"})),
        (
            "change",
            json!({"changes": [{"op": "mkdir", "path": "a"}, {"op": "write", "path": "AGENTS.md", "content": ""}]}),
        ),
    ]);
    changes
}

fn auto_run_sample() -> SampleWorkspace {
    let sample = SampleWorkspace::with(&[
        ("x", "x"),
        ("vs/tasks.json", "{}"),
        ("template/in/.mcp.json", "{}"),
        ("bare/HEAD", "ref: refs/heads/main"),
        ("bare/hooks/sample", ""),
        (".claude/deny.json", "{}"),
        (".cursor/real.json", "{}"),
        (".vscode2/x", ""),
        ("sub/x", ""),
    ]);
    sample.link(".cursor", "link");
    sample.link(".cursor/real.json", "alias");
    sample
}

#[tokio::test]
async fn changes_of_what_other_programs_run_are_allowed_asked_about_or_refused_and_always_marked() {
    for (tool, args) in auto_run_changes() {
        for policy in [AutoRunPolicy::Allow, AutoRunPolicy::Ask, AutoRunPolicy::Refuse] {
            let sample = auto_run_sample();
            let before = snapshot(sample.path());
            let tools = limited(&sample, |settings| settings.auto_run = policy);
            let context = Context::detached();
            let result = run(tools, &context, tool, args.clone()).await;
            assert_eq!(context.audit_mark(), Some("auto_run"), "{args}");
            match policy {
                AutoRunPolicy::Allow => drop(result.unwrap()),
                AutoRunPolicy::Ask => {
                    let plan = unapproved(result.unwrap_err());
                    assert!(plan.ask && plan.notice.unwrap().contains("outside the sandbox"), "{args}");
                    assert_eq!(snapshot(sample.path()), before, "{args}");
                }
                AutoRunPolicy::Refuse => {
                    let error = result.unwrap_err();
                    assert!(error.kind == Kind::Denied && error.public.contains("files.auto_run"), "{error}");
                    assert_eq!(snapshot(sample.path()), before, "{args}");
                }
            }
        }
    }
}

#[tokio::test]
async fn names_that_only_look_like_those_other_programs_run_are_plain_files() {
    for path in
        ["tasks.json", ".vscode/extensions.json", "claude.txt", "config", "commondir", "hooks/x", "head.rs", "mcp.json"]
    {
        let (sample, context) = (auto_run_sample(), writing());
        run(sample.tools(), &context, "write", json!({"path": path, "content": "x"})).await.unwrap();
        assert_eq!(context.audit_mark(), None, "{path}");
    }
}
