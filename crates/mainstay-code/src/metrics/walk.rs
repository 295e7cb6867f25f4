//! One walk over a syntax tree that collects every figure.
//!
//! The cursor and the stack of frames are on the heap, so that no nesting of the source can use up the stack of a thread. A
//! frame is pushed only for nodes that change how their children are read; most nodes cost one look at a table.

use tree_sitter::{Node, Tree, TreeCursor};

use crate::definition::{BooleanRuns, Compiled, Cost, Nests, Role, Rule};
use crate::languages::Language;
use crate::naming;
use crate::parse::NotMeasured;

use super::functions::{Functions, Point};
use super::halstead::Tokens;
use super::lines::LineKinds;
use super::{FileMetrics, finish, nodes};

/// No one writes code that deep; a generated file may.
const MOST_DEPTH: u32 = 20_000;

/// How many nodes are read between two questions whether the result is still wanted.
const NODES_BETWEEN_QUESTIONS: u32 = 4096;

/// What the children of an open node have to know about it.
struct Frame {
    depth: u32,
    rule: u8,
    role: Role,
    /// The level of nesting outside.
    nesting: u32,
    /// Of a boolean expression or brackets in one: its operator, and the frame where the expression begins.
    operator: u16,
    run: Option<usize>,
    /// Of the frame where a boolean expression begins: the operator read last.
    last_operator: u16,
    /// Of alternatives: whether the first was seen. Of `else`: whether its statement was seen.
    seen: bool,
    opens: Opens,
}

#[derive(Clone, Copy)]
enum Opens {
    Nothing,
    Type,
    /// With the end of the function.
    Function(Point),
    Effortless,
}

struct Walk<'a> {
    language: &'a Compiled,
    source: &'a [u8],
    frames: Vec<Frame>,
    nesting: u32,
    functions: Functions<'a>,
    tokens: Tokens,
    lines: LineKinds,
}

/// Measures a tree that has no errors.
pub(super) fn measure(
    language: Language,
    compiled: &Compiled,
    tree: &Tree,
    source: &[u8],
    wanted: &dyn Fn() -> bool,
) -> Result<FileMetrics, NotMeasured> {
    let mut walk = Walk {
        language: compiled,
        source,
        frames: Vec::new(),
        nesting: 0,
        functions: Functions::new(compiled),
        tokens: Tokens::default(),
        lines: LineKinds::new(source),
    };
    walk.run(&mut tree.walk(), wanted)?;
    Ok(finish(language, walk.functions, &walk.tokens, &walk.lines))
}

