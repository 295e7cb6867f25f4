//! Nodes of a syntax tree as items.

use std::ops::Range;

use tree_sitter::Node;

use crate::definition::{Name, SymbolKind};
use crate::languages::Language;
use crate::naming;

use super::tree::{Frame, Opens, Position, Scope, Walk, row};
use super::{AFTER_COMMENT, Item, ItemKind, MOST_ITEMS, NO_CUT, offset, qualify};

impl Walk<'_> {
    /// An item that defines nothing, or nothing yet. Gives its index.
    pub(super) fn item(&mut self, node: Node<'_>, kind: ItemKind) -> usize {
        let (bytes, first_row, last_row) = (range(node), row(node.start_position().row), last_row(node));
        let mut item = Item {
            kind,
            depth: u16::try_from(self.frames.iter().filter(|frame| frame.is_item).count()).unwrap_or(u16::MAX),
            in_function: self.frames.iter().any(|frame| frame.scope == Some(Scope::Function)),
            name: String::new(),
            qualifier: 0,
            name_range: 0..0,
            lead: bytes.start,
            lead_row: first_row,
            body: bytes.end,
            bytes,
            first_row,
            last_row,
            doc: 0..0,
        };
        // Inside of functions, comments are no documentation.
        if !item.in_function {
            if let Some(lead) = self.lead.take(first_row) {
                (item.lead, item.lead_row, item.doc) = (lead.start, lead.first_row, lead.doc);
            }
            self.item_row = Some(last_row);
        }
        if self.language == Language::Python && is_string(node) {
            item.doc = item.bytes.clone();
        }
        // A file with too many items is data: the last one stands for all that follow.
        if self.outline.items.len() >= MOST_ITEMS {
            self.outline.items.pop();
        }
        self.outline.items.push(item);
        self.outline.items.len() - 1
    }

    /// A definition completes the item of the wrapper around it (`export`, a decorator). If another definition already
    /// did, as in a field `int a, b;` of Java, it is an item of its own.
    pub(super) fn define(&mut self, node: Node<'_>, position: Position, what: (SymbolKind, Name), opens: Opens) {
        let (kind, name) = what;
        let simple = naming::simple_name(node, name, self.source);
        let is_named = simple != naming::ANONYMOUS;
        let wrapped = position.wrapped.filter(|item| self.outline.items[*item].kind == ItemKind::Statement);
        let is_free = wrapped.is_none();
        let index = wrapped.unwrap_or_else(|| self.item(node, ItemKind::Statement));
        let in_type = self.frames.iter().rev().find_map(|frame| frame.scope) == Some(Scope::Type);
        let is_function = matches!(kind, SymbolKind::Function | SymbolKind::Method);
        let kind = if is_function && in_type { SymbolKind::Method } else { kind };
        let name_range = naming::name_node(node, name).map_or(0..0, range);
        let docstring = self.docstring(node);
        let item = &mut self.outline.items[index];
        item.kind = if is_named { ItemKind::Definition(kind) } else { ItemKind::Group };
        if position.is_decorated {
            (item.bytes.start, item.first_row) = (offset(node.start_byte()), row(node.start_position().row));
        }
        if let Some(docstring) = docstring {
            self.docstring = docstring.start as usize;
            item.doc = docstring;
        }
        let is_python = self.language == Language::Python;
        let body = if is_python { after_colon(node, self.source) } else { body(node, self.source) };
        item.body = body.unwrap_or(item.bytes.end);
        if is_named {
            item.name_range = name_range;
            (item.name, item.qualifier) =
                qualify(self.compiled.definition, &self.scopes, &simple, kind == SymbolKind::Method);
        }
        // The modules of Ruby have methods, and qualify them as classes do.
        let is_module = kind == SymbolKind::Module && self.language != Language::Ruby;
        let scope = match (is_function, opens) {
            (true, _) => Some(Scope::Function),
            (false, Opens::Body) if !is_module => Some(Scope::Type),
            (false, _) => None,
        };
        let scope = scope.filter(|_| is_named);
        if scope.is_some() {
            self.scopes.push(simple);
        }
        self.frames.push(Frame { depth: position.depth, opens, is_item: is_free, scope, ..Frame::default() });
    }

    /// A group whose name, if it has one, qualifies those inside: an `impl`.
    pub(super) fn group(&mut self, node: Node<'_>, depth: u32, name: Name) {
        let item = self.item(node, ItemKind::Group);
        self.outline.items[item].body = body(node, self.source).unwrap_or(self.outline.items[item].bytes.end);
        let mut scope = None;
        if name != Name::None {
            let text = naming::simple_name(node, name, self.source);
            self.outline.items[item].name.clone_from(&text);
            self.scopes.push(text);
            scope = Some(Scope::Type);
        }
        self.frames.push(Frame { depth, opens: Opens::Body, is_item: true, scope, ..Frame::default() });
    }

    pub(super) fn open(&mut self, node: Node<'_>, depth: u32, opens: Opens) {
        self.frames.push(Frame { depth, row: node.start_position().row, opens, ..Frame::default() });
    }

    pub(super) fn attribute(&mut self, node: Node<'_>) {
        self.lead.add(range(node), (row(node.start_position().row), last_row(node)), false);
    }

    pub(super) fn comment(&mut self, node: Node<'_>, is_item: bool) {
        let rows = (row(node.start_position().row), last_row(node));
        let starts = &self.outline.line_starts;
        let first_level = self.outline.levels.get(rows.0 as usize).copied().unwrap_or(NO_CUT);
        let line_start = starts.get(rows.0 as usize).map_or(0, |start| *start as usize);
        let before = self.source.get(line_start..node.start_byte()).unwrap_or_default();
        // What stands behind code is about that code.
        if before.iter().all(u8::is_ascii_whitespace) {
            self.comment_row = Some(rows.1);
            // A comment of pages may be cut, but better not.
            let inside = (rows.0 as usize + 1)..(rows.1 as usize + 1);
            if let Some(levels) = self.outline.levels.get_mut(inside) {
                levels.fill(first_level.saturating_add(AFTER_COMMENT).min(NO_CUT - 1));
            }
            if is_item && self.item_row != Some(rows.0) {
                self.lead.add(range(node), rows, true);
            }
        }
    }

    pub(super) fn leave(&mut self, depth: u32) {
        while self.frames.last().is_some_and(|frame| frame.depth == depth && depth > 0) {
            if self.frames.pop().is_some_and(|frame| frame.scope.is_some()) {
                self.scopes.pop();
            }
        }
    }

    /// The string with which the body of a function or class of Python begins.
    fn docstring(&self, node: Node<'_>) -> Option<Range<u32>> {
        if self.language != Language::Python {
            return None;
        }
        let first = node.child_by_field_name("body")?.named_child(0)?;
        is_string(first).then(|| range(first))
    }
}

