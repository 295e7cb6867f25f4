//! Java.
//!
//! Lambdas belong to the method around them; the methods of anonymous classes are methods of their own.

use crate::definition::{
    BooleanOperator, BooleanRuns, Cost, Definition, Entry, Errors, Name, NestedFunctions, Recursion, Role, Separators,
    SymbolKind,
};

pub(crate) const JAVA: Definition = Definition {
    name: "java",
    extensions: &["java"],
    file_names: &[],
    interpreters: &[],
    grammar: tree_sitter_java::LANGUAGE,
    separators: Separators::DOT,
    nodes: NODES,
    boolean_operators: &[BooleanOperator::counted("&&"), BooleanOperator::counted("||")],
    boolean_runs: BooleanRuns::ByPosition,
    nested_functions: NestedFunctions::Separate,
    macro_tokens: &[],
    recursion: Recursion::ByNameOrReceiver,
    errors: Errors::Refuse,
};

const NODES: &[Entry] = &[
    Entry::method("method_declaration", Name::Field("name")).needs("body"),
    Entry::method("constructor_declaration", Name::Field("name")),
    Entry::method("compact_constructor_declaration", Name::Field("name")),
    Entry::of_type("class_declaration", Some(SymbolKind::Class), Name::Field("name")),
    Entry::of_type("record_declaration", Some(SymbolKind::Class), Name::Field("name")),
    Entry::of_type("enum_declaration", Some(SymbolKind::Enum), Name::Field("name")),
    Entry::of_type("interface_declaration", Some(SymbolKind::Interface), Name::Field("name")),
    Entry::of_type("annotation_type_declaration", Some(SymbolKind::Interface), Name::Field("name")),
    Entry::of("lambda_expression").nests(&["body"]),
    Entry::of("if_statement")
        .role(Role::If)
        .decides(1)
        .costs(Cost::Nested)
        .nests(&["consequence"])
        .otherwise("alternative"),
    Entry::of("for_statement").decides(1).costs(Cost::Nested).nests(&["body"]),
    Entry::of("enhanced_for_statement").decides(1).costs(Cost::Nested).nests(&["body"]),
    Entry::of("while_statement").decides(1).costs(Cost::Nested).nests(&["body"]),
    Entry::of("do_statement").decides(1).costs(Cost::Nested).nests(&["body"]),
    Entry::of("switch_expression").costs(Cost::Nested).nests(&["body"]),
    // The word `case`: `default` has a label too, and is no decision.
    Entry::token("case").decides(1),
    Entry::of("catch_clause").decides(1).costs(Cost::Nested).nests(&["body"]),
    Entry::of("ternary_expression").decides(1).costs(Cost::Nested).nests(&["consequence", "alternative"]),
    Entry::of("binary_expression").role(Role::Boolean),
    Entry::of("parenthesized_expression").role(Role::Brackets),
    Entry::of("method_invocation").role(Role::Call),
    Entry::jump("break_statement", "identifier"),
    Entry::jump("continue_statement", "identifier"),
    Entry::comment("line_comment"),
    Entry::comment("block_comment"),
    Entry::text("string_literal"),
];
