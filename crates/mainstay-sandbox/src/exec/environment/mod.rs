//! The environment variables of a command: built from nothing, so that none of the server's secrets are in it.

mod refused;

use std::collections::BTreeMap;
use std::ffi::CString;
use std::path::Path;

use mainstay_core::{Error, Result};

use crate::exec::program::SHELL;
use crate::exec::visibility::Visibility;
use crate::exec::{ExecSettings, SandboxMode};

/// Checks the variables that a caller wants to set.
pub(super) fn check(wanted: &BTreeMap<String, String>) -> Result<()> {
    match wanted.iter().find_map(|(name, value)| Some((name, problem(name, value)?))) {
        Some((name, reason)) => Err(Error::field("env", format!("The variable {name:?} {reason}."))),
        None => Ok(()),
    }
}

/// Why a variable may not be set; `None` if it may. Names are compared without case, as some systems do.
fn problem(name: &str, value: &str) -> Option<&'static str> {
    let upper = name.to_ascii_uppercase();
    if name.is_empty() || name.contains(['=', '\0']) {
        return Some("has no usable name: it is empty, or contains `=` or a NUL byte");
    }
    if value.contains('\0') {
        return Some("has a NUL byte in its value");
    }
    if refused::is_refused(&upper) {
        return Some("decides which code runs and may not be set by a caller; the operator can set it in exec.env");
    }
    None
}

/// The variables of every command, with `tmp` as its temporary directory.
pub(super) fn defaults(settings: &ExecSettings, visibility: &Visibility, tmp: &Path) -> BTreeMap<String, String> {
    let mut defaults =
        if settings.sandbox == SandboxMode::Off { BTreeMap::new() } else { visibility.variables.clone() };
    defaults.insert("PATH".into(), visibility.variables.get("PATH").cloned().unwrap_or_default());
    for name in ["LANG", "LC_ALL", "TZ", "USER", "LOGNAME"] {
        if let Ok(value) = std::env::var(name) {
            defaults.insert(name.into(), value);
        }
    }
    let home = settings.home.clone().unwrap_or_else(|| tmp.join("home"));
    defaults.insert("HOME".into(), home.to_string_lossy().into_owned());
    defaults.insert("TMPDIR".into(), tmp.to_string_lossy().into_owned());
    defaults.insert("SHELL".into(), SHELL.into());
    defaults.insert("TERM".into(), "xterm-256color".into());
    defaults
}

/// Combines the variables: those of every command, then the operator's, then the caller's. Later ones win.
pub(super) fn build(
    defaults: BTreeMap<String, String>,
    operator: &BTreeMap<String, String>,
    caller: &BTreeMap<String, String>,
) -> Result<Vec<CString>> {
    let given = operator.iter().chain(caller).map(|(name, value)| (name.clone(), value.clone()));
    let all: BTreeMap<String, String> = defaults.into_iter().chain(given).collect();
    let lines = all.into_iter().map(|(name, value)| CString::new(format!("{name}={value}")));
    lines.collect::<Result<_, _>>().map_err(|_| Error::field("env", "A variable contains a NUL byte."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str, value: &str) -> BTreeMap<String, String> {
        BTreeMap::from([(name.to_owned(), value.to_owned())])
    }

    #[test]
    fn variables_that_decide_which_code_runs_are_refused_by_name() {
        for name in [
            "LD_PRELOAD",
            "ld_library_path",
            "DYLD_INSERT_LIBRARIES",
            "BASH_ENV",
            "ENV",
            "BASH_FUNC_ls%%",
            "PATH",
            "GIT_SSH_COMMAND",
            "PS4",
            "IFS",
            "NODE_OPTIONS",
            "PYTHONPATH",
            "HOME",
            "TMPDIR",
            "GCONV_PATH",
            "PAGER",
            "GIT_EDITOR",
            "SUDO_ASKPASS",
        ] {
            let refused = check(&one(name, "x")).unwrap_err();
            assert_eq!(refused.field_name().unwrap(), "env", "{name}");
            assert!(refused.public.contains(name), "{}", refused.public);
        }
    }

    #[test]
    fn invalid_names_are_refused() {
        for (name, value) in [("", "x"), ("A=B", "x"), ("A\0B", "x"), ("A", "x\0y")] {
            assert!(check(&one(name, value)).is_err(), "{name:?}");
        }
        assert!(check(&one("RUST_LOG", "debug=1")).is_ok());
    }

    #[test]
    fn the_caller_wins_over_the_operator_and_both_over_the_defaults() {
        let built = build(one("A", "1"), &one("A", "2"), &one("A", "3")).unwrap();
        assert_eq!(built, [CString::from(c"A=3")]);
    }
}