/// Whether a statement is nothing but a string.
fn is_string(statement: Node<'_>) -> bool {
    let is_only = statement.kind() == "expression_statement" && statement.named_child_count() == 1;
    is_only && statement.named_child(0).is_some_and(|child| child.kind() == "string")
}

/// Where a definition's body begins.
fn body(node: Node<'_>, source: &[u8]) -> Option<u32> {
    let value = node.child_by_field_name("value").or_else(|| node.child_by_field_name("right"));
    let inner = value.and_then(|value| value.child_by_field_name("body"));
    let fields = ["body", "accessors"].iter().find_map(|field| node.child_by_field_name(field));
    if let Some(body) = fields.or(inner) {
        return Some(offset(body.start_byte()));
    }
    // A type of Go, a `typedef struct`, a table: what comes before the first brace says what it is.
    let text = source.get(node.byte_range())?;
    memchr::memchr(b'{', text).map(|brace| offset(node.start_byte() + brace))
}

/// The bodies of Python begin behind a colon; comments that follow it are not part of the node of the body.
fn after_colon(node: Node<'_>, source: &[u8]) -> Option<u32> {
    let fields = ["return_type", "parameters", "superclasses", "type_parameters", "name"];
    let last = fields.iter().find_map(|field| node.child_by_field_name(field))?;
    let colon = memchr::memchr(b':', source.get(last.end_byte()..node.end_byte())?)?;
    Some(offset(last.end_byte() + colon + 1))
}

pub(super) fn range(node: Node<'_>) -> Range<u32> {
    offset(node.start_byte())..offset(node.end_byte())
}

/// Some nodes end with the newline behind them, and then at the beginning of the next line.
pub(super) fn last_row(node: Node<'_>) -> u32 {
    let end = node.end_position();
    row(if end.column == 0 && end.row > node.start_position().row { end.row - 1 } else { end.row })
}
