//! Whether a file of the server's own is where callers or commands could access it.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};

use mainstay_core::{Error, Result};
use rustix::fs::{Access, AtFlags, CWD, FileType};
use rustix::io::Errno;

use super::ExecSettings;
use super::visibility::{self, Visibility};
use crate::identity::FileId;
use crate::workspace::Workspace;

/// What callers and commands must not be able to do with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sensitivity {
    /// Neither to read it nor to change it.
    Secret,
    /// To change it. Everybody may read it, such as public keys.
    Public,
}

/// How callers or commands could reach a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exposure {
    /// The root, or the path that commands can access, in which a name of the file's path is looked up.
    pub place: PathBuf,
    /// Whether the way to the file leads through a symbolic link or `..` in such a place, or through another mount of the
    /// same directory. Then closing the file's directory ([`Workspace::with_closed_dir`]) is not enough: the link could be
    /// replaced.
    pub indirect: bool,
}

/// As many symbolic links as the kernel follows (`MAXSYMLINKS`).
const MAX_LINKS: usize = 40;

impl Workspace {
    /// How a file could be read, changed or replaced through a root, or through a path that `commands` can access; `None`
    /// if it cannot.
    ///
    /// It is not enough that the file is outside of them: whoever can rename a directory on the way to it, or replace a
    /// symbolic link, decides what is found under its name. So no name of the path may be looked up in such a place. The
    /// file, and directories above it, need not exist yet.
    pub fn exposure(
        &self,
        file: &Path,
        commands: Option<&ExecSettings>,
        sensitivity: Sensitivity,
    ) -> Result<Option<Exposure>> {
        let roots = self.roots().iter().map(|root| (root.identity, root.path().to_owned(), root.read_only));
        let granted = commands.map(|settings| Visibility::upper_bound(self, settings).grants).unwrap_or_default();
        let granted = granted.into_iter().filter_map(|grant| {
            Some((FileId::of_path(&grant.path).ok()?, grant.path, grant.access == visibility::Access::Read))
        });
        let harmless = |read_only: bool| read_only && sensitivity == Sensitivity::Public;
        let places = roots.chain(granted).filter(|(_, _, read_only)| !harmless(*read_only));
        let places: Vec<(FileId, PathBuf)> = places.map(|(identity, path, _)| (identity, path)).collect();
        let mut found = exposure_of(file, &places)?;
        for alias in aliases(file) {
            if let Some(exposure) = exposure_of(&alias, &places)? {
                found.get_or_insert(exposure).indirect = true;
            }
        }
        Ok(found)
    }
}

/// Whether a file has another name (a hard link) through which a program of the server's user could change it. Where the
/// other name is would take a search of the whole file system, so it counts wherever it is. What this user neither owns
/// nor may write to is not counted: package managers link the files that they install (Nix, OSTree).
pub fn has_writable_link(file: &Path) -> std::io::Result<bool> {
    let stat = match rustix::fs::stat(file) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(false),
        Err(errno) => return Err(errno.into()),
    };
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || stat.st_nlink < 2 {
        return Ok(false);
    }
    // The owner of a file can make it writable.
    let owned = stat.st_uid == rustix::process::geteuid().as_raw();
    Ok(owned || rustix::fs::accessat(CWD, file, Access::WRITE_OK, AtFlags::EACCESS).is_ok())
}

/// Follows a path as opening it would, and returns the first of the places that a name is looked up in.
fn exposure_of(file: &Path, places: &[(FileId, PathBuf)]) -> Result<Option<Exposure>> {
    let cannot = |reason: &dyn std::fmt::Display| {
        Error::unavailable(format!("The file {} cannot be used: {reason}.", file.display()))
    };
    // The way to the current directory belongs to a relative path: it is resolved again whenever it is used.
    let absolute = std::path::absolute(file).map_err(|error| cannot(&error))?;
    let mut ahead = names(&absolute);
    // Without links and `..`, so that its ancestors are the directories it is in.
    let mut directory = PathBuf::from("/");
    let (mut followed, mut found) = (0, None::<Exposure>);
    while let Some(name) = ahead.pop_front() {
        let place = place_around(&directory, places);
        if name == ".." {
            // Where it leads depends on a directory that could be replaced by a link.
            if let (Some(_), Some(found)) = (place, &mut found) {
                found.indirect = true;
            }
            directory.pop();
            continue;
        }
        if let (Some(place), None) = (place, &found) {
            found = Some(Exposure { place: place.to_owned(), indirect: false });
        }
        let entry = directory.join(&name);
        match std::fs::read_link(&entry) {
            Ok(target) => {
                if let (Some(_), Some(found)) = (place, &mut found) {
                    found.indirect = true;
                }
                followed += 1;
                if followed > MAX_LINKS {
                    return Err(cannot(&"it leads through too many symbolic links"));
                }
                if target.is_absolute() {
                    directory = PathBuf::from("/");
                }
                ahead = names(&target).into_iter().chain(ahead).collect();
            }
            // It is no link, or does not exist yet and would be created here.
            Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::NotFound) => directory = entry,
            Err(error) => return Err(cannot(&error)),
        }
    }
    Ok(found)
}

