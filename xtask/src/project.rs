//! The paths of one checkout: the workspace's root, its target directory, its binaries.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// One checkout of the workspace.
pub(crate) struct Project {
    pub(crate) root: PathBuf,
    pub(crate) target: PathBuf,
    pub(crate) metadata: Value,
}

impl Project {
    pub(crate) fn find() -> Result<Self> {
        let metadata = metadata()?;
        let directory = |key: &str| {
            metadata[key].as_str().map(PathBuf::from).with_context(|| format!("cargo metadata names no {key}"))
        };
        Ok(Self { root: directory("workspace_root")?, target: directory("target_directory")?, metadata })
    }

    /// A binary of the debug profile, the one that the unit tests were built with.
    pub(crate) fn debug_binary(&self, name: &str) -> PathBuf {
        self.target.join("debug").join(name)
    }

    /// A cargo command, run at the workspace's root.
    pub(crate) fn cargo(&self) -> Command {
        let mut command = Command::new(cargo());
        command.current_dir(&self.root);
        command
    }
}

/// The cargo that runs us.
pub(crate) fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

fn metadata() -> Result<Value> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
    let output = Command::new(cargo())
        .args(["metadata", "--format-version", "1", "--no-deps", "--manifest-path"])
        .arg(&manifest)
        .output()
        .context("cargo metadata could not be started")?;
    if !output.status.success() {
        bail!("cargo metadata failed:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    serde_json::from_slice(&output.stdout).context("cargo metadata is not JSON")
}
