//! `files_copy`: copies a file or a directory.

use mainstay_core::{Context, Effect, Error, Pace, Result, Spec, Tool};
use mainstay_sandbox::{Content, EntryKind, WorkspacePath};

use super::file_tools::{ChangeArgs, FileTools, spec};
use crate::planning::{
    LinkHandling, NewState, Plan, Report, check_free, check_not_into_itself, inside_changed_tree, is_within, not_found,
    summarize_for_copy, with_field,
};

/// A directory is first copied to a staging directory and then renamed, so that no partial copy is ever visible.
pub(crate) struct Copy(pub(crate) FileTools);

/// Copies a file, or a directory with its contents.
#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Change {
    /// File or directory to copy. A link is followed.
    pub(super) from: String,
    /// Full path of the copy, not its parent directory. Missing directories are created.
    pub(super) to: String,
    /// Replace a file at the destination.
    #[serde(default)]
    pub(super) overwrite: bool,
}

impl Change {
    pub(super) fn plan(self, plan: &mut Plan) -> Result<()> {
        // A source inside a directory that the call moves would have two meanings.
        let location = plan.locate("from", &self.from)?;
        plan.check_outside_changed_trees("from", location.display())?;
        let (state, mode) = source(plan, &location, &self.to)?;
        let at = plan.item("to", &self.to, LinkHandling::Follow)?;
        if plan.items[at].path == location.display() {
            return Err(Error::field("to", format!("{} cannot be copied onto itself.", location.display())));
        }
        check_free(plan, at, location.display(), &self.to, self.overwrite)?;
        if matches!(state, NewState::CopiedTree(..)) && plan.kind(at).is_some_and(|kind| kind != EntryKind::Directory) {
            let reason = format!("{} is a file, but {} is a directory.", self.to, location.display());
            return Err(Error::field("to", reason));
        }
        plan.set_state(at, state)?;
        plan.items[at].mode = mode;
        Ok(())
    }
}

/// The state of the copy, and the permission bits if it is a file.
fn source(plan: &Plan, location: &WorkspacePath, to: &str) -> Result<(NewState, Option<u32>)> {
    // The call has changed the source before: copy what it will hold.
    if let Some(at) = plan.items.iter().position(|item| item.path == location.display()) {
        return if plan.is_file("from", at)? {
            Ok((plan.copy_of(at)?, plan.mode(at)))
        } else {
            Err(not_found(location.display()))
        };
    }
    // What the same call changes inside the directory is not on disk yet, so it cannot be copied.
    if let Ok(directory) = location.open_dir() {
        if let Some(item) = plan.items.iter().find(|item| is_within(&item.path, location.display())) {
            return Err(inside_changed_tree("from", &item.path, location.display()));
        }
        check_not_into_itself(plan, &directory, to)?;
        let contents = summarize_for_copy(&directory, &plan.cancel)?;
        return Ok((NewState::CopiedTree(directory, contents), None));
    }
    let file = location.open_file().map_err(|error| with_field(error, "from"))?;
    // The copy keeps the permissions, but not set-user-ID and the like.
    let mode = file.metadata().mode & 0o777;
    Ok((NewState::File(Content::Copy(file)), Some(mode)))
}

impl Tool for Copy {
    const SPEC: Spec = Spec {
        title: "Copy",
        description: "Copies a file, or a directory with its contents, atomically. Replaces an existing file only with \
                      overwrite=true, a directory never. Links inside a directory are skipped and listed in the \
                      result.",
        pace: Pace::Long,
        ..spec("copy", Effect::Writes)
    };
    type Args = ChangeArgs<Change>;
    type Output = Report;

