//! The outline of a syntax tree, in one walk over it.
//!
//! The walk goes by a cursor and not by recursion, because deeply nested input must not overflow the stack. Nodes that
//! mean something to those inside leave a frame; a node looks only at the frame of its own parent, so that inside of
//! an expression only definitions are items.

use std::sync::OnceLock;

use tree_sitter::{Node, TreeCursor};

use crate::definition::{Compiled, Name, Role, SymbolKind};
use crate::languages::Language;
use crate::parse::{self, NotMeasured};

use super::tables::{self, Shape};
use super::{
    AFTER_COMMENT, ItemKind, LONGEST_REFERENCE, Lead, MOST_REFERENCES, NO_CUT, Outline, Reference, SHORTEST_REFERENCE,
    line_starts, offset,
};

/// What is nested deeper is generated, and is not looked at.
const MOST_DEPTH: u32 = 20_000;
/// The answer may need a clock, which takes longer than a node.
const NODES_BETWEEN_QUESTIONS: u32 = 4096;

/// The rows of a language's table by the numbers of its grammar.
/// Computed once for each language, so that the walk looks up a number at each node and compares no names.
struct Kinds {
    /// By the number of a node kind: the indexes of its rows, 0 for none. A kind has at most two.
    rows: Vec<[u8; 2]>,
    is_reference: Vec<bool>,
}

impl Kinds {
    fn of(language: Language) -> &'static Self {
        static KINDS: [OnceLock<Kinds>; Language::ALL.len()] = [const { OnceLock::new() }; Language::ALL.len()];
        KINDS[language as usize].get_or_init(|| {
            let grammar = &language.compiled().grammar;
            let mut kinds = Self { rows: Vec::new(), is_reference: Vec::new() };
            for kind in 0..grammar.node_kind_count() {
                let number = u16::try_from(kind).unwrap_or(u16::MAX);
                let name = grammar.node_kind_for_id(number).unwrap_or_default();
                let is_named = grammar.node_kind_is_named(number);
                let mut found = [0; 2];
                let rows = tables::rows(language).iter().enumerate().filter(|(_, row)| is_named && row.0 == name);
                for (slot, (index, _)) in found.iter_mut().zip(rows) {
                    *slot = u8::try_from(index + 1).unwrap_or(0);
                }
                kinds.rows.push(found);
                kinds.is_reference.push(is_named && tables::is_reference(name));
            }
            kinds
        })
    }
}

/// An open node with a meaning for those inside.
#[derive(Default)]
pub(super) struct Frame {
    pub(super) depth: u32,
    pub(super) row: usize,
    pub(super) opens: Opens,
    /// Of a wrapper: its item, which the definition inside completes.
    pub(super) wrapped: Option<usize>,
    pub(super) is_decorated: bool,
    /// Whether it is an item, so that those inside are one deeper.
    pub(super) is_item: bool,
    pub(super) scope: Option<Scope>,
}

/// What the children of a node are.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Opens {
    #[default]
    Nothing,
    /// The body among them contains items.
    Body,
    /// They are items.
    Items,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    Function,
    Type,
}

/// Where a node is: its depth in the tree, and what its parent makes of it.
#[derive(Clone, Copy)]
pub(super) struct Position {
    pub(super) depth: u32,
    parent: Opens,
    pub(super) wrapped: Option<usize>,
    pub(super) is_decorated: bool,
}

impl Position {
    fn is_item(self) -> bool {
        self.parent == Opens::Items || self.wrapped.is_some()
    }
}

pub(super) struct Walk<'a> {
    pub(super) language: Language,
    pub(super) compiled: &'a Compiled,
    kinds: &'static Kinds,
    pub(super) source: &'a [u8],
    pub(super) outline: Outline,
    pub(super) frames: Vec<Frame>,
    pub(super) scopes: Vec<String>,
    pub(super) lead: Lead,
    /// The last row of the last item, and of the last comment that has its line for itself.
    pub(super) item_row: Option<u32>,
    pub(super) comment_row: Option<u32>,
    /// Where the docstring of the last definition begins.
    pub(super) docstring: usize,
}

