//! The functions that are open at a point of the walk, and the points each collects.

use crate::definition::{Compiled, Cost, FunctionKind, NestedFunctions};
use crate::naming;
use crate::parse::{NotMeasured, line};

use super::halstead::{Position, Tokens};
use super::lines::LineKinds;
use super::{FunctionMetrics, SkippedFunction, Span, maintainability};

/// Functions inside functions are limited: each level looks at the tokens inside once more.
const MOST_OPEN: usize = 100;

/// A function whose end was not reached yet, or the file around all of them.
#[derive(Default)]
struct Open {
    name: String,
    simple_name: String,
    is_method: bool,
    kind: Option<FunctionKind>,
    start: Point,
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

/// A place in the source.
#[derive(Clone, Copy, Default)]
pub(super) struct Point {
    pub(super) byte: usize,
    pub(super) row: usize,
}

/// A function that begins.
pub(super) struct NewFunction {
    pub(super) simple_name: String,
    /// As the syntax says; a function in a type is a method.
    pub(super) kind: FunctionKind,
    pub(super) start: Point,
    pub(super) parameters: u32,
    /// Whether it is one level deeper than the function around it.
    pub(super) adds_level: bool,
}

/// What a function had collected at some point. See [`Functions::mark`].
pub(super) struct Mark {
    cognitive: u32,
    nested_points: u32,
    deepest: u32,
}

/// The stack of open functions, those that are done, and the names of the scopes around the current node.
pub(super) struct Functions<'a> {
    language: &'a Compiled,
    /// Never empty: the file is first.
    open: Vec<Open>,
    pub(super) done: Vec<FunctionMetrics>,
    pub(super) skipped: Vec<SkippedFunction>,
    scopes: Vec<String>,
    scope_is_type: Vec<bool>,
    /// The decisions of all functions and of the code outside.
    pub(super) decisions: u32,
    /// How many nodes are open inside which nothing costs cognitive complexity.
    pub(super) effortless: u32,
}

impl<'a> Functions<'a> {
    pub(super) fn new(language: &'a Compiled) -> Self {
        let open = vec![Open::default()];
        Self {
            language,
            open,
            done: Vec::new(),
            skipped: Vec::new(),
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

    /// Whether a call would be noticed as recursion: not outside functions, and only once.
    pub(super) fn may_recurse(&self) -> bool {
        self.open.last().is_some_and(|function| function.kind.is_some() && !function.recursive)
    }

    /// The name of the innermost function, and whether it is a method.
    pub(super) fn innermost(&self) -> (&str, bool) {
        self.open.last().map_or(("", false), |function| (&function.simple_name, function.is_method))
    }

    /// The innermost function calls itself.
    pub(super) fn recurse(&mut self) {
        self.current().recursive = true;
    }

    /// What the innermost function has collected so far. Until the mark is used, its depth counts from zero.
    pub(super) fn mark(&mut self) -> Mark {
        let function = self.current();
        let Open { cognitive, nested_points, .. } = *function;
        Mark { cognitive, nested_points, deepest: std::mem::take(&mut function.deepest) }
    }

    /// What was read since a mark stays as it is.
    pub(super) fn keep(&mut self, mark: &Mark) {
        let function = self.current();
        function.deepest = function.deepest.max(mark.deepest);
    }

    /// What was read since a mark turns out to be one level deeper.
    pub(super) fn deepen(&mut self, mark: &Mark) {
        let function = self.current();
        function.cognitive += function.nested_points - mark.nested_points;
        let deepest = if function.deepest > 0 { function.deepest + 1 } else { 0 };
        function.deepest = deepest.max(mark.deepest);
    }

    /// What was read since a mark turns out to cost no cognitive complexity.
    pub(super) fn forget(&mut self, mark: &Mark) {
        let function = self.current();
        function.cognitive = mark.cognitive;
        function.nested_points = mark.nested_points;
        function.deepest = mark.deepest;
    }

    /// Takes points back from the innermost function.
    pub(super) fn take_back(&mut self, points: u32) {
        if self.effortless == 0 {
            let function = self.current();
            function.cognitive = function.cognitive.saturating_sub(points);
        }
    }

    pub(super) fn enter_type(&mut self, name: String) {
        self.scopes.push(name);
        self.scope_is_type.push(true);
    }

    pub(super) fn leave_type(&mut self) {
        self.scopes.pop();
        self.scope_is_type.pop();
    }

    /// Notes a function that contains a syntax error.
    pub(super) fn skip(&mut self, simple_name: &str, row: usize) {
        let is_method = self.scope_is_type.last().copied().unwrap_or(false);
        let name = naming::qualified(self.language.definition, &self.scopes, simple_name, is_method);
        self.skipped.push(SkippedFunction { name, line: line(row) });
    }

    /// Opens a function and returns the level of nesting of its body.
    pub(super) fn open(&mut self, new: NewFunction, nesting: u32, tokens: Position) -> Result<u32, NotMeasured> {
        if self.open.len() > MOST_OPEN {
            return Err(NotMeasured::TooDeep);
        }
        let in_type = self.scope_is_type.last().copied().unwrap_or(false);
        let kind = if new.kind == FunctionKind::Function && in_type { FunctionKind::Method } else { new.kind };
        let is_method = kind == FunctionKind::Method;
        let definition = self.language.definition;
        let name = naming::qualified(definition, &self.scopes, &new.simple_name, is_method);
        let is_nested = self.open.len() > 1 && !in_type && new.adds_level;
        let base = match definition.nested_functions {
            NestedFunctions::Included if is_nested => nesting + 1,
            NestedFunctions::Included | NestedFunctions::Separate => nesting,
        };
        self.scopes.push(new.simple_name.clone());
        self.scope_is_type.push(false);
        self.open.push(Open {
            name,
            simple_name: new.simple_name,
            is_method,
            kind: Some(kind),
            start: new.start,
            parameters: new.parameters,
            base,
            tokens,
            ..Open::default()
        });
        Ok(base)
    }

    /// How many parameters the innermost function has, once they were read.
    pub(super) fn set_parameters(&mut self, parameters: u32) {
        self.current().parameters = parameters;
    }

    /// Closes the innermost function. Returns how many points grow with each level around it.
    pub(super) fn close(&mut self, end: Point, tokens: &Tokens, lines: &LineKinds) -> u32 {
        self.leave_type();
        if self.open.len() < 2 {
            return 0;
        }
        let Some(function) = self.open.pop() else { return 0 };
        let cognitive = function.cognitive + u32::from(function.recursive);
        let included = self.language.definition.nested_functions == NestedFunctions::Included;
        if included && self.open.len() > 1 {
            let outer = self.current();
            let deeper = function.base.saturating_sub(outer.base);
            outer.cognitive += cognitive + function.nested_points * deeper;
            outer.nested_points += function.nested_points;
        }
        let Some(kind) = function.kind else { return 0 };
        let halstead = tokens.since(function.tokens);
        let lines = lines.count(function.start.row, end.row);
        let cyclomatic = 1 + function.decisions;
        let byte = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
        self.done.push(FunctionMetrics {
            name: function.name,
            kind,
            span: Span {
                start_line: line(function.start.row),
                end_line: line(end.row),
                start_byte: byte(function.start.byte),
                end_byte: byte(end.byte),
            },
            cyclomatic,
            cognitive,
            nesting: function.deepest,
            parameters: function.parameters,
            maintainability: maintainability(&halstead, cyclomatic, &lines),
            lines,
            halstead,
        });
        function.nested_points
    }
}
