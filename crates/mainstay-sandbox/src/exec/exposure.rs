//! Whether a file of the server's own is where callers or commands could access it.

use std::path::{Path, PathBuf};

use mainstay_core::{Error, Result};

use super::ExecSettings;
use super::visibility::Visibility;
use crate::identity::FileId;
use crate::workspace::Workspace;

impl Workspace {
    /// The root, or the path visible to `commands`, that a file is in; `None` if it is in neither, or in a closed
    /// directory. Directories are compared by identity, not by name. The file need not exist yet.
    pub fn exposure(&self, file: &Path, commands: Option<&ExecSettings>) -> Result<Option<PathBuf>> {
        let real = canonical_path(file)?;
        let roots = self.roots().iter().map(|root| (root.identity, root.path().to_owned()));
        let granted = commands.map(|settings| Visibility::new(self, settings).grants).unwrap_or_default();
        let granted = granted.into_iter().filter_map(|grant| Some((FileId::of_path(&grant.path).ok()?, grant.path)));
        let open: Vec<(FileId, PathBuf)> = roots.chain(granted).collect();
        for around in real.ancestors().filter_map(|path| FileId::of_path(path).ok()) {
            if self.closed.iter().any(|closed| closed.identity == around) {
                return Ok(None);
            }
            if let Some((_, path)) = open.iter().find(|(identity, _)| *identity == around) {
                return Ok(Some(path.clone()));
            }
        }
        Ok(None)
    }
}

/// Where a file is or will be, with all symbolic links followed, as creating it would.
fn canonical_path(file: &Path) -> Result<PathBuf> {
    let cannot = |reason: &dyn std::fmt::Display| {
        Error::unavailable(format!("The file {} cannot be used: {reason}.", file.display()))
    };
    match std::fs::canonicalize(file) {
        Ok(real) => return Ok(real),
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(cannot(&error)),
        Err(_) if file.is_symlink() => return Err(cannot(&"it is a symbolic link to a file that does not exist")),
        Err(_) => {}
    }
    let Some(name) = file.file_name() else { return Err(cannot(&"it has no name")) };
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok(std::fs::canonicalize(directory).map_err(|error| cannot(&error))?.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::FilesSettings;

    #[test]
    fn a_file_is_exposed_by_where_it_is_whatever_leads_there() {
        let top = tempfile::tempdir().unwrap();
        let real = top.path().canonicalize().unwrap();
        for name in ["work/data", "beside", "shared"] {
            std::fs::create_dir_all(real.join(name)).unwrap();
        }
        std::fs::write(real.join("work/there.db"), "").unwrap();
        for (link, target) in [("beside/in", "work"), ("beside/file.db", "work/there.db"), ("beside/none.db", "gone")] {
            std::os::unix::fs::symlink(real.join(target), real.join(link)).unwrap();
        }
        let workspace = Workspace::open(&real.join("work"), &FilesSettings::default()).unwrap();
        let workspace = workspace.with_closed_dir(&real.join("work/data")).unwrap();
        let commands = ExecSettings { read: vec![real.join("shared")], ..ExecSettings::default() };
        for (file, alone, with_commands) in [
            ("work/new.db", Some("work"), Some("work")),
            ("beside/in/new.db", Some("work"), Some("work")),
            ("beside/file.db", Some("work"), Some("work")),
            ("work/data/own.db", None, None),
            ("beside/in/data/own.db", None, None),
            ("beside/own.db", None, None),
            ("shared/own.db", None, Some("shared")),
        ] {
            let exposure = |commands| workspace.exposure(&real.join(file), commands).unwrap();
            assert_eq!(exposure(None), alone.map(|name| real.join(name)), "{file}");
            assert_eq!(exposure(Some(&commands)), with_commands.map(|name| real.join(name)), "{file}");
        }
        assert!(workspace.exposure(&real.join("beside/none.db"), None).is_err());
        assert!(workspace.exposure(&real.join("no/such/directory.db"), None).is_err());
    }
}
