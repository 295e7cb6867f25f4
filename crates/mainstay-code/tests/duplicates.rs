//! Duplicated code: what is found, where it ends, and what is not found.

use mainstay_code::{CloneGroup, Duplicates, DuplicatesOptions, Language, NotMeasured, Place};

const OPTIONS: DuplicatesOptions = DuplicatesOptions { min_tokens: 20, min_lines: 3, ignore_names: false };

#[expect(clippy::unwrap_used, reason = "a search that nobody cancels has a result")]
fn find(options: DuplicatesOptions, files: &[String]) -> Vec<CloneGroup> {
    let mut duplicates = Duplicates::new(options);
    for (number, file) in files.iter().enumerate() {
        assert_eq!(duplicates.add(Language::Rust, file.as_bytes(), &|| true), Ok(number));
    }
    duplicates.find(&|| true).unwrap()
}

/// Five lines with 8 tokens each, which occur nowhere else.
fn block(name: &str) -> String {
    let line = |number| format!("    let {name}{number} = call({number});\n");
    [0, 1, 2, 3, 4].map(line).concat()
}

fn function(name: &str, body: &str) -> String {
    format!("fn {name}() {{\n{body}}}\n")
}

fn place(file: usize, start_line: u32, end_line: u32) -> Place {
    Place { file, start_line, end_line }
}

#[test]
fn code_in_two_files_is_one_group_with_exact_lines() {
    let files = [
        function("a", &(block("own") + &block("shared") + &block("x"))),
        function("b", &(block("other") + "\n" + &block("shared") + &block("y"))),
    ];
    let groups = find(OPTIONS, &files);
    assert_eq!(groups.len(), 1, "{groups:?}");
    assert_eq!(groups[0].places, [place(0, 6, 12), place(1, 6, 13)], "with `= call(4);` and `let` around it");
}

#[test]
fn formatting_and_comments_do_not_matter() {
    let shared = block("shared");
    let files = [function("a", &shared), function("b", &shared.replace(" = ", "\n  =  // why\n  "))];
    let groups = find(OPTIONS, &files);
    assert_eq!(groups.len(), 1);
    assert_eq!(groups[0].places.len(), 2);
}

#[test]
fn three_places_are_one_group_and_a_longer_pair_is_another() {
    let short = block("short");
    let long = block("before") + &short + &block("after");
    let files = [function("a", &long), function("b", &long), function("c", &(block("q") + &short + &block("r")))];
    let groups = find(OPTIONS, &files);
    let sizes: Vec<_> = groups.iter().map(|group| group.places.len()).collect();
    assert_eq!(sizes, [2, 3], "{groups:?}");
    assert!(groups[0].tokens > 2 * groups[1].tokens);
}

#[test]
fn less_than_the_minimum_is_not_reported() {
    let files = [function("a", &block("shared")), function("b", &block("shared"))];
    assert_eq!(find(OPTIONS, &files).len(), 1);
    assert!(find(DuplicatesOptions { min_tokens: 100, ..OPTIONS }, &files).is_empty());
    assert!(find(DuplicatesOptions { min_lines: 20, ..OPTIONS }, &files).is_empty());
}

#[test]
fn renamed_copies_are_found_where_names_do_not_matter() {
    let files = [function("a", &block("one")), function("b", &block("two"))];
    assert!(find(OPTIONS, &files).is_empty());
    assert_eq!(find(DuplicatesOptions { ignore_names: true, ..OPTIONS }, &files).len(), 1);
}

#[test]
fn repetition_inside_one_file_gives_places_that_do_not_overlap() {
    let files = [function("a", &"    step(1);\n".repeat(1_000))];
    for group in find(OPTIONS, &files) {
        for pair in group.places.windows(2) {
            assert!(pair[0].end_line < pair[1].start_line, "{pair:?}");
        }
    }
    let table = format!("const T: &[u8] = &[{}];\n", "0,\n".repeat(100_000));
    let groups = find(OPTIONS, &[table]);
    assert!(groups.len() < 100, "{}", groups.len());
}

#[test]
fn the_result_is_the_same_every_time_and_ends_when_cancelled() {
    let files: Vec<String> =
        (0..20).map(|number| function("f", &(block("shared") + &block(&format!("n{}", number % 5))))).collect();
    assert_eq!(find(OPTIONS, &files), find(OPTIONS, &files));
    let mut duplicates = Duplicates::new(OPTIONS);
    duplicates.add(Language::Rust, files[0].as_bytes(), &|| true).unwrap();
    assert_eq!(duplicates.find(&|| false), Err(NotMeasured::Cancelled));
}

#[test]
fn a_file_with_an_error_is_left_out_as_a_whole() {
    let mut duplicates = Duplicates::new(OPTIONS);
    assert_eq!(duplicates.add(Language::Rust, b"fn f( {", &|| true), Err(NotMeasured::Syntax { line: 1 }));
    assert_eq!((duplicates.tokens(), duplicates.add(Language::Rust, b"fn f() {}", &|| true)), (0, Ok(0)));
}
