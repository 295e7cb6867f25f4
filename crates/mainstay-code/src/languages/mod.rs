//! The languages that are understood, and how a file's language is recognised.

mod bash;
mod c;
mod cpp;
mod csharp;
mod go;
mod java;
mod javascript;
mod python;
mod ruby;
mod rust;

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::definition::{Compiled, Definition};

/// A programming language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    Rust,
    Python,
    JavaScript,
    TypeScript,
    /// TypeScript with JSX. It has a grammar of its own and shares its name with TypeScript.
    Tsx,
    Go,
    Java,
    C,
    Cpp,
    CSharp,
    Ruby,
    Bash,
}

/// A `#!` line is not looked for further than this.
const SHEBANG_BYTES: usize = 256;

impl Language {
    pub const ALL: [Self; 12] = [
        Self::Rust,
        Self::Python,
        Self::JavaScript,
        Self::TypeScript,
        Self::Tsx,
        Self::Go,
        Self::Java,
        Self::C,
        Self::Cpp,
        Self::CSharp,
        Self::Ruby,
        Self::Bash,
    ];

    /// The words [`Language::of_toolchain`] accepts, for error messages.
    pub const TOOLCHAINS: [&str; 14] = [
        "all",
        "rust",
        "deno",
        "python-uv",
        "python",
        "javascript",
        "typescript",
        "go",
        "java",
        "c",
        "cpp",
        "csharp",
        "ruby",
        "bash",
    ];

    /// The name of the language: `rust`, `csharp`.
    pub fn name(self) -> &'static str {
        self.definition().name
    }

    /// The language of a file by its name (with or without directories), and for names that do not tell, by the `#!`
    /// line among its first bytes.
    pub fn from_name(name: &str, first_bytes: &[u8]) -> Option<Self> {
        Self::from_file_name(name).or_else(|| Self::from_shebang(name, first_bytes))
    }

    /// The language of a file by its name alone.
    pub fn from_file_name(name: &str) -> Option<Self> {
        let file = name.rsplit('/').next().unwrap_or(name);
        let by_name = |language: &Self| language.definition().file_names.contains(&file);
        if let Some(language) = Self::ALL.into_iter().find(by_name) {
            return Some(language);
        }
        let (stem, extension) = file.rsplit_once('.')?;
        // `.py` and `.rs` are hidden files without an extension.
        if stem.is_empty() {
            return None;
        }
        let extension = extension.to_ascii_lowercase();
        Self::ALL.into_iter().find(|language| language.definition().extensions.contains(&extension.as_str()))
    }

    /// Only files without an extension are scripts by their first line: a `#!` in `notes.txt` is text.
    fn from_shebang(name: &str, first_bytes: &[u8]) -> Option<Self> {
        let file = name.rsplit('/').next().unwrap_or(name);
        if file.trim_start_matches('.').contains('.') {
            return None;
        }
        let line = first_bytes.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
        let line = std::str::from_utf8(line.get(..SHEBANG_BYTES).unwrap_or(line)).ok()?;
        // `#!/usr/bin/env -S NAME=value python3 -u` names its program after options and variables.
        let mut words = line.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
        let mut program = words.next()?;
        if program == "env" {
            program = words.find(|word| !word.starts_with('-') && !word.contains('='))?;
        }
        let program = program.trim_end_matches(|character: char| character.is_ascii_digit() || character == '.');
        Self::ALL.into_iter().find(|language| language.definition().interpreters.contains(&program))
    }

    /// The languages that a toolchain's name stands for: a toolchain (`rust`, `deno`, `python-uv`), the name of a
    /// language, or `all`.
    pub fn of_toolchain(word: &str) -> Option<&'static [Self]> {
        Some(match word {
            "all" => &Self::ALL,
            "rust" => &[Self::Rust],
            "deno" => &[Self::JavaScript, Self::TypeScript, Self::Tsx],
            "python-uv" | "python" => &[Self::Python],
            "javascript" => &[Self::JavaScript],
            "typescript" => &[Self::TypeScript, Self::Tsx],
            "go" => &[Self::Go],
            "java" => &[Self::Java],
            "c" => &[Self::C],
            "cpp" => &[Self::Cpp],
            "csharp" => &[Self::CSharp],
            "ruby" => &[Self::Ruby],
            "bash" => &[Self::Bash],
            _ => return None,
        })
    }

    pub(crate) fn definition(self) -> &'static Definition {
        match self {
            Self::Rust => &rust::RUST,
            Self::Python => &python::PYTHON,
            Self::JavaScript => &javascript::JAVASCRIPT,
            Self::TypeScript => &javascript::TYPESCRIPT,
            Self::Tsx => &javascript::TSX,
            Self::Go => &go::GO,
            Self::Java => &java::JAVA,
            Self::C => &c::C,
            Self::Cpp => &cpp::CPP,
            Self::CSharp => &csharp::CSHARP,
            Self::Ruby => &ruby::RUBY,
            Self::Bash => &bash::BASH,
        }
    }

    /// Its tables with the grammar's numbers, made at the first use.
    pub(crate) fn compiled(self) -> &'static Compiled {
        static COMPILED: [OnceLock<Compiled>; Language::ALL.len()] = [const { OnceLock::new() }; Language::ALL.len()];
        COMPILED[self as usize].get_or_init(|| Compiled::new(self.definition()))
    }
}
