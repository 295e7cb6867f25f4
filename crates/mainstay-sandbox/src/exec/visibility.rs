//! Which files commands may see besides their own temporary directory: the roots, the system's programs, the toolchains
//! of the server's user, and what the operator adds.
//!
//! Computed once from paths as they are at the start; `linux/mounts` and `linux/landlock.rs` enforce it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::ExecSettings;
use super::toolchains::Toolchains;
use crate::guard::Guard;
use crate::workspace::Workspace;

/// Directories of programs and their data.
const SYSTEM: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/gnu/store", "/snap/bin"];

/// What programs read in `/etc` to work at all. Whole directories only where no secrets are kept in them.
const ETC: &[&str] = &[
    "alternatives",
    "bash.bashrc",
    "bashrc",
    "ca-certificates",
    "ca-certificates.conf",
    "debian_version",
    "default/locale",
    "fonts",
    "gai.conf",
    "gitconfig",
    "group",
    "host.conf",
    "hostname",
    "hosts",
    "inputrc",
    "issue",
    "java",
    "java-17-openjdk",
    "java-21-openjdk",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "ld.so.preload",
    "locale.alias",
    "locale.conf",
    "localtime",
    "login.defs",
    "lsb-release",
    "magic",
    "mime.types",
    "networks",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "perl",
    "pki/ca-trust/extracted",
    "pki/tls/cert.pem",
    "pki/tls/certs",
    "pki/tls/openssl.cnf",
    "profile",
    "profile.d",
    "protocols",
    "python3",
    "python3.10",
    "python3.11",
    "python3.12",
    "python3.13",
    "resolv.conf",
    "rpc",
    "services",
    "shells",
    "ssl/cert.pem",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
    "timezone",
    "vim",
    "xattr.conf",
];

/// What commands may do with a file or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// Why commands may see something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It belongs to the system's programs or to a toolchain.
    Machine,
    /// A setting in the section `exec`.
    Setting,
    /// It is a root.
    Root,
}

/// A file or directory that commands may see, by its canonical path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) path: PathBuf,
    pub(crate) access: Access,
    pub(crate) directory: bool,
    pub(crate) origin: Origin,
}

/// Everything that commands may see.
#[derive(Debug, Default)]
pub(crate) struct Visibility {
    /// Parents come before what is inside them.
    pub(crate) grants: Vec<Grant>,
    /// Files and directories inside of them that are hidden.
    pub(crate) secrets: Vec<PathBuf>,
    /// Symbolic links at the top of the file tree that lead into a grant, such as `/bin`, and those in toolchains: path
    /// and target.
    pub(crate) links: Vec<(PathBuf, PathBuf)>,
    /// Variables that tell programs where their toolchains are, and `PATH`.
    pub(crate) variables: BTreeMap<String, String>,
}

impl Visibility {
    /// What commands may see. Protected names at the top of toolchains are searched for, and left out.
    pub(crate) fn new(workspace: &Workspace, settings: &ExecSettings) -> Self {
        let (guard, exempt) = (&workspace.roots()[0].guard, Guard::only(&settings.allow_protected));
        Self::build(workspace, settings, Some(&|name| guard.protects(name) && !exempt.protects(name)))
    }

    /// The same without the search: all that commands may see is in it, and some protected names besides.
    pub(crate) fn upper_bound(workspace: &Workspace, settings: &ExecSettings) -> Self {
        Self::build(workspace, settings, None)
    }

    /// Computes the grants. A root's own access wins over other grants for the same path; the server's own directories
    /// are never granted.
    fn build(workspace: &Workspace, settings: &ExecSettings, is_protected: Option<&dyn Fn(&OsStr) -> bool>) -> Self {
        let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        let mut visibility = Self::default();
        for path in SYSTEM {
            let path = Path::new(path);
            match std::fs::read_link(path) {
                Ok(target) => visibility.links.push((path.to_owned(), target)),
                Err(_) => visibility.grant(path, Access::Read, Origin::Machine),
            }
        }
        for name in ETC {
            visibility.grant(&Path::new("/etc").join(name), Access::Read, Origin::Machine);
        }
        if let Some(home) = &home {
            visibility.grant_toolchains(home, is_protected);
        }
        settings.read.iter().for_each(|path| visibility.grant(path, Access::Read, Origin::Setting));
        let written = settings.home.iter().chain(&settings.write);
        written.for_each(|path| visibility.grant(path, Access::Write, Origin::Setting));
        for root in workspace.roots() {
            let (path, access) = (root.path().to_owned(), if root.read_only { Access::Read } else { Access::Write });
            visibility.grants.retain(|grant| grant.path != path);
            visibility.grants.push(Grant { path, access, directory: true, origin: Origin::Root });
        }
        let closed = |grant: &Grant| workspace.closed.iter().any(|closed| grant.path.starts_with(&closed.path));
        visibility.grants.retain(|grant| !closed(grant));
        visibility.grants.sort_by(|a, b| a.path.cmp(&b.path));
        visibility.keep_visible_secrets();
        visibility.set_search_path();
        visibility
    }

