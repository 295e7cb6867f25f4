//! `files_stat`: returns the metadata of a path.

use mainstay_core::{Context, Effect, Result, Spec, Tool};
use mainstay_sandbox::EntryKind;

use super::file_tools::{FileTools, spec};
use crate::planning::not_found;
use crate::text::modified;

/// Opens nothing unless an etag is wanted, so a pipe or a device cannot block it.
pub(crate) struct Stat(pub(crate) FileTools);

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct Args {
    /// File or directory, relative to the workspace. Links are not followed.
    path: String,
    /// Also return the etag of a file, which takes reading all of it.
    #[serde(default)]
    etag: bool,
}

#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
pub(crate) struct Output {
    /// Path, as other tools take it.
    path: String,
    /// Directory, file, symlink or other.
    kind: EntryKind,
    /// Size in bytes.
    size: u64,
    /// Modification time, ISO 8601.
    mtime: String,
    /// Permission bits in octal, such as `0644`.
    mode: String,
    /// Etag of the content, if requested and this is a file.
    etag: Option<String>,
    /// Target of a symlink.
    target: Option<String>,
}

impl Tool for Stat {
    const SPEC: Spec = Spec {
        title: "File metadata",
        description: "Returns the metadata of a path in the workspace: kind, size, modification time, mode, link target \
                      and, if requested, etag. Use it to check whether something exists.",
        ..spec("stat", Effect::Reads)
    };
    type Args = Args;
    type Output = Output;

    async fn call(&self, args: Args, context: &Context) -> Result<Output> {
        let (tools, cancel) = (self.0.clone(), context.cancel.clone());
        crate::progress::blocking(move || stat(&tools, &args, &|| !cancel.is_cancelled())).await
    }
}

fn stat(tools: &FileTools, args: &Args, wanted: &dyn Fn() -> bool) -> Result<Output> {
    let location = tools.workspace.find(&args.path)?;
    let metadata = location.metadata()?.ok_or_else(|| not_found(location.display()))?;
    let has_etag = args.etag && metadata.kind == EntryKind::File;
    let etag = if has_etag { Some(location.open_file()?.etag_while(wanted)?) } else { None };
    let target = if metadata.kind == EntryKind::Symlink { Some(location.link_target()?) } else { None };
    Ok(Output {
        path: location.display().to_owned(),
        kind: metadata.kind,
        size: metadata.size,
        mtime: modified(&metadata),
        mode: format!("{:04o}", metadata.mode),
        etag,
        target,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::testing::workspace::SampleWorkspace;
    use mainstay_core::Kind;
    use mainstay_sandbox::etag_of;

    fn ask(sample: &SampleWorkspace, path: &str) -> Result<Output> {
        stat(&sample.tools(), &Args { path: path.into(), etag: true }, &|| true)
    }

    #[tokio::test]
    async fn a_file_has_a_mode_and_an_etag_if_asked_for() {
        use std::os::unix::fs::PermissionsExt as _;
        let sample = SampleWorkspace::with(&[("a/b", "xyz")]);
        let mode = std::fs::Permissions::from_mode(0o640);
        std::fs::set_permissions(sample.path().join("a/b"), mode).unwrap();
        let args = Args { path: "a/b".into(), etag: false };
        let plain = Stat(sample.tools()).call(args, &Context::detached()).await.unwrap();
        assert_eq!((plain.kind, plain.size, plain.mode.as_str()), (EntryKind::File, 3, "0640"));
        assert_eq!((plain.etag, ask(&sample, "a/b").unwrap().etag), (None, Some(etag_of(b"xyz"))));
        assert_eq!(ask(&sample, ".").unwrap().kind, EntryKind::Directory);
    }

    #[test]
    fn a_link_is_not_followed_even_if_it_leads_outside() {
        let sample = SampleWorkspace::with(&[]);
        sample.link("/etc/passwd", "out");
        let out = ask(&sample, "out").unwrap();
        assert_eq!((out.kind, out.target.as_deref(), out.etag), (EntryKind::Symlink, Some("/etc/passwd"), None));
    }

    #[test]
    fn a_pipe_is_described_without_being_opened() {
        let sample = SampleWorkspace::with(&[]);
        sample.pipe("pipe");
        assert_eq!(ask(&sample, "pipe").unwrap().kind, EntryKind::Other);
    }

    #[test]
    fn missing_and_protected_paths_are_errors() {
        let sample = SampleWorkspace::with(&[(".env", "SECRET=1"), ("d/f", "")]);
        assert_eq!(ask(&sample, "d/missing").unwrap_err().kind, Kind::NotFound);
        assert_eq!(ask(&sample, ".env").unwrap_err().kind, Kind::Denied);
        assert_eq!(ask(&sample, "../d").unwrap_err().kind, Kind::Invalid);
    }
}
