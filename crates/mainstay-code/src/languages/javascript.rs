//! JavaScript and TypeScript, with and without JSX.
//!
//! Every function, with a name or without, is measured on its own. `||` and `??` mostly supply a default value: they are
//! decisions and cost no cognitive complexity.

use tree_sitter_language::LanguageFn;

use crate::definition::{
    BooleanOperator, BooleanRuns, Cost, Definition, Entry, Errors, Name, NestedFunctions, Recursion, Role, Separators,
    SymbolKind,
};

pub(crate) const JAVASCRIPT: Definition =
    ecmascript("javascript", &["js", "mjs", "cjs", "jsx"], &["node", "nodejs"], tree_sitter_javascript::LANGUAGE);
pub(crate) const TYPESCRIPT: Definition = ecmascript(
    "typescript",
    &["ts", "mts", "cts"],
    &["deno", "bun", "ts-node", "tsx"],
    tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
);
pub(crate) const TSX: Definition = ecmascript("typescript", &["tsx"], &[], tree_sitter_typescript::LANGUAGE_TSX);

const fn ecmascript(
    name: &'static str,
    extensions: &'static [&'static str],
    interpreters: &'static [&'static str],
    grammar: LanguageFn,
) -> Definition {
    Definition {
        name,
        extensions,
        file_names: &[],
        interpreters,
        grammar,
        separators: Separators::DOT,
        nodes: NODES,
        boolean_operators: OPERATORS,
        boolean_runs: BooleanRuns::ByPosition,
        nested_functions: NestedFunctions::Separate,
        macro_tokens: &[],
        recursion: Recursion::NotCounted,
        errors: Errors::Refuse,
    }
}

const OPERATORS: &[BooleanOperator] =
    &[BooleanOperator::counted("&&"), BooleanOperator::decision_only("||"), BooleanOperator::decision_only("??")];

const NODES: &[Entry] = &[
    Entry::function("function_declaration", Name::Assigned),
    Entry::function("generator_function_declaration", Name::Assigned),
    Entry::method("method_definition", Name::Field("name")),
    Entry::closure("function_expression", Name::Assigned),
    Entry::closure("generator_function", Name::Assigned),
    Entry::closure("arrow_function", Name::Assigned),
    Entry::of_type("class_declaration", Some(SymbolKind::Class), Name::Field("name")),
    Entry::of_type("abstract_class_declaration", Some(SymbolKind::Class), Name::Field("name")),
    Entry::of_type("class", None, Name::Assigned),
    Entry::symbol("interface_declaration", SymbolKind::Interface, Name::Field("name")),
    Entry::symbol("enum_declaration", SymbolKind::Enum, Name::Field("name")),
    Entry::symbol("type_alias_declaration", SymbolKind::Type, Name::Field("name")),
    Entry::symbol("internal_module", SymbolKind::Module, Name::Field("name")),
    Entry::symbol("module", SymbolKind::Module, Name::Field("name")),
    Entry::of("if_statement").role(Role::If).decides(1).costs(Cost::Nested).nests(&["consequence"]),
    Entry::of("else_clause").role(Role::Else),
    Entry::of("for_statement").decides(1).costs(Cost::Nested).nests(&["body"]),
    Entry::of("for_in_statement").decides(1).costs(Cost::Nested).nests(&["body"]),
    Entry::of("while_statement").decides(1).costs(Cost::Nested).nests(&["body"]),
    Entry::of("do_statement").decides(1).costs(Cost::Nested).nests(&["body"]),
    Entry::of("switch_statement").costs(Cost::Nested).nests(&["body"]),
    Entry::of("switch_case").decides(1),
    Entry::of("catch_clause").decides(1).costs(Cost::Nested).nests(&["body"]),
    Entry::of("ternary_expression").decides(1).costs(Cost::Nested).nests(&["consequence", "alternative"]),
    Entry::of("binary_expression").role(Role::Boolean),
    Entry::of("parenthesized_expression").role(Role::Brackets),
    Entry::jump("break_statement", "statement_identifier"),
    Entry::jump("continue_statement", "statement_identifier"),
    Entry::comment("comment"),
    Entry::comment("html_comment"),
    Entry::comment("hash_bang_line"),
    Entry::text("string"),
    Entry::text("template_string"),
    Entry::text("regex"),
];
