//! What commands may reach besides their own temporary directory: the roots, the system's programs, the toolchains of
//! the server's user, and what the operator adds.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::Workspace;
use crate::exec::settings::{ExecSettings, Network};

/// Directories of programs and their data.
const SYSTEM: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/gnu/store", "/snap/bin"];

/// What programs read in `/etc` to work at all. Whole directories only where no secret is kept in them.
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

/// Toolchains in a home directory: where they are, and the variable that says so.
const TOOLCHAINS: &[(&str, Option<&str>)] = &[
    (".cargo", Some("CARGO_HOME")),
    (".rustup", Some("RUSTUP_HOME")),
    (".pyenv", Some("PYENV_ROOT")),
    (".rbenv", Some("RBENV_ROOT")),
    (".nvm", Some("NVM_DIR")),
    (".volta", Some("VOLTA_HOME")),
    (".deno", Some("DENO_INSTALL")),
    (".bun", Some("BUN_INSTALL")),
    (".sdkman", Some("SDKMAN_DIR")),
    ("go", None),
    (".go", None),
    (".local/bin", None),
    (".local/lib", None),
    (".local/share/pnpm", Some("PNPM_HOME")),
    (".local/share/mise", Some("MISE_DATA_DIR")),
    (".local/share/uv", None),
    (".asdf", Some("ASDF_DATA_DIR")),
    (".dotnet", Some("DOTNET_ROOT")),
    (".ghcup", None),
];

/// Secrets inside toolchains.
const SECRETS: &[&str] = &[".cargo/credentials", ".cargo/credentials.toml", ".sdkman/etc/config"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// Who says that commands may reach something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Nobody in particular: it is one of the system's programs, or a toolchain.
    Machine,
    /// The operator, by a setting of commands.
    Setting,
    /// It is a root.
    Root,
}

/// A file or directory that commands may reach, by its true path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) path: PathBuf,
    pub(crate) access: Access,
    pub(crate) directory: bool,
    pub(crate) origin: Origin,
}

#[derive(Debug)]
pub(crate) struct Reach {
    /// Parents come before what is inside them.
    pub(crate) grants: Vec<Grant>,
    /// What is to be hidden inside of them.
    pub(crate) secrets: Vec<PathBuf>,
    /// Links at the top of the tree that lead into it, such as `/bin`.
    pub(crate) links: Vec<(PathBuf, PathBuf)>,
    /// Variables that tell programs where their toolchains are, and the search path.
    pub(crate) variables: BTreeMap<String, String>,
}

/// The true paths of all that commands may reach.
pub(crate) fn reached(workspace: &Workspace, settings: &ExecSettings) -> Vec<PathBuf> {
    Reach::of(workspace, settings).grants.into_iter().map(|grant| grant.path).collect()
}

impl Reach {
    pub(crate) fn of(workspace: &Workspace, settings: &ExecSettings) -> Self {
        let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        let mut reach = Self { grants: Vec::new(), secrets: Vec::new(), links: Vec::new(), variables: BTreeMap::new() };
        for path in SYSTEM {
            let path = Path::new(path);
            match std::fs::read_link(path) {
                Ok(target) => reach.links.push((path.to_owned(), target)),
                Err(_) => reach.grant(path, Access::Read, Origin::Machine),
            }
        }
        for name in ETC {
            reach.grant(&Path::new("/etc").join(name), Access::Read, Origin::Machine);
        }
        if settings.network == Network::On {
            // Usually a link to where the resolver keeps it.
            reach.grant(Path::new("/etc/resolv.conf"), Access::Read, Origin::Machine);
        }
        if let Some(home) = &home {
            reach.grant_toolchains(home);
        }
        settings.read.iter().for_each(|path| reach.grant(path, Access::Read, Origin::Setting));
        let written = settings.home.iter().chain(&settings.write);
        written.for_each(|path| reach.grant(path, Access::Write, Origin::Setting));
        for root in workspace.roots() {
            let access = if root.read_only() { Access::Read } else { Access::Write };
            reach.grants.retain(|grant| grant.path != root.path());
            reach.grants.push(Grant { path: root.path().to_owned(), access, directory: true, origin: Origin::Root });
        }
        let closed = |grant: &Grant| workspace.closed().iter().any(|closed| grant.path.starts_with(&closed.path));
        reach.grants.retain(|grant| !closed(grant));
        reach.grants.sort_by(|a, b| a.path.cmp(&b.path));
        reach.search_path();
        reach
    }

