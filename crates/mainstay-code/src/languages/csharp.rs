//! C#.
//!
//! Lambdas belong to the method around them; local functions and accessors with a body are functions of their own.

use crate::definition::{
    BooleanOperator, BooleanRuns, Cost, Definition, Entry, Errors, Name, NestedFunctions, Recursion, Role, Separators,
    SymbolKind,
};

pub(crate) const CSHARP: Definition = Definition {
    name: "csharp",
    extensions: &["cs", "csx"],
    file_names: &[],
    interpreters: &[],
    grammar: tree_sitter_c_sharp::LANGUAGE,
    separators: Separators::DOT,
    nodes: NODES,
    boolean_operators: &[
        BooleanOperator::counted("&&"),
        BooleanOperator::counted("||"),
        BooleanOperator::decision_only("??"),
    ],
    boolean_runs: BooleanRuns::ByPosition,
    nested_functions: NestedFunctions::Separate,
    macro_tokens: &[],
    recursion: Recursion::ByNameOrReceiver,
    errors: Errors::SkipFunctions,
};

const NODES: &[Entry] = &[
    Entry::method("method_declaration", Name::Field("name")).needs("body"),
    Entry::method("constructor_declaration", Name::Field("name")).needs("body"),
    Entry::method("destructor_declaration", Name::Field("name")).needs("body"),
    Entry::method("operator_declaration", Name::Fixed("operator")).needs("body"),
    Entry::method("conversion_operator_declaration", Name::Fixed("operator")).needs("body"),
    Entry::method("accessor_declaration", Name::Field("name")).needs("body"),
    Entry::function("local_function_statement", Name::Field("name")).needs("body"),
    Entry::of_type("property_declaration", None, Name::Field("name")),
    Entry::of_type("indexer_declaration", None, Name::Fixed("this")),
    Entry::of_type("class_declaration", Some(SymbolKind::Class), Name::Field("name")),
    Entry::of_type("record_declaration", Some(SymbolKind::Class), Name::Field("name")),
    Entry::of_type("struct_declaration", Some(SymbolKind::Struct), Name::Field("name")),
    Entry::of_type("interface_declaration", Some(SymbolKind::Interface), Name::Field("name")),
    Entry::symbol("enum_declaration", SymbolKind::Enum, Name::Field("name")),
    Entry::symbol("namespace_declaration", SymbolKind::Module, Name::Field("name")),
    Entry::of("lambda_expression").nests(&["body"]),
    Entry::of("anonymous_method_expression").nests_everything(),
    Entry::of("if_statement")
        .role(Role::If)
        .decides(1)
        .costs(Cost::Nested)
        .nests(&["consequence"])
        .otherwise("alternative"),
    Entry::of("for_statement").decides(1).costs(Cost::Nested).nests(&["body"]),
    Entry::of("foreach_statement").decides(1).costs(Cost::Nested).nests(&["body"]),
    Entry::of("while_statement").decides(1).costs(Cost::Nested).nests(&["body"]),
    Entry::of("do_statement").decides(1).costs(Cost::Nested).nests(&["body"]),
    Entry::of("switch_statement").costs(Cost::Nested).nests(&["body"]),
    // The word `case`: `default` begins a section too, and is no decision.
    Entry::token("case").decides(1),
    Entry::of("switch_expression").role(Role::Cases).costs(Cost::Nested).nests_everything(),
    Entry::of("switch_expression_arm").role(Role::Case).decides(1),
    Entry::of("when_clause").decides(1),
    Entry::of("catch_clause").decides(1).costs(Cost::Nested).nests(&["body"]),
    Entry::of("catch_filter_clause").decides(1),
    Entry::of("conditional_expression").decides(1).costs(Cost::Nested).nests(&["consequence", "alternative"]),
    Entry::of("binary_expression").role(Role::Boolean),
    Entry::of("parenthesized_expression").role(Role::Brackets),
    Entry::of("invocation_expression").role(Role::Call),
    Entry::of("goto_statement").costs(Cost::Flat),
    Entry::comment("comment"),
    Entry::text("string_literal"),
    Entry::text("character_literal"),
    Entry::text("interpolated_string_expression"),
];
