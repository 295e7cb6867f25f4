//! Source text to a syntax tree, within limits.

use std::cell::RefCell;
use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};
use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

use crate::definition::Compiled;

/// A larger file is not parsed: a tree takes some ten times the memory of its source.
pub const MAX_SOURCE_BYTES: usize = 8 * 1024 * 1024;

/// The parser reports once in a hundred of its steps, and takes about one step for every byte of ordinary source. Source
/// that makes it try many readings at once takes more; past this it is given up, the same on every machine.
const REPORTS_AT_LEAST: usize = 20_000;
const REPORTS_PER_BYTE: f64 = 0.5;

/// Why a file has no metrics. Such a file is reported and never scored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum NotMeasured {
    #[error("The file is not UTF-8 text.")]
    NotText,
    #[error("The file has a syntax error in line {line}.")]
    Syntax { line: u32 },
    #[error("The file is larger than {} MiB.", MAX_SOURCE_BYTES / 1024 / 1024)]
    TooLarge,
    #[error("The code is nested too deeply.")]
    TooDeep,
    #[error("The parser needs too long for the file.")]
    TooSlow,
    #[error("The analysis was cancelled.")]
    Cancelled,
    #[error("The parser for this language cannot be used.")]
    NoParser,
}

impl NotMeasured {
    /// Whether the same bytes give the same outcome, so that it may be remembered.
    pub fn is_permanent(self) -> bool {
        match self {
            Self::NotText | Self::Syntax { .. } | Self::TooLarge | Self::TooDeep | Self::TooSlow => true,
            Self::Cancelled | Self::NoParser => false,
        }
    }
}

thread_local! {
    // A parser keeps its buffers between files.
    static PARSER: RefCell<Parser> = RefCell::new(Parser::new());
}

/// Parses source that may contain errors. `wanted` is asked often whether the result is still of use.
pub(crate) fn parse(language: &Compiled, source: &[u8], wanted: &dyn Fn() -> bool) -> Result<Tree, NotMeasured> {
    if source.len() > MAX_SOURCE_BYTES {
        return Err(NotMeasured::TooLarge);
    }
    // Text has no NUL; some binary formats are valid UTF-8 but for that.
    if source.contains(&0) || std::str::from_utf8(source).is_err() {
        return Err(NotMeasured::NotText);
    }
    if !wanted() {
        return Err(NotMeasured::Cancelled);
    }
    PARSER.with_borrow_mut(|parser| {
        parser.set_language(&language.grammar).map_err(|_| NotMeasured::NoParser)?;
        let mut reports = 0_usize;
        let limit = reports_allowed(source.len());
        let mut stopped = NotMeasured::NoParser;
        let mut on_progress = |_: &ParseState| {
            reports += 1;
            stopped = if reports > limit {
                NotMeasured::TooSlow
            } else if wanted() {
                return ControlFlow::Continue(());
            } else {
                NotMeasured::Cancelled
            };
            ControlFlow::Break(())
        };
        let options = ParseOptions::new().progress_callback(&mut on_progress);
        let mut read = |offset: usize, _| source.get(offset..).unwrap_or_default();
        let tree = parser.parse_with_options(&mut read, None, Some(options));
        // A parser that was stopped would go on with the old file.
        parser.reset();
        tree.ok_or(stopped)
    })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a limit for files of a few megabytes; it need not be exact"
)]
fn reports_allowed(bytes: usize) -> usize {
    REPORTS_AT_LEAST + (bytes as f64 * REPORTS_PER_BYTE) as usize
}

/// The line of the first error in a tree, if it has one.
pub(crate) fn first_error(tree: &Tree) -> Option<u32> {
    let root = tree.root_node();
    if !root.has_error() {
        return None;
    }
    let mut node = root;
    // Only a node that contains the error has to be entered, so this is one path down the tree.
    while let Some(next) = erroneous_child(node) {
        node = next;
        if node.is_error() || node.is_missing() {
            break;
        }
    }
    Some(line(node.start_position().row))
}

fn erroneous_child(node: Node<'_>) -> Option<Node<'_>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).find(|child| child.has_error() || child.is_error() || child.is_missing())
}

/// Lines count from 1.
pub(crate) fn line(row: usize) -> u32 {
    u32::try_from(row).unwrap_or(u32::MAX - 1) + 1
}