    /// Adds what is really there, under its true path.
    fn grant(&mut self, path: &Path, access: Access, origin: Origin) {
        let Ok(path) = std::fs::canonicalize(path) else { return };
        // The whole machine, or the kernel's own trees, are nothing to hand out.
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

    fn grant_toolchains(&mut self, home: &Path) {
        for (name, variable) in TOOLCHAINS {
            let Ok(path) = std::fs::canonicalize(home.join(name)) else { continue };
            self.grant(&path, Access::Read, Origin::Machine);
            if let (Some(variable), Some(path)) = (variable, path.to_str()) {
                self.variables.insert((*variable).to_owned(), path.to_owned());
            }
        }
        let secrets = SECRETS.iter().filter_map(|name| std::fs::canonicalize(home.join(name)).ok());
        self.secrets.extend(secrets);
    }

    /// The server's own search path, without what commands cannot reach.
    fn search_path(&mut self) {
        let own = std::env::var_os("PATH").unwrap_or_default();
        let usual = ["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from);
        let mut seen: Vec<String> = Vec::new();
        for entry in std::env::split_paths(&own).chain(usual).filter(|entry| entry.is_absolute()) {
            let Ok(entry) = std::fs::canonicalize(entry) else { continue };
            let Some(text) = entry.to_str().filter(|text| !text.contains(':')) else { continue };
            if self.reaches(&entry) && !seen.iter().any(|known| known == text) {
                seen.push(text.to_owned());
            }
        }
        self.variables.insert("PATH".into(), seen.join(":"));
    }

    /// What somebody wants only to be read although it lies in something that may be changed, and that something. Where
    /// rights add up, as Landlock's do, it could be changed as well.
    #[cfg(all(target_os = "linux", not(mainstay_unsupported)))]
    pub(crate) fn contradiction(&self) -> Option<(&Path, &Path)> {
        let mut read =
            self.grants.iter().filter(|grant| grant.access == Access::Read && grant.origin != Origin::Machine);
        let around = |inner: &Grant| {
            let mut written = self.grants.iter().filter(|grant| grant.access == Access::Write);
            written.find(|outer| inner.path.starts_with(&outer.path)).map(|outer| outer.path.as_path())
        };
        read.find_map(|inner| Some((inner.path.as_path(), around(inner)?)))
    }

    /// What surrounds a true path closest of all that commands may reach.
    #[cfg(all(target_os = "linux", not(mainstay_unsupported)))]
    pub(crate) fn around(&self, path: &Path) -> Option<&Grant> {
        self.grants.iter().rev().find(|grant| path.starts_with(&grant.path))
    }

    /// Whether a true path lies in what commands may read, outside of the roots that they can change.
    fn reaches(&self, path: &Path) -> bool {
        self.grants.iter().any(|grant| grant.access == Access::Read && path.starts_with(&grant.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FilesSettings;

    fn reach(settings: &ExecSettings) -> (tempfile::TempDir, Reach) {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(directory.path(), &FilesSettings::default()).unwrap();
        let reach = Reach::of(&workspace, settings);
        (directory, reach)
    }

    #[test]
    fn the_workspace_is_writable_and_the_system_is_not() {
        let (directory, reach) = reach(&ExecSettings::default());
        let access = |path: &Path| reach.grants.iter().find(|grant| grant.path == path).map(|grant| grant.access);
        assert_eq!(access(&directory.path().canonicalize().unwrap()), Some(Access::Write));
        assert_eq!(access(Path::new("/usr")), Some(Access::Read));
        assert_eq!(access(Path::new("/etc")), None);
        assert_eq!(access(Path::new("/")), None);
    }

    #[test]
    fn parents_come_before_what_is_inside_them() {
        let (_directory, reach) = reach(&ExecSettings::default());
        for (at, grant) in reach.grants.iter().enumerate() {
            assert!(!reach.grants[..at].iter().any(|earlier| earlier.path.starts_with(&grant.path)), "{grant:?}");
        }
    }

    #[test]
    fn the_whole_machine_and_the_kernels_trees_are_never_granted() {
        let settings =
            ExecSettings { read: vec!["/".into(), "/proc".into(), "/sys/kernel".into()], ..Default::default() };
        let (_directory, reach) = reach(&settings);
        assert!(
            !reach.grants.iter().any(|grant| ["/", "/proc", "/sys/kernel"].iter().any(|p| grant.path == Path::new(p)))
        );
    }

    #[test]
    #[cfg(all(target_os = "linux", not(mainstay_unsupported)))]
    fn what_is_only_to_be_read_inside_of_what_may_be_changed_is_noticed() {
        let outer = tempfile::tempdir().unwrap();
        let inner = outer.path().canonicalize().unwrap().join("inner");
        std::fs::create_dir(&inner).unwrap();
        let written = ExecSettings { write: vec![outer.path().into()], ..Default::default() };
        assert_eq!(reach(&written).1.contradiction(), None);
        let both = ExecSettings { read: vec![inner.clone()], ..written };
        let (_directory, reach) = reach(&both);
        assert_eq!(reach.contradiction(), Some((inner.as_path(), inner.parent().unwrap())));
    }

    #[test]
    fn the_search_path_leads_only_to_what_commands_cannot_change() {
        let (directory, reach) = reach(&ExecSettings::default());
        let path = &reach.variables["PATH"];
        assert!(path.split(':').any(|entry| entry == "/usr/bin"), "{path}");
        assert!(!path.contains(directory.path().to_str().unwrap()));
    }
}
