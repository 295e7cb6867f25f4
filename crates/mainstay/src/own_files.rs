//! The files that say what is allowed, and what was done: the data directory, the store, the archive of the audit, the
//! configuration, the issuer's keys and the wallets.
//!
//! Whoever can change one of them, or put another in its place, can approve calls, create tokens or switch the sandbox
//! off. Hiding them is not enough: a command that may rename a directory above one of them decides what the server finds
//! there the next time it opens the path. So the server does not start while they are where callers or commands have
//! access, whatever protects the files themselves there.
//!
//! The places where a server without options looks for these files count even if this one has others: the next one may
//! be started without. If they are in the workspace, as with the home directory, they are closed to callers and commands.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use mainstay_auth::AuthSettings;
use mainstay_sandbox::Workspace;
use mainstay_sandbox::exec::{ExecSettings, Sensitivity, has_writable_link};

use crate::Config;
use crate::config::default_dirs;

/// A file of the server's own.
struct OwnFile {
    name: Cow<'static, str>,
    path: PathBuf,
    /// If it is a directory, a name in it: the directory itself could be a root, and what is inside counts.
    inside: Option<&'static str>,
    sensitivity: Sensitivity,
    /// How to put it elsewhere, as the end of a sentence.
    remedy: Cow<'static, str>,
}

/// Fails if a caller or a command could read, change or replace one of the server's own files, and says what to do about
/// each of them.
pub(crate) fn check_unreachable(config: &Config, workspace: &Workspace) -> anyhow::Result<()> {
    let commands = command_settings(config);
    let mut problems = String::new();
    for OwnFile { name, path, inside, sensitivity, remedy } in own_files(config)? {
        let file = inside.map_or_else(|| path.clone(), |inside| path.join(inside));
        if let Some(exposure) = workspace.exposure(&file, commands, sensitivity)? {
            let (path, place) = (path.display(), exposure.place.display());
            write!(
                problems,
                "\n  {name} {path} is reached through {place}, which callers or commands can access: {remedy}"
            )?;
        }
    }
    if problems.is_empty() {
        return Ok(());
    }
    anyhow::bail!(
        "the server's own files must be outside of the workspace, of files.roots and of what commands can access, or \
         an agent could change what it is allowed to do:{problems}"
    )
}

/// Fails if one of the files has a second name. Whoever can write to that one changes the file, wherever the file itself
/// is; and where the second name is cannot be told without searching the whole file system.
pub(crate) fn check_single_names(config: &Config) -> anyhow::Result<()> {
    let mut files = Vec::new();
    for OwnFile { path, inside, .. } in own_files(config)? {
        match inside {
            Some(_) => files.extend(files_in(&path)),
            None => files.push(path),
        }
    }
    if let Some(store) = mainstay_store::sqlite_file(&config.store_url()?) {
        for end in ["-wal", "-shm", "-journal"] {
            // What SQLite keeps beside the file is part of its content.
            let mut beside = store.clone().into_os_string();
            beside.push(end);
            files.push(beside.into());
        }
        files.push(store);
    }
    files.extend(files_in(&config.data_dir()?.join("journal")));
    files.extend(config.audit_archive().iter().flat_map(|archive| files_in(archive)));
    files.extend(default_dirs().iter().flat_map(|directory| files_in(directory)));
    files.sort();
    files.dedup();
    let mut linked = String::new();
    for file in files {
        if has_writable_link(&file).with_context(|| format!("cannot look at {}", file.display()))? {
            write!(linked, "\n  {}", file.display())?;
        }
    }
    if linked.is_empty() {
        return Ok(());
    }
    anyhow::bail!(
        "these files of the server's own have a second name (a hard link), through which an agent could change them:\
         {linked}\nFind the names of each with `find / -xdev -samefile FILE` and remove all but one, or replace the file \
         by a copy: `cp FILE FILE.new && mv FILE.new FILE`"
    )
}

