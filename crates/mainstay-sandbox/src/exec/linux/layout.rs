//! The file tree commands see: put together from what they may reach, and nothing else of the machine.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::plan::{At as _, Failure, NOT_OPEN, Step};
use super::sys::{self, Outcome};
use crate::exec::reach::{Access, Grant, Origin, Reach};

/// Directories every program expects, even if they are empty.
const EMPTY: &[&std::ffi::CStr] = &[c"proc", c"dev", c"dev/pts", c"tmp", c"run", c"sys", c"var", c".hidden"];

const LINKS: &[(&std::ffi::CStr, &std::ffi::CStr)] = &[
    (c"pts/ptmx", c"dev/ptmx"),
    (c"/proc/self/fd", c"dev/fd"),
    (c"/proc/self/fd/0", c"dev/stdin"),
    (c"/proc/self/fd/1", c"dev/stdout"),
    (c"/proc/self/fd/2", c"dev/stderr"),
    (c"/tmp/.shm", c"dev/shm"),
    (c"/tmp", c"var/tmp"),
    (c"/run", c"var/run"),
];

const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom", "tty"];

/// What is mounted over a protected name. Both are on a mount that nobody can change.
pub(super) const HIDDEN_FILE: &std::ffi::CStr = c"/.hidden/file";
pub(super) const HIDDEN_DIRECTORY: &std::ffi::CStr = c"/.hidden/directory";

/// A part of the machine that is brought into the tree.
struct Keep {
    source: CString,
    /// Where it goes, from the new root.
    target: CString,
    parents: Vec<CString>,
    directory: bool,
    restrictions: u64,
    tree: i32,
}

/// Beneath `/tmp`, which every command has for itself: it has to be mounted again for each.
pub(super) struct Beneath {
    pub(super) path: CString,
    pub(super) parents: Vec<CString>,
    pub(super) directory: bool,
}

pub(super) struct Layout {
    keeps: Vec<Keep>,
    links: Vec<(CString, CString)>,
    secrets: Vec<CString>,
    pub(super) beneath_tmp: Vec<Beneath>,
}

impl Layout {
    pub(super) fn of(reach: &Reach) -> Option<Self> {
        let mut grants: Vec<Grant> = reach.grants.clone();
        grants.push(Grant { path: "/etc".into(), access: Access::Read, directory: true, origin: Origin::Machine });
        grants.sort_by(|a, b| a.path.cmp(&b.path));
        let mut kept: Vec<Grant> = Vec::new();
        for grant in grants {
            // What surrounds it closest decides whether it is there already, and in the right way.
            let around = kept.iter().rev().find(|outer| grant.path.starts_with(&outer.path));
            if around.is_none_or(|outer| outer.access != grant.access) {
                kept.push(grant);
            }
        }
        let beneath_tmp = kept.iter().filter(|grant| grant.path.starts_with("/tmp"));
        let beneath_tmp = beneath_tmp.map(|grant| {
            Some(Beneath {
                path: text(&grant.path)?,
                parents: parents(&grant.path, "/tmp")?,
                directory: grant.directory,
            })
        });
        Some(Self {
            beneath_tmp: beneath_tmp.collect::<Option<_>>()?,
            keeps: kept
                .iter()
                .map(Keep::of)
                .chain([Some(Keep::of_processes())])
                .chain(DEVICES.iter().map(|name| Keep::of_device(name)))
                .collect::<Option<_>>()?,
            links: reach
                .links
                .iter()
                .map(|(path, target)| Some((text(target)?, relative(path)?)))
                .collect::<Option<_>>()?,
            secrets: reach.secrets.iter().map(|path| relative(path)).collect::<Option<_>>()?,
        })
    }

    /// Builds the tree and enters it. Runs in a process of its own: no allocation.
    pub(super) fn build(&mut self) -> Result<(), Failure> {
        sys::make_private().at(Step::Private)?;
        self.keeps.iter_mut().try_for_each(Keep::take).at(Step::Tree)?;
        sys::mount_new(c"tmpfs", c"/tmp", 0, c"mode=0755,size=16m").at(Step::Root)?;
        sys::change_dir(c"/tmp").at(Step::Root)?;
        EMPTY.iter().try_for_each(|path| sys::make_dir(path, 0o755)).at(Step::Root)?;
        self.keeps.iter().try_for_each(Keep::give).at(Step::Tree)?;
        LINKS.iter().try_for_each(|(to, path)| sys::make_link(to, path)).at(Step::Root)?;
        self.links.iter().try_for_each(|(to, path)| sys::make_link(to, path)).at(Step::Root)?;
        sys::make_file(c".hidden/file", 0).at(Step::Root)?;
        sys::make_dir(c".hidden/directory", 0).at(Step::Root)?;
        sys::enter_root().at(Step::Root)?;
        sys::restrict_mount(c"/", sys::READ_ONLY | sys::NO_SUID | sys::NO_DEV).at(Step::Root)?;
        self.secrets
            .iter()
            .try_for_each(|path| {
                let tree = sys::copy_tree(HIDDEN_FILE)?;
                let attached = sys::attach(tree, path);
                sys::close(tree);
                attached
            })
            .at(Step::Mask)
    }
}

