//! Source code cut along its definitions.
//!
//! A file is a region of items. Long items are chunks of their own, and one that is too long becomes a region in turn;
//! short neighbours are merged, because a chunk of one constant has too few words to be ranked by.

use mainstay_code::{Item, ItemKind, Outline, SymbolKind};

use super::block::{Subject, Writer};
use super::lines::Lines;
use super::split::{fits, levels_of_text, split};
use super::{Chunk, ChunkKind};

/// Short neighbours become one chunk up to this size.
/// Less than a chunk may have: a vector is the sum of its tokens, and that of many small things is near none of them.
const BLOCK_BYTES: usize = 1200;
const BLOCK_LINES: u32 = 40;

/// Code of this size is worth no chunk of its own beside others of that size.
const SHORT_BYTES: usize = 300;
const SHORT_LINES: u32 = 3;

/// A field of this size still belongs to the head of its type.
const FIELD_BYTES: usize = 900;
const FIELD_LINES: u32 = 25;

/// A function inside of a long function is a chunk of its own from this size on.
const INNER_LINES: u32 = 8;

/// Items nested deeper are not told apart: code is not written so, and the stack of a thread is limited.
const MOST_NESTING: u32 = 32;

/// Cuts lines without syntax into windows.
pub(super) fn windows(lines: Lines<'_>) -> Vec<Chunk> {
    let mut writer = Writer::new(lines);
    let levels = levels_of_text(lines);
    let subject = Subject { kind: Some(ChunkKind::Window), ..Subject::default() };
    if let Some((first, end)) = lines.trim(0, lines.count()) {
        add_parts(&mut writer, &levels, (first, end), &subject);
    }
    // Each window stands for itself.
    writer.chunks.iter_mut().for_each(|chunk| chunk.part = 0);
    writer.chunks
}

pub(super) fn code(lines: Lines<'_>, outline: &Outline) -> Vec<Chunk> {
    let mut cutter = Cutter { writer: Writer::new(lines), lines, outline };
    let file = Region { owner: None, rows: (0, lines.count()), items: (0, outline.items.len()), nesting: 0 };
    cutter.region(&file);
    cutter.writer.chunks
}

fn add_parts(writer: &mut Writer<'_>, levels: &[u16], (first, end): (u32, u32), subject: &Subject<'_>) -> u16 {
    let starts = split(writer.lines, levels, first, end);
    let mut part = 0;
    for (index, start) in starts.iter().enumerate() {
        let end = starts.get(index + 1).copied().unwrap_or(end);
        writer.add(*start, end, part, subject);
        part += 1;
    }
    part
}

/// Rows with items: a file, or what is inside of an item.
struct Region {
    owner: Option<usize>,
    rows: (u32, u32),
    items: (usize, usize),
    nesting: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Size {
    Import,
    Short,
    Long,
    /// No item: what is between items, or the head of what is around them.
    Gap,
}

/// Consecutive rows that stay together.
#[derive(Clone, Copy, Debug)]
struct Piece {
    rows: (u32, u32),
    size: Size,
    item: Option<usize>,
    /// The items after the first one, if it has children.
    end: usize,
    /// Whether it defines more than one thing.
    is_mixed: bool,
}

struct Cutter<'a> {
    writer: Writer<'a>,
    lines: Lines<'a>,
    outline: &'a Outline,
}