pub(super) fn read(language: Language, source: &[u8], wanted: &dyn Fn() -> bool) -> Result<Outline, NotMeasured> {
    let compiled = language.compiled();
    let tree = parse::parse(compiled, source, wanted)?;
    let line_starts = line_starts(source);
    let levels = vec![NO_CUT; line_starts.len()];
    let mut walk = Walk {
        language,
        compiled,
        kinds: Kinds::of(language),
        source,
        outline: Outline { line_starts, levels, ..Outline::default() },
        frames: Vec::new(),
        scopes: Vec::new(),
        lead: Lead::default(),
        item_row: None,
        comment_row: None,
        docstring: usize::MAX,
    };
    walk.run(&mut tree.walk(), wanted)?;
    Ok(walk.outline)
}

impl Walk<'_> {
    fn run(&mut self, cursor: &mut TreeCursor<'_>, wanted: &dyn Fn() -> bool) -> Result<(), NotMeasured> {
        let (mut depth, mut nodes) = (0_u32, 0_u32);
        self.frames.push(Frame { row: usize::MAX, opens: Opens::Items, ..Frame::default() });
        if !cursor.goto_first_child() {
            return Ok(());
        }
        depth += 1;
        loop {
            nodes += 1;
            if nodes.is_multiple_of(NODES_BETWEEN_QUESTIONS) && !wanted() {
                return Err(NotMeasured::Cancelled);
            }
            let node = cursor.node();
            self.level(node, depth);
            let is_closed = self.enter(node, depth);
            if !is_closed && depth < MOST_DEPTH && cursor.goto_first_child() {
                depth += 1;
                continue;
            }
            if !is_closed {
                self.reference(node);
            }
            loop {
                self.leave(depth);
                if cursor.goto_next_sibling() {
                    break;
                }
                if !cursor.goto_parent() {
                    return Ok(());
                }
                depth -= 1;
            }
        }
    }

    /// The first node of a line says how deep the line is nested. Parents come before children, so it is the outermost.
    fn level(&mut self, node: Node<'_>, depth: u32) {
        let row = node.start_position().row;
        let Some(level) = self.outline.levels.get_mut(row) else { return };
        if *level != NO_CUT || !node.is_named() {
            return;
        }
        let start = self.outline.line_starts[row] as usize;
        let before = self.source.get(start..node.start_byte()).unwrap_or_default();
        if before.iter().all(u8::is_ascii_whitespace) {
            let penalty = if self.comment_row.is_some_and(|last| last as usize + 1 == row) { AFTER_COMMENT } else { 0 };
            *level = u16::try_from(depth).unwrap_or(AFTER_COMMENT).min(AFTER_COMMENT) + penalty;
        }
    }

    fn reference(&mut self, node: Node<'_>) {
        let length = node.end_byte() - node.start_byte();
        let is_reference = self.kinds.is_reference.get(usize::from(node.kind_id())).copied().unwrap_or(false)
            && (SHORTEST_REFERENCE..=LONGEST_REFERENCE).contains(&length)
            && self.outline.references.len() < MOST_REFERENCES;
        if is_reference && !matches!(&self.source[node.byte_range()], b"self" | b"this" | b"cls") {
            self.outline.references.push(Reference {
                start: offset(node.start_byte()),
                length: u16::try_from(length).unwrap_or(u16::MAX),
                row: row(node.start_position().row),
            });
        }
    }

    /// Handles a node. Whether nothing inside it is of interest.
    fn enter(&mut self, node: Node<'_>, depth: u32) -> bool {
        let parent = self.frames.last().filter(|frame| frame.depth + 1 == depth);
        let position = Position {
            depth,
            parent: parent.map_or(Opens::Nothing, |frame| frame.opens),
            wrapped: parent.and_then(|frame| frame.wrapped),
            is_decorated: parent.is_some_and(|frame| frame.is_decorated),
        };
        // The condition of an `#if` is no item.
        let is_beside = parent.is_some_and(|frame| frame.row == node.start_position().row);
        let rule = self.compiled.rule(self.compiled.rule_index(node.kind_id()));
        if rule.entry.role == Role::Comment {
            self.comment(node, position.parent == Opens::Items);
            return true;
        }
        // The docstring of a class belongs to the head of the class.
        if self.docstring == node.start_byte() {
            return false;
        }
        match self.shape(node) {
            Some(shape) => self.shaped(node, position, shape),
            None if position.parent != Opens::Items || !node.is_named() => {}
            // What cannot be parsed may still contain items.
            None if node.is_error() => self.open(node, depth, Opens::Items),
            None if is_beside => {}
            None => {
                self.item(node, ItemKind::Statement);
            }
        }
        false
    }

    fn shape(&self, node: Node<'_>) -> Option<Shape> {
        let rows = self.kinds.rows.get(usize::from(node.kind_id())).copied().unwrap_or_default();
        let rows = rows.into_iter().filter(|row| *row != 0);
        let mut rows = rows.filter_map(|row| tables::rows(self.language).get(usize::from(row) - 1));
        rows.find(|row| row.1.is_empty() || node.child_by_field_name(row.1).is_some()).map(|row| row.2)
    }

    fn shaped(&mut self, node: Node<'_>, position: Position, shape: Shape) {
        let (depth, is_item) = (position.depth, position.is_item());
        match shape {
            Shape::Define(kind, name) => self.define(node, position, (kind, name), Opens::Nothing),
            Shape::Contain(kind, name) => self.define(node, position, (kind, name), Opens::Body),
            Shape::Variable(field) => self.variable(node, position, field, is_item),
            Shape::Assignment => {
                let kind = node.child_by_field_name("right").and_then(kind_of_value);
                if let (true, Some(kind)) = (is_item, kind) {
                    self.define(node, position, (kind, Name::Field("left")), Opens::Nothing);
                }
            }
            Shape::Declaration if is_item => {
                let kind = if is_prototype(node) { SymbolKind::Function } else { SymbolKind::Constant };
                self.define(node, position, (kind, Name::Declarator), Opens::Nothing);
            }
            Shape::Group(name) => self.group(node, depth, name),
            Shape::Pass if position.parent != Opens::Nothing => self.open(node, depth, Opens::Body),
            Shape::Open if position.parent != Opens::Nothing => self.open(node, depth, Opens::Items),
            Shape::Several if is_item && node.named_child_count() > 1 => {
                if position.wrapped.is_none() {
                    self.item(node, ItemKind::Group);
                }
                let is_item = position.wrapped.is_none();
                self.frames.push(Frame { depth, row: usize::MAX, opens: Opens::Items, is_item, ..Frame::default() });
            }
            Shape::Wrap | Shape::Several | Shape::Decorated if is_item => {
                let is_decorated = position.is_decorated || matches!(shape, Shape::Decorated);
                let is_item = position.wrapped.is_none();
                let wrapped = position.wrapped.unwrap_or_else(|| self.item(node, ItemKind::Statement));
                self.frames.push(Frame { depth, wrapped: Some(wrapped), is_decorated, is_item, ..Frame::default() });
            }
            Shape::Import if is_item => match position.wrapped {
                Some(item) => self.outline.items[item].kind = ItemKind::Import,
                None => {
                    self.item(node, ItemKind::Import);
                }
            },
            Shape::Attribute if is_item => self.attribute(node),
            Shape::Declaration
            | Shape::Pass
            | Shape::Open
            | Shape::Wrap
            | Shape::Several
            | Shape::Decorated
            | Shape::Import
            | Shape::Attribute => {}
        }
    }

    fn variable(&mut self, node: Node<'_>, position: Position, field: &'static str, is_item: bool) {
        let value = node.child_by_field_name("value").or_else(|| node.child_by_field_name("right"));
        let kind = value.and_then(kind_of_value).unwrap_or(SymbolKind::Constant);
        // `a, b = c` and `self.a = b` define no name of the file.
        let is_name = node.child_by_field_name(field).is_some_and(|name| name.child_count() == 0);
        if is_name && (is_item || kind != SymbolKind::Constant) {
            self.define(node, position, (kind, Name::Field(field)), Opens::Nothing);
        } else if is_item && position.wrapped.is_none() {
            self.item(node, ItemKind::Statement);
        }
    }
}

/// Whether a value makes its variable a function or a class.
fn kind_of_value(value: Node<'_>) -> Option<SymbolKind> {
    match value.kind() {
        "arrow_function" | "function_expression" | "generator_function" | "lambda" => Some(SymbolKind::Function),
        "class" => Some(SymbolKind::Class),
        _ => None,
    }
}

/// Whether a declaration of C declares a function and no variable.
fn is_prototype(declaration: Node<'_>) -> bool {
    let mut node = declaration.child_by_field_name("declarator");
    while let Some(declarator) = node {
        if declarator.kind() == "function_declarator" {
            // `int (*f)(void)` is a variable.
            return declarator.child_by_field_name("declarator").is_some_and(|name| name.child_count() == 0);
        }
        node = declarator.child_by_field_name("declarator").or_else(|| match declarator.kind() {
            "reference_declarator" => declarator.named_child(0),
            _ => None,
        });
    }
    false
}

pub(super) fn row(row: usize) -> u32 {
    u32::try_from(row).unwrap_or(u32::MAX)
}
