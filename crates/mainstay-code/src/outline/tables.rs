//! Which nodes of each grammar are items of an outline.
//!
//! Languages differ in the kinds of their nodes, not in what an outline does with them: to support another grammar is
//! to write its table. A node that is in no table is a statement where items are expected, and nothing elsewhere.

use crate::definition::{Name, SymbolKind};
use crate::languages::Language;

/// What a node is to an outline.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    /// A definition without items inside that could be chunks of their own, functions of functions aside.
    Define(SymbolKind, Name),
    /// A type or a module: what is in its body are items.
    Contain(SymbolKind, Name),
    /// As [`Shape::Contain`], without a definition: an `impl`, an `extern` block.
    Group(Name),
    /// A variable or field, which is a function if its value is one. A local variable is nothing.
    Variable(&'static str),
    /// An assignment, which defines something only if a function or a class is assigned.
    Assignment,
    /// A declaration of C: a prototype, or a variable.
    Declaration,
    /// The body of something, or a condition of the preprocessor: what is inside are items.
    Open,
    /// A statement in whose bodies items may be: the `if` of a module.
    Pass,
    /// A word before a definition (`export`) or a statement around it. It is one item with the definition inside.
    Wrap,
    /// As [`Shape::Wrap`], if there is one definition inside, else as [`Shape::Group`].
    Several,
    /// As [`Shape::Wrap`], but the item begins with the definition: decorators.
    Decorated,
    /// Attributes before an item.
    Attribute,
    Import,
}

/// A node kind, a field without which it means nothing, and what it is.
/// The first row that fits counts, so that a row with a field stands before the one of the same kind without.
pub(super) type Row = (&'static str, &'static str, Shape);

use Shape::{
    Assignment, Attribute, Contain, Declaration, Decorated, Define, Group, Import, Open, Pass, Several, Variable, Wrap,
};
use SymbolKind::{Class, Constant, Enum, Function, Interface, Method, Module, Struct, Trait, Type};

const NAME: Name = Name::Field("name");

pub(super) fn rows(language: Language) -> &'static [Row] {
    match language {
        Language::Rust => RUST,
        Language::Python => PYTHON,
        Language::JavaScript | Language::TypeScript | Language::Tsx => ECMASCRIPT,
        Language::Go => GO,
        Language::Java => JAVA,
        Language::C => C,
        Language::Cpp => CPP,
        Language::CSharp => CSHARP,
        Language::Ruby => RUBY,
        Language::Bash => BASH,
    }
}

/// Kinds whose nodes are names that are used. Keywords such as `this` have kinds of their own.
pub(super) fn is_reference(kind: &str) -> bool {
    matches!(kind, "constant" | "variable_name" | "name" | "instance_variable" | "global_variable")
        || kind.ends_with("identifier")
}

/// Only for files that the reader of tokens gives up on.
const RUST: &[Row] = &[
    ("function_item", "", Define(Function, NAME)),
    ("function_signature_item", "", Define(Function, NAME)),
    ("impl_item", "", Group(Name::Type("type"))),
    ("foreign_mod_item", "", Group(Name::None)),
    ("trait_item", "", Contain(Trait, NAME)),
    ("mod_item", "body", Contain(Module, NAME)),
    ("mod_item", "", Import),
    ("declaration_list", "", Open),
    ("struct_item", "", Define(Struct, NAME)),
    ("union_item", "", Define(Struct, NAME)),
    ("enum_item", "", Define(Enum, NAME)),
    ("type_item", "", Define(Type, NAME)),
    ("const_item", "", Define(Constant, NAME)),
    ("static_item", "", Define(Constant, NAME)),
    ("macro_definition", "", Define(Function, NAME)),
    ("use_declaration", "", Import),
    ("extern_crate_declaration", "", Import),
    ("attribute_item", "", Attribute),
];

