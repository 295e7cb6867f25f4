//! How a language is described: tables of node kinds, and what each kind means to the analyser.
//!
//! A [`Definition`] is data, one constant per language in `languages/`. [`Compiled`] is the same with the names of kinds and
//! fields replaced by the grammar's numbers, so that the analyser looks a node up by index and compares no strings.

use serde::{Deserialize, Serialize};
use tree_sitter_language::LanguageFn;

/// One language.
pub(crate) struct Definition {
    /// As people and tools write it: `rust`, `csharp`.
    pub(crate) name: &'static str,
    pub(crate) extensions: &'static [&'static str],
    /// Whole file names, for files whose names have no extension that tells.
    pub(crate) file_names: &'static [&'static str],
    /// Programs in a `#!` line, without version numbers.
    pub(crate) interpreters: &'static [&'static str],
    pub(crate) grammar: LanguageFn,
    /// Between the names of enclosing types and functions, and before the name of a method.
    pub(crate) separators: Separators,
    pub(crate) nodes: &'static [Entry],
    /// Tokens that join conditions.
    pub(crate) boolean_operators: &'static [BooleanOperator],
    pub(crate) boolean_runs: BooleanRuns,
    pub(crate) nested_functions: NestedFunctions,
    /// Tokens that are decisions inside the arguments of a macro, where there is no syntax but tokens.
    pub(crate) macro_tokens: &'static [&'static str],
    pub(crate) recursion: Recursion,
    pub(crate) errors: Errors,
}

#[derive(Clone, Copy)]
pub(crate) struct Separators {
    pub(crate) scope: &'static str,
    pub(crate) member: &'static str,
}

impl Separators {
    pub(crate) const DOT: Self = Self { scope: ".", member: "." };
    pub(crate) const COLONS: Self = Self { scope: "::", member: "::" };
}

#[derive(Clone, Copy)]
pub(crate) struct BooleanOperator {
    pub(crate) token: &'static str,
    /// Whether a run of this operator costs a point of cognitive complexity. It always is a decision.
    pub(crate) cognitive: bool,
}

impl BooleanOperator {
    pub(crate) const fn counted(token: &'static str) -> Self {
        Self { token, cognitive: true }
    }

    pub(crate) const fn decision_only(token: &'static str) -> Self {
        Self { token, cognitive: false }
    }
}

/// What costs a point of cognitive complexity in `a && b || c && d`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum BooleanRuns {
    /// Each change of the operator, read from left to right.
    ByPosition,
    /// Each group of operands that one operator joins.
    ByGroup,
}

/// What a named function inside another function adds to the cognitive complexity of the outer one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum NestedFunctions {
    /// Nothing: each function stands alone.
    Separate,
    /// All of it, one level deeper.
    Included,
}

/// By which calls a function calls itself, which costs one point of cognitive complexity.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recursion {
    NotCounted,
    /// By its bare name, which calls no method.
    ByName,
    /// By its name, or a method through its receiver.
    ByNameOrReceiver,
}

/// What a syntax error means for the rest of its file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Errors {
    /// The file is not measured.
    Refuse,
    /// The functions that contain an error are not measured. For languages with a preprocessor, whose files need not be valid
    /// syntax before it: half of the files of large projects in C have a macro that is none.
    SkipFunctions,
}

/// What a node is to the analyser.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Role {
    /// It has costs or nests, and that is all.
    #[default]
    Plain,
    /// A condition that may be followed by an `else`. As the body of an `else` it continues the chain.
    If,
    /// `elif`: always the continuation of a chain.
    ElseIf,
    /// The `else` of a condition, with one statement inside, which may be the next condition of the chain.
    Else,
    /// An `else` whose body is never the next condition. Outside a condition (loops, `try`) its decisions are
    /// those of the table, and it costs nothing else.
    ElseBlock,
    /// A binary expression, which counts if its operator is one of the boolean ones.
    Boolean,
    /// Brackets around an expression: they do not end a run of boolean operators.
    Brackets,
    /// The alternatives of a `match`: the first is not a decision.
    Cases,
    /// One alternative. Not a decision if it is the first of [`Role::Cases`].
    Case,
    /// One alternative, which is not a decision if its pattern matches everything.
    PatternCase,
    /// A comprehension: its loops and filters are children.
    Comprehension,
    /// The filter of a comprehension; elsewhere the same node is no decision.
    Filter,
    Function,
    /// A call, which may be the recursion of the function around it.
    Call,
    /// A jump that counts only with a label.
    Jump,
    Comment,
    /// A literal whose parts are one operand.
    Text,
    /// A token that only closes or separates: neither operator nor operand.
    Ignored,
    /// The arguments of a macro.
    Tokens,
    /// Nothing inside costs cognitive complexity.
    Effortless,
}

/// What a node adds to cognitive complexity.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Cost {
    #[default]
    None,
    /// One point.
    Flat,
    /// One point, and one for each level of nesting around it.
    Nested,
}

