//! Text with headings, and text without.

use super::super::chunks;
use super::{assert_chunks, check};

#[test]
fn markdown() {
    let text = "Words that fill this section a little more than is needed for it to be short.\n".repeat(4);
    let code = "```sh\n# not a heading\nmake\n~~~\n## nor this\n```\n";
    assert_chunks(
        "a.md",
        &format!(
            "---\ntitle: x\n# no heading\n---\n\n# Guide\n\n{text}\n## Install ##\n\n{code}\n{text}\nSetext\n------\n\n\
             #hashtag\n\n{text}"
        ),
        &[
            "1-11 Section Guide |  | # Guide",
            "13-25 Section Guide > Install |  | ## Install ##",
            "27-35 Section Guide > Setext |  | Setext ------",
        ],
    );
}

#[test]
fn short_sections_are_one_chunk_named_by_what_they_share() {
    assert_chunks(
        "a.md",
        "# Guide\n\n## Install\n\nRun it.\n\n## Use\n\nUse it.\n",
        &["1-9 Section Guide |  | ## Install"],
    );
}

#[test]
fn restructured_text_and_asciidoc() {
    let text = "Words that fill this section a little more than is needed for it to be short.\n".repeat(4);
    assert_chunks(
        "a.rst",
        &format!("=====\nGuide\n=====\n\n{text}\nInstall\n-------\n\n{text}\nUse\n---\n\n{text}"),
        &[
            "1-8 Section Guide |  | ===== Guide =====",
            "10-16 Section Guide > Install |  | Install -------",
            "18-24 Section Guide > Use |  | Use ---",
        ],
    );
    assert_chunks(
        "a.adoc",
        &format!("= Guide\n\n{text}\n----\n== no heading\n----\n\n== Install\n\n{text}"),
        &["1-10 Section Guide |  | = Guide", "12-17 Section Guide > Install |  | == Install"],
    );
}

#[test]
fn a_long_section_is_split_between_paragraphs() {
    let source = format!("# Title\n\n{}", "A line of text.\nAnother line.\n\n".repeat(100));
    let cut = chunks("a.md", source.as_bytes(), &|| true).unwrap();
    check(source.as_bytes(), &cut);
    assert!(cut.chunks.len() > 2);
    for chunk in &cut.chunks[1..] {
        assert_eq!(&*chunk.name, "Title");
        assert!(chunk.text(source.as_bytes()).starts_with("A line"));
    }
}

#[test]
fn other_text_is_cut_into_windows_at_blank_lines() {
    let source = "[section]\na = 1\nb = 2\nc = 3\n\n".repeat(30);
    let cut = chunks("a.toml", source.as_bytes(), &|| true).unwrap();
    check(source.as_bytes(), &cut);
    assert_eq!(cut.language, "toml");
    assert!(cut.chunks.len() > 1);
    assert!(cut.chunks.iter().all(|chunk| chunk.text(source.as_bytes()).starts_with("[section]")));
}

#[test]
fn the_texts_of_a_chunk() {
    let source = &b"class A:\n    def push(self, item):\n        \"\"\"Add it.\n\n        Really.\n        \"\"\"\n        return item\n"[..];
    let other = format!("\n    def other(self):\n{}", "        call(argument)\n".repeat(80));
    let padded = [source, other.as_bytes()].concat();
    let cut = chunks("a.py", &padded, &|| true).unwrap();
    let chunk = cut.chunks.iter().find(|chunk| &*chunk.name == "A.push").expect("a method");
    assert_eq!((chunk.simple_name(), chunk.enclosing()), ("push", "A"));
    assert_eq!(chunk.doc_text(&padded), "Add it.\n\nReally.");
    assert_eq!(chunk.signature_text(&padded), "def push(self, item):");
    assert_eq!(chunk.without_doc(&padded).concat(), "    def push(self, item):\n        \n        return item");
    assert!(chunk.body_text(&padded).ends_with("return item"));
}
