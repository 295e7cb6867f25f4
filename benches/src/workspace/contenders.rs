//! The servers under test, and the tool calls with which each is asked for the same thing.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::bench_support::message::tool_call;
use crate::bench_support::options::Settings;
use crate::bench_support::servers::{Build, Programs};
use crate::bench_support::stdio::StdioServer;
use crate::workspace::files::WorkspaceFiles;

pub(crate) const MAINSTAY: &str = "mainstay";
pub(crate) const MAINSTAY_SMALL: &str = "mainstay, small workspace";
pub(crate) const MAINSTAY_TMPFS: &str = "mainstay, files on tmpfs";
pub(crate) const MAINSTAY_MEMORY: &str = "mainstay, files and data on tmpfs";
pub(crate) const FILESYSTEM: &str = "server-filesystem";

/// Every contender of the current build, with the one that runs the baseline under the same conditions.
pub(crate) const BASELINES: [(&str, &str); 4] = [
    (MAINSTAY, "baseline"),
    (MAINSTAY_SMALL, "baseline, small workspace"),
    (MAINSTAY_TMPFS, "baseline, files on tmpfs"),
    (MAINSTAY_MEMORY, "baseline, files and data on tmpfs"),
];

/// The same contender of another build.
pub(crate) fn named_for(build: Build, name: &'static str) -> &'static str {
    match build {
        Build::Current => name,
        Build::Baseline => {
            BASELINES.iter().find(|(current, _)| *current == name).map_or(name, |(_, baseline)| baseline)
        }
    }
}

const TMPFS: &str = "/dev/shm";

pub(crate) struct Contender {
    pub(crate) name: &'static str,
    pub(crate) server: StdioServer,
    tools: Tools,
    /// Where paths begin.
    root: std::path::PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Tools {
    Mainstay,
    /// It resolves a relative path in its own directory, so it is given absolute ones.
    Filesystem,
}

impl Contender {
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn read(&self, path: &str) -> String {
        match self.tools {
            Tools::Mainstay => tool_call("files_read", &json!({ "path": path })),
            Tools::Filesystem => tool_call("read_text_file", &json!({ "path": self.absolute(path) })),
        }
    }

    pub(crate) fn edit(&self, path: &str, old: &str, new: &str) -> String {
        match self.tools {
            Tools::Mainstay => tool_call("files_edit", &json!({ "path": path, "edits": [{ "old": old, "new": new }] })),
            Tools::Filesystem => tool_call(
                "edit_file",
                &json!({ "path": self.absolute(path), "edits": [{ "oldText": old, "newText": new }] }),
            ),
        }
    }

    fn absolute(&self, path: &str) -> Value {
        self.root.join(path).to_string_lossy().into()
    }
}

/// All servers that take part. The directories are dropped, and with that removed, after the servers.
pub(crate) struct Contenders {
    pub(crate) all: Vec<Contender>,
    _memory: Option<TempDir>,
}

impl Contenders {
    pub(crate) async fn start(
        programs: &Programs,
        scratch: &Path,
        files: &WorkspaceFiles,
        settings: &Settings,
    ) -> Result<Self> {
        let memory = tmpfs();
        let mut contenders = Vec::new();
        for build in settings.builds.iter().copied() {
            let mut places = vec![
                (MAINSTAY, scratch.join("data"), files.root.clone()),
                (MAINSTAY_SMALL, scratch.join("small-data"), scratch.join("small-workspace")),
            ];
            if let Some(memory) = &memory {
                let memory = memory.path();
                places.push((MAINSTAY_TMPFS, scratch.join("tmpfs-data"), memory.join("files")));
                places.push((MAINSTAY_MEMORY, memory.join("data"), memory.join("more-files")));
            }
            for (name, mut data, root) in places {
                if build == Build::Baseline {
                    data.as_mut_os_string().push("-baseline");
                }
                let name = named_for(build, name);
                let command = programs.mainstay(build, "stdio", &data, &root)?;
                let (server, _) = StdioServer::start(name, command, scratch).await?;
                contenders.push(Contender { name, server, tools: Tools::Mainstay, root });
            }
        }
        if settings.peers {
            let mut command = programs.npm("mcp-server-filesystem")?;
            command.arg(&files.root);
            let (server, _) = StdioServer::start(FILESYSTEM, command, scratch).await?;
            contenders.push(Contender { name: FILESYSTEM, server, tools: Tools::Filesystem, root: files.root.clone() });
        }
        Ok(Self { all: contenders, _memory: memory })
    }

    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.all.iter().position(|contender| contender.name == name)
    }

    pub(crate) fn named(&mut self, name: &str) -> Result<&mut Contender> {
        let at = self.find(name).with_context(|| format!("{name} does not take part"))?;
        Ok(&mut self.all[at])
    }
}

/// A directory in memory, where the machine has such a file system in the usual place.
fn tmpfs() -> Option<TempDir> {
    let mounts = std::fs::read_to_string("/proc/mounts").ok()?;
    let there = mounts.lines().any(|line| {
        let mut fields = line.split(' ').skip(1);
        fields.next() == Some(TMPFS) && fields.next() == Some("tmpfs")
    });
    there.then(|| tempfile::Builder::new().prefix("bench-").tempdir_in(TMPFS).ok()).flatten()
}