/// Which children of a node are one level deeper.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Nests {
    #[default]
    Nothing,
    Everything,
    Fields(&'static [&'static str]),
}

/// What kind of function a function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FunctionKind {
    Function,
    /// A function of a class, a struct, a trait, an object.
    Method,
    /// A function without a name of its own.
    Closure,
}

/// What a definition in source code defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SymbolKind {
    Function,
    Method,
    Class,
    Struct,
    Enum,
    Trait,
    Interface,
    Type,
    Constant,
    Module,
}

/// Where the name of a function or a type is written.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Name {
    #[default]
    None,
    /// In a field of the node.
    Field(&'static str),
    /// In a field that holds a type, whose arguments do not belong to the name.
    Type(&'static str),
    /// Inside the declarators of C.
    Declarator,
    /// In the field `name`, after the type of the receiver (Go).
    Receiver,
    /// In the field `name`, or where the function is assigned to (JavaScript).
    Assigned,
    /// Written in the grammar itself: `constructor`.
    Fixed(&'static str),
}

/// One row of a table: a node kind and its meaning.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) kind: &'static str,
    /// Whether it is a word or sign of the source itself. A grammar may have a node `if` and a token `if`.
    pub(crate) token: bool,
    pub(crate) role: Role,
    pub(crate) decisions: u8,
    pub(crate) cost: Cost,
    pub(crate) nests: Nests,
    pub(crate) function: Option<FunctionKind>,
    pub(crate) symbol: Option<SymbolKind>,
    /// Whether the names inside are qualified by its name.
    pub(crate) scope: bool,
    pub(crate) name: Name,
    /// The child that holds the label of a jump, by its kind.
    pub(crate) label: &'static str,
    /// The field that holds the branch taken otherwise, where the grammar has no node for `else`.
    pub(crate) otherwise: &'static str,
    /// A field without which the node means nothing: the body of a function, the `else` of a `let`.
    pub(crate) needs: &'static str,
}

impl Entry {
    pub(crate) const fn of(kind: &'static str) -> Self {
        Self {
            kind,
            token: false,
            role: Role::Plain,
            decisions: 0,
            cost: Cost::None,
            nests: Nests::Nothing,
            function: None,
            symbol: None,
            scope: false,
            name: Name::None,
            label: "",
            otherwise: "",
            needs: "",
        }
    }

    pub(crate) const fn token(kind: &'static str) -> Self {
        let mut entry = Self::of(kind);
        entry.token = true;
        entry
    }

    pub(crate) const fn role(mut self, role: Role) -> Self {
        self.role = role;
        self
    }

    /// What it adds to cyclomatic complexity.
    pub(crate) const fn decides(mut self, decisions: u8) -> Self {
        self.decisions = decisions;
        self
    }

    pub(crate) const fn costs(mut self, cost: Cost) -> Self {
        self.cost = cost;
        self
    }

    pub(crate) const fn nests(mut self, fields: &'static [&'static str]) -> Self {
        self.nests = Nests::Fields(fields);
        self
    }

    pub(crate) const fn nests_everything(mut self) -> Self {
        self.nests = Nests::Everything;
        self
    }

    /// The field of the branch taken otherwise.
    pub(crate) const fn otherwise(mut self, field: &'static str) -> Self {
        self.otherwise = field;
        self
    }

    /// It means nothing without this field.
    pub(crate) const fn needs(mut self, field: &'static str) -> Self {
        self.needs = field;
        self
    }

    pub(crate) const fn function(kind: &'static str, name: Name) -> Self {
        let mut entry = Self::of(kind);
        entry.role = Role::Function;
        entry.function = Some(FunctionKind::Function);
        entry.symbol = Some(SymbolKind::Function);
        entry.scope = true;
        entry.name = name;
        entry
    }

    pub(crate) const fn method(kind: &'static str, name: Name) -> Self {
        let mut entry = Self::function(kind, name);
        entry.function = Some(FunctionKind::Method);
        entry.symbol = Some(SymbolKind::Method);
        entry
    }

    /// A function without a name that is measured on its own.
    pub(crate) const fn closure(kind: &'static str, name: Name) -> Self {
        let mut entry = Self::function(kind, name);
        entry.function = Some(FunctionKind::Closure);
        entry.symbol = None;
        entry
    }

    /// A type whose functions are methods.
    pub(crate) const fn of_type(kind: &'static str, symbol: Option<SymbolKind>, name: Name) -> Self {
        let mut entry = Self::of(kind);
        entry.symbol = symbol;
        entry.scope = true;
        entry.name = name;
        entry
    }

    /// A definition that contains no others.
    pub(crate) const fn symbol(kind: &'static str, symbol: SymbolKind, name: Name) -> Self {
        let mut entry = Self::of(kind);
        entry.symbol = Some(symbol);
        entry.name = name;
        entry
    }

    pub(crate) const fn comment(kind: &'static str) -> Self {
        Self::of(kind).role(Role::Comment)
    }

    pub(crate) const fn text(kind: &'static str) -> Self {
        Self::of(kind).role(Role::Text)
    }

    /// A jump that counts if it has a child of this kind.
    pub(crate) const fn jump(kind: &'static str, label: &'static str) -> Self {
        let mut entry = Self::of(kind).role(Role::Jump).costs(Cost::Flat);
        entry.label = label;
        entry
    }
}