const PYTHON: &[Row] = &[
    ("function_definition", "", Define(Function, NAME)),
    ("class_definition", "", Contain(Class, NAME)),
    ("decorated_definition", "", Decorated),
    ("block", "", Open),
    ("if_statement", "", Pass),
    ("elif_clause", "", Pass),
    ("else_clause", "", Pass),
    ("try_statement", "", Pass),
    ("except_clause", "", Pass),
    ("expression_statement", "", Wrap),
    ("assignment", "", Variable("left")),
    ("type_alias_statement", "", Define(Type, Name::Field("left"))),
    ("import_statement", "", Import),
    ("import_from_statement", "", Import),
    ("future_import_statement", "", Import),
];

/// One table for three grammars: kinds that one of them lacks never occur in its trees.
const ECMASCRIPT: &[Row] = &[
    ("function_declaration", "", Define(Function, NAME)),
    ("generator_function_declaration", "", Define(Function, NAME)),
    ("function_signature", "", Define(Function, NAME)),
    ("method_definition", "", Define(Method, NAME)),
    ("abstract_method_signature", "", Define(Method, NAME)),
    ("class_declaration", "", Contain(Class, NAME)),
    ("abstract_class_declaration", "", Contain(Class, NAME)),
    ("interface_declaration", "", Define(Interface, NAME)),
    ("enum_declaration", "", Define(Enum, NAME)),
    ("type_alias_declaration", "", Define(Type, NAME)),
    ("internal_module", "", Contain(Module, NAME)),
    ("module", "name", Contain(Module, NAME)),
    ("class_body", "", Open),
    ("statement_block", "", Open),
    ("variable_declarator", "", Variable("name")),
    ("public_field_definition", "", Variable("name")),
    ("field_definition", "", Variable("property")),
    ("assignment_expression", "", Assignment),
    ("lexical_declaration", "", Several),
    ("variable_declaration", "", Several),
    ("expression_statement", "", Wrap),
    ("export_statement", "source", Import),
    ("export_statement", "", Wrap),
    ("export_clause", "", Import),
    ("ambient_declaration", "", Wrap),
    ("decorator", "", Attribute),
    ("import_statement", "", Import),
];

const GO: &[Row] = &[
    ("function_declaration", "", Define(Function, NAME)),
    ("method_declaration", "", Define(Method, Name::Receiver)),
    ("type_declaration", "", Several),
    ("const_declaration", "", Several),
    ("var_declaration", "", Several),
    ("var_spec_list", "", Open),
    ("type_spec", "", Define(Type, NAME)),
    ("type_alias", "", Define(Type, NAME)),
    ("const_spec", "", Variable("name")),
    ("var_spec", "", Variable("name")),
    ("import_declaration", "", Import),
    ("package_clause", "", Import),
];

const JAVA: &[Row] = &[
    ("method_declaration", "", Define(Method, NAME)),
    ("constructor_declaration", "", Define(Method, NAME)),
    ("compact_constructor_declaration", "", Define(Method, NAME)),
    ("annotation_type_element_declaration", "", Define(Method, NAME)),
    ("class_declaration", "", Contain(Class, NAME)),
    ("record_declaration", "", Contain(Class, NAME)),
    ("enum_declaration", "", Contain(Enum, NAME)),
    ("interface_declaration", "", Contain(Interface, NAME)),
    ("annotation_type_declaration", "", Contain(Interface, NAME)),
    ("class_body", "", Open),
    ("interface_body", "", Open),
    ("annotation_type_body", "", Open),
    ("enum_body", "", Open),
    ("enum_body_declarations", "", Open),
    ("field_declaration", "", Wrap),
    ("constant_declaration", "", Wrap),
    ("variable_declarator", "", Variable("name")),
    ("import_declaration", "", Import),
    ("package_declaration", "", Import),
];