    async fn call(&self, args: ChangeArgs<Change>, context: &Context) -> Result<Report> {
        self.0.report(context, args, Change::plan).await
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use mainstay_core::Kind;
    use serde_json::json;

    use super::*;
    use crate::files::testing::calls::{call, call_as, dry_run_then_call, expect_error, snapshot};
    use crate::files::testing::workspace::{SampleWorkspace, field};

    #[tokio::test]
    async fn a_file_is_copied_byte_for_byte_with_its_mode() {
        let sample = SampleWorkspace::with(&[]);
        sample.write("x", b"\x00\xff");
        std::fs::set_permissions(sample.path().join("x"), std::fs::Permissions::from_mode(0o755)).unwrap();
        dry_run_then_call(&sample, || Copy(sample.tools()), json!({"from": "x", "to": "n/y"})).await;
        assert_eq!(std::fs::read(sample.path().join("n/y")).unwrap(), b"\x00\xff");
        assert_eq!(std::fs::metadata(sample.path().join("n/y")).unwrap().permissions().mode() & 0o777, 0o755);
        assert!(sample.path().join("x").exists());
    }

    #[tokio::test]
    async fn a_directory_is_copied_without_its_links_which_are_listed() {
        let sample = SampleWorkspace::with(&[("d/e/x", "1\n"), ("d/y", "2\n")]);
        std::fs::create_dir(sample.path().join("d/empty")).unwrap();
        sample.link("y", "d/link");
        let args = json!({"from": "d", "to": "n/f"});
        let (preview, result) = dry_run_then_call(&sample, || Copy(sample.tools()), args).await;
        let there: Vec<String> = snapshot(&sample.path().join("n")).into_keys().collect();
        assert_eq!(there, ["f", "f/e", "f/e/x", "f/empty", "f/y"]);
        let holds = json!({"files": 2, "directories": 2, "others": 1, "paths": ["d/link"]});
        assert_eq!((&preview["changes"][0]["holds"], &result["changes"][0]["holds"]), (&holds, &holds));
        assert!(preview["diff"].as_str().unwrap().contains("+++ b/n/f/e/x\n@@ -0,0 +1,1 @@\n+1\n"), "{preview}");
    }

    #[tokio::test]
    async fn directories_keep_their_modes() {
        let sample = SampleWorkspace::with(&[("d/e/x", ""), ("d/f/x", "")]);
        let set = |path: &str, mode| {
            std::fs::set_permissions(sample.path().join(path), std::fs::Permissions::from_mode(mode)).unwrap();
        };
        set("d/e", 0o711);
        set("d/f", 0o500);
        set("d", 0o700);
        call(Copy(sample.tools()), json!({"from": "d", "to": "c"})).await.unwrap();
        let mode = |path: &str| std::fs::metadata(sample.path().join(path)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("c"), mode("c/e")), (0o700, 0o711));
        assert_eq!(mode("c/f"), 0o700, "its owner can write, so that something could be put into it");
        set("d/f", 0o700);
    }

    #[tokio::test]
    async fn many_files_are_copied_with_few_open_at_once() {
        let sample = SampleWorkspace::with(&[]);
        for number in 0..300 {
            sample.write(format!("d/{}/{number}", number % 7), number.to_string().as_bytes());
        }
        call(Copy(sample.tools()), json!({"from": "d", "to": "e"})).await.unwrap();
        assert_eq!(snapshot(&sample.path().join("d")), snapshot(&sample.path().join("e")));
    }

    #[tokio::test]
    async fn a_file_is_replaced_only_with_overwrite_and_a_directory_never() {
        let sample = SampleWorkspace::with(&[("x", "new"), ("y", "old"), ("d/z", "")]);
        assert_eq!(expect_error(&sample, Copy, json!({"from": "x", "to": "y"})).await.kind, Kind::Conflict);
        assert_eq!(field(&expect_error(&sample, Copy, json!({"from": "x", "to": "d", "overwrite": true})).await), "to");
        assert_eq!(field(&expect_error(&sample, Copy, json!({"from": "d", "to": "x", "overwrite": true})).await), "to");
        call(Copy(sample.tools()), json!({"from": "x", "to": "y", "overwrite": true})).await.unwrap();
        assert_eq!(std::fs::read(sample.path().join("y")).unwrap(), b"new");
    }

    #[tokio::test]
    async fn nothing_is_copied_into_itself_or_from_a_missing_path() {
        let sample = SampleWorkspace::with(&[("d/x", "")]);
        sample.link("d", "link");
        for to in ["d/e", "link/e", "d/e/f"] {
            assert_eq!(field(&expect_error(&sample, Copy, json!({"from": "d", "to": to})).await), "to", "{to}");
        }
        assert_eq!(
            field(&expect_error(&sample, Copy, json!({"from": "d/x", "to": "d/x", "overwrite": true})).await),
            "to"
        );
        assert_eq!(expect_error(&sample, Copy, json!({"from": "y", "to": "z"})).await.kind, Kind::NotFound);
    }

    #[tokio::test]
    async fn a_protected_file_prevents_the_copy_of_its_directory() {
        let sample = SampleWorkspace::with(&[("d/e/id_rsa", ""), ("d/x", "")]);
        let error = expect_error(&sample, Copy, json!({"from": "d", "to": "f"})).await;
        assert!(error.kind == Kind::Denied && error.public.contains("d/e/id_rsa"), "{error}");
    }

    #[tokio::test]
    async fn a_name_that_is_not_utf8_prevents_the_copy_of_a_directory() {
        use std::os::unix::ffi::OsStrExt as _;
        let sample = SampleWorkspace::with(&[("d/a", "")]);
        sample.write(std::path::Path::new("d").join(std::ffi::OsStr::from_bytes(b"z\xff")), b"");
        assert_eq!(field(&expect_error(&sample, Copy, json!({"from": "d", "to": "f"})).await), "from");
    }

    #[tokio::test]
    async fn a_cancelled_copy_leaves_nothing_behind() {
        let sample = SampleWorkspace::with(&[("d/x", "")]);
        let before = snapshot(sample.path());
        let context = Context::detached();
        context.cancel.cancel();
        let error = call_as(&context, Copy(sample.tools()), json!({"from": "d", "to": "f"})).await.unwrap_err();
        assert_eq!(error.kind, Kind::Cancelled);
        assert_eq!(snapshot(sample.path()), before);
    }
}
