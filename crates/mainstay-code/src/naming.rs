//! The names of functions and types, as their language writes them.

use tree_sitter::Node;

use crate::definition::{Definition, Name};

/// A function that has no name and is not assigned to one.
pub(crate) const ANONYMOUS: &str = "<anonymous>";

/// Declarators of C nest a few deep; more is no name that anybody wrote.
const MOST_DECLARATORS: usize = 32;

/// Names are cut here: a generated name can be as long as its file.
const MOST_NAME_BYTES: usize = 200;

pub(crate) fn text<'s>(node: Node<'_>, source: &'s [u8]) -> &'s str {
    source.get(node.byte_range()).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default()
}

/// The name of a definition, without that of what it is in.
pub(crate) fn simple_name(node: Node<'_>, name: Name, source: &[u8]) -> String {
    let found = match name {
        Name::None => String::new(),
        Name::Fixed(name) => name.to_owned(),
        Name::Field(field) => field_text(node, field, source),
        Name::Type(field) => node.child_by_field_name(field).map(|node| type_name(node, source)).unwrap_or_default(),
        Name::Declarator => declared(node, source),
        Name::Receiver => {
            let method = field_text(node, "name", source);
            match node.child_by_field_name("receiver").and_then(receiver_type) {
                Some(receiver) => format!("{}.{method}", text(receiver, source)),
                None => method,
            }
        }
        Name::Assigned => match node.child_by_field_name("name") {
            Some(name) => text(name, source).to_owned(),
            None => assigned(node, source),
        },
    };
    let found = if found.is_empty() { ANONYMOUS.to_owned() } else { found };
    shorten(found)
}

/// The name of a definition inside the scopes given, outermost first.
pub(crate) fn qualified(definition: &Definition, scopes: &[String], name: &str, is_method: bool) -> String {
    if scopes.is_empty() {
        return name.to_owned();
    }
    let separators = definition.separators;
    let last = if is_method { separators.member } else { separators.scope };
    shorten(format!("{}{last}{name}", scopes.join(separators.scope)))
}

pub(crate) fn shorten(mut name: String) -> String {
    if name.len() > MOST_NAME_BYTES {
        let end = (0..=MOST_NAME_BYTES).rev().find(|end| name.is_char_boundary(*end)).unwrap_or(0);
        name.truncate(end);
    }
    if name.contains(char::is_whitespace) { name.split_whitespace().collect::<Vec<_>>().join(" ") } else { name }
}

fn field_text(node: Node<'_>, field: &str, source: &[u8]) -> String {
    node.child_by_field_name(field).map(|node| text(node, source).to_owned()).unwrap_or_default()
}

/// A type's name without its arguments: `Stack` of `Stack<T>`, `str` of `&str`.
fn type_name(node: Node<'_>, source: &[u8]) -> String {
    let inner = match node.kind() {
        "generic_type" | "reference_type" | "pointer_type" => node.child_by_field_name("type"),
        "scoped_type_identifier" | "template_type" => node.child_by_field_name("name"),
        _ => None,
    };
    text(inner.unwrap_or(node), source).to_owned()
}

/// Go writes the receiver as a parameter list: `(s *Stack[T])`.
fn receiver_type(parameters: Node<'_>) -> Option<Node<'_>> {
    let mut node = parameters.named_child(0)?.child_by_field_name("type")?;
    for _ in 0..MOST_DECLARATORS {
        node = match node.kind() {
            "pointer_type" | "parenthesized_type" => node.named_child(0)?,
            "generic_type" => node.child_by_field_name("type")?,
            _ => break,
        };
    }
    Some(node)
}

/// Where the name of a definition is written.
pub(crate) fn name_node(node: Node<'_>, name: Name) -> Option<Node<'_>> {
    match name {
        Name::None | Name::Fixed(_) => None,
        Name::Field(field) | Name::Type(field) => node.child_by_field_name(field),
        Name::Receiver | Name::Assigned => node.child_by_field_name("name"),
        Name::Declarator => declared_node(node),
    }
}

fn declared(node: Node<'_>, source: &[u8]) -> String {
    declared_node(node).map(|name| text(name, source).to_owned()).unwrap_or_default()
}

/// The name inside declarators: `*(*f)(int)` declares `f`.
fn declared_node(node: Node<'_>) -> Option<Node<'_>> {
    let mut node = node.child_by_field_name("declarator")?;
    for _ in 0..MOST_DECLARATORS {
        let inner = node.child_by_field_name("declarator").or_else(|| match node.kind() {
            "reference_declarator" | "parenthesized_declarator" | "attributed_declarator" => node.named_child(0),
            _ => None,
        });
        match inner {
            Some(inner) => node = inner,
            None => break,
        }
    }
    Some(node)
}

/// The node with the parameters of a function, if it has one.
pub(crate) fn parameters(function: Node<'_>) -> Option<Node<'_>> {
    let mut node = function;
    for _ in 0..MOST_DECLARATORS {
        if let Some(parameters) = node.child_by_field_name("parameters") {
            return Some(parameters);
        }
        node = node.child_by_field_name("declarator").or_else(|| node.named_child(0).filter(|_| is_reference(node)))?;
    }
    None
}

fn is_reference(node: Node<'_>) -> bool {
    node.kind() == "reference_declarator"
}

/// What a function without a name is assigned to: a variable, a property, a field.
fn assigned(function: Node<'_>, source: &[u8]) -> String {
    let Some(parent) = function.parent() else { return String::new() };
    let target = match parent.kind() {
        "variable_declarator" | "public_field_definition" => parent.child_by_field_name("name"),
        "pair" => parent.child_by_field_name("key"),
        "assignment_expression" | "assignment_pattern" => parent.child_by_field_name("left"),
        "field_definition" => parent.child_by_field_name("property"),
        _ => None,
    };
    target.map(|node| text(node, source).to_owned()).unwrap_or_default()
}
