//! Bash and the shells whose scripts its grammar reads.
//!
//! A list of commands joined by `&&` and `||` is a boolean expression.

use crate::definition::{
    BooleanOperator, BooleanRuns, Cost, Definition, Entry, Errors, Name, NestedFunctions, Recursion, Role, Separators,
};

pub(crate) const BASH: Definition = Definition {
    name: "bash",
    extensions: &["sh", "bash", "zsh", "ksh", "bats"],
    file_names: &[".bashrc", ".bash_profile", ".profile", ".zshrc", "PKGBUILD"],
    interpreters: &["bash", "sh", "dash", "ksh", "zsh"],
    grammar: tree_sitter_bash::LANGUAGE,
    separators: Separators::DOT,
    nodes: NODES,
    boolean_operators: &[BooleanOperator::counted("&&"), BooleanOperator::counted("||")],
    boolean_runs: BooleanRuns::ByPosition,
    nested_functions: NestedFunctions::Separate,
    macro_tokens: &[],
    recursion: Recursion::NotCounted,
    errors: Errors::Refuse,
};

const NODES: &[Entry] = &[
    Entry::function("function_definition", Name::Field("name")),
    Entry::of("if_statement").role(Role::If).decides(1).costs(Cost::Nested).nests_everything(),
    // The statement around them is one level deeper as a whole, they and their commands included.
    Entry::of("elif_clause").role(Role::ElseIf).decides(1).costs(Cost::Flat),
    Entry::of("else_clause").role(Role::ElseBlock),
    Entry::of("for_statement").decides(1).costs(Cost::Nested).nests(&["body"]),
    Entry::of("c_style_for_statement").decides(1).costs(Cost::Nested).nests(&["body"]),
    Entry::of("while_statement").decides(1).costs(Cost::Nested).nests(&["body"]),
    Entry::of("case_statement").role(Role::Cases).costs(Cost::Nested).nests_everything(),
    Entry::of("case_item").role(Role::Case).decides(1),
    Entry::of("ternary_expression").decides(1).costs(Cost::Nested).nests(&["consequence", "alternative"]),
    Entry::of("list").role(Role::Boolean),
    Entry::of("binary_expression").role(Role::Boolean),
    Entry::of("parenthesized_expression").role(Role::Brackets),
    Entry::comment("comment"),
    Entry::text("string"),
    Entry::text("heredoc_body"),
];
