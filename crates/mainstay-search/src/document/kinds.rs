//! Numbers of kinds and languages in records. They are stored: a number keeps its meaning.

use mainstay_code::SymbolKind;

use crate::chunk::ChunkKind;

/// In all three lists the number is the place: new entries go to the end, and none is removed or moved.
const CHUNK_KINDS: [ChunkKind; 6] =
    [ChunkKind::Function, ChunkKind::Method, ChunkKind::Type, ChunkKind::Block, ChunkKind::Section, ChunkKind::Window];

const SYMBOL_KINDS: [SymbolKind; 10] = [
    SymbolKind::Function,
    SymbolKind::Method,
    SymbolKind::Class,
    SymbolKind::Struct,
    SymbolKind::Enum,
    SymbolKind::Trait,
    SymbolKind::Interface,
    SymbolKind::Type,
    SymbolKind::Constant,
    SymbolKind::Module,
];

/// Number 0 is a language without a name.
const LANGUAGES: [&str; 52] = [
    "",
    "rust",
    "python",
    "javascript",
    "jsx",
    "typescript",
    "tsx",
    "go",
    "java",
    "c",
    "cpp",
    "csharp",
    "ruby",
    "bash",
    "markdown",
    "restructuredtext",
    "asciidoc",
    "text",
    "toml",
    "json",
    "yaml",
    "xml",
    "html",
    "css",
    "sql",
    "protobuf",
    "graphql",
    "ini",
    "cmake",
    "make",
    "kotlin",
    "swift",
    "scala",
    "php",
    "perl",
    "lua",
    "elixir",
    "erlang",
    "haskell",
    "ocaml",
    "clojure",
    "dart",
    "zig",
    "julia",
    "r",
    "vue",
    "svelte",
    "powershell",
    "terraform",
    "nix",
    "assembly",
    "dockerfile",
];

fn number<T: PartialEq>(list: &[T], wanted: &T) -> u8 {
    list.iter().position(|one| one == wanted).and_then(|place| u8::try_from(place).ok()).unwrap_or(0)
}

pub fn chunk_kind_number(kind: ChunkKind) -> u8 {
    number(&CHUNK_KINDS, &kind)
}

/// A number that does not exist is a block.
pub fn chunk_kind(number: u8) -> ChunkKind {
    CHUNK_KINDS.get(usize::from(number)).copied().unwrap_or(ChunkKind::Block)
}

pub fn symbol_kind_number(kind: SymbolKind) -> u8 {
    number(&SYMBOL_KINDS, &kind)
}

/// A number that does not exist is a module, which counts least.
pub fn symbol_kind(number: u8) -> SymbolKind {
    SYMBOL_KINDS.get(usize::from(number)).copied().unwrap_or(SymbolKind::Module)
}

/// A language that is not in the list has the number of none; its documents are found all the same.
pub fn language_number(name: &str) -> u8 {
    number(&LANGUAGES, &name)
}

pub fn language(number: u8) -> &'static str {
    LANGUAGES.get(usize::from(number)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use mainstay_code::Language;

    use super::*;

    #[test]
    fn numbers_are_read_back() {
        for kind in CHUNK_KINDS {
            assert_eq!(chunk_kind(chunk_kind_number(kind)), kind);
        }
        for kind in SYMBOL_KINDS {
            assert_eq!(symbol_kind(symbol_kind_number(kind)), kind);
        }
        for name in Language::ALL.into_iter().map(Language::name).chain(crate::chunk::text_languages()) {
            assert_eq!(language(language_number(name)), name);
        }
        assert_eq!((language(255), chunk_kind(255), symbol_kind(255)), ("", ChunkKind::Block, SymbolKind::Module));
    }
}
