//! The newest paths first. Every file is looked at, and one page of them is kept.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Mutex, PoisonError};

use mainstay_core::Result;
use mainstay_sandbox::Dir;

use super::{Args, ByPath, Found, Output};
use crate::files::page::{self, Of};
use crate::files::walk::{Globs, Pile, Seen, Stop, Visit, Walk};

/// The newest first; of those that are equally old, by path.
type Age = (Time, Found);

type Time = Reverse<(i64, u32)>;

/// Keeps the newest of all, and no more than one page of them.
struct ByTime {
    filter: ByPath,
    since: Option<(Time, Vec<u8>)>,
    most: usize,
    newest: Mutex<BinaryHeap<Age>>,
}

impl Visit for ByTime {
    type Kit = ();
    /// The heap keeps what is found.
    type Catch = Pile<Found>;
    const SHARED: bool = true;

    fn kit(&self) {}

    fn wants(&self, seen: &Seen<'_>) -> bool {
        self.filter.wants(seen)
    }

    fn enters(&self, seen: &Seen<'_>) -> bool {
        self.filter.enters(seen)
    }

    fn visit(&self, _kit: &mut (), seen: &Seen<'_>, _stop: &Stop, _caught: &mut Pile<Found>) {
        // What has gone since the directory was read is not found.
        let Ok(facts) = seen.directory.metadata(&seen.entry.name) else { return };
        let age = (Reverse(facts.modified), Found::of(seen));
        if self.since.as_ref().is_some_and(|(time, path)| (&age.0, &age.1.path) <= (time, path)) {
            return;
        }
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        newest.push(age);
        if newest.len() > self.most {
            newest.pop();
        }
    }
}

pub(super) fn page_of(args: &Args, start: Dir, globs: Globs, walk: &Walk) -> Result<Output> {
    let since = args.cursor.as_deref().map(read_time_cursor).transpose()?;
    let filter = ByPath { globs, wanted: args.kind };
    let visit = ByTime { filter, since, most: walk.size.items + 1, newest: Mutex::default() };
    let (_, unread) = walk.run(start, &visit)?.into_parts();
    let newest = visit.newest.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut found = newest.into_sorted_vec();
    let more = walk.size.cut(&mut found, |(_, found)| found.bytes());
    let last = found.last().filter(|_| more);
    let next_cursor = last.map(|(Reverse((seconds, nanos)), found)| {
        page::encode(Of::GlobByTime, &[seconds.to_string().as_bytes(), nanos.to_string().as_bytes(), &found.path])
    });
    let paths = found.into_iter().map(|(_, found)| found.shown).collect();
    Ok(Output { paths, next_cursor, unread })
}

fn read_time_cursor(cursor: &str) -> Result<(Time, Vec<u8>)> {
    let mut parts = page::decode(Of::GlobByTime, cursor, 3)?;
    let path = parts.pop().unwrap_or_default();
    Ok((Reverse((page::number(&parts[0], cursor)?, page::number(&parts[1], cursor)?)), path))
}
