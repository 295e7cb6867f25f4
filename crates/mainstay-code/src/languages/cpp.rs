//! C++.
//!
//! As C, with classes, exceptions and lambdas. Lambdas belong to the function around them.

use crate::definition::{
    BooleanOperator, BooleanRuns, Cost, Definition, Entry, Errors, Name, NestedFunctions, Recursion, Role, Separators,
    SymbolKind,
};

pub(crate) const CPP: Definition = Definition {
    name: "cpp",
    extensions: &["cpp", "cc", "cxx", "hpp", "hh", "hxx", "ipp", "inl"],
    file_names: &[],
    interpreters: &[],
    grammar: tree_sitter_cpp::LANGUAGE,
    separators: Separators::COLONS,
    nodes: NODES,
    boolean_operators: &[
        BooleanOperator::counted("&&"),
        BooleanOperator::counted("||"),
        BooleanOperator::counted("and"),
        BooleanOperator::counted("or"),
    ],
    boolean_runs: BooleanRuns::ByPosition,
    nested_functions: NestedFunctions::Separate,
    macro_tokens: &[],
    recursion: Recursion::ByNameOrReceiver,
    errors: Errors::SkipFunctions,
};

const NODES: &[Entry] = &[
    Entry::function("function_definition", Name::Declarator).needs("body"),
    Entry::of_type("class_specifier", Some(SymbolKind::Class), Name::Type("name")).needs("body"),
    Entry::of_type("struct_specifier", Some(SymbolKind::Struct), Name::Type("name")).needs("body"),
    Entry::of_type("union_specifier", Some(SymbolKind::Struct), Name::Type("name")).needs("body"),
    Entry::symbol("enum_specifier", SymbolKind::Enum, Name::Field("name")).needs("body"),
    Entry::symbol("alias_declaration", SymbolKind::Type, Name::Field("name")),
    Entry::symbol("namespace_definition", SymbolKind::Module, Name::Field("name")),
    Entry::of("lambda_expression").nests(&["body"]),
    Entry::of("for_range_loop").decides(1).costs(Cost::Nested).nests(&["body"]),
    Entry::of("catch_clause").decides(1).costs(Cost::Nested).nests(&["body"]),
    Entry::text("raw_string_literal"),
    Entry::of("if_statement").role(Role::If).decides(1).costs(Cost::Nested).nests(&["consequence"]),
    Entry::of("else_clause").role(Role::Else),
    Entry::of("for_statement").decides(1).costs(Cost::Nested).nests(&["body"]),
    Entry::of("while_statement").decides(1).costs(Cost::Nested).nests(&["body"]),
    Entry::of("do_statement").decides(1).costs(Cost::Nested).nests(&["body"]),
    Entry::of("switch_statement").costs(Cost::Nested).nests(&["body"]),
    // The word `case`: `default` is the same node, and no decision.
    Entry::token("case").decides(1),
    Entry::of("conditional_expression").decides(1).costs(Cost::Nested).nests(&["consequence", "alternative"]),
    Entry::of("binary_expression").role(Role::Boolean),
    Entry::of("parenthesized_expression").role(Role::Brackets),
    Entry::of("call_expression").role(Role::Call),
    Entry::of("goto_statement").costs(Cost::Flat),
    Entry::comment("comment"),
    Entry::text("string_literal"),
    Entry::text("char_literal"),
];
