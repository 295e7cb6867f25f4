//! A temporary workspace with files, for tests.

use std::path::Path;

use mainstay_core::Error;
use mainstay_sandbox::{FilesSettings, Workspace};

use crate::files::file_tools::FileTools;

pub(crate) struct SampleWorkspace {
    directory: tempfile::TempDir,
    workspace: Workspace,
}

impl SampleWorkspace {
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(directory.path(), &FilesSettings::default()).unwrap();
        let sample = Self { directory, workspace };
        for (path, content) in files {
            sample.write(path, content.as_bytes());
        }
        sample
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn write(&self, path: impl AsRef<Path>, content: &[u8]) {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn link(&self, target: &str, path: &str) {
        std::os::unix::fs::symlink(target, self.path().join(path)).unwrap();
    }

    #[expect(clippy::disallowed_methods, reason = "nothing in the standard library makes a pipe with a name")]
    pub(crate) fn pipe(&self, path: &str) {
        assert!(std::process::Command::new("mkfifo").arg(self.path().join(path)).status().unwrap().success());
    }

    pub(crate) fn tools(&self) -> FileTools {
        self.tools_reading(FilesSettings::default().read_bytes)
    }

    pub(crate) fn tools_reading(&self, read_bytes: u64) -> FileTools {
        FileTools { read_bytes, ..FileTools::new(&self.workspace, &FilesSettings::default()) }
    }
}

/// The argument that an error is about.
pub(crate) fn field(error: &Error) -> String {
    error.field_name().unwrap().to_owned()
}