/// Other paths of the same file: a bind mount, or a second volume of a container, shows a directory in two places. What
/// the kernel says about mounts is only where to look; what is found there is compared by identity.
fn aliases(file: &Path) -> Vec<PathBuf> {
    let Ok(file) = std::path::absolute(file) else { return Vec::new() };
    let Some(existing) = file.ancestors().find(|path| path.exists()) else { return Vec::new() };
    let (Ok(real), Ok(missing)) = (std::fs::canonicalize(existing), file.strip_prefix(existing)) else {
        return Vec::new();
    };
    let table = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
    let mounts: Vec<Mount> = table.split(|byte| *byte == b'\n').filter_map(Mount::parse).collect();
    // The innermost mount around it; of several at one place, the last is on top.
    let around = mounts.iter().filter(|mount| real.starts_with(&mount.point));
    let Some(own) = around.max_by_key(|mount| mount.point.components().count()) else { return Vec::new() };
    let Ok(below) = real.strip_prefix(&own.point) else { return Vec::new() };
    let (on_device, identity) = (own.root.join(below), FileId::of_path(&real).ok());
    let elsewhere = mounts.iter().filter(|mount| mount.device == own.device).filter_map(|mount| {
        let alias = mount.point.join(on_device.strip_prefix(&mount.root).ok()?);
        (alias != real && FileId::of_path(&alias).ok() == identity).then(|| alias.join(missing))
    });
    elsewhere.collect()
}

/// A line of `/proc/self/mountinfo`.
struct Mount {
    device: Vec<u8>,
    /// The directory of the file system that is mounted.
    root: PathBuf,
    point: PathBuf,
}

impl Mount {
    fn parse(line: &[u8]) -> Option<Self> {
        let mut fields = line.split(|byte| *byte == b' ').skip(2);
        let (device, root, point) = (fields.next()?.to_vec(), fields.next()?, fields.next()?);
        Some(Self { device, root: unescape(root), point: unescape(point) })
    }
}

/// The kernel writes a space as `\040`, and other characters that would end a field alike.
fn unescape(mut field: &[u8]) -> PathBuf {
    let mut path = Vec::with_capacity(field.len());
    while let Some((first, rest)) = field.split_first() {
        let octal = rest.get(..3).filter(|_| *first == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        if let Some(byte) = octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            path.push(byte);
            field = &rest[3..];
        } else {
            path.push(*first);
            field = rest;
        }
    }
    OsString::from_vec(path).into()
}

/// The place that a directory is in, or is. Directories are compared by identity, not by name.
fn place_around<'a>(directory: &Path, places: &'a [(FileId, PathBuf)]) -> Option<&'a Path> {
    let mut around = directory.ancestors().filter_map(|path| FileId::of_path(path).ok());
    around.find_map(|identity| places.iter().find(|(place, _)| *place == identity)).map(|(_, path)| path.as_path())
}

