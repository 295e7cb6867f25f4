//! The servers under test, and the words in which each is asked for the same deed.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tempfile::TempDir;
use yardstick::message::tool_call;
use yardstick::servers::Programs;
use yardstick::stdio::StdioServer;

use crate::Settings;
use crate::ground::Ground;

pub(crate) const MAINSTAY: &str = "mainstay";
pub(crate) const MAINSTAY_SMALL: &str = "mainstay, small workspace";
pub(crate) const MAINSTAY_TMPFS: &str = "mainstay, files on tmpfs";
pub(crate) const MAINSTAY_MEMORY: &str = "mainstay, files and data on tmpfs";
pub(crate) const FILESYSTEM: &str = "server-filesystem";

const TMPFS: &str = "/dev/shm";

pub(crate) struct Contender {
    pub(crate) name: &'static str,
    pub(crate) server: StdioServer,
    words: Words,
    /// Where paths begin.
    root: std::path::PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Words {
    Mainstay,
    /// It resolves a relative path in its own directory, so it is given absolute ones.
    Filesystem,
}

impl Contender {
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn read(&self, path: &str) -> String {
        match self.words {
            Words::Mainstay => tool_call("files_read", &json!({ "path": path })),
            Words::Filesystem => tool_call("read_text_file", &json!({ "path": self.absolute(path) })),
        }
    }

    pub(crate) fn edit(&self, path: &str, old: &str, new: &str) -> String {
        match self.words {
            Words::Mainstay => tool_call("files_edit", &json!({ "path": path, "edits": [{ "old": old, "new": new }] })),
            Words::Filesystem => tool_call(
                "edit_file",
                &json!({ "path": self.absolute(path), "edits": [{ "oldText": old, "newText": new }] }),
            ),
        }
    }

    fn absolute(&self, path: &str) -> Value {
        self.root.join(path).to_string_lossy().into()
    }
}

/// Everyone who takes part. The directories are dropped, and with that removed, after the servers.
pub(crate) struct Field {
    pub(crate) contenders: Vec<Contender>,
    _memory: Option<TempDir>,
}

impl Field {
    pub(crate) async fn line_up(
        programs: &Programs,
        scratch: &Path,
        ground: &Ground,
        settings: &Settings,
    ) -> Result<Self> {
        let memory = tmpfs();
        let mut contenders = Vec::new();
        if !settings.peers_only {
            let small = scratch.join("small-workspace");
            let mut places = vec![
                (MAINSTAY, scratch.join("data"), ground.root.clone()),
                (MAINSTAY_SMALL, scratch.join("small-data"), small),
            ];
            if let Some(memory) = &memory {
                let memory = memory.path();
                places.push((MAINSTAY_TMPFS, scratch.join("tmpfs-data"), memory.join("files")));
                places.push((MAINSTAY_MEMORY, memory.join("data"), memory.join("more-files")));
            }
            for (name, data, root) in places {
                let command = programs.mainstay("stdio", &data, &root)?;
                let (server, _) = StdioServer::start(name, command, scratch).await?;
                contenders.push(Contender { name, server, words: Words::Mainstay, root });
            }
        }
        let mut command = programs.npm("mcp-server-filesystem")?;
        command.arg(&ground.root);
        let (server, _) = StdioServer::start(FILESYSTEM, command, scratch).await?;
        contenders.push(Contender { name: FILESYSTEM, server, words: Words::Filesystem, root: ground.root.clone() });
        Ok(Self { contenders, _memory: memory })
    }

    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.contenders.iter().position(|contender| contender.name == name)
    }

    pub(crate) fn named(&mut self, name: &str) -> Result<&mut Contender> {
        let at = self.find(name).with_context(|| format!("{name} does not take part"))?;
        Ok(&mut self.contenders[at])
    }
}

/// A directory in memory, where the machine has such a file system in the usual place.
fn tmpfs() -> Option<TempDir> {
    let mounts = std::fs::read_to_string("/proc/mounts").ok()?;
    let there = mounts.lines().any(|line| {
        let mut fields = line.split(' ').skip(1);
        fields.next() == Some(TMPFS) && fields.next() == Some("tmpfs")
    });
    there.then(|| tempfile::Builder::new().prefix("bench-workspace-").tempdir_in(TMPFS).ok()).flatten()
}