    /// Adds what exists, under its canonical path.
    fn grant(&mut self, path: &Path, access: Access, origin: Origin) {
        let Ok(path) = std::fs::canonicalize(path) else { return };
        // Never the whole machine, nor the kernel's own file systems.
        if path.parent().is_none() || ["/proc", "/sys", "/dev"].iter().any(|tree| path.starts_with(tree)) {
            return;
        }
        let directory = path.is_dir();
        match self.grants.iter_mut().find(|grant| grant.path == path) {
            Some(known) if access == Access::Write => known.access = access,
            Some(_) => {}
            None => self.grants.push(Grant { path, access, directory, origin }),
        }
    }

    /// Grants the toolchains that exist, and names them in variables.
    fn grant_toolchains(&mut self, home: &Path, is_protected: Option<&dyn Fn(&OsStr) -> bool>) {
        let Toolchains { readable, links, credentials, variables } = Toolchains::find(home, is_protected);
        for path in &readable {
            self.grant(path, Access::Read, Origin::Machine);
        }
        self.links.extend(links);
        self.secrets = credentials;
        self.variables.extend(variables);
    }

    /// Keeps the secrets that are visible because something around them is granted, such as the home directory, and that
    /// no setting names: what is not in the tree cannot be hidden in it.
    fn keep_visible_secrets(&mut self) {
        let grants = &self.grants;
        self.secrets.retain(|secret| {
            let named = |grant: &Grant| grant.origin == Origin::Setting && grant.path.starts_with(secret);
            grants.iter().any(|grant| secret.starts_with(&grant.path)) && !grants.iter().any(named)
        });
    }

