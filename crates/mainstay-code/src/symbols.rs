//! The definitions in a file: functions, types, constants, modules.

use serde::{Deserialize, Serialize};

use crate::definition::SymbolKind;
use crate::languages::Language;
use crate::metrics::Span;
use crate::naming;
use crate::parse::{self, NotMeasured, line};

/// A file with more is data, not code.
const MOST_SYMBOLS: usize = 100_000;
const MOST_DEPTH: u32 = 20_000;
const NODES_BETWEEN_QUESTIONS: u32 = 4096;

/// One definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Symbol {
    /// With the names of the types and functions around it.
    pub name: String,
    pub kind: SymbolKind,
    pub span: Span,
}

/// The definitions of a file in the order they begin. A file with syntax errors gives those that could be read.
pub fn symbols(language: Language, source: &[u8], wanted: &dyn Fn() -> bool) -> Result<Vec<Symbol>, NotMeasured> {
    let compiled = language.compiled();
    let tree = parse::parse(compiled, source, wanted)?;
    let mut cursor = tree.walk();
    let mut found = Vec::new();
    // The scopes around the current node: their depths, names, and whether they are types.
    let (mut scopes, mut names) = (Vec::<(u32, bool)>::new(), Vec::<String>::new());
    let (mut depth, mut nodes) = (0_u32, 0_u32);
    loop {
        nodes += 1;
        if nodes.is_multiple_of(NODES_BETWEEN_QUESTIONS) && !wanted() {
            return Err(NotMeasured::Cancelled);
        }
        let node = cursor.node();
        let rule = compiled.rule(compiled.rule_index(node.kind_id()));
        let entry = &rule.entry;
        let counts = rule.needs.is_none_or(|field| node.child_by_field_id(field).is_some());
        if counts && (entry.symbol.is_some() || entry.scope) && found.len() < MOST_SYMBOLS {
            let name = naming::simple_name(node, entry.name, source);
            if let Some(kind) = entry.symbol {
                let in_type = scopes.last().is_some_and(|(_, is_type)| *is_type);
                let kind = if kind == SymbolKind::Function && in_type { SymbolKind::Method } else { kind };
                let qualified = naming::qualified(compiled.definition, &names, &name, kind == SymbolKind::Method);
                found.push(Symbol { name: qualified, kind, span: span(node) });
            }
            if entry.scope {
                scopes.push((depth, entry.function.is_none()));
                names.push(name);
            }
        }
        if depth < MOST_DEPTH && cursor.goto_first_child() {
            depth += 1;
            continue;
        }
        loop {
            if scopes.last().is_some_and(|(scope, _)| *scope == depth) {
                scopes.pop();
                names.pop();
            }
            if cursor.goto_next_sibling() {
                break;
            }
            if !cursor.goto_parent() {
                return Ok(found);
            }
            depth -= 1;
        }
    }
}

fn span(node: tree_sitter::Node<'_>) -> Span {
    let byte = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
    Span {
        start_line: line(node.start_position().row),
        end_line: line(node.end_position().row),
        start_byte: byte(node.start_byte()),
        end_byte: byte(node.end_byte()),
    }
}