/// The names of a path, `..` included.
fn names(path: &Path) -> VecDeque<OsString> {
    let name = |component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{FilesSettings, RootSettings};

    /// Directories, a workspace, a read-only root, and links from one to another.
    fn places() -> (tempfile::TempDir, Workspace) {
        let top = tempfile::tempdir().unwrap();
        let real = top.path().canonicalize().unwrap();
        for name in ["work/state/data", "beside", "shared", "docs"] {
            std::fs::create_dir_all(real.join(name)).unwrap();
        }
        std::fs::write(real.join("work/there.db"), "").unwrap();
        std::fs::write(real.join("beside/own.db"), "").unwrap();
        for (link, target) in [
            ("beside/in", "work"),
            ("beside/file.db", "work/there.db"),
            ("beside/none.db", "gone"),
            ("beside/loop", "beside/loop"),
            ("work/out.db", "beside/own.db"),
            ("work/away", "beside"),
            ("docs/out.db", "beside/own.db"),
        ] {
            std::os::unix::fs::symlink(real.join(target), real.join(link)).unwrap();
        }
        let docs = RootSettings { path: real.join("docs"), read_only: true };
        let files = FilesSettings { roots: vec![docs], ..FilesSettings::default() };
        let workspace = Workspace::open(&real.join("work"), &files).unwrap();
        (top, workspace)
    }

    #[test]
    fn a_file_is_exposed_by_every_place_that_leads_to_it() {
        let (top, workspace) = places();
        let real = top.path().canonicalize().unwrap();
        let commands = ExecSettings { write: vec![real.join("shared")], ..ExecSettings::default() };
        for (file, alone, with_commands) in [
            ("work/new.db", Some("work"), Some("work")),
            ("beside/in/new.db", Some("work"), Some("work")),
            ("beside/file.db", Some("work"), Some("work")),
            // A directory above it could be renamed, and another one put in its place.
            ("work/state/data/own.db", Some("work"), Some("work")),
            ("work/not/yet/there.db", Some("work"), Some("work")),
            // The file is outside, but the link to it could be replaced.
            ("work/out.db", Some("work"), Some("work")),
            ("work/away/own.db", Some("work"), Some("work")),
            ("work/state/../../beside/own.db", Some("work"), Some("work")),
            ("docs/out.db", Some("docs"), Some("docs")),
            ("beside/own.db", None, None),
            ("beside/none.db", None, None),
            ("beside/not/yet/there.db", None, None),
            ("work/../beside/own.db", None, None),
            ("shared/own.db", None, Some("shared")),
        ] {
            let exposure = |commands| {
                let exposure = workspace.exposure(&real.join(file), commands, Sensitivity::Secret).unwrap();
                exposure.map(|exposure| exposure.place)
            };
            assert_eq!(exposure(None), alone.map(|name| real.join(name)), "{file}");
            assert_eq!(exposure(Some(&commands)), with_commands.map(|name| real.join(name)), "{file}");
        }
        assert!(workspace.exposure(&real.join("beside/loop"), None, Sensitivity::Secret).is_err());
    }

    #[test]
    fn a_way_through_a_link_that_could_be_replaced_is_indirect() {
        let (top, workspace) = places();
        let real = top.path().canonicalize().unwrap();
        for (file, indirect) in [
            ("work/state/data/own.db", Some(false)),
            // The link itself is where nobody can replace it.
            ("beside/in/state/own.db", Some(false)),
            ("work/away/own.db", Some(true)),
            ("work/out.db", Some(true)),
            ("work/state/../own.db", Some(true)),
            ("beside/own.db", None),
        ] {
            let exposure = workspace.exposure(&real.join(file), None, Sensitivity::Secret).unwrap();
            assert_eq!(exposure.map(|exposure| exposure.indirect), indirect, "{file}");
        }
    }

    #[test]
    fn the_kernels_table_of_mounts_is_read() {
        let line = br"36 35 98:0 /a\040b /mnt/\134x rw,noatime master:1 - ext4 /dev/root rw";
        let mount = Mount::parse(line).unwrap();
        assert_eq!((mount.device.as_slice(), mount.root), (b"98:0".as_slice(), PathBuf::from("/a b")));
        assert_eq!(mount.point, PathBuf::from("/mnt/\\x"));
        assert!(Mount::parse(b"").is_none() && Mount::parse(b"36 35 98:0 /").is_none());
    }

    #[test]
    fn what_everybody_may_read_may_be_where_nobody_can_change_it() {
        let (top, workspace) = places();
        let real = top.path().canonicalize().unwrap();
        let commands = ExecSettings { read: vec![real.join("shared")], ..ExecSettings::default() };
        let exposed = |file: &str, sensitivity| {
            workspace.exposure(&real.join(file), Some(&commands), sensitivity).unwrap().is_some()
        };
        for (file, secret, public) in
            [("docs/keys.json", true, false), ("shared/keys.json", true, false), ("work/keys.json", true, true)]
        {
            assert_eq!(exposed(file, Sensitivity::Secret), secret, "{file}");
            assert_eq!(exposed(file, Sensitivity::Public), public, "{file}");
        }
    }
}
