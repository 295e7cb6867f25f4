//! Go.
//!
//! Function literals belong to the function around them. The name of a method begins with the type of its receiver.

use crate::definition::{
    BooleanOperator, BooleanRuns, Cost, Definition, Entry, Errors, Name, NestedFunctions, Recursion, Role, Separators,
    SymbolKind,
};

pub(crate) const GO: Definition = Definition {
    name: "go",
    extensions: &["go"],
    file_names: &[],
    interpreters: &[],
    grammar: tree_sitter_go::LANGUAGE,
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
    Entry::function("function_declaration", Name::Field("name")).needs("body"),
    Entry::method("method_declaration", Name::Receiver).needs("body"),
    Entry::symbol("type_spec", SymbolKind::Type, Name::Field("name")),
    Entry::symbol("type_alias", SymbolKind::Type, Name::Field("name")),
    Entry::symbol("const_spec", SymbolKind::Constant, Name::Field("name")),
    Entry::of("func_literal").nests(&["body"]),
    Entry::of("if_statement")
        .role(Role::If)
        .decides(1)
        .costs(Cost::Nested)
        .nests(&["consequence"])
        .otherwise("alternative"),
    Entry::of("for_statement").decides(1).costs(Cost::Nested).nests(&["body"]),
    Entry::of("expression_switch_statement").costs(Cost::Nested).nests_everything(),
    Entry::of("type_switch_statement").costs(Cost::Nested).nests_everything(),
    Entry::of("select_statement").costs(Cost::Nested).nests_everything(),
    // `default` is the path that is left when no case applies, and no decision.
    Entry::of("expression_case").decides(1),
    Entry::of("type_case").decides(1),
    Entry::of("communication_case").decides(1),
    Entry::of("binary_expression").role(Role::Boolean),
    Entry::of("parenthesized_expression").role(Role::Brackets),
    Entry::of("call_expression").role(Role::Call),
    Entry::of("goto_statement").costs(Cost::Flat),
    Entry::jump("break_statement", "label_name"),
    Entry::jump("continue_statement", "label_name"),
    Entry::comment("comment"),
    Entry::text("interpreted_string_literal"),
    Entry::text("raw_string_literal"),
];
