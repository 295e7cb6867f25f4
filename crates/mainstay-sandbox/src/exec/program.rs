//! Finds the program that a caller names, and checks whether the operator allows it.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use mainstay_core::{Error, Result, quoted, redacted_uri};

use super::ExecSettings;
use crate::identity::FileId;

/// The shell that runs command lines.
pub(super) const SHELL: &str = "/bin/sh";

/// Finds a program: a bare name in the search path, anything else as a path relative to the working directory. Whether a
/// path exists is not checked here, so that the answer reveals nothing about files that commands cannot see.
pub(super) fn find(name: &str, search_path: &str, directory: &Path) -> Result<PathBuf> {
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
        path.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
    });
    match (found, seen) {
        (Some(path), _) => Ok(path),
        (None, Some(path)) => Err(Error::denied(format!("{} is not executable.", quoted(&path.to_string_lossy())))),
        (None, None) => {
            let reason = format!(
                "There is no program {} in the search path of commands; give a path in the workspace, or see exec.read.",
                shown(name)
            );
            Err(Error::field("command", reason).with_detail(format!("search path: {search_path}")))
        }
    }
}

/// Checks a program against the operator's lists, by its identity and by its name. Only `allow` confines anything: a copy
/// of a denied program under another name is another program.
pub(super) fn allow(program: &Path, settings: &ExecSettings, search_path: &str) -> Result<()> {
    if settings.allow.is_empty() && settings.deny.is_empty() {
        return Ok(());
    }
    let identity = FileId::of_path(program);
    // An entry of the lists is found like a caller's program.
    let file = |entry: &str| find(entry, search_path, Path::new("/")).unwrap_or_else(|_| entry.into());
    let is = |entry: &String| identity.is_ok() && FileId::of_path(&file(entry)) == identity;
    let called = |entry: &String| Path::new(entry).file_name() == program.file_name();
    let name = shown(&program.file_name().unwrap_or(OsStr::new("?")).to_string_lossy());
    if settings.deny.iter().any(|entry| is(entry) || called(entry)) {
        return Err(Error::denied(format!("The operator does not allow {name} to be run (exec.deny).")));
    }
    // One file may have many names and do something else under each (busybox), so its name counts as well.
    if !settings.allow.is_empty() && !settings.allow.iter().any(|entry| is(entry) && called(entry)) {
        return Err(Error::denied(format!(
            "The operator does not allow {name} to be run; allowed are: {} (exec.allow).",
            settings.allow.join(", ")
        )));
    }
    Ok(())
}

/// A program in a message: its first word. What follows was meant for `args` and may be a password, as may be the value of
/// a variable or a URL that a caller put in the place of the program.
fn shown(name: &str) -> String {
    let word = name.split_whitespace().next().unwrap_or_default();
    let program = redacted_uri(word.split('=').next().unwrap_or_default());
    if program == name {
        quoted(name)
    } else {
        format!("{} (give only the program here, and the rest in args)", quoted(&program))
    }
}

/// The error for a program that the system did not start, if the caller can do something about it.
pub(super) fn refusal(name: &str, errno: i32) -> Option<Error> {
    match errno {
        libc::ENOENT | libc::ENOTDIR => Some(Error::field(
            "command",
            format!("{} does not exist for commands, or the interpreter in its first line does not.", shown(name)),
        )),
        libc::EACCES | libc::EPERM => {
            Some(Error::denied(format!("{} is not executable, or not accessible to commands.", shown(name))))
        }
        libc::ENOEXEC => Some(Error::field("command", format!("{} is not a program for this machine.", shown(name)))),
        libc::E2BIG => Some(Error::field("args", "The arguments and variables are longer than the system allows.")),
        _ => None,
    }
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
    fn what_may_be_a_password_is_not_repeated() {
        for command in [
            "mysql -pcanary",
            "PGPASSWORD=canary psql",
            "./no/such -pcanary",
            "https://ann:canary@host/x",
            &format!("{}canary", "x".repeat(1_000_000)),
        ] {
            for refused in [find(command, PATH, Path::new("/")).err(), refusal(command, libc::ENOENT)] {
                let told = refused.map(|error| error.public).unwrap_or_default();
                assert!(!told.contains("canary") && told.len() < 500, "{told}");
            }
        }
        assert!(find("no-such -x", PATH, Path::new("/")).unwrap_err().public.contains("in args"));
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
        // The list is advice, and documented as such: a copy is another program.
        std::fs::copy("/bin/ls", directory.path().join("copy")).unwrap();
        assert!(allowed(&settings, "./copy", directory.path()));
    }
}
