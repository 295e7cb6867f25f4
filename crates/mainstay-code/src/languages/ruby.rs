//! Ruby.
//!
//! Blocks and lambdas belong to the method around them, one level deeper.

use crate::definition::{
    BooleanOperator, BooleanRuns, Cost, Definition, Entry, Errors, Name, NestedFunctions, Recursion, Role, Separators,
    SymbolKind,
};

pub(crate) const RUBY: Definition = Definition {
    name: "ruby",
    extensions: &["rb", "rake", "gemspec", "ru"],
    file_names: &["Rakefile", "Gemfile", "Guardfile", "Vagrantfile", "Capfile"],
    interpreters: &["ruby", "jruby", "rake"],
    grammar: tree_sitter_ruby::LANGUAGE,
    separators: Separators { scope: "::", member: "#" },
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
    errors: Errors::Refuse,
};

const NODES: &[Entry] = &[
    Entry::method("method", Name::Field("name")),
    Entry::method("singleton_method", Name::Field("name")),
    Entry::of_type("class", Some(SymbolKind::Class), Name::Field("name")),
    Entry::of_type("module", Some(SymbolKind::Module), Name::Field("name")),
    Entry::of("block").nests_everything(),
    Entry::of("do_block").nests_everything(),
    Entry::of("lambda").nests(&["body"]),
    Entry::of("if").role(Role::If).decides(1).costs(Cost::Nested).nests(&["consequence"]),
    Entry::of("unless").role(Role::If).decides(1).costs(Cost::Nested).nests(&["consequence"]),
    Entry::of("elsif").role(Role::ElseIf).decides(1).costs(Cost::Flat).nests(&["consequence"]),
    Entry::of("else").role(Role::ElseBlock),
    Entry::of("if_modifier").decides(1).costs(Cost::Nested).nests(&["body"]),
    Entry::of("unless_modifier").decides(1).costs(Cost::Nested).nests(&["body"]),
    Entry::of("while").decides(1).costs(Cost::Nested).nests(&["body"]),
    Entry::of("until").decides(1).costs(Cost::Nested).nests(&["body"]),
    Entry::of("for").decides(1).costs(Cost::Nested).nests(&["body"]),
    Entry::of("while_modifier").decides(1).costs(Cost::Nested).nests(&["body"]),
    Entry::of("until_modifier").decides(1).costs(Cost::Nested).nests(&["body"]),
    Entry::of("case").costs(Cost::Nested).nests_everything(),
    Entry::of("case_match").costs(Cost::Nested).nests_everything(),
    Entry::of("when").decides(1),
    Entry::of("in_clause").decides(1),
    Entry::of("if_guard").decides(1),
    Entry::of("unless_guard").decides(1),
    Entry::of("rescue").decides(1).costs(Cost::Nested).nests(&["body"]),
    Entry::of("rescue_modifier").decides(1).costs(Cost::Nested),
    Entry::of("conditional").decides(1).costs(Cost::Nested).nests(&["consequence", "alternative"]),
    Entry::of("binary").role(Role::Boolean),
    Entry::of("parenthesized_statements").role(Role::Brackets),
    Entry::of("call").role(Role::Call),
    Entry::comment("comment"),
    Entry::text("string"),
    Entry::text("regex"),
    Entry::text("heredoc_body"),
];
