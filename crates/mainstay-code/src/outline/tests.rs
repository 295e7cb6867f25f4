//! The two ways to read Rust give the same outline.

use std::path::Path;

use super::{Item, Outline, rust, tree};
use crate::languages::Language;

fn both(source: &str) -> (Outline, Outline) {
    let fast = rust::read(source.as_bytes(), &|| true).unwrap().expect("brackets that match");
    (fast, tree::read(Language::Rust, source.as_bytes(), &|| true).unwrap())
}

/// What both know of an item. The grammar does not look into macros, and names the types of an `impl` with their paths.
fn known(outline: &Outline) -> Vec<(String, u32, u32, u32, std::ops::Range<u32>)> {
    let simple = |item: &Item| item.name[usize::from(item.qualifier)..].to_owned();
    let named = outline.items.iter().filter(|item| !item.name_range.is_empty() && !item.in_function);
    let mut known: Vec<_> =
        named.map(|item| (simple(item), item.lead_row, item.first_row, item.last_row, item.doc.clone())).collect();
    known.sort_by_key(|item| item.2);
    known
}

#[test]
fn the_reader_and_the_grammar_agree_on_this_crate() {
    let mut directories = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    let mut files = 0;
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let source = std::fs::read_to_string(&path).unwrap();
                let (fast, slow) = both(&source);
                // Comments that are inside of a node end with the line in the grammar, so docs may differ by a newline.
                let trimmed = |outline: &Outline| {
                    let mut items = known(outline);
                    for item in &mut items {
                        let doc = &source[item.4.start as usize..item.4.end as usize];
                        item.4.end = item.4.start + u32::try_from(doc.trim_end().len()).unwrap();
                    }
                    items
                };
                let fast = trimmed(&fast);
                for item in trimmed(&slow) {
                    assert!(fast.contains(&item), "{}: {item:?} is not in {fast:#?}", path.display());
                }
                files += 1;
            }
        }
    }
    assert!(files > 30);
}

#[test]
fn what_looks_like_an_item_and_is_none() {
    let (fast, _) = both(concat!(
        "struct A<const N: usize>;\nimpl A<{ 1 + 1 }> {\n    fn f(g: fn(u8) -> u8) -> impl Fn() {\n        || {}\n    }\n}\n",
        "fn union() { let r#type = '}'; let s = r#\"}\"#; let c = b'{'; let l: &'static str = \"{\\\"\"; }\n",
        "/* { /* nested */ */\nextern \"C\" fn h() {}\nextern \"C\" {\n    fn foreign();\n}\nstatic mut X: [u8; { 3 }] = [0; 3];\n",
    ));
    let names: Vec<_> = fast.items.iter().filter(|item| !item.name_range.is_empty()).map(|item| &*item.name).collect();
    assert_eq!(names, ["A", "A::f", "union", "h", "foreign", "X"]);
}

#[test]
fn brackets_that_do_not_match_are_left_to_the_grammar() {
    for source in ["fn f() {", "}", "mod a {", "fn f() { ( }", "impl X for Y { fn g() {} "] {
        assert!(
            !matches!(rust::read(source.as_bytes(), &|| true), Ok(Some(outline)) if outline.items.len() > 1),
            "{source}"
        );
    }
}

#[test]
fn a_raw_name_is_no_keyword() {
    let (fast, _) = both("fn r#match() { let r#fn = inner; }\nstruct r#type;\n");
    let names: Vec<&str> = fast.items.iter().map(|item| item.name.as_str()).filter(|name| !name.is_empty()).collect();
    assert_eq!(names, ["r#match", "r#type"]);
}
