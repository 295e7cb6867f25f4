//! The toolchains of the server's user, which commands may read, without the credentials in them.
//!
//! Landlock cannot take back what a directory above grants. So a directory in which a tool keeps credentials is not
//! granted as a whole, but entry by entry as it is at the start: what is added later, such as by `cargo login`, is not
//! visible to commands either. Protected names at the top of a toolchain, such as the repository of a version manager or
//! an `.env` that somebody keeps there, are treated as credentials. Further below are packages, in which such names are
//! files of the package: they are not searched, because there are too many.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Toolchains in a home directory: where they are, and the variable that names the place. Of Go, neither the sources in
/// `~/go/src` nor anything else that is not a program or a downloaded module: they are a person's work, with its
/// repositories and secrets.
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
    ("go/bin", None),
    ("go/pkg", None),
    (".go/bin", None),
    (".go/pkg", None),
    (".local/bin", None),
    (".local/lib", None),
    (".local/share/pnpm", Some("PNPM_HOME")),
    (".local/share/mise", Some("MISE_DATA_DIR")),
    (".local/share/uv", None),
    (".asdf", Some("ASDF_DATA_DIR")),
    (".dotnet", Some("DOTNET_ROOT")),
    (".ghcup", None),
];

/// Credential stores in toolchains, below the home directory; `*` is any one name. docs/workspace.md lists them.
const CREDENTIALS: &[&str] = &[
    ".cargo/credentials",
    ".cargo/credentials.toml",
    // asdf has a Cargo home for each version.
    ".asdf/installs/rust/*/credentials",
    ".asdf/installs/rust/*/credentials.toml",
    // `uv auth login`.
    ".local/share/uv/credentials",
    // Certificates with private keys, of NuGet and of ASP.NET.
    ".dotnet/corefx/cryptography/x509stores",
    ".sdkman/etc/config",
];

/// Settings of tools, which may contain credentials and often do not. A file is hidden if it does when the server starts.
const SETTINGS: &[&str] = &[
    ".cargo/config",
    ".cargo/config.toml",
    ".asdf/installs/rust/*/config.toml",
    // npm's for all projects, in the directory of each version of Node.
    ".nvm/versions/node/*/etc/npmrc",
    ".volta/tools/image/node/*/etc/npmrc",
    ".asdf/installs/nodejs/*/etc/npmrc",
    ".local/share/mise/installs/node/*/etc/npmrc",
    ".local/share/pnpm/global/*/.npmrc",
    // pip's, in the directory of each version of Python.
    ".pyenv/versions/*/pip.conf",
    ".asdf/installs/python/*/pip.conf",
    ".local/share/mise/installs/python/*/pip.conf",
    // How uv has installed a tool, with the URL of its index.
    ".local/share/uv/tools/*/uv-receipt.toml",
    ".volta/hooks.json",
    ".ghcup/config.yaml",
];

/// How many levels of a toolchain are searched for protected names: `plugins/NAME/.git` of a version manager is the third.
const SEARCHED_LEVELS: usize = 3;

/// How many directories of one toolchain are searched, from the top: reading them takes some milliseconds.
const MAX_SEARCHED: usize = 1000;

/// What is found in a home directory.
#[derive(Debug, Default)]
pub(super) struct Toolchains {
    /// Files and directories that commands may read, by their canonical paths.
    pub(super) readable: Vec<PathBuf>,
    /// Symbolic links beside them: path and target.
    pub(super) links: Vec<(PathBuf, PathBuf)>,
    /// Credentials, none of which is in `readable`.
    pub(super) credentials: Vec<PathBuf>,
    /// Variables that tell programs where their toolchains are.
    pub(super) variables: BTreeMap<String, String>,
}

/// The variables that name a toolchain's place.
#[cfg(test)]
pub(super) fn variables() -> impl Iterator<Item = &'static str> {
    TOOLCHAINS.iter().filter_map(|(_, variable)| *variable)
}

/// The names of a path that commands may not read, relative to some directory.
type Denied = Vec<String>;

