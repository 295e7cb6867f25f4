//! Cycles between the modules of a crate.
//!
//! For every folder, each child module with all beneath it is one node. An edge leads from the child that names an item
//! to the child that defines it; a `pub use` is followed to the definition and is itself no edge. References between a
//! module and its ancestors do not count, nor does test code. Names are found in the tokens of a file, so that paths in
//! macros count and comments and strings do not.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Item, UseTree, Visibility};

use crate::source_lines::rust_files;

/// The names of a module and its ancestors, the crate itself being empty.
type ModulePath = Vec<String>;

/// A re-export that leads to a re-export, at most so many times.
const LONGEST_CHAIN: usize = 8;

#[derive(Default)]
struct Module {
    /// Paths as written, first segment included.
    uses: Vec<Vec<String>>,
    /// `pub use`: the name under which an item is visible here, and its path.
    reexports: BTreeMap<String, ModulePath>,
    /// `pub use path::*`.
    glob_reexports: Vec<ModulePath>,
}

struct Crate {
    modules: BTreeMap<ModulePath, Module>,
}

/// Every cycle among sibling modules below `source`, as `folder: a, b, c`; the crate's root is `(root)`.
pub(crate) fn find(source: &Path) -> Vec<String> {
    let found = Crate::read(source);
    let mut edges: BTreeMap<ModulePath, Edges> = BTreeMap::new();
    for (module, content) in &found.modules {
        for path in &content.uses {
            let Some(target) = found.absolute(module, path).map(|path| found.resolve(&path, 0)) else { continue };
            let common = module.iter().zip(&target).take_while(|(a, b)| a == b).count();
            if common < module.len() && common < target.len() {
                let edge = (module[common].clone(), target[common].clone());
                edges.entry(module[..common].to_vec()).or_default().insert(edge);
            }
        }
    }
    let describe = |folder: &ModulePath, cycle: Vec<String>| {
        let folder = if folder.is_empty() { "(root)".to_owned() } else { folder.join("/") };
        format!("{folder}: {}", cycle.join(", "))
    };
    edges
        .iter()
        .flat_map(|(folder, edges)| cycles(edges).into_iter().map(move |cycle| describe(folder, cycle)))
        .collect()
}

impl Crate {
    fn read(source: &Path) -> Self {
        let mut modules = BTreeMap::new();
        for file in rust_files(source).unwrap() {
            let relative = file.strip_prefix(source).unwrap().with_extension("");
            let mut path: ModulePath = relative.iter().map(|part| part.to_string_lossy().into_owned()).collect();
            if path == ["main"] || path.iter().any(|part| part == "tests" || part == "testing") {
                continue;
            }
            path.pop_if(|name| name == "lib" || name == "mod");
            let parsed = syn::parse_file(&fs::read_to_string(&file).unwrap());
            let parsed = parsed.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            let mut module = Module::default();
            module.add(parsed.items);
            modules.insert(path, module);
        }
        Self { modules }
    }

    /// A path as written in a module, from the crate's root; `None` for one that leads out of the crate.
    fn absolute(&self, module: &[String], path: &[String]) -> Option<ModulePath> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => Some(rest.to_vec()),
            "self" => Some([module, rest].concat()),
            "super" => {
                let up = path.iter().take_while(|segment| *segment == "super").count();
                Some([&module[..module.len().saturating_sub(up)], &path[up..]].concat())
            }
            child => {
                let inside = [module, &[child.to_owned()]].concat();
                self.modules.contains_key(&inside).then(|| [module, path].concat())
            }
        }
    }

    /// The module that defines what an absolute path names.
    fn resolve(&self, path: &[String], chain: usize) -> ModulePath {
        let mut module = ModulePath::new();
        for (at, segment) in path.iter().enumerate() {
            module.push(segment.clone());
            if self.modules.contains_key(&module) {
                continue;
            }
            module.pop();
            return self.reexported(&module, segment, &path[at + 1..], chain).unwrap_or(module);
        }
        module
    }

    fn reexported(&self, module: &ModulePath, name: &str, rest: &[String], chain: usize) -> Option<ModulePath> {
        let content = self.modules.get(module).filter(|_| chain < LONGEST_CHAIN)?;
        if let Some(path) = content.reexports.get(name) {
            let path = self.absolute(module, path)?;
            return Some(self.resolve(&[&path, rest].concat(), chain + 1));
        }
        content.glob_reexports.iter().find_map(|glob| {
            let glob = self.absolute(module, glob)?;
            let found = self.resolve(&[glob.as_slice(), &[name.to_owned()]].concat(), chain + 1);
            (found != glob).then_some(found)
        })
    }
}

impl Module {
    fn add(&mut self, items: Vec<Item>) {
        for item in items {
            let tokens = item.to_token_stream();
            if is_for_tests(tokens.clone()) {
                continue;
            }
            if let Item::Use(item) = &item {
                let public = !matches!(item.vis, Visibility::Inherited);
                self.add_use(&item.tree, &mut Vec::new(), public);
            } else if let Item::Mod(item) = item {
                // A module written inside its parent's file counts as part of that file.
                self.add(item.content.map(|(_, items)| items).unwrap_or_default());
            } else {
                self.add_paths(tokens);
            }
        }
    }

