//! The items of Rust, from behind their first words to their ends.
//!
//! Nothing here checks the syntax. An item ends with the bracket or semicolon at the depth where it began, and a file
//! in which that goes wrong is given to the grammar, which is slower and recovers from errors.

use crate::definition::SymbolKind;
use crate::naming;

use super::rust::{Container, Head, Reader};
use super::rust_tokens::{Kind, Token, is_keyword};
use super::{ItemKind, Lead, MOST_ITEMS, offset};

impl Reader<'_> {
    /// Notes where an item ends, and where its body began.
    pub(super) fn finish(&mut self, item: usize, body: Token, end: Token) {
        let item = &mut self.tokens.outline.items[item];
        item.body = if body.is(b'{') { offset(body.start) } else { offset(end.end) };
        (item.bytes.end, item.last_row) = (offset(end.end), offset(end.row));
        self.item_row = end.row;
    }

    /// Reads up to the brace of a body, or to the semicolon of an item without one, and gives it.
    pub(super) fn read_to_body(&mut self) -> Token {
        let depth = self.tokens.depth;
        let mut last = self.tokens.peek();
        loop {
            let token = self.tokens.code();
            match token.kind {
                Kind::End => {
                    self.is_broken = true;
                    return token;
                }
                // An argument of a type: `Matrix<{ N }>`.
                Kind::Sign(b'{') if last.is(b'<') => {
                    self.skip(token);
                }
                Kind::Sign(b'{') if self.tokens.depth == depth + 1 => return token,
                Kind::Sign(b';') if self.tokens.depth == depth => return token,
                // The end of what is around it: this is no item.
                Kind::Sign(b'}' | b')') if self.tokens.depth < depth => {
                    self.is_broken = true;
                    return token;
                }
                Kind::Word
                | Kind::Literal
                | Kind::Lifetime
                | Kind::Sign(_)
                | Kind::LineComment
                | Kind::BlockComment => {}
            }
            last = token;
        }
    }

    pub(super) fn until_semicolon(&mut self, item: usize) {
        let depth = self.tokens.depth;
        let mut last = self.tokens.peek();
        loop {
            // The last entry of a macro such as `cfg! { mod a; use b }` has no semicolon.
            let next = self.tokens.peek();
            if next.kind == Kind::End || (next.is(b'}') && self.tokens.depth == depth) {
                break;
            }
            last = self.tokens.code();
            if last.is(b';') && self.tokens.depth == depth {
                break;
            }
        }
        self.finish(item, last, last);
        let item = &mut self.tokens.outline.items[item];
        item.body = item.bytes.end;
    }

    /// Opens an item whose braces contain items.
    pub(super) fn container(&mut self, item: usize, scope: Option<Token>) {
        let depth = self.tokens.depth;
        let open = self.read_to_body();
        self.finish(item, open, open);
        if open.is(b'{') {
            if let Some(name) = scope {
                self.scopes.push(String::from_utf8_lossy(self.tokens.text(name)).into_owned());
            }
            self.containers.push(Container { item, depth, scope: scope.is_some() });
            self.item_row = usize::MAX;
        }
    }

    /// An `impl` or an `extern` block. The functions of an `impl` have the name of its type.
    pub(super) fn group(&mut self, item: usize) {
        let depth = self.tokens.depth;
        let (mut name, mut angles, mut is_done) = (None, 0_i32, false);
        // Where the type is written, for types without a name: `()`, `[T; N]`.
        let (mut type_start, mut type_end) = (None, None);
        let mut last = self.tokens.peek();
        let open = loop {
            let token = self.tokens.code();
            let is_outside = angles == 0 && self.tokens.depth == depth;
            match token.kind {
                Kind::End => {
                    self.is_broken = true;
                    break token;
                }
                Kind::Sign(b'{') if last.is(b'<') => {
                    self.skip(token);
                }
                Kind::Sign(b'{') if self.tokens.depth == depth + 1 => break token,
                Kind::Sign(b';') if is_outside => break token,
                Kind::Sign(b'<') => angles += 1,
                // The `>` of `->` closes nothing: `impl<F: Fn() -> T>`.
                Kind::Sign(b'>') if !last.is(b'-') => angles -= 1,
                Kind::Word if is_outside && !is_done => match self.tokens.text(token) {
                    // What came before was the trait. The `for` of `for<'a>` is part of a type.
                    b"for" if !self.tokens.peek().is(b'<') => (name, type_start) = (None, Some(token.end)),
                    b"where" => (is_done, type_end) = (true, Some(token.start)),
                    word if is_keyword(word) => {}
                    _ => name = Some(token),
                },
                Kind::Word
                | Kind::Literal
                | Kind::Lifetime
                | Kind::Sign(_)
                | Kind::LineComment
                | Kind::BlockComment => {}
            }
            last = token;
        };
        self.finish(item, open, open);
        if !open.is(b'{') {
            return;
        }
        let nameless = type_start.map(|start| start..type_end.unwrap_or(open.start));
        let name = match (name, nameless) {
            (Some(name), _) => self.tokens.text(name),
            (None, Some(range)) => self.tokens.source.get(range).unwrap_or_default().trim_ascii(),
            (None, None) => b"",
        };
        let scope = !name.is_empty();
        if scope {
            let name = naming::shorten(String::from_utf8_lossy(name).into_owned());
            self.tokens.outline.items[item].name.clone_from(&name);
            self.scopes.push(name);
        }
        self.containers.push(Container { item, depth, scope });
        self.item_row = usize::MAX;
    }

    /// What begins with no word of an item: the call of a macro.
    pub(super) fn statement(&mut self, item: usize, start: Token) {
        let depth = self.tokens.depth - usize::from(matches!(start.kind, Kind::Sign(b'{' | b'(' | b'[')));
        let mut last = start;
        loop {
            let next = self.tokens.peek();
            if next.kind == Kind::End || (matches!(next.kind, Kind::Sign(b'}')) && self.tokens.depth <= depth) {
                break;
            }
            let is_macro = last.is(b'!');
            last = self.tokens.code();
            let is_outermost = self.tokens.depth == depth + 1 && last.is(b'{');
            if is_outermost && is_macro && self.tokens.begins_items() {
                self.finish(item, last, last);
                self.tokens.outline.items[item].kind = ItemKind::Group;
                self.containers.push(Container { item, depth, scope: false });
                self.item_row = usize::MAX;
                return;
            }
            if self.tokens.depth == depth && matches!(last.kind, Kind::Sign(b';' | b'}')) {
                break;
            }
        }
        self.finish(item, last, last);
        let item = &mut self.tokens.outline.items[item];
        item.body = item.bytes.end;
    }

    /// A function or a macro, and the definitions in its body.
    pub(super) fn function(&mut self, item: usize, head: &Head) {
        let depth = self.tokens.depth;
        let open = self.read_to_body();
        let mut last = open;
        let is_macro = self.tokens.text(head.start) == b"macro_rules";
        let mut nested: Vec<(usize, usize)> = Vec::new();
        if let Some(name) = head.name {
            self.scopes.push(String::from_utf8_lossy(self.tokens.text(name)).into_owned());
        }
        while open.is(b'{') && self.tokens.depth > depth {
            let token = self.tokens.code();
            if token.kind == Kind::End {
                self.is_broken = true;
                break;
            }
            last = token;
            if token.kind == Kind::Word && !is_macro {
                self.nested(token, &mut nested);
            }
            let ends = matches!(token.kind, Kind::Sign(b'}' | b';'));
            while let Some((inner, _)) = nested.pop_if(|(_, outside)| ends && *outside >= self.tokens.depth) {
                let inner = &mut self.tokens.outline.items[inner];
                (inner.bytes.end, inner.last_row) = (offset(token.end), offset(token.row));
            }
        }
        if head.name.is_some() {
            self.scopes.pop();
        }
        self.finish(item, open, last);
    }

    /// A definition in the body of a function, if this word begins one.
    fn nested(&mut self, word: Token, nested: &mut Vec<(usize, usize)>) {
        let kind = match self.tokens.text(word) {
            b"fn" => SymbolKind::Function,
            b"struct" => SymbolKind::Struct,
            b"enum" => SymbolKind::Enum,
            b"trait" => SymbolKind::Trait,
            _ => return,
        };
        let name = self.tokens.peek();
        if name.kind != Kind::Word || self.tokens.outline.items.len() >= MOST_ITEMS {
            return;
        }
        self.lead = Lead::default();
        let item = self.push(ItemKind::Definition(kind), word, Some(name));
        let item_depth = u16::try_from(self.containers.len() + nested.len() + 1).unwrap_or(u16::MAX);
        let pushed = &mut self.tokens.outline.items[item];
        (pushed.in_function, pushed.depth, pushed.kind) = (true, item_depth, ItemKind::Definition(kind));
        nested.push((item, self.tokens.depth));
    }
}
