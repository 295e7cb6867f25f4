//! Python.
//!
//! Nested functions are functions of their own; their cognitive complexity is also part of the function around them, which
//! cannot be read without them. Lambdas belong to the function around them.

use crate::definition::{
    BooleanOperator, BooleanRuns, Cost, Definition, Entry, Errors, Name, NestedFunctions, Recursion, Role, Separators,
    SymbolKind,
};

pub(crate) const PYTHON: Definition = Definition {
    name: "python",
    extensions: &["py", "pyi", "pyw"],
    file_names: &["SConstruct", "SConscript", "wscript"],
    interpreters: &["python", "pypy"],
    grammar: tree_sitter_python::LANGUAGE,
    separators: Separators::DOT,
    nodes: NODES,
    boolean_operators: &[BooleanOperator::counted("and"), BooleanOperator::counted("or")],
    boolean_runs: BooleanRuns::ByGroup,
    nested_functions: NestedFunctions::Included,
    macro_tokens: &[],
    recursion: Recursion::ByName,
    errors: Errors::Refuse,
};

const NODES: &[Entry] = &[
    Entry::function("function_definition", Name::Field("name")),
    Entry::of_type("class_definition", Some(SymbolKind::Class), Name::Field("name")),
    Entry::of("lambda").nests(&["body"]),
    Entry::of("if_statement").role(Role::If).decides(1).costs(Cost::Nested).nests(&["consequence"]),
    Entry::of("elif_clause").role(Role::ElseIf).decides(1).costs(Cost::Flat).nests(&["consequence"]),
    // The `else` of a loop or a `try` is a decision: whether the loop was left, whether an exception was raised.
    Entry::of("else_clause").role(Role::ElseBlock).decides(1),
    Entry::of("for_statement").decides(1).costs(Cost::Nested).nests(&["body"]),
    Entry::of("while_statement").decides(1).costs(Cost::Nested).nests(&["body"]),
    Entry::of("except_clause").decides(1).costs(Cost::Nested).nests_everything(),
    Entry::of("match_statement").costs(Cost::Nested).nests(&["body"]),
    Entry::of("case_clause").role(Role::PatternCase).decides(1),
    Entry::of("conditional_expression").decides(1).costs(Cost::Nested).nests_everything(),
    Entry::of("assert_statement").decides(1),
    Entry::of("list_comprehension").role(Role::Comprehension).nests(&["body"]),
    Entry::of("set_comprehension").role(Role::Comprehension).nests(&["body"]),
    Entry::of("dictionary_comprehension").role(Role::Comprehension).nests(&["body"]),
    Entry::of("generator_expression").role(Role::Comprehension).nests(&["body"]),
    Entry::of("for_in_clause").decides(1).costs(Cost::Nested),
    Entry::of("if_clause").role(Role::Filter).decides(1).costs(Cost::Flat),
    Entry::of("boolean_operator").role(Role::Boolean),
    // Text and numbers are put together there: `"%s" % ", ".join(name for name in names)` is read as one value.
    Entry::of("binary_operator").role(Role::Effortless),
    Entry::of("parenthesized_expression").role(Role::Brackets),
    Entry::of("call").role(Role::Call),
    Entry::comment("comment"),
    Entry::text("string"),
    Entry::text("string_content"),
    Entry::of("line_continuation").role(Role::Ignored),
];
