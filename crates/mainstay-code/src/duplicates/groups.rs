//! Windows of tokens that occur more than once, extended and collected into groups.

use std::collections::HashSet;

use super::tokens::TokenList;
use super::{CloneGroup, DuplicatesOptions, Place};
use crate::parse::NotMeasured;

/// A group keeps this many places; code that occurs more often is generated.
const MOST_PLACES: usize = 200;
/// The result keeps this many groups, the largest.
const MOST_GROUPS: usize = 5_000;
const WINDOWS_BETWEEN_QUESTIONS: usize = 65_536;

pub(super) fn find(
    list: &TokenList,
    options: DuplicatesOptions,
    wanted: &dyn Fn() -> bool,
) -> Result<Vec<CloneGroup>, NotMeasured> {
    let windows = windows(list, options.min_tokens, wanted)?;
    let mut search = Search { list, width: options.min_tokens, covered: vec![false; list.len()] };
    let mut seen = HashSet::new();
    let mut groups = Vec::new();
    for (number, same) in in_reading_order(&windows).into_iter().enumerate() {
        if number.is_multiple_of(1024) && !wanted() {
            return Err(NotMeasured::Cancelled);
        }
        let Some((places, length)) = search.extend(&windows[same.0..same.1]) else { continue };
        let group = describe(list, &places, length);
        // Extending to the left can lead to a group that was found from its beginning.
        if group.lines >= options.min_lines && seen.insert((places, length)) {
            groups.push(group);
        }
    }
    groups.sort_by(|left, right| {
        let weight = |group: &CloneGroup| group.tokens * (group.places.len() - 1);
        weight(right).cmp(&weight(left)).then_with(|| left.places.cmp(&right.places))
    });
    groups.truncate(MOST_GROUPS);
    Ok(groups)
}

/// A window: the hash of its tokens and where it begins.
type Window = (u64, u32);

