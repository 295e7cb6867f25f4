//! What kind of file a file is, by its path and its first lines. Ranking puts tests, generated and vendored files behind others.

use mainstay_code::{ItemKind, Outline};

/// A set of properties of a file.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Tags(u16);

impl Tags {
    /// Tests, and the fixtures and mocks they need.
    pub const TEST: Self = Self(1);
    /// Written by a program: by its name, by a comment at its beginning, or because its lines are minified.
    pub const GENERATED: Self = Self(1 << 1);
    /// A copy of a dependency.
    pub const VENDORED: Self = Self(1 << 2);
    pub const EXAMPLE: Self = Self(1 << 3);
    pub const BENCHMARK: Self = Self(1 << 4);
    /// Documentation, by its directory, its extension or a name such as `README`.
    pub const DOCS: Self = Self(1 << 5);
    /// It only imports and exports what other files define.
    pub const RE_EXPORTS: Self = Self(1 << 6);

    const NAMES: [(Self, &'static str); 7] = [
        (Self::TEST, "test"),
        (Self::GENERATED, "generated"),
        (Self::VENDORED, "vendored"),
        (Self::EXAMPLE, "example"),
        (Self::BENCHMARK, "benchmark"),
        (Self::DOCS, "docs"),
        (Self::RE_EXPORTS, "re-exports"),
    ];

    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub fn insert(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// For storage. Bits keep their meaning: those of indexed documents are on disk.
    pub fn bits(self) -> u16 {
        self.0
    }

    /// Bits that have no meaning are dropped.
    pub fn from_bits(bits: u16) -> Self {
        Self(bits & 0x7F)
    }

    /// The tag with a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(tag, _)| *tag)
    }

    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES.into_iter().filter(move |(tag, _)| self.contains(*tag)).map(|(_, name)| name)
    }

    /// What the path tells.
    pub fn of_path(path: &str) -> Self {
        let path = path.to_ascii_lowercase();
        let (directories, file) = path.rsplit_once('/').unwrap_or(("", &path));
        let mut tags = Self::default();
        for directory in directories.split('/') {
            for (tag, names) in DIRECTORIES {
                if names.contains(&directory) {
                    tags.insert(*tag);
                }
            }
            // `integration_tests`, `api-test`: the list has only the whole names.
            let last_word = directory.rsplit(['_', '-', '.']).next();
            if matches!(last_word, Some("test" | "tests")) {
                tags.insert(Self::TEST);
            }
        }
        let (stem, extension) = file.rsplit_once('.').unwrap_or((file, ""));
        if is_test_name(stem, &path) {
            tags.insert(Self::TEST);
        }
        if is_benchmark_name(stem) {
            tags.insert(Self::BENCHMARK);
        }
        if is_generated_name(file) {
            tags.insert(Self::GENERATED);
        }
        let is_text = ["md", "mdx", "markdown", "rst", "adoc", "asciidoc"].contains(&extension);
        let is_prose = ["readme", "changelog", "changes", "contributing", "license", "authors"].contains(&stem);
        if is_text || is_prose {
            tags.insert(Self::DOCS);
        }
        tags
    }
}

/// Whether a file, by its name in lower case without directories, is written by a program.
pub(super) fn is_generated_name(file: &str) -> bool {
    GENERATED_ENDINGS.iter().any(|ending| file.ends_with(ending)) || LOCK_FILES.contains(&file)
}

impl std::fmt::Debug for Tags {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_set().entries(self.names()).finish()
    }
}

const DIRECTORIES: &[(Tags, &[&str])] = &[
    (
        Tags::TEST,
        &[
            "test",
            "tests",
            "testing",
            "spec",
            "specs",
            "__tests__",
            "__mocks__",
            "__snapshots__",
            "__fixtures__",
            "fixture",
            "fixtures",
            "testdata",
            "test-data",
            "test_data",
            "test_suite",
            "mocks",
            "e2e",
            "androidtest",
            "unittest",
            "unittests",
            "snapshots",
            "regress",
            "cypress",
        ],
    ),
    (
        Tags::VENDORED,
        &[
            "vendor",
            "vendored",
            "node_modules",
            "bower_components",
            "third_party",
            "third-party",
            "thirdparty",
            "3rdparty",
            "external",
            "externals",
            "_vendor",
            "site-packages",
            "pods",
            "carthage",
            "deps",
        ],
    ),
    (
        Tags::EXAMPLE,
        &["example", "examples", "_examples", "demo", "demos", "sample", "samples", "tutorial", "tutorials"],
    ),
    (Tags::BENCHMARK, &["bench", "benches", "benchmark", "benchmarks", "perf"]),
    (Tags::DOCS, &["doc", "docs", "documentation", "website", "wiki", "man"]),
    (Tags::GENERATED, &["generated", "__generated__", "_generated", "dist", "gen", "target", "bindings.gen"]),
];

