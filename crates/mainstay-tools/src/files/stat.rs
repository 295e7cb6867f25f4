//! `files_stat`: what a path is.

use mainstay_core::{Context, Effect, Error, Pace, Reason, Result, Spec, Tool};
use mainstay_sandbox::EntryKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Desk, blocking, facts};

pub(crate) struct Stat(pub(crate) Desk);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// The file or directory, relative to the workspace. A link is not followed.
    path: String,
    /// Also return the tag of a file's content. The whole file is read for it.
    #[serde(default)]
    etag: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The path, as it can be given to other tools.
    path: String,
    /// What it is: a directory, a file, a symlink, or something other.
    kind: EntryKind,
    /// Its size in bytes.
    size: u64,
    /// When it was last modified, in ISO-8601.
    mtime: String,
    /// The permission bits in octal, as in `0644`.
    mode: String,
    /// The tag of the content, if it was asked for and this is a file.
    etag: Option<String>,
    /// Where a link points.
    target: Option<String>,
}

impl Tool for Stat {
    const SPEC: Spec = Spec {
        title: "File Facts",
        description: "Tells what a path in the workspace is without reading it: kind, size, time, mode, a link's \
                      target. Use it to check that something exists, or for the etag of a file.",
        pace: Pace::Instant,
        tags: &["fs"],
        ..Spec::new("files", "stat", Effect::Reads)
    };
    type Args = Args;
    type Output = Output;

    async fn call(&self, args: Args, context: &Context) -> Result<Output> {
        let (desk, cancel) = (self.0.clone(), context.cancel.clone());
        blocking(move || stat(&desk, &args, &|| !cancel.is_cancelled())).await
    }
}

fn stat(desk: &Desk, args: &Args, wanted: &dyn Fn() -> bool) -> Result<Output> {
    let spot = desk.workspace.find(&args.path)?;
    let Some(facts) = spot.metadata()? else {
        let shown = spot.display();
        return Err(Error::not_found(format!("There is no {shown}.")).with_reason(Reason::path(shown)));
    };
    let tagged = args.etag && facts.kind == EntryKind::File;
    let etag = if tagged { Some(spot.open_file()?.etag_while(wanted)?) } else { None };
    let target = if facts.kind == EntryKind::Symlink { Some(spot.link_target()?) } else { None };
    Ok(Output {
        path: spot.display().to_owned(),
        kind: facts.kind,
        size: facts.size,
        mtime: facts::modified(&facts),
        mode: format!("{:04o}", facts.mode),
        etag,
        target,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::sample::Sample;
    use mainstay_core::Kind;
    use mainstay_sandbox::etag_of;

    fn ask(sample: &Sample, path: &str) -> Result<Output> {
        stat(&sample.desk(), &Args { path: path.into(), etag: true }, &|| true)
    }

    #[tokio::test]
    async fn a_file_is_told_with_its_mode_and_the_tag_if_asked_for() {
        use std::os::unix::fs::PermissionsExt as _;
        let sample = Sample::with(&[("a/b", "xyz")]);
        let mode = std::fs::Permissions::from_mode(0o640);
        std::fs::set_permissions(sample.path().join("a/b"), mode).unwrap();
        let args = Args { path: "a/b".into(), etag: false };
        let plain = Stat(sample.desk()).call(args, &Context::detached()).await.unwrap();
        assert_eq!((plain.kind, plain.size, plain.mode.as_str()), (EntryKind::File, 3, "0640"));
        assert_eq!((plain.etag, ask(&sample, "a/b").unwrap().etag), (None, Some(etag_of(b"xyz"))));
        assert_eq!(ask(&sample, ".").unwrap().kind, EntryKind::Directory);
    }

    #[test]
    fn a_link_is_told_as_a_link_even_if_it_leads_outside() {
        let sample = Sample::with(&[]);
        sample.link("/etc/passwd", "out");
        let out = ask(&sample, "out").unwrap();
        assert_eq!((out.kind, out.target.as_deref(), out.etag), (EntryKind::Symlink, Some("/etc/passwd"), None));
    }

    #[test]
    fn a_pipe_is_told_and_not_waited_for() {
        let sample = Sample::with(&[]);
        sample.pipe("pipe");
        assert_eq!(ask(&sample, "pipe").unwrap().kind, EntryKind::Other);
    }

    #[test]
    fn what_is_missing_or_protected_says_so() {
        let sample = Sample::with(&[(".env", "SECRET=1"), ("d/f", "")]);
        assert_eq!(ask(&sample, "d/missing").unwrap_err().kind, Kind::NotFound);
        assert_eq!(ask(&sample, ".env").unwrap_err().kind, Kind::Denied);
        assert_eq!(ask(&sample, "../d").unwrap_err().kind, Kind::Invalid);
    }
}
