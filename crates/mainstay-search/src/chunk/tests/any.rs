//! What holds for any bytes, and for real repositories.

use std::path::Path;

use proptest::prelude::*;

use super::super::{NotChunked, chunks};
use super::check;

const PATHS: &[&str] = &[
    "a.rs", "a.py", "a.js", "a.ts", "a.tsx", "a.go", "a.java", "a.c", "a.h", "a.cpp", "a.cs", "a.rb", "a.sh", "a.md",
    "a.rst", "a.adoc", "a.toml", "a.json", "a",
];

/// Pieces of source that mean something to at least one language.
const PIECES: &[&str] = &[
    "fn f() {",
    "}",
    "{",
    "(",
    ")",
    "impl A for B {",
    "struct S;",
    "/// doc\n",
    "#[test]\n",
    "//! inner\n",
    "/* c\n */",
    "def f(a):\n",
    "    \"\"\"doc\"\"\"\n",
    "class C:\n",
    "class D {",
    "@x\n",
    "function g() {}",
    "export const a = () => {",
    "func (s *S) M() {",
    "package p\n",
    "type T struct {",
    "int f(int a);",
    "#define X 1\n",
    "#ifdef Y\n",
    "#endif\n",
    "namespace n {",
    "template<class T>\n",
    "module M\n",
    "end\n",
    "f() {\n",
    "# Title\n",
    "```\n",
    "Title\n=====\n",
    "== Part\n",
    "\n",
    "\n\n",
    "\r\n",
    "  ",
    "\t",
    "a = 1;",
    "'",
    "\"",
    "`",
    "r#\"",
    "é",
    "a, b",
    "macro_rules! m {",
    "m! { fn",
    "use a::b;",
    "import a\n",
    ";",
    "---\n",
    "\u{2028}",
];

fn check_chunks(path: &str, source: &[u8]) {
    match chunks(path, source, &|| true) {
        Ok(cut) => check(source, &cut),
        Err(error) => assert_eq!(error, NotChunked::Binary),
    }
}

fn path() -> impl Strategy<Value = &'static str> {
    prop::sample::select(PATHS)
}

proptest! {
    #[test]
    fn any_bytes_are_cut(path in path(), source in prop::collection::vec(any::<u8>(), 0..400)) {
        check_chunks(path, &source);
    }

    #[test]
    fn any_text_is_cut(path in path(), source in "[ -~\n\t\u{80}-\u{2fff}]{0,400}") {
        check_chunks(path, source.as_bytes());
    }

    #[test]
    fn any_pieces_of_source_are_cut(
        path in path(),
        pieces in prop::collection::vec(prop::sample::select(PIECES), 0..80),
    ) {
        check_chunks(path, pieces.concat().as_bytes());
    }

    #[test]
    fn repeated_pieces_are_cut(path in path(), piece in prop::sample::select(PIECES), times in 1..400_usize) {
        check_chunks(path, piece.repeat(times).as_bytes());
    }
}

fn files(directory: &Path, found: &mut Vec<std::path::PathBuf>) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if path.is_symlink() || name == ".git" || name == "target" {
            continue;
        }
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

fn check_directory(directory: &Path) -> usize {
    let mut found = Vec::new();
    files(directory, &mut found);
    let mut count = 0;
    for path in found {
        let source = std::fs::read(&path).expect("a readable file");
        let name = path.to_string_lossy();
        if let Ok(cut) = chunks(&name, &source, &|| true) {
            // A minified line is in its chunk with its beginning alone.
            check(&source, &cut);
            count += 1;
        }
    }
    count
}

#[test]
fn every_line_of_this_repository_is_in_a_chunk() {
    assert!(check_directory(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) > 10);
}

/// `CHUNK_CORPUS=/path/to/checkouts cargo nextest run -p mainstay-search --run-ignored all corpus`
#[test]
#[ignore = "needs checkouts of repositories"]
fn every_line_of_a_corpus_is_in_a_chunk() {
    let directory = std::env::var("CHUNK_CORPUS").expect("CHUNK_CORPUS");
    assert!(check_directory(Path::new(&directory)) > 0);
}