    fn add_use(&mut self, tree: &UseTree, prefix: &mut Vec<String>, public: bool) {
        let mut add = |name: String, path: Vec<String>| {
            if public {
                self.reexports.insert(name, path);
            } else {
                self.uses.push(path);
            }
        };
        match tree {
            UseTree::Path(path) => {
                prefix.push(path.ident.to_string());
                self.add_use(&path.tree, prefix, public);
                prefix.pop();
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.add_use(tree, prefix, public);
                }
            }
            UseTree::Name(name) if name.ident == "self" => {
                add(prefix.last().cloned().unwrap_or_default(), prefix.clone());
            }
            UseTree::Name(name) => {
                let name = name.ident.to_string();
                add(name.clone(), [prefix.as_slice(), &[name]].concat());
            }
            UseTree::Rename(rename) => {
                add(rename.rename.to_string(), [prefix.as_slice(), &[rename.ident.to_string()]].concat());
            }
            UseTree::Glob(_) if public => self.glob_reexports.push(prefix.clone()),
            UseTree::Glob(_) => self.uses.push(prefix.clone()),
        }
    }

    /// Collects every `a::b` in the tokens, those inside groups and macros included.
    fn add_paths(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        let mut finish = |path: &mut Vec<String>| {
            let path = std::mem::take(path);
            if path.len() > 1 {
                self.uses.push(path);
            }
        };
        let mut groups = Vec::new();
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        finish(&mut path);
                    }
                    path.push(ident.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                TokenTree::Group(group) => {
                    groups.push(group.stream());
                    finish(&mut path);
                    colons = 0;
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {
                    finish(&mut path);
                    colons = 0;
                }
            }
        }
        finish(&mut path);
        for group in groups {
            self.add_paths(group);
        }
    }
}

/// Whether an item has `#[cfg(test)]` or `#[cfg(all(test, …))]` among its attributes.
fn is_for_tests(tokens: TokenStream) -> bool {
    let text = |token: Option<TokenTree>| token.map(|token| token.to_string()).unwrap_or_default();
    let mut tokens = tokens.into_iter();
    while text(tokens.next()) == "#" {
        let attribute = text(tokens.next()).replace(' ', "");
        if attribute == "[cfg(test)]" || attribute.starts_with("[cfg(all(test") {
            return true;
        }
    }
    false
}

type Edges = BTreeSet<(String, String)>;

/// The nodes that can be reached from `start`.
fn reachable<'a>(edges: &'a Edges, start: &'a str) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut next = vec![start];
    while let Some(node) = next.pop() {
        let targets = edges.iter().filter(|(from, _)| from == node).map(|(_, to)| to.as_str());
        next.extend(targets.filter(|to| seen.insert(*to)));
    }
    seen
}

/// The groups of more than one node in which each can be reached from each other.
fn cycles(edges: &Edges) -> Vec<Vec<String>> {
    let nodes: BTreeSet<&str> = edges.iter().flat_map(|(from, to)| [from.as_str(), to.as_str()]).collect();
    let reached: BTreeMap<&str, BTreeSet<&str>> = nodes.iter().map(|node| (*node, reachable(edges, node))).collect();
    let mut found: BTreeSet<Vec<String>> = BTreeSet::new();
    for node in &nodes {
        let group = nodes.iter().filter(|other| reached[*node].contains(**other) && reached[**other].contains(node));
        let group: Vec<String> = group.map(|other| (*other).to_owned()).collect();
        if group.len() > 1 {
            found.insert(group);
        }
    }
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycles_of(files: &[(&str, &str)]) -> Vec<String> {
        let scratch = crate::scratch::Scratch::new("cycles").unwrap();
        for (path, text) in files {
            let path = scratch.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        find(scratch.path())
    }

    #[test]
    fn siblings_that_use_each_other_are_a_cycle_and_ancestors_are_not() {
        let lib = ("lib.rs", "mod a; mod b; pub struct Shared; use a::A;");
        let a = ("a.rs", "use crate::{Shared, b::B}; pub struct A(B);");
        assert_eq!(cycles_of(&[lib, a, ("b.rs", "pub struct B; use super::Shared;")]), [""; 0]);
        assert_eq!(
            cycles_of(&[lib, a, ("b.rs", "pub struct B; fn f() { vec![super::a::A::new()]; }")]),
            ["(root): a, b"]
        );
    }

    #[test]
    fn a_reexport_is_followed_to_the_definition() {
        let lib = ("lib.rs", "mod a; mod b; pub use b::deep::*; pub use a::A as Renamed;");
        let deep = ("b/deep.rs", "pub struct B; use crate::Renamed;");
        let files = [lib, ("a.rs", "pub struct A(crate::B);"), ("b/mod.rs", "pub mod deep;"), deep];
        assert_eq!(cycles_of(&files), [""; 0], "a glob does not say what it brings");
        let lib = ("lib.rs", "mod a; mod b; pub use b::deep::B; pub use a::A as Renamed;");
        assert_eq!(cycles_of(&[lib, files[1], files[2], deep]), ["(root): a, b"]);
    }

    #[test]
    fn test_code_does_not_count() {
        let lib = ("lib.rs", "mod a; mod b;");
        let b = ("b.rs", "pub struct B; #[cfg(test)] mod tests { use crate::a::A; } #[cfg(test)] use crate::a::A;");
        assert_eq!(cycles_of(&[lib, ("a.rs", "pub struct A(crate::b::B);"), b]), [""; 0]);
    }
}
