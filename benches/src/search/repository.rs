//! Trees as git repositories, which is what people search in.

use std::path::Path;

use anyhow::{Result, ensure};

use crate::bench_support::message::shown;
use crate::bench_support::servers::{command, tool};

/// Makes a directory a repository without a commit.
pub(crate) async fn init(root: &Path) -> Result<()> {
    git(root, &["init", "--quiet", "--initial-branch=main"]).await
}

/// Makes a directory a repository whose one commit has all files.
pub(crate) async fn commit_all(root: &Path) -> Result<()> {
    init(root).await?;
    git(root, &["add", "--all"]).await?;
    let author = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"];
    git(root, &[&author[..], &["commit", "--quiet", "--message", "Sources"]].concat()).await
}

async fn git(root: &Path, args: &[&str]) -> Result<()> {
    let mut git = command(&tool("git")?);
    git.args(args).current_dir(root).envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")]);
    let output = git.output().await?;
    ensure!(output.status.success(), "git {} fails: {}", args.join(" "), shown(&output.stderr));
    Ok(())
}