impl Cutter<'_> {
    fn region(&mut self, region: &Region) {
        let mut pending: Option<Piece> = None;
        let mut part = 0;
        for piece in self.pieces(region) {
            // Short pieces are held back until it is known whether the next one joins them.
            let before = pending.take();
            if piece.size == Size::Long {
                let from = match before {
                    Some(before) if self.is_attached(&before, region) => before.rows.0,
                    Some(before) => {
                        self.block(&before, region, &mut part);
                        piece.rows.0
                    }
                    None => piece.rows.0,
                };
                self.long(&piece, from, region);
                continue;
            }
            let merged = before.and_then(|before| self.merged(&before, &piece, region));
            if let (Some(before), None) = (before, merged) {
                self.block(&before, region, &mut part);
            }
            pending = merged.or(Some(piece));
        }
        if let Some(before) = pending {
            self.block(&before, region, &mut part);
        }
    }

    /// The items of a region and what is between them.
    fn pieces(&self, region: &Region) -> Vec<Piece> {
        let (mut row, end) = region.rows;
        let mut pieces: Vec<Piece> = Vec::new();
        let in_function = region.owner.is_some_and(|owner| self.outline.items[owner].is_function());
        let in_type = region.owner.is_some_and(|owner| is_type(&self.outline.items[owner]));
        let mut index = region.items.0;
        while index < region.items.1 {
            let item = &self.outline.items[index];
            let after = self.after(index, region.items.1);
            // A short item inside of a function is read with the function.
            let is_inner = in_function && item.last_row - item.first_row < INNER_LINES;
            let rows = (item.lead_row.max(region.rows.0), (item.last_row + 1).min(end));
            // What ends in a line that is already taken would overlap the piece before it.
            if is_inner || rows.1 <= row || rows.0 >= end {
                index = after;
                continue;
            }
            if rows.0 < row {
                // It begins in the line in which the last one ends.
                if let Some(last) = pieces.last_mut() {
                    (last.rows.1, last.is_mixed, last.end) = (rows.1, true, after);
                    last.size = if last.size == Size::Long { Size::Long } else { self.size(item, last.rows, in_type) };
                }
            } else {
                self.gap(row, rows.0, &mut pieces);
                let size = self.size(item, rows, in_type);
                pieces.push(Piece { rows, size, item: Some(index), end: after, is_mixed: false });
            }
            (row, index) = (rows.1.max(row), after);
        }
        self.gap(row, end, &mut pieces);
        pieces
    }

    /// The first item that is not inside of this one.
    fn after(&self, index: usize, end: usize) -> usize {
        let depth = self.outline.items[index].depth;
        let inside = self.outline.items[index + 1..end].iter().take_while(|item| item.depth > depth);
        index + 1 + inside.count()
    }

    fn gap(&self, first: u32, end: u32, pieces: &mut Vec<Piece>) {
        if let Some(rows) = self.lines.trim(first, end) {
            pieces.push(Piece { rows, size: Size::Gap, item: None, end: 0, is_mixed: false });
        }
    }

    fn size(&self, item: &Item, rows: (u32, u32), in_type: bool) -> Size {
        let (lines, bytes) = (item.last_row - item.first_row, self.lines.bytes(rows.0, rows.1));
        let is_value = matches!(item.kind, ItemKind::Definition(SymbolKind::Constant) | ItemKind::Statement);
        let is_short = lines < SHORT_LINES && bytes <= SHORT_BYTES;
        let is_field = in_type && is_value && lines < FIELD_LINES && bytes <= FIELD_BYTES;
        match item.kind {
            ItemKind::Import => Size::Import,
            _ if is_field => Size::Short,
            // Who documents something wants it to be found.
            _ if is_short && (is_value || item.doc.is_empty()) => Size::Short,
            ItemKind::Definition(_) | ItemKind::Group | ItemKind::Statement => Size::Long,
        }
    }

    /// Two short pieces as one, if they belong together.
    fn merged(&self, first: &Piece, second: &Piece, region: &Region) -> Option<Piece> {
        let is_import = |piece: &Piece| piece.size == Size::Import;
        let may_join = is_import(first) == is_import(second) || first.size == Size::Gap || second.size == Size::Gap;
        let rows = (first.rows.0, second.rows.1);
        let is_head = self.is_head(first, region);
        let has_room = if is_head {
            fits(self.lines, rows.0, rows.1)
        } else {
            rows.1 - rows.0 <= BLOCK_LINES && self.lines.bytes(rows.0, rows.1) <= BLOCK_BYTES
        };
        // The head of a type has its fields, and not its methods.
        let is_function = second.item.is_some_and(|item| self.outline.items[item].is_function());
        if !may_join || !has_room || (is_head && is_function) {
            return None;
        }
        let defines =
            |piece: &Piece| piece.item.filter(|item| matches!(self.outline.items[*item].kind, ItemKind::Definition(_)));
        let size = if is_import(first) || is_import(second) { Size::Import } else { Size::Short };
        Some(Piece {
            rows,
            size,
            item: if is_head { None } else { defines(first).or(defines(second)).or(first.item).or(second.item) },
            end: second.end,
            is_mixed: first.is_mixed || second.is_mixed || (defines(first).is_some() && defines(second).is_some()),
        })
    }

    /// Whether what stands before a definition is too little for a chunk: a comment, `#ifdef`, `impl Stack {`.
    fn is_attached(&self, before: &Piece, region: &Region) -> bool {
        let is_little = before.item.is_none() && before.rows.1 - before.rows.0 <= SHORT_LINES;
        is_little && !self.is_head(before, region)
    }

    /// Whether a piece is the head of a type or function that is cut: its comment, its signature, its fields.
    fn is_head(&self, piece: &Piece, region: &Region) -> bool {
        let owner = region.owner.map(|owner| &self.outline.items[owner]);
        piece.item.is_none()
            && piece.rows.0 <= region.rows.0
            && owner.is_some_and(|owner| is_type(owner) || owner.is_function())
    }

    /// A piece of several short ones, or of what is no item.
    fn block(&mut self, piece: &Piece, region: &Region, part: &mut u16) {
        let (first, end) = piece.rows;
        // A chunk of closing brackets alone would match nothing and still be ranked.
        if piece.item.is_none() && (first..end).all(|row| self.lines.is_closing(row)) && self.writer.extend(end) {
            return;
        }
        let owner = region.owner.map(|owner| &self.outline.items[owner]);
        let item = piece.item.filter(|_| !piece.is_mixed).map(|item| &self.outline.items[item]);
        let is_gap = piece.item.is_none();
        let mut subject = match (item, owner) {
            (Some(item), _) if matches!(item.kind, ItemKind::Definition(_)) => subject(item),
            (_, Some(owner)) => {
                let mut subject = subject(owner);
                subject.kind = subject.kind.filter(|_| is_gap || *part == 0);
                subject
            }
            (_, None) => Subject::default(),
        };
        if subject.name.is_empty() {
            subject = Subject { doc: item.map_or(0..0, |item| item.doc.clone()), ..Subject::default() };
        }
        let is_own = item.is_some_and(|item| matches!(item.kind, ItemKind::Definition(_)));
        let levels = &self.outline.levels;
        let starts = split(self.lines, levels, first, end);
        for (index, start) in starts.iter().enumerate() {
            let end = starts.get(index + 1).copied().unwrap_or(end);
            self.writer.add(*start, end, if is_own { 0 } else { *part }, &subject);
            if !is_own && owner.is_some() {
                *part += 1;
            }
        }
    }

    /// A piece that is long enough for chunks of its own, with rows before it that are not.
    fn long(&mut self, piece: &Piece, from: u32, region: &Region) {
        let Some(index) = piece.item else { return };
        let item = &self.outline.items[index];
        let (first, end) = piece.rows;
        let children = (index + 1, piece.end);
        let inner = &self.outline.items[children.0..children.1];
        // Types with methods are cut at a smaller size, so that each method is found by its own name.
        let is_container = !item.is_function() && inner.iter().any(Item::is_function);
        let is_one = if is_container {
            end - first <= BLOCK_LINES && self.lines.bytes(first, end) <= BLOCK_BYTES
        } else {
            fits(self.lines, first, end)
        };
        if is_one {
            self.writer.add(from, end, 0, &subject(item));
        } else if !piece.is_mixed && children.0 < children.1 && region.nesting < MOST_NESTING {
            let rows = (from, end);
            self.region(&Region { owner: Some(index), rows, items: children, nesting: region.nesting + 1 });
        } else {
            add_parts(&mut self.writer, &self.outline.levels, (from, end), &subject(item));
        }
    }
}

fn is_type(item: &Item) -> bool {
    match item.kind {
        ItemKind::Definition(kind) => {
            !matches!(kind, SymbolKind::Function | SymbolKind::Method | SymbolKind::Constant | SymbolKind::Module)
        }
        ItemKind::Group | ItemKind::Import | ItemKind::Statement => false,
    }
}

/// What a chunk of an item is about.
fn subject(item: &Item) -> Subject<'_> {
    let kind = match item.kind {
        ItemKind::Definition(SymbolKind::Function) => ChunkKind::Function,
        ItemKind::Definition(SymbolKind::Method) => ChunkKind::Method,
        ItemKind::Definition(SymbolKind::Constant | SymbolKind::Module) => ChunkKind::Block,
        ItemKind::Definition(_) => ChunkKind::Type,
        ItemKind::Group if !item.name.is_empty() => ChunkKind::Type,
        ItemKind::Group | ItemKind::Import | ItemKind::Statement => ChunkKind::Block,
    };
    let signature = if matches!(item.kind, ItemKind::Definition(_)) || !item.name.is_empty() {
        item.bytes.start..item.body
    } else {
        0..0
    };
    Subject { kind: Some(kind), name: &item.name, qualifier: item.qualifier, doc: item.doc.clone(), signature }
}
