//! Rust.
//!
//! Closures belong to the function around them. `?` is a decision: it returns early. The arguments of a macro are tokens and
//! no syntax, so their decisions are counted by token, and nothing in them costs cognitive complexity.

use crate::definition::{
    BooleanOperator, BooleanRuns, Cost, Definition, Entry, Errors, Name, NestedFunctions, Recursion, Role, Separators,
    SymbolKind,
};

pub(crate) const RUST: Definition = Definition {
    name: "rust",
    extensions: &["rs"],
    file_names: &[],
    interpreters: &["rust-script"],
    grammar: tree_sitter_rust::LANGUAGE,
    separators: Separators::COLONS,
    nodes: NODES,
    boolean_operators: &[BooleanOperator::counted("&&"), BooleanOperator::counted("||")],
    boolean_runs: BooleanRuns::ByPosition,
    nested_functions: NestedFunctions::Separate,
    macro_tokens: &["if", "while", "for", "&&", "||", "?"],
    recursion: Recursion::ByNameOrReceiver,
    errors: Errors::Refuse,
};

const NODES: &[Entry] = &[
    Entry::function("function_item", Name::Field("name")),
    Entry::of_type("impl_item", None, Name::Type("type")),
    Entry::of_type("trait_item", Some(SymbolKind::Trait), Name::Field("name")),
    Entry::symbol("struct_item", SymbolKind::Struct, Name::Field("name")),
    Entry::symbol("union_item", SymbolKind::Struct, Name::Field("name")),
    Entry::symbol("enum_item", SymbolKind::Enum, Name::Field("name")),
    Entry::symbol("type_item", SymbolKind::Type, Name::Field("name")),
    Entry::symbol("const_item", SymbolKind::Constant, Name::Field("name")),
    Entry::symbol("static_item", SymbolKind::Constant, Name::Field("name")),
    Entry::symbol("mod_item", SymbolKind::Module, Name::Field("name")),
    Entry::symbol("macro_definition", SymbolKind::Function, Name::Field("name")),
    Entry::of("closure_expression").nests(&["body"]),
    Entry::of("if_expression").role(Role::If).decides(1).costs(Cost::Nested).nests(&["consequence"]),
    Entry::of("else_clause").role(Role::Else),
    Entry::of("for_expression").decides(1).costs(Cost::Nested).nests(&["body"]),
    Entry::of("while_expression").decides(1).costs(Cost::Nested).nests(&["body"]),
    // A loop without a condition is left by a decision inside it, which counts by itself.
    Entry::of("loop_expression").costs(Cost::Nested).nests(&["body"]),
    Entry::of("match_expression").costs(Cost::Nested).nests(&["body"]),
    Entry::of("match_block").role(Role::Cases),
    Entry::of("match_arm").role(Role::Case).decides(1),
    // The `if` of an arm, which most arms do not have.
    Entry::of("match_pattern").needs("condition").decides(1),
    Entry::of("let_declaration").needs("alternative").decides(1).costs(Cost::Nested).nests(&["alternative"]),
    Entry::of("try_expression").decides(1),
    Entry::of("binary_expression").role(Role::Boolean),
    Entry::of("let_chain").role(Role::Boolean),
    Entry::of("parenthesized_expression").role(Role::Brackets),
    Entry::of("call_expression").role(Role::Call),
    Entry::jump("break_expression", "label"),
    Entry::jump("continue_expression", "label"),
    Entry::of("token_tree").role(Role::Tokens),
    Entry::comment("line_comment"),
    Entry::comment("block_comment"),
    Entry::text("string_literal"),
    Entry::text("raw_string_literal"),
    Entry::text("char_literal"),
];
