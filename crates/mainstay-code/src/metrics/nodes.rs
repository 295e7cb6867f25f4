//! What the nodes of a syntax tree say about functions: where they begin, their parameters, whom they call.

use tree_sitter::Node;

use crate::definition::{FunctionKind, Recursion, Rule};
use crate::naming;

use super::functions::{NewFunction, Point};

/// The function that a node defines.
pub(super) fn new_function(node: Node<'_>, rule: &Rule, source: &[u8]) -> NewFunction {
    NewFunction {
        simple_name: naming::simple_name(node, rule.entry.name, source),
        kind: rule.entry.function.unwrap_or(FunctionKind::Function),
        start: Point { byte: node.start_byte(), row: node.start_position().row },
        parameters: parameters(node, source),
        adds_level: is_directly_in_function(node) && !is_returned(node),
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
pub(super) fn calls(call: Node<'_>, (name, is_method): (&str, bool), recursion: Recursion, source: &[u8]) -> bool {
    let by_receiver = match recursion {
        Recursion::NotCounted => return false,
        Recursion::ByName => false,
        Recursion::ByNameOrReceiver => true,
    };
    if let Some(target) = call.child_by_field_name("function") {
        let target = naming::text(target, source);
        let receiver = ["self.", "Self::", "this.", "this->", "cls."].iter().find_map(|word| target.strip_prefix(word));
        return match receiver {
            Some(member) => by_receiver && is_method && member == name,
            None => !is_method && target == name,
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
