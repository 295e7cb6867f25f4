//! Input that is broken, enormous or built to break a parser: a reason and no figures, soon and without a crash.

use std::cell::Cell;

use mainstay_code::{Language, MAX_SOURCE_BYTES, NotMeasured, analyze, symbols};
use proptest::prelude::*;

fn always() -> bool {
    true
}

fn outcome(language: Language, source: &[u8]) -> Result<usize, NotMeasured> {
    analyze(language, source, &always).map(|metrics| metrics.functions.len())
}

#[test]
fn what_is_not_text_is_not_measured() {
    assert_eq!(outcome(Language::Rust, b"fn f() { \xff }"), Err(NotMeasured::NotText));
    assert_eq!(outcome(Language::Python, b"x = 1\0"), Err(NotMeasured::NotText));
}

#[test]
fn a_syntax_error_is_reported_with_its_line() {
    assert_eq!(outcome(Language::Rust, b"fn f() {}\nfn g( {}\n"), Err(NotMeasured::Syntax { line: 2 }));
    assert_eq!(
        outcome(Language::Python, b"def f():\n    pass\n\nif x\n    pass\n"),
        Err(NotMeasured::Syntax { line: 4 })
    );
    let text = NotMeasured::Syntax { line: 4 }.to_string();
    assert_eq!(text, "The file has a syntax error in line 4.");
}

#[test]
fn a_file_that_is_too_large_is_not_parsed() {
    let source = vec![b' '; MAX_SOURCE_BYTES + 1];
    assert_eq!(outcome(Language::Go, &source), Err(NotMeasured::TooLarge));
}

#[test]
fn empty_files_have_figures_of_zero() {
    for language in Language::ALL {
        let metrics = analyze(language, b"", &always).unwrap();
        assert_eq!((metrics.functions.len(), metrics.lines.total), (0, 0), "{language:?}");
    }
}

#[test]
fn nesting_of_thousands_of_levels_is_measured_or_refused() {
    const LEVELS: usize = 2_000;
    let sources = [
        (Language::Rust, format!("fn f() {{ {}{} }}", "if a { ".repeat(LEVELS), "}".repeat(LEVELS))),
        (Language::Rust, format!("fn f() {{ {}1{} }}", "(".repeat(LEVELS), ")".repeat(LEVELS))),
        (Language::JavaScript, format!("function f() {{ {}{} }}", "if (a) { ".repeat(LEVELS), "}".repeat(LEVELS))),
        (Language::JavaScript, format!("x = {}1{}", "[".repeat(LEVELS), "]".repeat(LEVELS))),
        (Language::Java, format!("class A {{ void f() {{ {}{} }} }}", "if (a) { ".repeat(LEVELS), "}".repeat(LEVELS))),
        (Language::C, format!("void f() {{ {}{} }}", "{".repeat(LEVELS), "}".repeat(LEVELS))),
    ];
    for (language, source) in sources {
        match analyze(language, source.as_bytes(), &always) {
            Ok(metrics) => assert!(metrics.functions.len() <= 1, "{language:?}"),
            Err(error) => assert_eq!(error, NotMeasured::TooDeep, "{language:?}"),
        }
    }
    // The figures are those of the definition, however deep: 1 + 2 + … + 2000.
    let deep = format!("fn f() {{ {}{} }}", "if a { ".repeat(LEVELS), "}".repeat(LEVELS));
    let metrics = analyze(Language::Rust, deep.as_bytes(), &always).unwrap();
    assert_eq!((metrics.functions[0].cyclomatic, metrics.functions[0].cognitive), (2_001, 2_001_000));
    assert_eq!(metrics.functions[0].nesting, 2_000);
}

#[test]
fn functions_nested_too_deeply_are_refused() {
    let source = format!("{}{}", "function f() { ".repeat(500), "}".repeat(500));
    assert_eq!(outcome(Language::JavaScript, source.as_bytes()), Err(NotMeasured::TooDeep));
}

#[test]
fn an_analysis_ends_once_it_is_not_wanted() {
    let source = "fn f() { if a { b() } }\n".repeat(20_000);
    assert_eq!(
        analyze(Language::Rust, source.as_bytes(), &|| false).map(|metrics| metrics.functions.len()),
        Err(NotMeasured::Cancelled)
    );
    let asked = Cell::new(0_u32);
    let soon = || {
        asked.set(asked.get() + 1);
        asked.get() < 5
    };
    assert_eq!(analyze(Language::Rust, source.as_bytes(), &soon).map(drop), Err(NotMeasured::Cancelled));
    assert_eq!(asked.get(), 5, "nothing goes on after the answer no");
    // The parser that was stopped starts the next file afresh.
    assert_eq!(outcome(Language::Rust, b"fn g() {}"), Ok(1));
}

#[test]
fn a_long_name_is_cut() {
    let source = format!("fn {}() {{}}", "é".repeat(5_000));
    let metrics = analyze(Language::Rust, source.as_bytes(), &always).unwrap();
    assert!(metrics.functions[0].name.len() <= 200);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_text_makes_any_language_panic(
        pieces in proptest::collection::vec("[a-z]{1,3}|[(){}\\[\\];:,.<>=&|!?#'\"\n ]|if |for |def |fn |class |=> |case |else |end\n", 0..60),
        language in 0..Language::ALL.len(),
    ) {
        let source = pieces.concat();
        let language = Language::ALL[language];
        if let Ok(metrics) = analyze(language, source.as_bytes(), &always) {
            for function in &metrics.functions {
                prop_assert!(function.span.end_byte as usize <= source.len());
                prop_assert!(function.span.start_line <= function.span.end_line);
                prop_assert!(function.cyclomatic >= 1);
            }
        }
        symbols(language, source.as_bytes(), &always).unwrap();
    }
}