impl Walk<'_> {
    fn run(&mut self, cursor: &mut TreeCursor<'_>, wanted: &dyn Fn() -> bool) -> Result<(), NotMeasured> {
        let (mut depth, mut nodes) = (0_u32, 0_u32);
        loop {
            nodes += 1;
            if nodes.is_multiple_of(NODES_BETWEEN_QUESTIONS) && !wanted() {
                return Err(NotMeasured::Cancelled);
            }
            let node = cursor.node();
            let kind = node.kind_id();
            let index = self.language.rule_index(kind);
            let is_comment = self.language.rule(index).entry.role == Role::Comment;
            if is_comment {
                // Nothing inside a comment counts.
                self.lines.mark_comment(node.start_position().row, last_row(node));
            } else {
                self.enter(node, index, cursor, depth)?;
                if cursor.goto_first_child() {
                    depth += 1;
                    if depth > MOST_DEPTH {
                        return Err(NotMeasured::TooDeep);
                    }
                    continue;
                }
                self.token(node, index, depth);
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

    /// The frame of the parent itself, if it has one.
    fn parent(&self, depth: u32) -> Option<usize> {
        let last = self.frames.len().checked_sub(1)?;
        (self.frames[last].depth + 1 == depth).then_some(last)
    }

    fn enter(&mut self, node: Node<'_>, index: u8, cursor: &TreeCursor<'_>, depth: u32) -> Result<(), NotMeasured> {
        let parent = self.parent(depth);
        if index == 0 && parent.is_none() {
            return Ok(());
        }
        let language = self.language;
        let is_complete = language.rule(index).needs.is_none_or(|field| node.child_by_field_id(field).is_some());
        let index = if is_complete { index } else { 0 };
        let rule = language.rule(index);
        let nesting = self.nesting;
        let mut continues_chain = false;
        if let Some(parent) = parent {
            match self.place(parent, node, rule, cursor) {
                Place::Same => {}
                Place::Deeper => self.nesting += 1,
                Place::NextCondition => continues_chain = true,
            }
        }
        let mut frame = Frame {
            depth,
            rule: index,
            role: rule.entry.role,
            nesting,
            operator: 0,
            run: None,
            last_operator: 0,
            seen: false,
            opens: Opens::Nothing,
        };
        let is_frame = self.apply(node, rule, parent, continues_chain, &mut frame)?;
        if is_frame || self.nesting != nesting {
            self.frames.push(frame);
        }
        Ok(())
    }

    /// Where a child stands in its parent: whether it is a level deeper, or the next condition after an `else`.
    fn place(&mut self, parent: usize, node: Node<'_>, rule: &Rule, cursor: &TreeCursor<'_>) -> Place {
        let frame = &mut self.frames[parent];
        let parent_rule = self.language.rule(frame.rule);
        let is_otherwise = if frame.role == Role::Else {
            let is_first = !frame.seen && node.is_named();
            frame.seen |= is_first;
            is_first
        } else if parent_rule.nested_fields.is_empty() && parent_rule.otherwise.is_none() {
            false
        } else {
            let field = cursor.field_id().map(std::num::NonZeroU16::get);
            if field.is_some_and(|field| parent_rule.nested_fields.contains(&field)) {
                return Place::Deeper;
            }
            field.is_some() && field == parent_rule.otherwise && node.is_named()
        };
        if !is_otherwise {
            return Place::Same;
        }
        if rule.entry.role == Role::If {
            return Place::NextCondition;
        }
        let nesting = self.nesting;
        self.functions.add(Cost::Flat, nesting);
        Place::Deeper
    }

    /// Adds what a node costs, and returns whether its children have to know about it.
    fn apply(
        &mut self,
        node: Node<'_>,
        rule: &Rule,
        parent: Option<usize>,
        continues_chain: bool,
        frame: &mut Frame,
    ) -> Result<bool, NotMeasured> {
        let entry = &rule.entry;
        let parent_role = parent.map(|parent| self.frames[parent].role);
        let counts = match entry.role {
            Role::Case => !parent.is_some_and(|parent| self.is_first_case(parent)),
            Role::PatternCase => !matches_everything(node, self.source),
            Role::Filter => parent_role == Some(Role::Comprehension),
            Role::Jump => has_child(node, rule.label),
            Role::ElseBlock => !matches!(parent_role, Some(Role::If | Role::ElseIf)),
            Role::Boolean => return Ok(self.enter_boolean(node, parent, frame)),
            Role::Brackets => return Ok(self.enter_brackets(parent, frame)),
            Role::Call => {
                let recursion = self.language.definition.recursion;
                let functions = &mut self.functions;
                if functions.may_recurse() && nodes::calls(node, functions.innermost(), recursion, self.source) {
                    functions.recurse();
                }
                return Ok(false);
            }
            Role::Function if node.has_error() => {
                self.functions.skip(&naming::simple_name(node, entry.name, self.source), node.start_position().row);
                return Ok(false);
            }
            Role::Function => {
                let tokens = self.tokens.position();
                let function = nodes::new_function(node, rule, self.source);
                self.nesting = self.functions.open(function, self.nesting, tokens)?;
                frame.opens = Opens::Function(Point { byte: node.end_byte(), row: node.end_position().row });
                return Ok(true);
            }
            Role::Effortless => {
                self.functions.effortless += 1;
                frame.opens = Opens::Effortless;
                return Ok(true);
            }
            Role::Text => {
                // Part of a larger literal is no operand of its own.
                if parent_role != Some(Role::Text) {
                    self.tokens.operand(naming::text(node, self.source).as_bytes());
                }
                return Ok(true);
            }
            Role::Plain
            | Role::If
            | Role::ElseIf
            | Role::Else
            | Role::Cases
            | Role::Comprehension
            | Role::Comment
            | Role::Ignored
            | Role::Tokens => true,
        };
        let nesting = self.nesting;
        if counts {
            self.functions.decide(entry.decisions);
            self.functions.add(if continues_chain { Cost::Flat } else { entry.cost }, nesting);
        }
        if entry.scope {
            self.functions.enter_type(naming::simple_name(node, entry.name, self.source));
            frame.opens = Opens::Type;
            return Ok(true);
        }
        let is_else = entry.role == Role::ElseBlock && !counts;
        if is_else {
            self.functions.add(Cost::Flat, nesting);
        }
        // Where the condition nests everything, its `else` is among that.
        let already_nested = parent.is_some_and(|parent| self.parent_nests_everything(parent));
        if entry.nests == Nests::Everything || (is_else && !already_nested) {
            self.nesting += 1;
        }
        Ok(rule_has_children_to_place(rule))
    }

    fn parent_nests_everything(&self, parent: usize) -> bool {
        self.language.rule(self.frames[parent].rule).entry.nests == Nests::Everything
    }

    fn is_first_case(&mut self, parent: usize) -> bool {
        let parent = &mut self.frames[parent];
        parent.role == Role::Cases && !std::mem::replace(&mut parent.seen, true)
    }

    /// Starts a boolean expression or goes on with the one around.
    fn enter_boolean(&mut self, node: Node<'_>, parent: Option<usize>, frame: &mut Frame) -> bool {
        let operator = self.language.operator.and_then(|field| node.child_by_field_id(field));
        // A node that only joins conditions names no operator.
        let operator = operator.map_or(0, |operator| operator.kind_id());
        if operator != 0 && !self.language.is_boolean(operator) {
            return false;
        }
        let around = parent.map(|parent| &self.frames[parent]).filter(|frame| frame.run.is_some());
        let same_group = around.is_some_and(|around| around.operator == operator);
        frame.operator = operator;
        frame.run = around.map_or(Some(self.frames.len()), |around| around.run);
        let by_group = self.language.definition.boolean_runs == BooleanRuns::ByGroup;
        if by_group && !same_group && self.language.costs_as_run(operator) {
            self.functions.add(Cost::Flat, self.nesting);
        }
        true
    }

    /// Brackets inside a boolean expression belong to it.
    fn enter_brackets(&mut self, parent: Option<usize>, frame: &mut Frame) -> bool {
        let Some(around) = parent.map(|parent| &self.frames[parent]).filter(|frame| frame.run.is_some()) else {
            return false;
        };
        frame.operator = around.operator;
        frame.run = around.run;
        true
    }

    /// A node without children.
    fn token(&mut self, node: Node<'_>, index: u8, depth: u32) {
        let range = node.byte_range();
        if range.is_empty() {
            return;
        }
        self.lines.mark_code(node.start_position().row, last_row(node));
        let own = usize::from(self.frames.last().is_some_and(|frame| frame.depth == depth));
        let parent = self.frames.len().checked_sub(own + 1).filter(|parent| self.frames[*parent].depth + 1 == depth);
        let kind = node.kind_id();
        let parent_role = parent.map(|parent| self.frames[parent].role);
        if parent_role == Some(Role::Text) {
            return;
        }
        if parent_role == Some(Role::Tokens) && self.language.is_macro_token(kind) {
            // `||` without an operand before it is a closure, `&&` a reference to a reference.
            if !self.language.is_boolean(kind) || follows_operand(node) {
                self.functions.decide(1);
            }
        } else if parent_role == Some(Role::Boolean) && self.language.is_boolean(kind) {
            self.operator(parent, kind);
        }
        if matches!(self.language.rule(index).entry.role, Role::Ignored | Role::Text) {
            return;
        }
        if node.is_named() {
            self.tokens.operand(self.source.get(range).unwrap_or_default());
        } else {
            self.tokens.operator(kind);
        }
    }

    /// A boolean operator: a decision, and the beginning of a run unless the operator before it was the same.
    fn operator(&mut self, parent: Option<usize>, kind: u16) {
        self.functions.decide(1);
        let Some(run) = parent.and_then(|parent| self.frames[parent].run) else { return };
        let last = std::mem::replace(&mut self.frames[run].last_operator, kind);
        let by_position = self.language.definition.boolean_runs == BooleanRuns::ByPosition;
        if by_position && last != kind && self.language.costs_as_run(kind) {
            self.functions.add(Cost::Flat, self.nesting);
        }
    }

    fn leave(&mut self, depth: u32) {
        if self.frames.last().is_none_or(|frame| frame.depth != depth) {
            return;
        }
        let Some(frame) = self.frames.pop() else { return };
        self.nesting = frame.nesting;
        match frame.opens {
            Opens::Nothing => {}
            Opens::Type => self.functions.leave_type(),
            Opens::Effortless => self.functions.effortless -= 1,
            Opens::Function(end) => {
                self.functions.close(end, &self.tokens, &self.lines);
            }
        }
    }
}

/// Where a child stands in its parent.
enum Place {
    Same,
    Deeper,
    /// An `if` that is the body of an `else`.
    NextCondition,
}

fn rule_has_children_to_place(rule: &Rule) -> bool {
    let needs_frame = matches!(
        rule.entry.role,
        Role::If | Role::ElseIf | Role::Else | Role::Cases | Role::Comprehension | Role::Tokens
    );
    needs_frame || !rule.nested_fields.is_empty() || rule.otherwise.is_some()
}

/// A node that ends with a line break ends on the line before: its last row is the one of its last byte.
fn last_row(node: Node<'_>) -> usize {
    let end = node.end_position();
    if end.column == 0 && end.row > node.start_position().row { end.row - 1 } else { end.row }
}

/// Whether a token of a macro's arguments comes after something that has a value.
fn follows_operand(token: Node<'_>) -> bool {
    token.prev_sibling().is_some_and(|before| before.is_named() || before.kind() == "?")
}

fn has_child(node: Node<'_>, kind: Option<u16>) -> bool {
    let mut cursor = node.walk();
    node.children(&mut cursor).any(|child| Some(child.kind_id()) == kind)
}

/// `case _:` and `case name:` take whatever is left.
fn matches_everything(case: Node<'_>, source: &[u8]) -> bool {
    let mut cursor = case.walk();
    let mut patterns = case.named_children(&mut cursor).filter(|child| child.kind() == "case_pattern");
    let (Some(pattern), None) = (patterns.next(), patterns.next()) else { return false };
    let pattern = naming::text(pattern, source);
    !matches!(pattern, "None" | "True" | "False")
        && !pattern.starts_with(|first: char| first.is_ascii_digit())
        && pattern.chars().all(|character| character.is_alphanumeric() || character == '_')
}
