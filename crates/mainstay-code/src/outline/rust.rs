//! The outline of Rust, without a syntax tree.
//!
//! The grammar reads some 6 MB of Rust in a second, and that would be nearly all of the time of indexing. An outline needs only
//! the brackets, the first words of items and the comments before them. It also sees the items inside of macros with braces
//! (`cfg_rt! { pub fn spawn() {} }`), which are only tokens to the grammar. A file whose brackets do not match is left to the
//! grammar.

use crate::definition::SymbolKind;
use crate::languages::Language;
use crate::parse::{MAX_SOURCE_BYTES, NotMeasured};

use super::rust_tokens::{Kind, Token, Tokens};
use super::{Item, ItemKind, Lead, MOST_ITEMS, Outline, offset, qualify};

/// An item that is open: its index, the depth of brackets outside, and the name that it adds to those inside.
pub(super) struct Container {
    pub(super) item: usize,
    pub(super) depth: usize,
    pub(super) scope: bool,
}

pub(super) struct Reader<'a> {
    pub(super) tokens: Tokens<'a>,
    pub(super) containers: Vec<Container>,
    pub(super) scopes: Vec<String>,
    pub(super) lead: Lead,
    /// The last row of the last item.
    pub(super) item_row: usize,
    /// Whether a bracket has no counterpart.
    pub(super) is_broken: bool,
}

/// What is known of an item when its first words were read.
pub(super) struct Head {
    pub(super) start: Token,
    kind: ItemKind,
    pub(super) name: Option<Token>,
}

/// `None`: the brackets of the file do not match.
pub(super) fn read(source: &[u8], wanted: &dyn Fn() -> bool) -> Result<Option<Outline>, NotMeasured> {
    if source.len() > MAX_SOURCE_BYTES {
        return Err(NotMeasured::TooLarge);
    }
    if source.contains(&0) || std::str::from_utf8(source).is_err() {
        return Err(NotMeasured::NotText);
    }
    let mut reader = Reader {
        tokens: Tokens::new(source),
        containers: Vec::new(),
        scopes: Vec::new(),
        lead: Lead::default(),
        item_row: usize::MAX,
        is_broken: false,
    };
    loop {
        if !wanted() {
            return Err(NotMeasured::Cancelled);
        }
        let token = reader.tokens.next();
        match token.kind {
            Kind::End => return Ok(reader.containers.is_empty().then_some(reader.tokens.outline)),
            Kind::LineComment | Kind::BlockComment => reader.comment(token),
            Kind::Sign(b'#') => reader.attribute(token),
            Kind::Sign(b'}' | b')' | b']') => reader.close(token),
            Kind::Sign(b';') => {}
            Kind::Word | Kind::Literal | Kind::Lifetime | Kind::Sign(_) => reader.item(token),
        }
        if reader.is_broken || reader.tokens.outline.items.len() >= MOST_ITEMS {
            return Ok(None);
        }
    }
}

