//! The functions that are open at a point of the walk, and the points each collects.

use tree_sitter::Node;

use crate::definition::{Compiled, Cost, FunctionKind, NestedFunctions, Recursion, Rule};
use crate::naming;
use crate::parse::{NotMeasured, line};

use super::halstead::{Position, Tokens};
use super::lines::LineKinds;
use super::{FunctionMetrics, Span, maintainability};

/// Functions inside functions are limited: each level looks at the tokens inside once more.
const MOST_OPEN: usize = 100;

/// A function whose end was not reached yet, or the file around all of them.
#[derive(Default)]
struct Open {
    name: String,
    simple_name: String,
    is_method: bool,
    kind: Option<FunctionKind>,
    span: Option<Span>,
    rows: (usize, usize),
    parameters: u32,
    decisions: u32,
    cognitive: u32,
    /// How many points of `cognitive` grow by one for each level around the function.
    nested_points: u32,
    recursive: bool,
    /// The level of nesting at which its body begins.
    base: u32,
    deepest: u32,
    tokens: Position,
}

/// The stack of open functions, those that are done, and the names of the scopes around the current node.
pub(super) struct Functions<'a> {
    language: &'a Compiled,
    source: &'a [u8],
    /// Never empty: the file is first.
    open: Vec<Open>,
    pub(super) done: Vec<FunctionMetrics>,
    scopes: Vec<String>,
    scope_is_type: Vec<bool>,
    /// The decisions of all functions and of the code outside.
    pub(super) decisions: u32,
    /// How many nodes are open inside which nothing costs cognitive complexity.
    pub(super) effortless: u32,
}

impl<'a> Functions<'a> {
    pub(super) fn new(language: &'a Compiled, source: &'a [u8]) -> Self {
        let open = vec![Open::default()];
        Self {
            language,
            source,
            open,
            done: Vec::new(),
            scopes: Vec::new(),
            scope_is_type: Vec::new(),
            decisions: 0,
            effortless: 0,
        }
    }

    fn current(&mut self) -> &mut Open {
        let last = self.open.len() - 1;
        &mut self.open[last]
    }

    pub(super) fn decide(&mut self, decisions: u8) {
        self.current().decisions += u32::from(decisions);
        self.decisions += u32::from(decisions);
    }

    /// Adds a cost at a level of nesting.
    pub(super) fn add(&mut self, cost: Cost, nesting: u32) {
        if self.effortless > 0 {
            return;
        }
        let function = self.current();
        match cost {
            Cost::None => {}
            Cost::Flat => function.cognitive += 1,
            Cost::Nested => {
                let level = nesting.saturating_sub(function.base);
                function.cognitive += 1 + level;
                function.nested_points += 1;
                function.deepest = function.deepest.max(level + 1);
            }
        }
    }

    /// Counts a call if it is the first by which the function calls itself.
    pub(super) fn call(&mut self, call: Node<'_>) {
        let source = self.source;
        let recursion = self.language.definition.recursion;
        let function = self.current();
        if function.kind.is_none() || function.recursive || !calls(call, function, recursion, source) {
            return;
        }
        function.recursive = true;
        function.cognitive += 1;
    }

    pub(super) fn enter_type(&mut self, node: Node<'_>, rule: &Rule) {
        self.scopes.push(naming::simple_name(node, rule.entry.name, self.source));
        self.scope_is_type.push(true);
    }

    pub(super) fn leave_type(&mut self) {
        self.scopes.pop();
        self.scope_is_type.pop();
    }

    /// Opens a function and returns the level of nesting of its body.
    pub(super) fn enter_function(
        &mut self,
        node: Node<'_>,
        rule: &Rule,
        nesting: u32,
        tokens: Position,
    ) -> Result<u32, NotMeasured> {
        if self.open.len() > MOST_OPEN {
            return Err(NotMeasured::TooDeep);
        }
        let in_type = self.scope_is_type.last().copied().unwrap_or(false);
        let kind = match rule.entry.function {
            Some(FunctionKind::Function) if in_type => FunctionKind::Method,
            Some(kind) => kind,
            None => FunctionKind::Function,
        };
        let simple_name = naming::simple_name(node, rule.entry.name, self.source);
        let is_method = kind == FunctionKind::Method;
        let definition = self.language.definition;
        let name = naming::qualified(definition, &self.scopes, &simple_name, is_method);
        let is_nested = self.open.len() > 1 && !in_type && is_directly_in_function(node);
        let base = match definition.nested_functions {
            NestedFunctions::Included if is_nested && !is_returned(node) => nesting + 1,
            NestedFunctions::Included | NestedFunctions::Separate => nesting,
        };
        let (start, end) = (node.start_position().row, node.end_position().row);
        let byte = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
        self.open.push(Open {
            name,
            simple_name: simple_name.clone(),
            is_method,
            kind: Some(kind),
            span: Some(Span {
                start_line: line(start),
                end_line: line(end),
                start_byte: byte(node.start_byte()),
                end_byte: byte(node.end_byte()),
            }),
            rows: (start, end),
            parameters: parameters(node, self.source),
            base,
            tokens,
            ..Open::default()
        });
        self.scopes.push(simple_name);
        self.scope_is_type.push(false);
        Ok(base)
    }

