//! What a path tells for ranking.
//!
//! Where people put a file says what it is for more reliably than its text does. Flags are computed when a document is
//! indexed; whether they count is decided for each query.

use crate::chunk::Tags;

/// Names of files that say nothing: such a file is known by its directory.
const GENERIC_STEMS: [&str; 8] = ["mod", "lib", "index", "main", "__init__", "init", "package", "_index"];

/// Directories beside the product: what shows, measures or builds it.
const SUPPORTING: [&str; 17] = [
    "example",
    "examples",
    "_examples",
    "sample",
    "samples",
    "demo",
    "demos",
    "bench",
    "benches",
    "benchmark",
    "benchmarks",
    "doc",
    "docs",
    "docs_src",
    "scripts",
    "tools",
    "playground",
];

/// Directories with what is kept for compatibility, or was written elsewhere.
const COMPATIBILITY: [&str; 7] = ["compat", "_compat", "legacy", "deprecated", "vendor", "third_party", "generated"];

/// Languages of prose and configuration. A file in no known language (a manual page, a list of changes) is no code
/// either.
const PROSE: [&str; 10] =
    ["", "markdown", "restructuredtext", "asciidoc", "text", "toml", "json", "yaml", "xml", "ini"];

const WINDOWS: [&str; 7] = ["win", "win32", "win64", "windows", "msvc", "cygwin", "mingw"];
const UNIX: [&str; 2] = ["unix", "posix"];
const RARE_PLATFORMS: [&str; 14] =
    ["aix", "os390", "zos", "ibmi", "sunos", "solaris", "haiku", "hpux", "hurd", "qnx", "vms", "os2", "wasi", "wasm"];

/// Properties of a path, above the bits of [`Tags`] in a document's record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PathFlags(u32);

impl PathFlags {
    /// Examples, benchmarks, documentation, scripts.
    pub const SUPPORTING: Self = Self(1 << 16);
    pub const COMPATIBILITY: Self = Self(1 << 17);
    /// Prose or configuration.
    pub const PROSE: Self = Self(1 << 18);
    pub const WINDOWS: Self = Self(1 << 19);
    pub const UNIX: Self = Self(1 << 20);
    /// A system that is the host of hardly anybody.
    pub const RARE_PLATFORM: Self = Self(1 << 21);
    pub const LINUX: Self = Self(1 << 22);
    /// It has a directory `v1`, `v2`, …; whether there is a later one only the whole index knows.
    pub const VERSIONED: Self = Self(1 << 23);

    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// From the bits of a document's record.
    pub fn from_bits(bits: u32) -> Self {
        Self(bits & 0xffff_0000)
    }

    /// What the path, the tags and the language of a document tell.
    pub fn of(path: &str, tags: Tags, language: &str) -> Self {
        let path = path.to_ascii_lowercase();
        let directories = path.rsplit_once('/').map_or("", |(directories, _)| directories);
        let mut flags = Self::default();
        let mut insert = |condition: bool, flag: Self| {
            if condition {
                flags.0 |= flag.0;
            }
        };
        for directory in directories.split('/') {
            insert(SUPPORTING.contains(&directory), Self::SUPPORTING);
            insert(COMPATIBILITY.contains(&directory), Self::COMPATIBILITY);
            insert(version(directory).is_some(), Self::VERSIONED);
        }
        insert([Tags::EXAMPLE, Tags::BENCHMARK].iter().any(|tag| tags.contains(*tag)), Self::SUPPORTING);
        insert([Tags::GENERATED, Tags::VENDORED].iter().any(|tag| tags.contains(*tag)), Self::COMPATIBILITY);
        insert(PROSE.contains(&language), Self::PROSE);
        // Whole words: `window.rs` is not about Windows. The file's name counts as well, for `tty_windows.go`.
        for word in path.split(['/', '_', '.', '-']) {
            insert(true, Self::of_platform(word));
        }
        flags
    }