const GENERATED_ENDINGS: &[&str] = &[
    ".pb.go",
    ".pb.cc",
    ".pb.h",
    ".pb.rs",
    "_pb2.py",
    "_pb2_grpc.py",
    "_pb2.pyi",
    "_pb.js",
    "_pb.ts",
    "_pb.d.ts",
    ".g.cs",
    ".g.dart",
    ".designer.cs",
    ".generated.cs",
    ".generated.ts",
    ".generated.js",
    ".generated.go",
    ".gen.go",
    ".gen.ts",
    "_gen.go",
    "_generated.go",
    "_generated.rs",
    ".min.js",
    ".min.css",
    ".bundle.js",
    ".map",
    ".lock",
    ".snap",
    ".freezed.dart",
];

const LOCK_FILES: &[&str] = &[
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "go.sum",
    "deno.lock",
    "bun.lockb",
    "packages.lock.json",
    "gradle.lockfile",
];

/// The names of tests in the ecosystems of common languages; both arguments are lower-case.
fn is_test_name(stem: &str, path: &str) -> bool {
    let has_word = |word: &str| stem.split(['_', '-', '.']).any(|part| part == word);
    let has_class_name = |ending: &str| {
        // Only where a file is named after its class: `latest.py` ends in "test" too.
        let is_jvm_or_net = [".java", ".cs", ".kt", ".scala"].iter().any(|extension| path.ends_with(extension));
        is_jvm_or_net && stem.ends_with(ending) && stem.len() > ending.len()
    };
    stem == "conftest"
        || ["test", "tests", "spec", "specs", "unittest"].iter().any(|word| has_word(word))
        || ["test", "tests", "testcase", "spec"].iter().any(|ending| has_class_name(ending))
}

fn is_benchmark_name(stem: &str) -> bool {
    stem.split(['_', '-', '.']).any(|part| ["bench", "benches", "benchmark", "benchmarks"].contains(&part))
}

/// A file says that it was generated within its first lines.
const MARKED_BYTES: usize = 1200;

const MARKS: &[&str] = &[
    "@generated",
    "do not edit",
    "do not modify",
    "automatically generated",
    "autogenerated",
    "auto-generated",
    "generated by the protocol buffer compiler",
    "this file is generated",
    "this file was generated",
    "code generated by",
];

/// Whether the first comments of a file say that a program wrote it.
pub(super) fn is_marked_generated(source: &[u8]) -> bool {
    let first = source.get(..MARKED_BYTES).unwrap_or(source);
    let lines = first.split(|byte| *byte == b'\n').take(20);
    let is_comment = |line: &&[u8]| {
        let line = line.trim_ascii();
        [&b"//"[..], b"#", b"/*", b"*", b"<!--", b"--", b";", b"\"\"\""].iter().any(|mark| line.starts_with(mark))
    };
    lines.filter(is_comment).any(|line| {
        let line = line.to_ascii_lowercase();
        let line = String::from_utf8_lossy(&line);
        MARKS.iter().any(|mark| line.contains(mark))
    })
}

/// Whether a file has imports and re-exports, and nothing else.
pub(super) fn only_imports(outline: &Outline, source: &[u8]) -> bool {
    let is_import = |item: &mainstay_code::Item| match item.kind {
        ItemKind::Import | ItemKind::Group => true,
        ItemKind::Definition(_) => item.name == "__all__" || item.name.starts_with("__version"),
        // `#![…]`, docstrings, `"use strict"`, and what only holds imports.
        ItemKind::Statement => {
            let text = source.get(item.bytes.start as usize..item.bytes.end as usize).unwrap_or_default();
            !item.doc.is_empty() || text.starts_with(b"#!") || text.starts_with(b"\"use ") || text.starts_with(b"'use ")
        }
    };
    outline.items.iter().any(|item| item.kind == ItemKind::Import) && outline.items.iter().all(is_import)
}