    /// Closes the innermost function.
    pub(super) fn leave_function(&mut self, tokens: &Tokens, lines: &LineKinds) {
        self.leave_type();
        if self.open.len() < 2 {
            return;
        }
        let Some(function) = self.open.pop() else { return };
        let included = self.language.definition.nested_functions == NestedFunctions::Included;
        if included && self.open.len() > 1 {
            let outer = self.current();
            let deeper = function.base.saturating_sub(outer.base);
            outer.cognitive += function.cognitive + function.nested_points * deeper;
            outer.nested_points += function.nested_points;
        }
        let (Some(kind), Some(span)) = (function.kind, function.span) else { return };
        let halstead = tokens.since(function.tokens);
        let lines = lines.count(function.rows.0, function.rows.1);
        let cyclomatic = 1 + function.decisions;
        self.done.push(FunctionMetrics {
            name: function.name,
            kind,
            span,
            cyclomatic,
            cognitive: function.cognitive,
            nesting: function.deepest,
            parameters: function.parameters,
            maintainability: maintainability(&halstead, cyclomatic, &lines),
            lines,
            halstead,
        });
    }
}

/// Whether a function is a statement of another function's body. Inside a condition or a loop it has the level of that.
fn is_directly_in_function(function: Node<'_>) -> bool {
    let block = enclosing(function);
    block.and_then(|block| block.parent()).is_some_and(|parent| parent.kind() == "function_definition")
}

/// What contains a function together with its decorators.
fn enclosing(function: Node<'_>) -> Option<Node<'_>> {
    let parent = function.parent()?;
    if parent.kind() == "decorated_definition" { parent.parent() } else { Some(parent) }
}

/// Whether the function around this one does nothing but define and return it, as decorators do. Then there is nothing to
/// keep in mind between the two, and no level of nesting.
fn is_returned(function: Node<'_>) -> bool {
    let Some(block) = enclosing(function) else { return false };
    let mut cursor = block.walk();
    let mut statements = block.named_children(&mut cursor).filter(|statement| statement.kind() != "comment");
    statements.next().is_some_and(|first| first.end_byte() == function.end_byte())
        && statements.next().is_some_and(|second| second.kind() == "return_statement")
        && statements.next().is_none()
}

/// Whether a call's target is the function itself: by its name, or for a method, through the receiver.
fn calls(call: Node<'_>, function: &Open, recursion: Recursion, source: &[u8]) -> bool {
    let by_receiver = match recursion {
        Recursion::NotCounted => return false,
        Recursion::ByName => false,
        Recursion::ByNameOrReceiver => true,
    };
    let name = function.simple_name.as_str();
    if let Some(target) = call.child_by_field_name("function") {
        let target = naming::text(target, source);
        let receiver = ["self.", "Self::", "this.", "this->", "cls."].iter().find_map(|word| target.strip_prefix(word));
        return match receiver {
            Some(member) => by_receiver && function.is_method && member == name,
            None => !function.is_method && target == name,
        };
    }
    // Java and Ruby name the receiver in a field of its own.
    let method = call.child_by_field_name("name").or_else(|| call.child_by_field_name("method"));
    let receiver = call.child_by_field_name("object").or_else(|| call.child_by_field_name("receiver"));
    method.is_some_and(|method| naming::text(method, source) == name)
        && receiver.is_none_or(|receiver| matches!(naming::text(receiver, source), "this" | "self"))
}

/// How many parameters a function declares, its receiver included where it is written as one.
fn parameters(function: Node<'_>, source: &[u8]) -> u32 {
    let Some(list) = naming::parameters(function) else {
        return u32::from(function.child_by_field_name("parameter").is_some());
    };
    let mut cursor = list.walk();
    let mut count = 0;
    for parameter in list.named_children(&mut cursor) {
        count += match parameter.kind() {
            "comment" | "line_comment" | "block_comment" | "attribute_item"
            // `*` and `/` of Python only separate parameters.
            | "keyword_separator" | "positional_separator" => 0,
            // `int f(void)`
            "parameter_declaration" if naming::text(parameter, source) == "void" => 0,
            // Go: `a, b int`
            "parameter_declaration" => {
                let mut names = parameter.walk();
                u32::try_from(parameter.children_by_field_name("name", &mut names).count()).unwrap_or(1).max(1)
            }
            _ => 1,
        };
    }
    count
}