/// A `struct` without a body is the use of a type. Items inside of `#if` are items of the file.
const C: &[Row] = &[
    ("function_definition", "", Define(Function, Name::Declarator)),
    ("struct_specifier", "body", Define(Struct, NAME)),
    ("union_specifier", "body", Define(Struct, NAME)),
    ("enum_specifier", "body", Define(Enum, NAME)),
    ("type_definition", "", Define(Type, Name::Declarator)),
    ("declaration", "", Declaration),
    ("preproc_def", "", Define(Constant, NAME)),
    ("preproc_function_def", "", Define(Function, NAME)),
    ("preproc_include", "", Import),
    ("preproc_if", "", Open),
    ("preproc_ifdef", "", Open),
    ("preproc_else", "", Open),
    ("preproc_elif", "", Open),
    ("linkage_specification", "", Open),
    ("declaration_list", "", Open),
];

const CPP: &[Row] = &[
    ("function_definition", "", Define(Function, Name::Declarator)),
    ("class_specifier", "body", Contain(Class, Name::Type("name"))),
    ("struct_specifier", "body", Contain(Struct, Name::Type("name"))),
    ("union_specifier", "body", Contain(Struct, Name::Type("name"))),
    ("enum_specifier", "body", Define(Enum, NAME)),
    ("concept_definition", "", Define(Type, NAME)),
    ("alias_declaration", "", Define(Type, NAME)),
    ("type_definition", "", Define(Type, Name::Declarator)),
    ("namespace_definition", "", Contain(Module, NAME)),
    ("template_declaration", "", Wrap),
    ("field_declaration_list", "", Open),
    ("field_declaration", "", Declaration),
    ("declaration", "", Declaration),
    ("preproc_def", "", Define(Constant, NAME)),
    ("preproc_function_def", "", Define(Function, NAME)),
    ("preproc_include", "", Import),
    ("using_declaration", "", Import),
    ("preproc_if", "", Open),
    ("preproc_ifdef", "", Open),
    ("preproc_else", "", Open),
    ("preproc_elif", "", Open),
    ("linkage_specification", "", Open),
    ("declaration_list", "", Open),
];

const CSHARP: &[Row] = &[
    ("method_declaration", "", Define(Method, NAME)),
    ("constructor_declaration", "", Define(Method, NAME)),
    ("destructor_declaration", "", Define(Method, NAME)),
    ("operator_declaration", "", Define(Method, Name::Fixed("operator"))),
    ("conversion_operator_declaration", "", Define(Method, Name::Fixed("operator"))),
    ("indexer_declaration", "", Define(Method, Name::Fixed("this"))),
    ("property_declaration", "", Define(Method, NAME)),
    ("local_function_statement", "", Define(Function, NAME)),
    ("delegate_declaration", "", Define(Type, NAME)),
    ("class_declaration", "", Contain(Class, NAME)),
    ("record_declaration", "", Contain(Class, NAME)),
    ("struct_declaration", "", Contain(Struct, NAME)),
    ("interface_declaration", "", Contain(Interface, NAME)),
    ("enum_declaration", "", Define(Enum, NAME)),
    ("namespace_declaration", "", Contain(Module, NAME)),
    ("file_scoped_namespace_declaration", "", Import),
    ("declaration_list", "", Open),
    ("field_declaration", "", Wrap),
    ("variable_declaration", "", Wrap),
    ("variable_declarator", "", Variable("name")),
    ("preproc_if", "", Open),
    ("preproc_else", "", Open),
    ("using_directive", "", Import),
];

const RUBY: &[Row] = &[
    ("method", "", Define(Method, NAME)),
    ("singleton_method", "", Define(Method, NAME)),
    ("class", "", Contain(Class, NAME)),
    ("module", "", Contain(Module, NAME)),
    ("singleton_class", "", Group(Name::None)),
    ("body_statement", "", Open),
    ("assignment", "", Variable("left")),
];

const BASH: &[Row] = &[("function_definition", "", Define(Function, NAME))];
