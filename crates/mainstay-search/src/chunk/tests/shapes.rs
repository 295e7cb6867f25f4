//! Sizes: what is merged, what is split, and sources that nobody writes.

use super::super::{ChunkKind, NotChunked, Tags, chunks};
use super::{assert_chunks, check, listing};

#[test]
fn a_long_function_is_split_between_statements() {
    let statement = "    if condition {\n        call(1);\n    }\n";
    let source = format!("/// Long.\nfn long(a: u8) {{\n{}}}\n", statement.repeat(40));
    let found = listing("a.rs", source.as_bytes());
    let expected = ["1-59 Function long | Long. | fn long(a: u8)", "60-123 Function long#1 |  | fn long(a: u8)"];
    assert_eq!(found, expected);
}

#[test]
fn no_part_begins_inside_of_a_statement() {
    for (path, open, statement, close) in [
        ("a.py", "def f():\n", "    if a:\n        b(\n            1,\n        )\n", ""),
        ("a.go", "package a\n\nfunc f() {\n", "\tif a {\n\t\tb(\n\t\t\t1,\n\t\t)\n\t}\n", "}\n"),
        ("a.js", "function f() {\n", "  if (a) {\n    b(\n      1,\n    );\n  }\n", "}\n"),
        ("a.rb", "def f\n", "  if a\n    b(\n      1,\n    )\n  end\n", "end\n"),
    ] {
        let source = format!("{open}{}{close}", statement.repeat(30));
        let cut = chunks(path, source.as_bytes(), &|| true).unwrap();
        check(source.as_bytes(), &cut);
        let parts: Vec<_> = cut.chunks.iter().filter(|chunk| chunk.part > 0).collect();
        assert!(!parts.is_empty(), "{path}");
        for part in parts {
            let text = part.text(source.as_bytes());
            assert!(text.trim_start().starts_with("if"), "{path}: {text}");
        }
    }
}

#[test]
fn a_long_type_is_a_head_and_its_methods() {
    let method = |name: &str| format!("    def {name}(self):\n{}", "        self.call(argument)\n".repeat(24));
    let source = format!("class Long:\n    \"\"\"Doc.\"\"\"\n    a = 1\n\n{}\n{}", method("one"), method("two"));
    assert_chunks(
        "a.py",
        &source,
        &[
            "1-3 Type Long | Doc. | class Long:",
            "5-29 Method Long.one |  | def one(self):",
            "31-55 Method Long.two |  | def two(self):",
        ],
    );
}

#[test]
fn what_closes_a_type_is_part_of_its_last_method() {
    let method =
        |name: &str| format!("    fn {name}() {{\n{}    }}\n", "        call(argument, argument);\n".repeat(25));
    let source = format!("impl Long {{\n{}\n{}}}\n", method("one"), method("two"));
    assert_chunks("a.rs", &source, &["1-28 Method Long::one |  | fn one()", "30-57 Method Long::two |  | fn two()"]);
}

#[test]
fn short_neighbours_are_one_block() {
    assert_chunks(
        "a.go",
        "package a\n\nfunc a() int { return 1 }\nfunc b() int { return 2 }\n\n// C is documented.\nfunc C() int { return 3 }\n",
        &["1-1 Block  |  | ", "3-4 Block  |  | ", "6-7 Function C | C is documented. | func C() int"],
    );
}

#[test]
fn lines_may_end_with_a_carriage_return() {
    let source =
        "/// Doc.\r\n#[inline]\r\nfn f() {\r\n    g();\r\n    g();\r\n}\r\n\r\nfn h() {\r\n    g();\r\n    g();\r\n}";
    assert_chunks("a.rs", source, &["1-6 Function f | Doc. | fn f()", "8-11 Function h |  | fn h()"]);
    let cut = chunks("a.rs", source.as_bytes(), &|| true).unwrap();
    assert!(cut.chunks[0].text(source.as_bytes()).ends_with('}'));
}

