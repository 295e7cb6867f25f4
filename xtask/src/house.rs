//! The house: which crate may see which, tested over what cargo itself says about the workspace.
//!
//! `ARCHITECTURE.md` draws the floors and gives the reasons; a change here is a change there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::project::Project;

/// A crate, its floor, and the crates it may see beside `mainstay-core`, which everyone may.
struct Room {
    name: &'static str,
    floor: u8,
    sees: Sees,
}

enum Sees {
    These(&'static [&'static str]),
    All,
}

const ROOMS: &[Room] = &[
    Room { name: "mainstay-core", floor: 0, sees: Sees::These(&[]) },
    Room { name: "mainstay-sandbox", floor: 1, sees: Sees::These(&[]) },
    Room { name: "mainstay-store", floor: 1, sees: Sees::These(&[]) },
    Room { name: "mainstay-wire", floor: 1, sees: Sees::These(&[]) },
    Room { name: "mainstay-code", floor: 1, sees: Sees::These(&[]) },
    Room { name: "mainstay-search", floor: 2, sees: Sees::These(&["mainstay-code", "mainstay-store"]) },
    Room {
        name: "mainstay-tools",
        floor: 3,
        sees: Sees::These(&["mainstay-sandbox", "mainstay-store", "mainstay-code", "mainstay-search"]),
    },
    Room { name: "mainstay-engine", floor: 3, sees: Sees::These(&["mainstay-store"]) },
    Room { name: "mainstay-server", floor: 4, sees: Sees::These(&["mainstay-wire", "mainstay-engine"]) },
    Room { name: "mainstay", floor: 5, sees: Sees::All },
    // For tests alone.
    Room { name: "mainstay-conformance", floor: 6, sees: Sees::All },
];

/// Libraries that only these crates may name, so that what they know stays in one place.
const DOORS: &[(&str, &[&str])] = &[
    ("sqlx", &["mainstay-store"]),
    ("rmcp", &["mainstay-server", "mainstay-tools", "mainstay-conformance"]),
    ("landlock", &["mainstay-sandbox"]),
    ("seccompiler", &["mainstay-sandbox"]),
];

/// What the benchmarks share; it sees nothing of the house.
const YARDSTICK: &str = "yardstick";

/// Past this a file wants to be a folder.
const LINES: usize = 600;

struct Package {
    name: String,
    manifest: PathBuf,
    /// Name and whether it is for tests alone.
    dependencies: Vec<(String, bool)>,
}

fn packages() -> Vec<Package> {
    let project = Project::find().unwrap();
    let packages = project.metadata["packages"].as_array().unwrap().iter();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    packages
        .map(|package| Package {
            name: text(&package["name"]),
            manifest: text(&package["manifest_path"]).into(),
            dependencies: package["dependencies"]
                .as_array()
                .unwrap()
                .iter()
                .map(|dependency| (text(&dependency["name"]), dependency["kind"] == "dev"))
                .collect(),
        })
        .collect()
}

fn room(name: &str) -> Option<&'static Room> {
    ROOMS.iter().find(|room| room.name == name)
}

/// Why a package may not have a dependency on one of ours, if it may not.
fn objection(from: &str, to: &str, for_tests: bool) -> Option<String> {
    if to == YARDSTICK {
        let allowed = from.starts_with("bench-");
        return (!allowed).then(|| format!("{from} → {to}: only benchmarks may use it"));
    }
    let Some(target) = room(to) else {
        return Some(format!("{from} → {to}: nothing may depend on {to}"));
    };
    if from.starts_with("bench-") {
        return None;
    }
    let Some(room) = room(from) else {
        return Some(format!("{from} → {to}: {from} may see none of the house's crates"));
    };
    let allowed = match room.sees {
        // Tests may reach further down, never up or sideways.
        _ if for_tests => target.floor < room.floor,
        Sees::All => target.floor < room.floor,
        Sees::These(names) => to == "mainstay-core" || names.contains(&to),
    };
    if allowed { None } else { Some(format!("{from} → {to}: not among the allowed edges")) }
}

fn check(problems: &[String]) {
    assert!(problems.is_empty(), "\n  {}\n", problems.join("\n  "));
}

