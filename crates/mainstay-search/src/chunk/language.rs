//! What a file that is no source code is written in, by its name.

/// Languages without a parser. The name is shown, filtered by, and decides whether a text has headings.
const BY_EXTENSION: &[(&str, &str)] = &[
    ("md", "markdown"),
    ("mdx", "markdown"),
    ("markdown", "markdown"),
    ("rst", "restructuredtext"),
    ("adoc", "asciidoc"),
    ("asciidoc", "asciidoc"),
    ("txt", "text"),
    ("toml", "toml"),
    ("json", "json"),
    ("jsonc", "json"),
    ("json5", "json"),
    ("yaml", "yaml"),
    ("yml", "yaml"),
    ("xml", "xml"),
    ("html", "html"),
    ("htm", "html"),
    ("css", "css"),
    ("scss", "css"),
    ("less", "css"),
    ("sql", "sql"),
    ("proto", "protobuf"),
    ("graphql", "graphql"),
    ("ini", "ini"),
    ("cfg", "ini"),
    ("conf", "ini"),
    ("cmake", "cmake"),
    ("mk", "make"),
    ("kt", "kotlin"),
    ("kts", "kotlin"),
    ("swift", "swift"),
    ("scala", "scala"),
    ("php", "php"),
    ("pl", "perl"),
    ("pm", "perl"),
    ("lua", "lua"),
    ("ex", "elixir"),
    ("exs", "elixir"),
    ("erl", "erlang"),
    ("hs", "haskell"),
    ("ml", "ocaml"),
    ("clj", "clojure"),
    ("dart", "dart"),
    ("zig", "zig"),
    ("jl", "julia"),
    ("r", "r"),
    ("vue", "vue"),
    ("svelte", "svelte"),
    ("ps1", "powershell"),
    ("tf", "terraform"),
    ("nix", "nix"),
    ("s", "assembly"),
    ("asm", "assembly"),
];

/// Looked up first: the extension of `CMakeLists.txt` would make it plain text.
const BY_NAME: &[(&str, &str)] = &[
    ("Makefile", "make"),
    ("GNUmakefile", "make"),
    ("CMakeLists.txt", "cmake"),
    ("Dockerfile", "dockerfile"),
    ("README", "text"),
    ("LICENSE", "text"),
    ("CHANGELOG", "text"),
];

/// The name of a file's language, or nothing.
pub(super) fn name(path: &str) -> &'static str {
    let file = path.rsplit('/').next().unwrap_or(path);
    if let Some((_, language)) = BY_NAME.iter().find(|(name, _)| *name == file) {
        return language;
    }
    let Some((_, extension)) = file.rsplit_once('.') else { return "" };
    let found = BY_EXTENSION.iter().find(|(known, _)| known.eq_ignore_ascii_case(extension));
    found.map_or("", |(_, language)| language)
}

/// Every name that [`name`] can give.
#[cfg(test)]
pub(crate) fn all_names() -> impl Iterator<Item = &'static str> {
    BY_EXTENSION.iter().chain(BY_NAME).map(|(_, language)| *language)
}
