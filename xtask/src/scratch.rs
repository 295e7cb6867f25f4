//! A temporary directory that is removed when it is dropped.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result, bail};

pub(crate) struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Creates a directory that other users may enter, so that a server run as another user reaches its own part of it.
    pub(crate) fn new(purpose: &str) -> Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        for _ in 0..1000 {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!("mainstay-{purpose}-{}-{number}", std::process::id());
            let path = std::env::temp_dir().join(name);
            match fs::create_dir(&path) {
                Ok(()) => {
                    let scratch = Self { path };
                    fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o755))?;
                    return Ok(scratch);
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error).with_context(|| format!("{} could not be made", path.display())),
            }
        }
        bail!("no free name for a directory in {}", std::env::temp_dir().display())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.path)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            println!("warning: {} could not be removed: {error}", self.path.display());
        }
    }
}