#[test]
fn every_crate_has_its_room() {
    let known = |name: &str| room(name).is_some() || name.starts_with("bench-") || [YARDSTICK, "xtask"].contains(&name);
    let strangers = packages().into_iter().map(|package| package.name).filter(|name| !known(name));
    let problems: Vec<_> = strangers.map(|name| format!("{name}: give it a floor and its edges in ROOMS")).collect();
    check(&problems);
}

#[test]
fn crates_see_only_what_the_edges_allow() {
    let packages = packages();
    let ours: BTreeSet<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    let mut problems = Vec::new();
    for package in &packages {
        for (dependency, for_tests) in &package.dependencies {
            if ours.contains(dependency.as_str()) {
                problems.extend(objection(&package.name, dependency, *for_tests));
            }
        }
    }
    check(&problems);
}

#[test]
fn the_edges_themselves_lead_down() {
    for room in ROOMS {
        if let Sees::These(names) = room.sees {
            for name in names {
                let target = ROOMS.iter().find(|room| room.name == *name).unwrap();
                assert!(target.floor < room.floor, "{} → {name}", room.name);
            }
        }
    }
}

#[test]
fn an_edge_that_is_not_drawn_is_refused() {
    assert!(objection("mainstay-server", "mainstay-store", false).is_some());
    assert!(objection("mainstay-server", "mainstay-store", true).is_none());
    assert!(objection("mainstay-store", "mainstay-engine", true).is_some());
    assert!(objection("mainstay-tools", "mainstay-wire", false).is_some());
    assert!(objection("mainstay-engine", "mainstay-core", false).is_none());
    assert!(objection("xtask", "mainstay-core", false).is_some());
    assert!(objection("bench-spine", "mainstay-store", false).is_none());
    assert!(objection("mainstay", "mainstay-conformance", true).is_some());
    assert!(objection("bench-spine", "yardstick", false).is_none());
    assert!(objection("mainstay", "yardstick", true).is_some());
}

#[test]
fn there_is_no_circle() {
    let packages = packages();
    let edges: BTreeMap<&str, Vec<&str>> = packages
        .iter()
        .map(|package| (package.name.as_str(), package.dependencies.iter().map(|(name, _)| name.as_str()).collect()))
        .collect();
    for start in edges.keys() {
        let (mut seen, mut next) = (BTreeSet::new(), edges[start].clone());
        while let Some(name) = next.pop() {
            assert_ne!(name, *start, "{start} depends on itself through others");
            if seen.insert(name) {
                next.extend(edges.get(name).into_iter().flatten());
            }
        }
    }
}

#[test]
fn libraries_with_a_door_are_used_behind_it_alone() {
    let mut problems = Vec::new();
    for package in packages().iter().filter(|package| !package.name.starts_with("bench-")) {
        for (dependency, for_tests) in &package.dependencies {
            let door = DOORS.iter().find(|(library, _)| library == dependency);
            if let Some((library, behind)) = door
                && !for_tests
                && !behind.contains(&package.name.as_str())
            {
                problems.push(format!("{} uses {library}, which belongs to {}", package.name, behind.join(", ")));
            }
        }
    }
    check(&problems);
}

#[test]
fn every_crate_inherits_the_lints() {
    let inherits = |manifest: &Path| {
        let text = fs::read_to_string(manifest).unwrap();
        let section = text.split("\n[lints]\n").nth(1).unwrap_or_default();
        section.lines().take_while(|line| !line.starts_with('[')).any(|line| line.trim() == "workspace = true")
    };
    let without: Vec<_> = packages().into_iter().filter(|package| !inherits(&package.manifest)).collect();
    let problems: Vec<_> =
        without.iter().map(|package| format!("{}: add `[lints]` with `workspace = true`", package.name)).collect();
    check(&problems);
}

#[test]
fn no_file_is_longer_than_a_few_pages() {
    let root = Project::find().unwrap().root;
    let mut problems = Vec::new();
    let mut directories = vec![root.join("crates")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let lines = fs::read_to_string(&path).unwrap().lines().count();
                if lines > LINES {
                    let name = path.strip_prefix(&root).unwrap().display();
                    problems.push(format!("{name}: {lines} lines, more than {LINES}: split it by what it is about"));
                }
            }
        }
    }
    check(&problems);
}