    /// The platform that a word in lower case names.
    pub fn of_platform(word: &str) -> Self {
        match word {
            "linux" => Self::UNIX.or(Self::LINUX),
            _ if WINDOWS.contains(&word) => Self::WINDOWS,
            _ if UNIX.contains(&word) => Self::UNIX,
            _ if RARE_PLATFORMS.contains(&word) => Self::RARE_PLATFORM,
            _ => Self::default(),
        }
    }

    /// As in a document's record, with its tags.
    pub fn with_tags(self, tags: Tags) -> u32 {
        self.0 | u32::from(tags.bits())
    }
}

/// The tags of a document's record.
pub fn tags(bits: u32) -> Tags {
    Tags::from_bits(u16::try_from(bits & 0xffff).unwrap_or(0))
}

/// The number of a directory `v1`, `v2`, ….
pub fn version(directory: &str) -> Option<u32> {
    directory.strip_prefix(['v', 'V']).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok()
}

/// The path without the ending of its file.
pub fn without_extension(path: &str) -> &str {
    // Without this, the dot of a directory (`a.b/c`) would begin an ending.
    let is_ending = |ending: &str| !ending.is_empty() && ending.bytes().all(|byte| byte.is_ascii_alphanumeric());
    path.rsplit_once('.').filter(|(_, ending)| is_ending(ending)).map_or(path, |(stem, _)| stem)
}

/// The name of the file without its ending.
pub fn file_stem(path: &str) -> &str {
    without_extension(path.rsplit('/').next().unwrap_or(path))
}

/// The name by which people know the file: that of its directory where its own says nothing (`mod.rs`, `index.ts`).
pub fn known_as(path: &str) -> &str {
    let stem = file_stem(path);
    let mut parts = path.rsplit('/').skip(1);
    match parts.next() {
        Some(directory) if GENERIC_STEMS.iter().any(|generic| generic.eq_ignore_ascii_case(stem)) => directory,
        _ => stem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(path: &str) -> PathFlags {
        let language = if path.contains(".md") { "markdown" } else { "c" };
        PathFlags::of(path, Tags::of_path(path), language)
    }

    #[test]
    fn a_file_is_known_by_its_name_or_its_directory() {
        for (path, stem, known) in [
            ("src/ranking/mod.rs", "mod", "ranking"),
            ("src/ranking/Index.ts", "Index", "ranking"),
            ("main.go", "main", "main"),
            ("a/b.test.ts", "b.test", "b.test"),
            ("a/Makefile", "Makefile", "Makefile"),
            ("", "", ""),
        ] {
            assert_eq!((file_stem(path), known_as(path)), (stem, known), "{path}");
        }
        assert_eq!(without_extension("a.b/c"), "a.b/c");
    }

    #[test]
    fn flags_are_told_by_whole_words_of_the_path() {
        let table: &[(&str, &[PathFlags])] = &[
            ("src/window.rs", &[]),
            ("src/win/tty.c", &[PathFlags::WINDOWS]),
            ("src/tty_windows.go", &[PathFlags::WINDOWS]),
            ("src/unix/linux.c", &[PathFlags::UNIX, PathFlags::LINUX]),
            ("src/unix/aix-common.c", &[PathFlags::UNIX, PathFlags::RARE_PLATFORM]),
            ("README.md", &[PathFlags::PROSE]),
            ("docs/api.rs", &[PathFlags::SUPPORTING]),
            ("pkg/v3/types.ts", &[PathFlags::VERSIONED]),
            ("pkg/vendor/x.go", &[PathFlags::COMPATIBILITY]),
            ("benches/read.rs", &[PathFlags::SUPPORTING]),
        ];
        for (path, expected) in table {
            let expected = expected.iter().fold(PathFlags::default(), |all, flag| all.or(*flag));
            assert_eq!(flags(path), expected, "{path}");
        }
    }
}