impl Reader<'_> {
    fn comment(&mut self, token: Token) {
        let last = self.tokens.row_of(token.end.saturating_sub(1));
        // A comment behind an item is about that item; `//!` is about what is around it.
        let is_inner = matches!(self.tokens.text(token).get(..3), Some(b"//!" | b"/*!"));
        if token.row != self.item_row && !is_inner {
            self.lead.add(token.range(), (offset(token.row), offset(last)), true);
        }
    }

    fn attribute(&mut self, token: Token) {
        let is_inner = self.tokens.peek().is(b'!');
        if is_inner {
            self.tokens.next();
        }
        if !self.tokens.peek().is(b'[') {
            return;
        }
        let open = self.tokens.code();
        let end = self.skip(open);
        let rows = (offset(token.row), offset(end.row));
        if is_inner {
            let item = self.push(ItemKind::Statement, token, None);
            self.finish(item, end, end);
        } else {
            self.lead.add(token.range().start..offset(end.end), rows, false);
        }
    }

    /// Reads up to the bracket that closes this one, and gives it.
    pub(super) fn skip(&mut self, open: Token) -> Token {
        let depth = self.tokens.depth - 1;
        let mut last = open;
        while self.tokens.depth > depth {
            let token = self.tokens.code();
            if token.kind == Kind::End {
                self.is_broken = true;
                break;
            }
            last = token;
        }
        last
    }

    /// The end of a container.
    fn close(&mut self, token: Token) {
        let Some(container) = self.containers.pop() else {
            self.is_broken = true;
            return;
        };
        if container.scope {
            self.scopes.pop();
        }
        let item = &mut self.tokens.outline.items[container.item];
        (item.bytes.end, item.last_row) = (offset(token.end), offset(token.row));
        self.item_row = token.row;
        self.lead = Lead::default();
        // Containers are only ever opened by braces; anything else here means that an item was misread.
        self.is_broken |= !token.is(b'}') || self.tokens.depth != container.depth;
    }

    fn item(&mut self, start: Token) {
        let head = self.head(start);
        let item = self.push(head.kind, start, head.name);
        match head.kind {
            ItemKind::Definition(SymbolKind::Trait) => self.container(item, head.name),
            ItemKind::Definition(SymbolKind::Module) if self.tokens.peek().is(b';') => {
                // The module is another file; here it is only named.
                let module = &mut self.tokens.outline.items[item];
                (module.kind, module.name, module.name_range) = (ItemKind::Import, String::new(), 0..0);
                self.until_semicolon(item);
            }
            ItemKind::Definition(SymbolKind::Module) => self.container(item, None),
            ItemKind::Definition(SymbolKind::Function) => self.function(item, &head),
            ItemKind::Definition(SymbolKind::Constant | SymbolKind::Type) | ItemKind::Import => {
                self.until_semicolon(item);
            }
            ItemKind::Definition(_) => {
                let open = self.read_to_body();
                let end = if open.is(b'{') { self.skip(open) } else { open };
                self.finish(item, open, end);
            }
            ItemKind::Group => self.group(item),
            ItemKind::Statement => self.statement(item, start),
        }
    }

    /// The words up to the name of an item.
    fn head(&mut self, start: Token) -> Head {
        let mut token = start;
        loop {
            let word = if token.kind == Kind::Word { self.tokens.text(token) } else { b"" };
            let next = self.tokens.peek();
            let next_word = if next.kind == Kind::Word { self.tokens.text(next) } else { b"" };
            let define = |kind| (ItemKind::Definition(kind), next.kind == Kind::Word);
            let (kind, is_named) = match word {
                // Some of these are ordinary names elsewhere (`default`, `auto`, `safe`): they count only before a word
                // or a bracket.
                b"pub" | b"default" | b"async" | b"unsafe" | b"safe" | b"auto"
                    if next.kind == Kind::Word || next.is(b'(') =>
                {
                    token = self.tokens.code();
                    if token.is(b'(') {
                        self.skip(token);
                        token = self.tokens.code();
                    }
                    continue;
                }
                b"extern" if next.kind == Kind::Literal => {
                    self.tokens.code();
                    let is_block = self.tokens.peek().is(b'{');
                    if !is_block {
                        token = self.tokens.code();
                        continue;
                    }
                    (ItemKind::Group, false)
                }
                b"extern" if next.is(b'{') => (ItemKind::Group, false),
                b"extern" if next_word == b"fn" => {
                    token = self.tokens.code();
                    continue;
                }
                b"const" if matches!(next_word, b"fn" | b"unsafe" | b"async" | b"extern") => {
                    token = self.tokens.code();
                    continue;
                }
                // `ref` is that of `lazy_static!`.
                b"static" if matches!(next_word, b"mut" | b"ref") => {
                    self.tokens.code();
                    (ItemKind::Definition(SymbolKind::Constant), true)
                }
                b"fn" => define(SymbolKind::Function),
                b"struct" => define(SymbolKind::Struct),
                b"union" if next.kind == Kind::Word => define(SymbolKind::Struct),
                b"enum" => define(SymbolKind::Enum),
                b"trait" => define(SymbolKind::Trait),
                b"type" => define(SymbolKind::Type),
                b"const" | b"static" => define(SymbolKind::Constant),
                b"mod" => define(SymbolKind::Module),
                b"impl" => (ItemKind::Group, false),
                b"use" | b"extern" => (ItemKind::Import, false),
                b"macro_rules" if next.is(b'!') => {
                    self.tokens.code();
                    (ItemKind::Definition(SymbolKind::Function), true)
                }
                _ => (ItemKind::Statement, false),
            };
            let name = if is_named { Some(self.tokens.code()) } else { None };
            // A word that is no name after all: `fn` in the arguments of a macro.
            let kind =
                if is_named && name.is_none_or(|name| name.kind != Kind::Word) { ItemKind::Statement } else { kind };
            return Head { start, kind, name: name.filter(|name| name.kind == Kind::Word) };
        }
    }

    pub(super) fn push(&mut self, kind: ItemKind, start: Token, name: Option<Token>) -> usize {
        let in_type = self.containers.iter().any(|container| container.scope);
        let is_method = in_type && kind == ItemKind::Definition(SymbolKind::Function);
        let kind = if is_method { ItemKind::Definition(SymbolKind::Method) } else { kind };
        let simple = name.map(|name| String::from_utf8_lossy(self.tokens.text(name))).unwrap_or_default();
        let (name_text, qualifier) = if simple.is_empty() {
            (String::new(), 0)
        } else {
            qualify(Language::Rust.definition(), &self.scopes, &simple, true)
        };
        let lead = self.lead.take(offset(start.row));
        let bytes = start.range();
        self.tokens.outline.items.push(Item {
            kind,
            depth: u16::try_from(self.containers.len()).unwrap_or(u16::MAX),
            in_function: false,
            name: name_text,
            qualifier,
            name_range: name.map_or(0..0, Token::range),
            lead: lead.as_ref().map_or(bytes.start, |lead| lead.start),
            lead_row: lead.as_ref().map_or(offset(start.row), |lead| lead.first_row),
            body: bytes.end,
            bytes,
            first_row: offset(start.row),
            last_row: offset(start.row),
            doc: lead.map_or(0..0, |lead| lead.doc),
        });
        self.tokens.outline.items.len() - 1
    }
}
