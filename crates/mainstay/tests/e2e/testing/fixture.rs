//! The fixtures under contracts/, in the layout that contracts/README.md describes.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

/// A folder of a contract: what is sent, and what is answered.
pub(crate) struct Fixture {
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
}

impl Fixture {
    /// Those of a contract, in the order of their names.
    pub(crate) fn all(contract: &str) -> Vec<Self> {
        let entries = fs::read_dir(contract).unwrap().map(|entry| entry.unwrap());
        let mut all: Vec<Self> = entries
            .map(|entry| Self { name: entry.file_name().into_string().unwrap(), folder: entry.path() })
            .filter(|fixture| fixture.name.starts_with(|first: char| first.is_ascii_digit()))
            .collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// The suffixes of its steps: none for a single one, else -1, -2 …
    pub(crate) fn steps(&self) -> Vec<String> {
        let is_step = |suffix: &String| self.request(suffix).is_some();
        let several: Vec<String> = (1..100).map(|nth| format!("-{nth}")).take_while(is_step).collect();
        let steps = if several.is_empty() { vec![String::new()] } else { several };
        assert!(steps.iter().all(is_step), "{} has no request", self.name);
        steps
    }

    /// What lies in its folder and would never be looked at: a step after a gap, a response without its request.
    pub(crate) fn unused(&self, more: &[&str]) -> Vec<String> {
        let usual = ["workspace", "after", "after-absent.txt"];
        let mut known: Vec<String> = usual.iter().chain(more).map(|name| (*name).to_owned()).collect();
        for suffix in self.steps() {
            let kinds = ["request{}.json", "request{}.txt", "response{}.json"];
            known.extend(kinds.map(|kind| kind.replace("{}", &suffix)));
        }
        let entries = fs::read_dir(&self.folder).unwrap().map(|entry| entry.unwrap().file_name());
        entries.map(|name| name.into_string().unwrap()).filter(|name| !known.contains(name)).collect()
    }

    /// What the workspace has to look like in the end.
    pub(crate) fn check_workspace(&self, workspace: &Path) -> Result<(), String> {
        let absent = fs::read_to_string(self.folder.join("after-absent.txt")).unwrap_or_default();
        if let Some(path) = absent.lines().find(|path| workspace.join(path).symlink_metadata().is_ok()) {
            return Err(format!("{path} is there and should not be"));
        }
        holds(&self.folder.join("after"), workspace)
    }

    pub(crate) fn request(&self, suffix: &str) -> Option<Request> {
        let read = |kind: &str| fs::read_to_string(self.folder.join(format!("request{suffix}.{kind}"))).ok();
        let whole = |text: String| Request::Message(serde_json::from_str(&text).unwrap());
        read("json").map(whole).or_else(|| read("txt").map(|text| Request::Bytes(text.trim_end().to_owned())))
    }

    /// The messages expected, in their order.
    pub(crate) fn response(&self, suffix: &str) -> Vec<Value> {
        match fs::read_to_string(self.folder.join(format!("response{suffix}.json"))) {
            Err(_) => Vec::new(),
            Ok(text) => {
                let expected: Value = serde_json::from_str(&text).unwrap();
                expected.as_array().cloned().unwrap_or_else(|| vec![expected])
            }
        }
    }

    /// Makes the workspace what it is before the first step.
    pub(crate) fn prepare(&self, workspace: &Path) {
        empty(workspace);
        copy(&self.folder.join("workspace"), workspace);
    }
}

pub(crate) enum Request {
    Message(Value),
    Bytes(String),
}

impl Request {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Message(message) => message.to_string().into_bytes(),
            Self::Bytes(text) => text.clone().into_bytes(),
        }
    }
}

fn empty(directory: &Path) {
    for entry in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap()) {
        if entry.file_type().unwrap().is_dir() {
            fs::remove_dir_all(entry.path()).unwrap();
        } else {
            fs::remove_file(entry.path()).unwrap();
        }
    }
}

/// Whether every file beneath `expected` is beneath `actual`, too, with the same bytes.
fn holds(expected: &Path, actual: &Path) -> Result<(), String> {
    let Ok(entries) = fs::read_dir(expected) else { return Ok(()) };
    for entry in entries.map(|entry| entry.unwrap()) {
        let there = actual.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            holds(&entry.path(), &there)?;
        } else if fs::read(&there).ok() != Some(fs::read(entry.path()).unwrap()) {
            return Err(format!("{} is not there as it should be", there.display()));
        }
    }
    Ok(())
}

pub(crate) fn copy(from: &Path, to: &Path) {
    let Ok(entries) = fs::read_dir(from) else { return };
    for entry in entries.map(|entry| entry.unwrap()) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir(&target).unwrap();
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A copy of a directory, where nothing is yet.
pub(crate) fn copy_to(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    copy(from, to);
}

/// A workspace with room around it, so that what lands beside it is found.
pub(crate) fn workspace(around: &TempDir) -> PathBuf {
    let workspace = around.path().join("workspace");
    fs::create_dir(&workspace).unwrap();
    workspace
}

/// Runs every fixture and says all that is wrong.
pub(crate) fn run_all(all: &[Fixture], mut run: impl FnMut(&Fixture) -> Result<(), String>) {
    let failures: Vec<String> = all
        .iter()
        .filter_map(|fixture| run(fixture).err().map(|reason| format!("{}: {reason}", fixture.name)))
        .collect();
    assert!(failures.is_empty(), "{} of {} fail:\n  {}", failures.len(), all.len(), failures.join("\n  "));
}