impl Toolchains {
    /// With `is_protected`, without the names of which it returns true.
    pub(super) fn find(home: &Path, is_protected: Option<&dyn Fn(&OsStr) -> bool>) -> Self {
        let mut found = Self::default();
        for (name, variable) in TOOLCHAINS {
            let Ok(path) = std::fs::canonicalize(home.join(name)) else { continue };
            if let (Some(variable), Some(path)) = (variable, path.to_str()) {
                found.variables.insert((*variable).to_owned(), path.to_owned());
            }
            let inside = |patterns: &'static [&'static str]| {
                let below = patterns.iter().filter_map(move |pattern| pattern.strip_prefix(name)?.strip_prefix('/'));
                below.map(|rest| rest.split('/').map(str::to_owned).collect::<Denied>())
            };
            let mut denied: Vec<Denied> = inside(CREDENTIALS).collect();
            for settings in inside(SETTINGS).flat_map(|pattern| existing(&path, &pattern)) {
                let file = settings.iter().fold(path.clone(), |path, name| path.join(name));
                if beginning(&file).is_ok_and(|text| holds_credentials(&text)) {
                    denied.push(settings);
                }
            }
            if let Some(is_protected) = is_protected {
                denied.extend(protected_entries(&path, is_protected));
            }
            found.add(path, &denied);
        }
        found
    }

    /// Adds a path without what is denied in it.
    fn add(&mut self, path: PathBuf, denied: &[Denied]) {
        let entries = if denied.is_empty() { None } else { std::fs::read_dir(&path).ok() };
        let Some(entries) = entries else {
            self.readable.push(path);
            return;
        };
        for entry in entries.flatten() {
            let (name, path) = (entry.file_name(), entry.path());
            let inside: Vec<Denied> = denied.iter().filter_map(|names| below(names, &name)).collect();
            if inside.iter().any(Vec::is_empty) {
                self.credentials.push(path);
            } else if let Ok(target) = std::fs::read_link(&path) {
                self.links.push((path, target));
            } else {
                self.add(path, &inside);
            }
        }
    }
}

/// The protected names in the upper levels of a directory. Of these only those that begin with a dot: certificates
/// (`*.pem`) and modules called `credentials` are parts of programs. A symbolic link leads to something that has a rule of
/// its own.
fn protected_entries(top: &Path, is_protected: &dyn Fn(&OsStr) -> bool) -> Vec<Denied> {
    let mut found = Vec::new();
    let mut level: Vec<Denied> = vec![Vec::new()];
    let mut searched = 0;
    for _ in 0..SEARCHED_LEVELS {
        for above in std::mem::take(&mut level) {
            searched += 1;
            if searched > MAX_SEARCHED {
                return found;
            }
            let directory = above.iter().fold(top.to_owned(), |path, name| path.join(name));
            for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
                let (Ok(kind), Ok(name)) = (entry.file_type(), entry.file_name().into_string()) else { continue };
                let is_secret = name.starts_with('.') && is_protected(OsStr::new(&name)) && !kind.is_symlink();
                let path: Denied = above.iter().cloned().chain([name]).collect();
                if is_secret {
                    found.push(path);
                } else if kind.is_dir() {
                    level.push(path);
                }
            }
        }
    }
    found
}

/// What is left of a denied path behind a name; `None` if it does not begin with this name.
fn below(denied: &[String], name: &OsStr) -> Option<Denied> {
    let (first, rest) = denied.split_first()?;
    (first == "*" || first.as_str() == name).then(|| rest.to_vec())
}

/// The paths that exist for a pattern.
fn existing(directory: &Path, pattern: &[String]) -> Vec<Denied> {
    let Some((first, rest)) = pattern.split_first() else { return vec![Vec::new()] };
    let names: Vec<String> = if first == "*" {
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    } else {
        vec![first.clone()]
    };
    let below = |name: String| {
        let path = directory.join(&name);
        let found = if path.exists() { existing(&path, rest) } else { Vec::new() };
        found.into_iter().map(move |rest| std::iter::once(name.clone()).chain(rest).collect::<Denied>())
    };
    names.into_iter().flat_map(below).collect()
}