    /// Sets `PATH` to the server's own, without directories that commands cannot see or could change.
    fn set_search_path(&mut self) {
        let own = std::env::var_os("PATH").unwrap_or_default();
        let usual = ["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from);
        let mut seen: Vec<String> = Vec::new();
        for entry in std::env::split_paths(&own).chain(usual).filter(|entry| entry.is_absolute()) {
            let Ok(entry) = std::fs::canonicalize(entry) else { continue };
            let Some(text) = entry.to_str().filter(|text| !text.contains(':')) else { continue };
            let mut read_only = self.grants.iter().filter(|grant| grant.access == Access::Read);
            if read_only.any(|grant| entry.starts_with(&grant.path)) && !seen.iter().any(|known| known == text) {
                seen.push(text.to_owned());
            }
        }
        self.variables.insert("PATH".into(), seen.join(":"));
    }

    /// A root, or a path from a setting, inside a writable one, and that one. Without mounts a command could put a
    /// symbolic link in its place, which the next start would follow; and since Landlock's rights add up along a path, a
    /// read-only one would be writable too.
    #[cfg(all(target_os = "linux", not(mainstay_unsupported)))]
    pub(crate) fn contradiction(&self) -> Option<(&Grant, &Path)> {
        let mut inner = self.grants.iter().filter(|grant| grant.origin != Origin::Machine);
        let around = |inner: &Grant| {
            let mut written = self.grants.iter().filter(|grant| grant.access == Access::Write);
            let outer = written.find(|outer| inner.path != outer.path && inner.path.starts_with(&outer.path));
            outer.map(|outer| outer.path.as_path())
        };
        inner.find_map(|inner| Some((inner, around(inner)?)))
    }

    /// The innermost grant around a canonical path.
    #[cfg(all(target_os = "linux", not(mainstay_unsupported)))]
    pub(crate) fn around(&self, path: &Path) -> Option<&Grant> {
        self.grants.iter().rev().find(|grant| path.starts_with(&grant.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::FilesSettings;

    fn visibility_of(settings: &ExecSettings) -> (tempfile::TempDir, Visibility) {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(directory.path(), &FilesSettings::default()).unwrap();
        let visibility = Visibility::new(&workspace, settings);
        (directory, visibility)
    }

    #[test]
    fn the_workspace_is_writable_and_the_system_is_not() {
        let (directory, visibility) = visibility_of(&ExecSettings::default());
        let access = |path: &Path| visibility.grants.iter().find(|grant| grant.path == path).map(|grant| grant.access);
        assert_eq!(access(&directory.path().canonicalize().unwrap()), Some(Access::Write));
        assert_eq!(access(Path::new("/usr")), Some(Access::Read));
        assert_eq!(access(Path::new("/etc")), None);
        assert_eq!(access(Path::new("/")), None);
    }

    #[test]
    fn parents_come_before_what_is_inside_them() {
        let (_directory, visibility) = visibility_of(&ExecSettings::default());
        for (at, grant) in visibility.grants.iter().enumerate() {
            assert!(!visibility.grants[..at].iter().any(|earlier| earlier.path.starts_with(&grant.path)), "{grant:?}");
        }
    }

    #[test]
    fn the_whole_machine_and_the_kernels_trees_are_never_granted() {
        let settings =
            ExecSettings { read: vec!["/".into(), "/proc".into(), "/sys/kernel".into()], ..Default::default() };
        let (_directory, visibility) = visibility_of(&settings);
        assert!(
            !visibility
                .grants
                .iter()
                .any(|grant| ["/", "/proc", "/sys/kernel"].iter().any(|p| grant.path == Path::new(p)))
        );
    }

    #[test]
    #[cfg(all(target_os = "linux", not(mainstay_unsupported)))]
    fn a_path_with_a_rule_of_its_own_inside_of_what_may_be_changed_is_noticed() {
        let outer = tempfile::tempdir().unwrap();
        let inner = outer.path().canonicalize().unwrap().join("inner");
        std::fs::create_dir(&inner).unwrap();
        let written = ExecSettings { write: vec![outer.path().into()], ..Default::default() };
        assert_eq!(visibility_of(&written).1.contradiction(), None);
        let both = ExecSettings { read: vec![inner.clone()], ..written };
        let (_directory, visibility) = visibility_of(&both);
        let (found, around) = visibility.contradiction().unwrap();
        assert_eq!((found.path.as_path(), around), (inner.as_path(), inner.parent().unwrap()));
        let written = ExecSettings { write: vec![outer.path().into(), inner.clone()], ..Default::default() };
        assert!(visibility_of(&written).1.contradiction().is_some(), "its path could be made a link to elsewhere");
    }

    #[test]
    fn a_credential_is_hidden_if_something_around_it_is_granted_and_seen_if_a_setting_names_it() {
        let home = tempfile::tempdir().unwrap();
        let base = home.path().canonicalize().unwrap();
        std::fs::create_dir_all(base.join(".cargo/bin")).unwrap();
        let token = base.join(".cargo/credentials.toml");
        std::fs::write(&token, "s").unwrap();
        let hidden = |settings: &ExecSettings| {
            let (_directory, mut visibility) = visibility_of(settings);
            visibility.grant_toolchains(&base, None);
            visibility.keep_visible_secrets();
            visibility.secrets
        };
        assert!(hidden(&ExecSettings::default()).is_empty(), "it is not in the tree at all");
        let around = ExecSettings { read: vec![base.join(".cargo")], ..Default::default() };
        assert_eq!(hidden(&around), [token.as_path()]);
        let named = ExecSettings { read: vec![base.clone(), token.clone()], ..Default::default() };
        assert!(hidden(&named).is_empty());
    }

    #[test]
    fn the_search_path_leads_only_to_what_commands_cannot_change() {
        let (directory, visibility) = visibility_of(&ExecSettings::default());
        let path = &visibility.variables["PATH"];
        assert!(path.split(':').any(|entry| entry == "/usr/bin"), "{path}");
        assert!(!path.contains(directory.path().to_str().unwrap()));
    }
}