#[test]
fn an_empty_file_has_no_chunks() {
    for source in ["", "\n", "  \n\t\n\r\n"] {
        for path in ["a.rs", "a.py", "a.md", "a.txt"] {
            assert!(chunks(path, source.as_bytes(), &|| true).unwrap().chunks.is_empty(), "{path} {source:?}");
        }
    }
}

#[test]
fn one_huge_line_is_generated_and_only_its_beginning_is_kept() {
    let source = "var a=1;".repeat(100_000);
    let cut = chunks("a.js", source.as_bytes(), &|| true).unwrap();
    assert!(cut.tags.contains(Tags::GENERATED));
    assert_eq!(cut.chunks.len(), 1);
    assert_eq!((cut.chunks[0].first_line, cut.chunks[0].last_line), (1, 1));
    check(source.as_bytes(), &cut);
}

#[test]
fn a_long_line_among_others_is_cut_into_pieces() {
    let source = format!("{}x = \"{}\"\n{}", "a = 1\n".repeat(1000), "é".repeat(2500), "b = 1\n".repeat(1000));
    let cut = chunks("a.py", source.as_bytes(), &|| true).unwrap();
    check(source.as_bytes(), &cut);
    assert!(!cut.tags.contains(Tags::GENERATED));
    assert_eq!(cut.chunks.iter().filter(|chunk| chunk.first_line == 1001 && chunk.last_line == 1001).count(), 2);
    assert!(cut.chunks.iter().all(|chunk| std::str::from_utf8(&source.as_bytes()[range(chunk)]).is_ok()));
}

fn range(chunk: &super::super::Chunk) -> std::ops::Range<usize> {
    chunk.bytes.start as usize..chunk.bytes.end as usize
}

#[test]
fn deep_nesting_is_cut() {
    for (path, open, close) in [
        ("a.rs", "mod a {\n", "}\n"),
        ("a.rs", "fn a() {\n", "}\n"),
        ("a.js", "function a() {\n", "}\n"),
        ("a.java", "class A {\n", "}\n"),
        ("a.cpp", "namespace a {\n", "}\n"),
        ("a.json", "[\n", "]\n"),
        ("a.c", "(", ")"),
    ] {
        let source = format!("{}{}", open.repeat(2000), close.repeat(2000));
        check(source.as_bytes(), &chunks(path, source.as_bytes(), &|| true).unwrap());
    }
}

#[test]
fn bytes_that_are_not_utf_8_keep_their_places() {
    let source = b"# \xff\xfe\ndef f():\n    a = '\xe9'\n    b = 1\n    return a\n";
    assert_eq!(listing("a.py", source), ["1-5 Function f | ?? | def f():".replace("??", "\u{fffd}\u{fffd}")]);
}

#[test]
fn other_data_is_not_text() {
    for source in [&b"a\0b"[..], b"\x7fELF\x02\x01\x01\x00", b"\x01\x02\x03\x04abc"] {
        assert_eq!(chunks("a.rs", source, &|| true), Err(NotChunked::Binary));
    }
}

#[test]
fn nobody_waits_for_what_is_not_wanted() {
    for path in ["a.rs", "a.py", "a.md"] {
        assert_eq!(chunks(path, b"fn f() {}\n", &|| false), Err(NotChunked::Cancelled), "{path}");
    }
    let asked = std::cell::Cell::new(0);
    let wanted = || {
        asked.set(asked.get() + 1);
        asked.get() < 3
    };
    let source = "def f():\n    return 1\n\n\n".repeat(5000);
    assert_eq!(chunks("a.py", source.as_bytes(), &wanted), Err(NotChunked::Cancelled));
}

#[test]
fn a_large_file_is_cut_without_parsing_it() {
    let source = "fn f() {\n    call(argument);\n}\n\n".repeat(40_000);
    let cut = chunks("a.rs", source.as_bytes(), &|| true).unwrap();
    check(source.as_bytes(), &cut);
    assert!(cut.definitions.is_empty() && cut.chunks.iter().all(|chunk| chunk.kind == ChunkKind::Window));
}
