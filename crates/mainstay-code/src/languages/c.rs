//! C.
//!
//! Source is measured as it is written, before the preprocessor: both branches of an `#if` count, macros are calls.

use crate::definition::{
    BooleanOperator, BooleanRuns, Cost, Definition, Entry, Errors, Name, NestedFunctions, Recursion, Role, Separators,
    SymbolKind,
};

pub(crate) const C: Definition = Definition {
    name: "c",
    extensions: &["c", "h"],
    file_names: &[],
    interpreters: &[],
    grammar: tree_sitter_c::LANGUAGE,
    separators: Separators::DOT,
    nodes: NODES,
    boolean_operators: &[BooleanOperator::counted("&&"), BooleanOperator::counted("||")],
    boolean_runs: BooleanRuns::ByPosition,
    nested_functions: NestedFunctions::Separate,
    macro_tokens: &[],
    recursion: Recursion::ByNameOrReceiver,
    errors: Errors::SkipFunctions,
};

const NODES: &[Entry] = &[
    Entry::function("function_definition", Name::Declarator),
    Entry::symbol("struct_specifier", SymbolKind::Struct, Name::Field("name")).needs("body"),
    Entry::symbol("union_specifier", SymbolKind::Struct, Name::Field("name")).needs("body"),
    Entry::symbol("enum_specifier", SymbolKind::Enum, Name::Field("name")).needs("body"),
    Entry::symbol("type_definition", SymbolKind::Type, Name::Declarator),
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
