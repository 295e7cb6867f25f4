//! The architecture, tested: which crate may depend on which, what the manifests must say, and how files, folders and
//! modules are cut.
//!
//! `ARCHITECTURE.md` draws the layers and gives the reasons; a change here is a change there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::module_cycles;
use crate::project::Project;
use crate::source_lines::{self, rust_files};

/// A crate, its layer, and the crates it may depend on besides `mainstay-core`, which all may.
struct Layer {
    name: &'static str,
    number: u8,
    depends_on: Allowed,
}

enum Allowed {
    These(&'static [&'static str]),
    /// Every crate of a lower layer.
    AllBelow,
}

const LAYERS: &[Layer] = &[
    Layer { name: "mainstay-core", number: 0, depends_on: Allowed::These(&[]) },
    Layer { name: "mainstay-sandbox", number: 1, depends_on: Allowed::These(&[]) },
    Layer { name: "mainstay-store", number: 1, depends_on: Allowed::These(&[]) },
    Layer { name: "mainstay-wire", number: 1, depends_on: Allowed::These(&[]) },
    Layer { name: "mainstay-code", number: 1, depends_on: Allowed::These(&[]) },
    Layer { name: "mainstay-solana", number: 1, depends_on: Allowed::These(&[]) },
    Layer { name: "mainstay-search", number: 2, depends_on: Allowed::These(&["mainstay-code", "mainstay-store"]) },
    Layer { name: "mainstay-auth", number: 2, depends_on: Allowed::These(&["mainstay-store"]) },
    Layer {
        name: "mainstay-tools",
        number: 3,
        depends_on: Allowed::These(&[
            "mainstay-sandbox",
            "mainstay-store",
            "mainstay-code",
            "mainstay-search",
            "mainstay-solana",
        ]),
    },
    Layer {
        name: "mainstay-upstream",
        number: 3,
        depends_on: Allowed::These(&["mainstay-sandbox", "mainstay-store", "mainstay-search"]),
    },
    // Consent is a policy of the pipeline, and who may decide on it is known to mainstay-auth.
    Layer { name: "mainstay-engine", number: 3, depends_on: Allowed::These(&["mainstay-auth", "mainstay-store"]) },
    Layer {
        name: "mainstay-server",
        number: 4,
        depends_on: Allowed::These(&["mainstay-wire", "mainstay-engine", "mainstay-auth"]),
    },
    Layer { name: "mainstay", number: 5, depends_on: Allowed::AllBelow },
    // For tests alone: no shipped binary links it.
    Layer { name: "mainstay-conformance", number: 6, depends_on: Allowed::AllBelow },
];

/// Libraries that only these crates may depend on, so that what they know stays in one place.
const CONFINED: &[(&str, &[&str])] = &[
    ("sqlx", &["mainstay-store"]),
    ("rmcp", &["mainstay-server", "mainstay-tools", "mainstay-upstream", "mainstay-conformance"]),
    ("landlock", &["mainstay-sandbox"]),
    ("tree-sitter", &["mainstay-code"]),
];

/// The benchmarks and this driver. They may depend on none of the product's crates: they start its binaries.
const OUTSIDE: [&str; 2] = ["bench", "xtask"];
/// The exception: the quality of search is measured on lists of functions, which no tool indexes, and its vectors alone.
const MEASURED: [(&str, &str); 1] = [("bench", "mainstay-search")];

/// Past this a file should be a folder.
const MOST_LINES: usize = 600;
/// Past this a folder should have subfolders.
const MOST_FILES: usize = 16;
/// The same for the folder of a tool family, where each tool has a file: it is a list, and reads as one.
const MOST_FILES_OF_A_FAMILY: usize = 28;
/// Of a hundred lines of the product, code and comments, at least so many are comments.
const LEAST_COMMENTS_PERCENT: f64 = 14.0;

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

fn layer(name: &str) -> Option<&'static Layer> {
    LAYERS.iter().find(|layer| layer.name == name)
}

/// Why a package may not depend on another of ours, if it may not.
fn objection(from: &str, to: &str, for_tests: bool) -> Option<String> {
    let Some(target) = layer(to) else {
        return Some(format!("{from} → {to}: nothing may depend on {to}"));
    };
    if MEASURED.contains(&(from, to)) {
        return None;
    }
    let Some(layer) = layer(from) else {
        return Some(format!("{from} → {to}: {from} may depend on none of the product's crates"));
    };
    let allowed = match layer.depends_on {
        // Tests may reach further down, never up or sideways.
        _ if for_tests => target.number < layer.number,
        Allowed::AllBelow => target.number < layer.number,
        Allowed::These(names) => to == "mainstay-core" || names.contains(&to),
    };
    if allowed { None } else { Some(format!("{from} → {to}: not among the allowed dependencies")) }
}

