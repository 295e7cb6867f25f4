//! Access to user files: what must be rejected, and what must work.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]
#![expect(clippy::disallowed_methods, reason = "the test kills a writer, so it starts one")]

mod bounds;
mod changes;
mod killed;
mod paths;
mod roots;

use std::path::{Path, PathBuf};

use mainstay_core::{Error, Kind};
use mainstay_sandbox::{Content, Expect, FilesSettings, Step, StepResult, Workspace};

/// A workspace, and next to it a directory that must never be accessed.
struct Fixture {
    _directory: tempfile::TempDir,
    inside: PathBuf,
    outside: PathBuf,
    workspace: Workspace,
}

const SECRET: &str = "nobody may read this";

impl Fixture {
    fn new() -> Self {
        Self::with(&FilesSettings::default())
    }

    fn with(settings: &FilesSettings) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let base = std::fs::canonicalize(directory.path()).unwrap();
        let (inside, outside) = (base.join("ws"), base.join("ws-evil"));
        std::fs::create_dir_all(inside.join("src")).unwrap();
        std::fs::create_dir_all(&outside).unwrap();
        std::fs::write(outside.join("secret"), SECRET).unwrap();
        std::fs::write(inside.join("src/main.rs"), "fn main() {}\n").unwrap();
        let workspace = Workspace::open(&inside, settings).unwrap().with_journal(&base.join("journal")).unwrap();
        Self { _directory: directory, inside, outside, workspace }
    }

    fn read(&self, path: &str) -> Result<String, Error> {
        let bytes = self.workspace.find(path)?.open_file()?.read_whole(1 << 20)?.unwrap();
        Ok(String::from_utf8(bytes).unwrap())
    }

    fn put(&self, path: &str, text: &str) -> Result<StepResult, Error> {
        self.put_if(path, text, Expect::Anything)
    }

    fn put_if(&self, path: &str, text: &str, expect: Expect) -> Result<StepResult, Error> {
        let target = self.workspace.find(path)?.write_target()?;
        let step = Step::Put { target, content: Content::Bytes(text.into()), expect, mode: None };
        Ok(self.workspace.commit(vec![step])?.remove(0))
    }

    fn link(&self, target: impl AsRef<Path>, name: &str) {
        std::os::unix::fs::symlink(target, self.inside.join(name)).unwrap();
    }

    /// Asserts that nothing outside the workspace was read or changed.
    fn assert_outside_untouched(&self) {
        assert_eq!(std::fs::read_to_string(self.outside.join("secret")).unwrap(), SECRET);
        assert_eq!(std::fs::read_dir(&self.outside).unwrap().count(), 1, "something was written outside");
    }
}

fn kind<T>(result: Result<T, Error>) -> Kind {
    result.err().unwrap().kind
}