/// The text of a file of settings, which is never as long as this.
fn beginning(file: &Path) -> std::io::Result<String> {
    const MAX_BYTES: u64 = 1024 * 1024;
    let mut bytes = Vec::new();
    std::fs::File::open(file)?.take(MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Whether a file of settings (TOML, INI, YAML, JSON) gives a value to something that is called a secret, or has a URL
/// with a password.
fn holds_credentials(text: &str) -> bool {
    const NAMES: &[&str] = &["token", "password", "passwd", "secret", "_auth", "apikey", "api_key", "api-key"];
    let is_secret = |line: &str| {
        let Some((name, value)) = line.split_once('=').or_else(|| line.split_once(':')) else { return false };
        let (name, value) = (name.to_ascii_lowercase(), value.trim().trim_matches(['"', '\'', ',']));
        !value.is_empty() && NAMES.iter().any(|secret| name.contains(secret))
    };
    let has_password = |line: &str| {
        line.split("://").skip(1).any(|rest| {
            let authority = rest.split(['/', '"', '\'', ' ']).next().unwrap_or_default();
            authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
        })
    };
    let mut lines = text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';']));
    // Several settings may be on one line of JSON.
    lines.any(|line| line.split(['{', ',']).any(is_secret) || has_password(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A home directory with these files.
    fn home(files: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().canonicalize().unwrap();
        for (name, content) in files {
            std::fs::create_dir_all(home.join(name).parent().unwrap()).unwrap();
            std::fs::write(home.join(name), content).unwrap();
        }
        (directory, home)
    }

    fn is_readable(found: &Toolchains, path: &Path) -> bool {
        found.readable.iter().any(|readable| path.starts_with(readable))
    }

    #[test]
    fn credentials_are_not_readable_and_the_toolchains_around_them_are() {
        let (_directory, home) = home(&[
            (".cargo/credentials.toml", "[registry]\ntoken = \"s\""),
            (".cargo/bin/cargo", ""),
            (".cargo/registry/index", ""),
            (".cargo/config.toml", "[build]\njobs = 4"),
            (".asdf/installs/rust/1.95/credentials.toml", "s"),
            (".asdf/installs/rust/1.95/bin/cargo", ""),
            (".asdf/installs/nodejs/24/bin/node", ""),
            (".local/share/uv/credentials/credentials.toml", "s"),
            (".local/share/uv/python/3.13/bin/python", ""),
            (".dotnet/corefx/cryptography/x509stores/my/a.pfx", "s"),
            (".dotnet/sdk/10/dotnet.dll", ""),
            (".nvm/versions/node/v24/etc/npmrc", "//registry.npmjs.org/:_authToken=s"),
            (".nvm/versions/node/v22/etc/npmrc", "fund=false"),
            (".pyenv/versions/3.13/pip.conf", "[global]\nindex-url = https://me:s@host/simple"),
            ("go/bin/gopls", ""),
            ("go/pkg/mod/m/a.go", ""),
            ("go/src/mine/.env", "s"),
            ("go/bin/.env", "s"),
            (".pyenv/.git/config", "s"),
            (".pyenv/bin/pyenv", ""),
            (".asdf/plugins/mine/.git/config", "s"),
            (".asdf/plugins/mine/bin/install", ""),
            (".local/lib/node_modules/mine/.env.local", "s"),
            (".local/lib/node_modules/mine/index.js", ""),
            (".local/lib/python3.13/site-packages/certifi/cacert.pem", ""),
            (".cargo/git/checkouts/dependency/1234/.git/HEAD", ""),
        ]);
        let guard = crate::Guard::new(&[], &[]);
        let found = Toolchains::find(&home, Some(&|name| guard.protects(name)));
        for (path, readable) in [
            (".cargo/credentials.toml", false),
            (".cargo/bin/cargo", true),
            (".cargo/registry/index", true),
            (".cargo/config.toml", true),
            (".asdf/installs/rust/1.95/credentials.toml", false),
            (".asdf/installs/rust/1.95/bin/cargo", true),
            (".asdf/installs/nodejs/24/bin/node", true),
            (".local/share/uv/credentials/credentials.toml", false),
            (".local/share/uv/python/3.13/bin/python", true),
            (".dotnet/corefx/cryptography/x509stores/my/a.pfx", false),
            (".dotnet/sdk/10/dotnet.dll", true),
            (".nvm/versions/node/v24/etc/npmrc", false),
            (".nvm/versions/node/v22/etc/npmrc", true),
            (".pyenv/versions/3.13/pip.conf", false),
            ("go/bin/gopls", true),
            ("go/pkg/mod/m/a.go", true),
            ("go/src/mine/.env", false),
            ("go/bin/.env", false),
            (".pyenv/.git/config", false),
            (".pyenv/bin/pyenv", true),
            (".asdf/plugins/mine/.git/config", false),
            (".asdf/plugins/mine/bin/install", true),
            (".local/lib/node_modules/mine/.env.local", false),
            (".local/lib/node_modules/mine/index.js", true),
            // Parts of packages, without which nothing can be built.
            (".local/lib/python3.13/site-packages/certifi/cacert.pem", true),
            (".cargo/git/checkouts/dependency/1234/.git/HEAD", true),
            // What is created later is not readable either.
            (".cargo/credentials", false),
        ] {
            assert_eq!(is_readable(&found, &home.join(path)), readable, "{path}");
        }
        assert_eq!(found.variables["CARGO_HOME"], home.join(".cargo").to_str().unwrap());
    }

    #[test]
    fn links_beside_credentials_are_kept() {
        let (_directory, home) = home(&[(".cargo/bin/cargo", "")]);
        std::os::unix::fs::symlink("bin", home.join(".cargo/programs")).unwrap();
        assert_eq!(Toolchains::find(&home, None).links, [(home.join(".cargo/programs"), "bin".into())]);
    }

    #[test]
    fn settings_with_credentials_are_told_from_others() {
        for (text, holds) in [
            ("[registries.mine]\nindex = \"sparse+https://host/\"\ntoken = \"Bearer s\"", true),
            ("registries.mine.token = \"s\"", true),
            ("[http]\nproxy = \"http://me:s@proxy:3128\"", true),
            ("//host/:_authToken=s", true),
            ("_password=s", true),
            ("{\"node\": {\"token\": \"s\"}}", true),
            ("url: https://me:s@host/x", true),
            ("# token = \"s\"", false),
            ("token = \"\"", false),
            ("[net]\ngit-fetch-with-cli = true", false),
            ("[source.mine]\nregistry = \"ssh://git@host/index\"", false),
            ("[target.x86_64-unknown-linux-gnu]\nlinker = \"clang\"", false),
        ] {
            assert_eq!(holds_credentials(text), holds, "{text}");
        }
    }
}
