//! Which language a file is in, and which definitions it has.

use mainstay_code::{Language, SymbolKind, symbols};

#[test]
fn a_language_is_recognised_by_the_name_of_a_file() {
    let cases = [
        ("src/main.rs", Some(Language::Rust)),
        ("a/b.PY", Some(Language::Python)),
        ("types.pyi", Some(Language::Python)),
        ("index.mjs", Some(Language::JavaScript)),
        ("App.tsx", Some(Language::Tsx)),
        ("server.mts", Some(Language::TypeScript)),
        ("main.go", Some(Language::Go)),
        ("Main.java", Some(Language::Java)),
        ("list.h", Some(Language::C)),
        ("list.cc", Some(Language::Cpp)),
        ("Program.cs", Some(Language::CSharp)),
        ("Rakefile", Some(Language::Ruby)),
        ("install.sh", Some(Language::Bash)),
        (".bashrc", Some(Language::Bash)),
        (".rs", None),
        ("notes.txt", None),
        ("Makefile", None),
        ("rs", None),
        ("", None),
    ];
    for (name, expected) in cases {
        assert_eq!(Language::from_name(name, b""), expected, "{name:?}");
    }
}

#[test]
fn a_script_without_an_extension_is_recognised_by_its_first_line() {
    let cases: [(&str, &[u8], _); 8] = [
        ("run", b"#!/bin/bash\n", Some(Language::Bash)),
        ("run", b"#!/usr/bin/env python3.12\nprint()", Some(Language::Python)),
        ("run", b"#!/usr/bin/env -S FOO=1 node --flag\n", Some(Language::JavaScript)),
        ("bin/run", b"#! /usr/local/bin/ruby -w", Some(Language::Ruby)),
        ("run", b"#!/usr/bin/perl\n", None),
        ("run", b"#!", None),
        ("run.txt", b"#!/bin/bash\n", None),
        ("run", b"echo", None),
    ];
    for (name, bytes, expected) in cases {
        assert_eq!(Language::from_name(name, bytes), expected, "{name:?} {}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn toolchains_stand_for_languages() {
    assert_eq!(Language::of_toolchain("deno").unwrap(), [Language::JavaScript, Language::TypeScript, Language::Tsx]);
    assert_eq!(Language::of_toolchain("python-uv").unwrap(), [Language::Python]);
    assert_eq!(Language::of_toolchain("all").unwrap(), Language::ALL);
    assert_eq!(Language::of_toolchain("cobol"), None);
    for word in Language::TOOLCHAINS {
        assert!(Language::of_toolchain(word).is_some(), "{word}");
    }
    for language in Language::ALL {
        assert!(Language::of_toolchain(language.name()).unwrap().contains(&language), "{language:?}");
    }
}

#[track_caller]
#[expect(clippy::unwrap_used, reason = "the sources are text")]
fn check(language: Language, source: &str, expected: &[(&str, SymbolKind, u32)]) {
    let found = symbols(language, source.as_bytes(), &|| true).unwrap();
    let found: Vec<_> =
        found.iter().map(|symbol| (symbol.name.as_str(), symbol.kind, symbol.span.start_line)).collect();
    assert_eq!(found, expected);
}

#[test]
fn definitions_are_listed_with_their_kinds() {
    check(
        Language::Rust,
        "const A: u8 = 1;\nmod m {\n  struct S;\n  impl S { fn f() {} }\n  trait T {}\n}\nenum E {}\nfn g() {}\n",
        &[
            ("A", SymbolKind::Constant, 1),
            ("m", SymbolKind::Module, 2),
            ("S", SymbolKind::Struct, 3),
            ("S::f", SymbolKind::Method, 4),
            ("T", SymbolKind::Trait, 5),
            ("E", SymbolKind::Enum, 7),
            ("g", SymbolKind::Function, 8),
        ],
    );
    check(
        Language::Python,
        "class A:\n  def f(self): pass\ndef g():\n  class B: pass\n",
        &[
            ("A", SymbolKind::Class, 1),
            ("A.f", SymbolKind::Method, 2),
            ("g", SymbolKind::Function, 3),
            ("g.B", SymbolKind::Class, 4),
        ],
    );
    check(
        Language::TypeScript,
        "interface I {}\ntype T = 1;\nenum E { A }\nclass C { m() {} }\nnamespace N { function f() {} }\n",
        &[
            ("I", SymbolKind::Interface, 1),
            ("T", SymbolKind::Type, 2),
            ("E", SymbolKind::Enum, 3),
            ("C", SymbolKind::Class, 4),
            ("C.m", SymbolKind::Method, 4),
            ("N", SymbolKind::Module, 5),
            ("f", SymbolKind::Function, 5),
        ],
    );
}

#[test]
fn a_file_with_an_error_still_has_the_definitions_around_it() {
    let found = symbols(Language::Python, b"def f(): pass\nx = = 1\ndef g(): pass\n", &|| true).unwrap();
    let names: Vec<_> = found.iter().map(|symbol| symbol.name.as_str()).collect();
    assert_eq!(names, ["f", "g"]);
}