/// Tokens that close what another token opened, in any language. Each pair is one operator.
const CLOSING: &[&str] = &[")", "]", "}", "end", "fi", "done", "esac", "]]", "))", "\"", "'", "`", "#endif", "\n"];

/// A row whose names are numbers of the grammar.
pub(crate) struct Rule {
    pub(crate) entry: Entry,
    pub(crate) nested_fields: Vec<u16>,
    pub(crate) otherwise: Option<u16>,
    pub(crate) needs: Option<u16>,
    pub(crate) label: Option<u16>,
}

/// A definition made ready for one version of its grammar.
pub(crate) struct Compiled {
    pub(crate) grammar: tree_sitter::Language,
    pub(crate) definition: &'static Definition,
    /// By the number of a node kind: the index of its rule, or 0, which is the rule of everything else.
    by_kind: Vec<u8>,
    pub(crate) rules: Vec<Rule>,
    /// By the number of a node kind: how it joins conditions, if it is a token that does.
    boolean: Vec<u8>,
    macro_tokens: Vec<bool>,
    /// The field of the operator in a binary expression.
    pub(crate) operator: Option<u16>,
}

const NOT_BOOLEAN: u8 = 0;
const DECISION_ONLY: u8 = 1;
const COUNTED: u8 = 2;

impl Compiled {
    pub(crate) fn new(definition: &'static Definition) -> Self {
        let grammar = tree_sitter::Language::new(definition.grammar);
        let field = |name: &str| grammar.field_id_for_name(name).map(std::num::NonZeroU16::get);
        let kinds = grammar.node_kind_count();
        let number = |kind: usize| u16::try_from(kind).unwrap_or(u16::MAX);
        let label = |kind: &str| (!kind.is_empty()).then(|| grammar.id_for_node_kind(kind, true));
        let rule = |entry: Entry| Rule {
            nested_fields: match entry.nests {
                Nests::Fields(names) => names.iter().filter_map(|name| field(name)).collect(),
                Nests::Nothing | Nests::Everything => Vec::new(),
            },
            otherwise: if entry.otherwise.is_empty() { None } else { field(entry.otherwise) },
            needs: if entry.needs.is_empty() { None } else { field(entry.needs) },
            label: label(entry.label),
            entry,
        };
        let mut rules = vec![rule(Entry::of(""))];
        let mut by_kind = vec![0; kinds];
        let mut boolean = vec![NOT_BOOLEAN; kinds];
        let mut macro_tokens = vec![false; kinds];
        // A grammar may have several numbers for one name, so every number is looked at.
        let mut assign = |entry: Entry| {
            let index = u8::try_from(rules.len()).unwrap_or(0);
            rules.push(rule(entry));
            for (kind, slot) in by_kind.iter_mut().enumerate() {
                let is_kind = grammar.node_kind_for_id(number(kind)) == Some(entry.kind)
                    && grammar.node_kind_is_named(number(kind)) != entry.token;
                if *slot == 0 && is_kind {
                    *slot = index;
                }
            }
        };
        definition.nodes.iter().copied().for_each(&mut assign);
        for kind in CLOSING {
            assign(Entry::token(kind).role(Role::Ignored));
        }
        for kind in 0..kinds {
            let Some(name) = grammar.node_kind_for_id(number(kind)) else { continue };
            if let Some(operator) = definition.boolean_operators.iter().find(|operator| operator.token == name) {
                boolean[kind] = if operator.cognitive { COUNTED } else { DECISION_ONLY };
            }
            macro_tokens[kind] = definition.macro_tokens.contains(&name);
        }
        let operator = field("operator");
        Self { grammar, definition, by_kind, rules, boolean, macro_tokens, operator }
    }

    /// The index of a kind's rule; 0 is the rule of kinds that no table mentions.
    pub(crate) fn rule_index(&self, kind: u16) -> u8 {
        self.by_kind.get(usize::from(kind)).copied().unwrap_or(0)
    }

    pub(crate) fn rule(&self, index: u8) -> &Rule {
        &self.rules[usize::from(index)]
    }

    pub(crate) fn is_boolean(&self, kind: u16) -> bool {
        self.boolean.get(usize::from(kind)).is_some_and(|operator| *operator != NOT_BOOLEAN)
    }

    /// Whether a run of this operator costs a point of cognitive complexity.
    pub(crate) fn costs_as_run(&self, kind: u16) -> bool {
        self.boolean.get(usize::from(kind)).is_some_and(|operator| *operator == COUNTED)
    }

    pub(crate) fn is_macro_token(&self, kind: u16) -> bool {
        self.macro_tokens.get(usize::from(kind)).copied().unwrap_or(false)
    }
}