fn check(problems: &[String]) {
    assert!(problems.is_empty(), "\n  {}\n", problems.join("\n  "));
}

#[test]
fn every_crate_has_a_layer() {
    let known = |name: &str| layer(name).is_some() || OUTSIDE.contains(&name);
    let unknown = packages().into_iter().map(|package| package.name).filter(|name| !known(name));
    let problems: Vec<_> = unknown.map(|name| format!("{name}: give it a layer in LAYERS")).collect();
    check(&problems);
}

#[test]
fn crates_depend_only_on_what_their_layer_allows() {
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
fn allowed_dependencies_lead_to_lower_layers() {
    for from in LAYERS {
        if let Allowed::These(names) = from.depends_on {
            for name in names {
                assert!(layer(name).unwrap().number < from.number, "{} → {name}", from.name);
            }
        }
    }
}

#[test]
fn a_dependency_that_is_not_allowed_is_rejected() {
    assert!(objection("mainstay-server", "mainstay-store", false).is_some());
    assert!(objection("mainstay-server", "mainstay-store", true).is_none());
    assert!(objection("mainstay-store", "mainstay-engine", true).is_some());
    assert!(objection("mainstay-tools", "mainstay-wire", false).is_some());
    assert!(objection("mainstay-engine", "mainstay-core", false).is_none());
    assert!(objection("mainstay-auth", "mainstay-engine", false).is_some());
    assert!(objection("xtask", "mainstay-core", false).is_some());
    assert!(objection("bench", "mainstay-store", false).is_some());
    assert!(objection("bench", "mainstay-search", false).is_none());
    assert!(objection("mainstay", "bench", true).is_some());
    assert!(objection("mainstay", "mainstay-conformance", true).is_some());
}

#[test]
fn crates_have_no_cycle() {
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
fn confined_libraries_are_used_only_where_they_may_be() {
    let mut problems = Vec::new();
    for package in packages().iter().filter(|package| !OUTSIDE.contains(&package.name.as_str())) {
        for (dependency, for_tests) in &package.dependencies {
            let confined = CONFINED.iter().find(|(library, _)| library == dependency);
            if let Some((library, crates)) = confined
                && !for_tests
                && !crates.contains(&package.name.as_str())
            {
                problems.push(format!("{} uses {library}, which belongs to {}", package.name, crates.join(", ")));
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
fn no_file_is_too_long() {
    let root = Project::find().unwrap().root;
    let mut problems = Vec::new();
    for path in rust_files(&root.join("crates")).unwrap() {
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        if lines > MOST_LINES {
            let name = path.strip_prefix(&root).unwrap().display();
            problems.push(format!("{name}: {lines} lines, more than {MOST_LINES}: split it by what it is about"));
        }
    }
    check(&problems);
}

/// The directories `src` of the crates, with the crates' names.
fn sources() -> Vec<(String, PathBuf)> {
    let product = packages().into_iter().filter(|package| layer(&package.name).is_some());
    product.map(|package| (package.name, package.manifest.with_file_name("src"))).collect()
}

#[test]
fn no_folder_has_too_many_files() {
    let root = Project::find().unwrap().root;
    let mut files: BTreeMap<String, usize> = BTreeMap::new();
    for (_, source) in sources() {
        for file in rust_files(&source).unwrap() {
            let folder = file.parent().unwrap().strip_prefix(&root).unwrap();
            *files.entry(folder.to_string_lossy().into_owned()).or_default() += 1;
        }
    }
    let is_family = |folder: &str| {
        let below = folder.strip_prefix("crates/mainstay-tools/src/");
        below.is_some_and(|family| !family.contains('/'))
    };
    let mut problems = Vec::new();
    for (folder, files) in files {
        let most = if is_family(&folder) { MOST_FILES_OF_A_FAMILY } else { MOST_FILES };
        if files > most {
            problems.push(format!("{folder}: {files} files, more than {most}: divide them into subfolders"));
        }
    }
    check(&problems);
}

#[test]
fn modules_have_no_cycle() {
    let mut problems = Vec::new();
    for (name, source) in sources() {
        problems.extend(module_cycles::find(&source).iter().map(|cycle| format!("{name} {cycle} use each other")));
    }
    check(&problems);
}

#[test]
fn enough_of_the_product_is_comments() {
    let root = Project::find().unwrap().root;
    let mut total = source_lines::Lines::default();
    for lines in source_lines::by_crate(&root).unwrap().into_values() {
        total.add(lines);
    }
    let percent = total.comment_percent();
    assert!(
        percent >= LEAST_COMMENTS_PERCENT,
        "{percent:.1} % of the product's lines are comments, less than {LEAST_COMMENTS_PERCENT} %: `cargo xtask lines`"
    );
}
