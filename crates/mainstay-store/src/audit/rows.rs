//! Audit rows on their way to a page: already in their canonical text, one after the other.
//!
//! The caller's thread encodes, so that what goes to the writer is a few bytes in one buffer and not a dozen texts that
//! another thread has to free one by one.

use super::canonical;
use super::index::Mark;
use crate::{AuditEntry, Result};

/// Several rows in one buffer.
#[derive(Default)]
pub(crate) struct EncodedRows {
    bytes: Vec<u8>,
    spans: Vec<Span>,
}

/// How long a row is, and what it is indexed by.
#[derive(Clone, Copy)]
struct Span {
    length: usize,
    principal: Mark,
    session: Option<Mark>,
}

/// One of them.
#[derive(Clone, Copy)]
pub(super) struct EncodedRow<'a> {
    pub(super) canonical: &'a [u8],
    pub(super) principal: Mark,
    pub(super) session: Option<Mark>,
}

impl EncodedRows {
    pub(crate) fn push(&mut self, entry: &AuditEntry) -> Result<()> {
        let start = self.bytes.len();
        canonical::encode(entry, &mut self.bytes).inspect_err(|_| self.bytes.truncate(start))?;
        self.spans.push(Span {
            length: self.bytes.len() - start,
            principal: Mark::principal(canonical::cut(&entry.principal)),
            session: entry.session.as_deref().map(canonical::cut).map(Mark::session),
        });
        Ok(())
    }

    pub(crate) fn append(&mut self, mut other: Self) {
        if self.is_empty() {
            *self = other;
        } else {
            self.bytes.append(&mut other.bytes);
            self.spans.append(&mut other.spans);
        }
    }

    pub(crate) const fn len(&self) -> usize {
        self.spans.len()
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Removes the first `count`.
    pub(crate) fn skip(&mut self, count: usize) {
        let bytes: usize = self.spans.drain(..count.min(self.spans.len())).map(|span| span.length).sum();
        self.bytes.drain(..bytes);
    }

    /// Removes everything after the first `count`.
    pub(crate) fn truncate(&mut self, count: usize) {
        self.spans.truncate(count);
        self.bytes.truncate(self.spans.iter().map(|span| span.length).sum());
    }

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = EncodedRow<'_>> {
        let mut rest = self.bytes.as_slice();
        self.spans.iter().map(move |span| {
            let (canonical, after) = rest.split_at(span.length);
            rest = after;
            EncodedRow { canonical, principal: span.principal, session: span.session }
        })
    }
}