/// All windows that lie in one file, sorted by hash and then by place. Windows that occur once are left out.
fn windows(list: &TokenList, width: usize, wanted: &dyn Fn() -> bool) -> Result<Vec<Window>, NotMeasured> {
    const BASE: u64 = 0x0000_0100_0000_01b3;
    // What the oldest token of a window was multiplied by when it leaves.
    let leaving = (1..width).fold(1_u64, |power, _| power.wrapping_mul(BASE));
    let mut windows = Vec::with_capacity(list.len());
    for (file, start) in list.starts.iter().copied().enumerate() {
        let end = list.starts.get(file + 1).copied().unwrap_or(list.len());
        let mut hash = 0_u64;
        for position in start..end {
            if position.is_multiple_of(WINDOWS_BETWEEN_QUESTIONS) && !wanted() {
                return Err(NotMeasured::Cancelled);
            }
            if position >= start + width {
                let oldest = u64::from(list.tokens[position - width].hash) + 1;
                hash = hash.wrapping_sub(oldest.wrapping_mul(leaving));
            }
            hash = hash.wrapping_mul(BASE).wrapping_add(u64::from(list.tokens[position].hash) + 1);
            if position + 1 >= start + width {
                // A finished hash: the sum alone has its information in the low bits.
                let mixed = (hash ^ (hash >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                windows.push((mixed, u32::try_from(position + 1 - width).unwrap_or(u32::MAX)));
            }
        }
    }
    windows.sort_unstable();
    let repeats = |index: usize| {
        let hash = windows[index].0;
        let before = index.checked_sub(1).is_some_and(|before| windows[before].0 == hash);
        before || windows.get(index + 1).is_some_and(|after| after.0 == hash)
    };
    Ok((0..windows.len()).filter(|index| repeats(*index)).map(|index| windows[index]).collect())
}

/// The ranges of equal windows, in the order of their first places.
fn in_reading_order(windows: &[Window]) -> Vec<(usize, usize)> {
    let mut ranges = Vec::new();
    let mut start = 0;
    for same in windows.chunk_by(|left, right| left.0 == right.0) {
        ranges.push((start, start + same.len()));
        start += same.len();
    }
    ranges.sort_unstable_by_key(|range| windows[range.0].1);
    ranges
}

struct Search<'a> {
    list: &'a TokenList,
    width: usize,
    /// Windows whose places were all reported with a group, by where they begin.
    covered: Vec<bool>,
}

impl Search<'_> {
    /// The longest code that all places of a window share: where it begins in each, and how many tokens it has. None if
    /// it belongs to groups that are known.
    fn extend(&mut self, same: &[Window]) -> Option<(Vec<usize>, usize)> {
        let mut places: Vec<usize> = same.iter().take(MOST_PLACES).map(|window| window.1 as usize).collect();
        if places.iter().all(|place| self.covered[*place]) {
            return None;
        }
        places = self.really_equal(&places);
        self.drop_overlaps(&mut places, self.width);
        if places.len() < 2 {
            return None;
        }
        let before = self.common_before(&places);
        for place in &mut places {
            *place -= before;
        }
        let mut length = self.common_length(&places);
        // A repetition that overlaps itself is shared only up to where the next one begins.
        for pair in places.windows(2) {
            if self.list.file_of(pair[0]).0 == self.list.file_of(pair[1]).0 {
                length = length.min(pair[1] - pair[0]);
            }
        }
        for place in &places {
            let last = (place + length + 1).saturating_sub(self.width).max(place + 1);
            self.covered[*place..last.min(self.list.len())].fill(true);
        }
        (length >= self.width).then_some((places, length))
    }

    /// Those places whose tokens are those of the first: equal hashes of windows are only candidates.
    fn really_equal(&self, places: &[usize]) -> Vec<usize> {
        let hashes = |place: usize| self.list.tokens[place..place + self.width].iter().map(|token| token.hash);
        places.iter().copied().filter(|place| hashes(*place).eq(hashes(places[0]))).collect()
    }

    /// Of places in one file that overlap, the first stays.
    fn drop_overlaps(&self, places: &mut Vec<usize>, length: usize) {
        let mut last: Option<usize> = None;
        places.retain(|place| {
            let overlaps = last
                .is_some_and(|last| *place < last + length && self.list.file_of(last).0 == self.list.file_of(*place).0);
            if !overlaps {
                last = Some(*place);
            }
            !overlaps
        });
    }

    /// How many tokens before the places are the same in all of them.
    fn common_before(&self, places: &[usize]) -> usize {
        let starts: Vec<usize> = places.iter().map(|place| self.list.starts[self.list.file_of(*place).0]).collect();
        let agrees = |back: usize| {
            let first = places[0].checked_sub(back).map(|position| self.list.tokens[position].hash);
            first.is_some()
                && places
                    .iter()
                    .zip(&starts)
                    .all(|(place, start)| *place >= start + back && Some(self.list.tokens[place - back].hash) == first)
        };
        (1..=places[0]).take_while(|back| agrees(*back)).count()
    }

    /// How many tokens from the places on are the same in all of them.
    fn common_length(&self, places: &[usize]) -> usize {
        let ends: Vec<usize> = places.iter().map(|place| self.list.file_of(*place).1).collect();
        let agrees = |ahead: usize| {
            let first = self.list.tokens.get(places[0] + ahead).map(|token| token.hash);
            first.is_some()
                && places
                    .iter()
                    .zip(&ends)
                    .all(|(place, end)| place + ahead < *end && Some(self.list.tokens[place + ahead].hash) == first)
        };
        (0..self.list.len()).take_while(|ahead| agrees(*ahead)).count()
    }
}

fn describe(list: &TokenList, places: &[usize], length: usize) -> CloneGroup {
    let places: Vec<Place> = places
        .iter()
        .map(|start| Place {
            file: list.file_of(*start).0,
            start_line: list.tokens[*start].start_line,
            end_line: list.tokens[*start + length.max(1) - 1].end_line,
        })
        .collect();
    let lines = places.iter().map(|place| place.end_line + 1 - place.start_line).max().unwrap_or(0);
    CloneGroup { tokens: length, lines, places }
}