impl Keep {
    fn of(grant: &Grant) -> Option<Self> {
        let base = sys::NO_SUID | sys::NO_DEV;
        Some(Self {
            source: text(&grant.path)?,
            target: relative(&grant.path)?,
            parents: parents(Path::new(relative(&grant.path)?.to_str().ok()?), "")?,
            directory: grant.directory,
            restrictions: match grant.access {
                Access::Read => base | sys::READ_ONLY,
                Access::Write => base,
            },
            tree: NOT_OPEN,
        })
    }

    /// Every command replaces it with its own before anything can look at it.
    fn of_processes() -> Self {
        Self {
            source: c"/proc".into(),
            target: c"proc".into(),
            parents: Vec::new(),
            directory: true,
            restrictions: sys::NO_SUID | sys::NO_DEV | sys::READ_ONLY,
            tree: NOT_OPEN,
        }
    }

    fn of_device(name: &str) -> Option<Self> {
        Some(Self {
            source: CString::new(format!("/dev/{name}")).ok()?,
            target: CString::new(format!("dev/{name}")).ok()?,
            parents: Vec::new(),
            directory: false,
            restrictions: sys::NO_SUID,
            tree: NOT_OPEN,
        })
    }

    /// Takes hold of it in the old tree.
    fn take(&mut self) -> Outcome {
        self.tree = sys::copy_tree(&self.source)?;
        sys::restrict_tree(self.tree, self.restrictions)
    }

    /// Puts it into the new one.
    fn give(&self) -> Outcome {
        for parent in &self.parents {
            there(sys::make_dir(parent, 0o755))?;
        }
        there(if self.directory { sys::make_dir(&self.target, 0o755) } else { sys::make_file(&self.target, 0o644) })?;
        sys::attach(self.tree, &self.target)?;
        sys::close(self.tree);
        Ok(())
    }
}

/// What lies in a part that is mounted already is there, and cannot be made: attaching tells whether it is missing.
fn there(made: Outcome) -> Outcome {
    match made {
        Err(libc::EROFS | libc::EACCES | libc::EPERM) => Ok(()),
        other => other,
    }
}

fn text(path: &Path) -> Option<CString> {
    CString::new(path.as_os_str().as_bytes()).ok()
}

fn relative(path: &Path) -> Option<CString> {
    text(path.strip_prefix("/").ok()?)
}

/// The directories above a path, from the outermost, as far as they lie beneath `top`.
fn parents(path: &Path, top: &str) -> Option<Vec<CString>> {
    let above: Vec<PathBuf> = path.ancestors().skip(1).map(Path::to_owned).collect();
    let inside = above
        .iter()
        .rev()
        .filter(|parent| !parent.as_os_str().is_empty() && parent.starts_with(top) && *parent != Path::new(top));
    inside.map(|parent| text(parent)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn layout(grants: &[(&str, Access)]) -> Layout {
        let grants = grants.iter().map(|(path, access)| Grant {
            path: path.into(),
            access: *access,
            directory: true,
            origin: Origin::Root,
        });
        let reach =
            Reach { grants: grants.collect(), secrets: Vec::new(), links: Vec::new(), variables: BTreeMap::new() };
        Layout::of(&reach).unwrap()
    }

    fn targets(layout: &Layout) -> Vec<&str> {
        let targets = layout.keeps.iter().map(|keep| keep.target.to_str().unwrap());
        targets.filter(|target| !target.starts_with("dev/") && *target != "proc").collect()
    }

    #[test]
    fn what_is_there_already_is_not_brought_in_twice() {
        let layout = layout(&[("/usr", Access::Read), ("/usr/share", Access::Read), ("/etc/passwd", Access::Read)]);
        assert_eq!(targets(&layout), ["etc", "usr"]);
    }

    #[test]
    fn a_part_with_other_rights_inside_another_is_brought_in_by_itself() {
        let layout = layout(&[("/w", Access::Write), ("/w/lib", Access::Read), ("/w/lib/own", Access::Write)]);
        assert_eq!(targets(&layout), ["etc", "w", "w/lib", "w/lib/own"]);
    }

    #[test]
    fn parents_are_made_from_the_outermost() {
        let layout = layout(&[("/a/b/work", Access::Write), ("/tmp/a/b", Access::Write)]);
        let keep = layout.keeps.iter().find(|keep| keep.target.as_c_str() == c"a/b/work").unwrap();
        assert_eq!(keep.parents, [CString::from(c"a"), CString::from(c"a/b")]);
        assert_eq!(layout.beneath_tmp.len(), 1);
        assert_eq!(layout.beneath_tmp[0].parents, [CString::from(c"/tmp/a")]);
    }
}