/// The entries of a directory; none if it does not exist yet.
fn files_in(directory: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// Closes the directories where a server without options has its configuration and its data, if callers or commands could
/// put something there. What does not exist cannot be closed, so they are created, empty.
pub(crate) fn close_default_dirs(config: &Config, mut workspace: Workspace) -> anyhow::Result<Workspace> {
    for directory in default_dirs() {
        let file = directory.join("any");
        let Some(exposure) = workspace.exposure(&file, command_settings(config), Sensitivity::Secret)? else {
            continue;
        };
        let cannot = |reason: &dyn std::fmt::Display| {
            anyhow::anyhow!(
                "the directory {}, where a server without options has its files, is reached through {}, which callers \
                 or commands can access, and cannot be closed to them: {reason}; choose a smaller workspace with \
                 --workspace, or remove what exec.read, exec.write or exec.home add there",
                directory.display(),
                exposure.place.display()
            )
        };
        if exposure.indirect {
            return Err(cannot(&"a symbolic link, `..` or another mount on the way could be replaced"));
        }
        match make_private_dir(&directory) {
            Ok(()) => workspace = workspace.with_closed_dir(&directory)?,
            // Nobody else can create it either.
            Err(error) if error.kind() == ErrorKind::ReadOnlyFilesystem => {}
            Err(error) => return Err(cannot(&error)),
        }
    }
    Ok(workspace)
}

/// Creates a directory that only this user can read: the data directory contains the audit and signing keys.
pub(crate) fn make_private_dir(directory: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

/// The settings of commands, if there are any.
fn command_settings(config: &Config) -> Option<&ExecSettings> {
    let offers_commands = config.tools.is_empty() || config.tools.iter().any(|family| family == "exec");
    offers_commands.then_some(&config.exec)
}

/// All of them, with where they are or will be.
fn own_files(config: &Config) -> anyhow::Result<Vec<OwnFile>> {
    let mut files = vec![OwnFile {
        name: "the data directory".into(),
        path: config.data_dir()?,
        inside: Some("mainstay.db"),
        sensitivity: Sensitivity::Secret,
        remedy: "choose a smaller workspace with --workspace, or another data directory with --data-dir (data_dir)"
            .into(),
    }];
    if config.store.is_some()
        && let Some(path) = mainstay_store::sqlite_file(&config.store_url()?)
    {
        files.push(OwnFile {
            name: "the store".into(),
            path,
            inside: None,
            sensitivity: Sensitivity::Secret,
            remedy: "remove --store (store) to keep it in the data directory, or choose a file elsewhere".into(),
        });
    }
    if let Some(path) = &config.engine.retention.audit_archive {
        files.push(OwnFile {
            name: "the audit's archive".into(),
            path: path.clone(),
            inside: Some("audit.jsonl"),
            sensitivity: Sensitivity::Secret,
            remedy: "remove engine.retention.audit_archive to keep it in the data directory, or choose a directory elsewhere".into(),
        });
    }
    if let Some(path) = config.source_file() {
        files.push(OwnFile {
            name: "the configuration file".into(),
            path,
            inside: None,
            // It may contain passwords, in `store` and `exec.env`.
            sensitivity: Sensitivity::Secret,
            remedy: "choose a smaller workspace with --workspace, or name a file elsewhere with --config (`--config \
                     /dev/null` if there is none)"
                .into(),
        });
    }
    if let Some(AuthSettings::External(external)) = &config.server.auth {
        files.push(OwnFile {
            name: "the key file".into(),
            path: external.keys.clone(),
            inside: None,
            sensitivity: Sensitivity::Public,
            remedy: "move it, and change server.auth.keys".into(),
        });
    }
    if let Some(path) = config.search.provider.as_ref().and_then(|provider| provider.key_file.as_ref()) {
        files.push(OwnFile {
            name: "the key of the embedding provider".into(),
            path: path.clone(),
            inside: None,
            sensitivity: Sensitivity::Secret,
            remedy: "move it, and change search.provider.key_file".into(),
        });
    }
    if let Some(path) = &config.search.model_dir {
        files.push(OwnFile {
            name: "the embedding model".into(),
            path: path.clone(),
            inside: Some("model.safetensors"),
            sensitivity: Sensitivity::Public,
            remedy: "move it, and change search.model_dir (--model-dir)".into(),
        });
    }
    for (network, path) in config.solana.key_files() {
        files.push(OwnFile {
            name: format!("the wallet of the network {network}").into(),
            path: path.to_owned(),
            inside: None,
            sensitivity: Sensitivity::Secret,
            remedy: format!("move it, and change solana.networks.{network}.sending.key_file").into(),
        });
    }
    Ok(files)
}
