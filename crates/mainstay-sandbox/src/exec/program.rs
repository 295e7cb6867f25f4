//! Which program a caller means, and whether the operator lets it be started.

use std::ffi::OsStr;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use mainstay_core::{Error, Result};

use super::settings::ExecSettings;

/// What starts a command line.
pub(crate) const SHELL: &str = "/bin/sh";

/// Finds a program: a bare name in the search path, anything else as a path from the working directory. A path is not
/// looked at here, so that the answer does not tell what lies outside of what a command can reach.
pub(crate) fn find(name: &str, search_path: &str, directory: &Path) -> Result<PathBuf> {
    if name.is_empty() || name.contains('\0') {
        return Err(Error::field("command", "The command is empty, or has a NUL in it."));
    }
    if name.contains('/') {
        return Ok(directory.join(name));
    }
    let mut candidates = search_path.split(':').map(|entry| Path::new(entry).join(name)).filter(|path| path.is_file());
    let mut seen = None;
    let found = candidates.find(|path| {
        seen.get_or_insert_with(|| path.clone());
        path.metadata().is_ok_and(|facts| facts.permissions().mode() & 0o111 != 0)
    });
    match (found, seen) {
        (Some(path), _) => Ok(path),
        (None, Some(path)) => Err(Error::denied(format!("{} is not executable.", path.display()))),
        (None, None) => {
            let reason = format!(
                "{name:?} is no program that commands can find; give a path in the workspace, or see exec.read."
            );
            Err(Error::field("command", reason).with_detail(format!("search path: {search_path}")))
        }
    }
}

/// Holds a program against the operator's lists, by what it is and by what it is called.
pub(crate) fn allow(program: &Path, settings: &ExecSettings, search_path: &str) -> Result<()> {
    if settings.allow.is_empty() && settings.deny.is_empty() {
        return Ok(());
    }
    let is = |entry: &String| identity(&whole(entry, search_path)).zip(identity(program)).is_some_and(|(a, b)| a == b);
    let called = |entry: &String| Path::new(entry).file_name() == program.file_name();
    let name = program.file_name().unwrap_or(OsStr::new("?")).to_string_lossy();
    if settings.deny.iter().any(|entry| is(entry) || called(entry)) {
        return Err(Error::denied(format!("The operator does not allow {name} to be run (exec.deny).")));
    }
    // One file may go by many names and do something else under each: so its name counts as well.
    if !settings.allow.is_empty() && !settings.allow.iter().any(|entry| is(entry) && called(entry)) {
        return Err(Error::denied(format!(
            "The operator does not allow {name} to be run; allowed are: {} (exec.allow).",
            settings.allow.join(", ")
        )));
    }
    Ok(())
}

/// Why the system did not start a program, if it is something that the caller can do about.
pub(crate) fn refusal(name: &str, errno: i32) -> Option<Error> {
    match errno {
        libc::ENOENT | libc::ENOTDIR => Some(Error::field(
            "command",
            format!("{name:?} is not there for a command to run, or the interpreter it names is not."),
        )),
        libc::EACCES | libc::EPERM => {
            Some(Error::denied(format!("{name:?} is not executable, or commands may not reach it.")))
        }
        libc::ENOEXEC => Some(Error::field("command", format!("{name:?} is not a program of this machine."))),
        libc::E2BIG => Some(Error::field("args", "The arguments and variables are longer than the system takes.")),
        _ => None,
    }
}

fn whole(entry: &str, search_path: &str) -> PathBuf {
    find(entry, search_path, Path::new("/")).unwrap_or_else(|_| entry.into())
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    path.metadata().ok().map(|facts| (facts.dev(), facts.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

    fn allowed(settings: &ExecSettings, name: &str, directory: &Path) -> bool {
        allow(&find(name, PATH, directory).unwrap(), settings, PATH).is_ok()
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let refused = find("no-such-program", PATH, Path::new("/")).unwrap_err();
        assert_eq!(refused.field_name().unwrap(), "command");
        assert!(refused.public.contains("no-such-program"));
    }

    #[test]
    fn a_path_is_taken_from_the_working_directory() {
        assert_eq!(find("./x", PATH, Path::new("/w")).unwrap(), Path::new("/w/./x"));
        assert_eq!(find("/a/x", PATH, Path::new("/w")).unwrap(), Path::new("/a/x"));
    }

    #[test]
    fn a_copy_with_an_allowed_name_is_not_the_allowed_program() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::copy("/bin/ls", directory.path().join("true")).unwrap();
        let settings = ExecSettings { allow: vec!["true".into()], ..Default::default() };
        assert!(allowed(&settings, "true", directory.path()));
        assert!(!allowed(&settings, "./true", directory.path()));
        assert!(!allowed(&settings, "ls", directory.path()));
    }

    #[test]
    fn a_denied_program_is_known_by_its_file_and_by_its_name() {
        let directory = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/bin/ls", directory.path().join("harmless")).unwrap();
        let settings = ExecSettings { deny: vec!["ls".into()], ..Default::default() };
        assert!(!allowed(&settings, "ls", directory.path()));
        assert!(!allowed(&settings, "./harmless", directory.path()));
        assert!(!allowed(&settings, "./ls", directory.path()));
        assert!(allowed(&settings, "true", directory.path()));
    }
}
