//! Work that is shared among threads, and whose results come out in the order of the tree whatever the threads do.
//!
//! Every task has a key that says where it lies in that order. The first task that waits is always taken first, so
//! results come nearly in order, and as soon as there are enough of them everything that lies behind is dropped.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::Catch;
use crate::files::page::Size;

/// The way from the start, by the positions of the entries.
pub(super) type Key = Vec<u32>;

pub(super) struct Board<T, C> {
    state: Mutex<State<T, C>>,
    changed: Condvar,
    size: Size,
}

struct State<T, C> {
    waiting: BTreeMap<Key, T>,
    running: BTreeMap<Key, Arc<AtomicBool>>,
    /// Results that cannot be told yet: something before them is not done.
    ahead: BTreeMap<Key, C>,
    ahead_items: usize,
    ahead_bytes: usize,
    caught: C,
    /// Nothing behind this is needed.
    end: Option<Key>,
}

impl<T, C: Catch> Board<T, C> {
    pub(super) fn new(first: T, size: Size) -> Self {
        let state = State {
            waiting: BTreeMap::from([(Key::new(), first)]),
            running: BTreeMap::new(),
            ahead: BTreeMap::new(),
            ahead_items: 0,
            ahead_bytes: 0,
            caught: C::default(),
            end: None,
        };
        Self { state: Mutex::new(state), changed: Condvar::new(), size }
    }

    fn state(&self) -> MutexGuard<'_, State<T, C>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first task that waits; `None` when all is done.
    pub(super) fn next(&self) -> Option<Turn<'_, T, C>> {
        let mut state = self.state();
        loop {
            if let Some((key, task)) = state.waiting.pop_first() {
                let stop = Arc::new(AtomicBool::new(false));
                state.running.insert(key.clone(), stop.clone());
                return Some(Turn { board: self, key, task: Some(task), stop, finished: false });
            }
            if state.running.is_empty() {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(super) fn waiting(&self) -> usize {
        self.state().waiting.len()
    }

    /// Drops what waits; what runs is told to stop.
    pub(super) fn abandon(&self) {
        self.state().drop_after(Key::new());
        self.changed.notify_all();
    }

    pub(super) fn into_caught(self) -> C {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner).caught
    }

    fn finish(&self, key: &Key, tasks: Vec<(Key, T)>, results: Vec<(Key, C)>) {
        let mut state = self.state();
        state.running.remove(key);
        for (key, task) in tasks {
            if !state.is_behind(&key) {
                state.waiting.insert(key, task);
            }
        }
        for (key, result) in results {
            if !state.is_behind(&key) {
                state.ahead_items += result.items();
                state.ahead_bytes += result.bytes();
                state.ahead.insert(key, result);
            }
        }
        state.release();
        if self.size.exceeded(state.caught.items() + state.ahead_items, state.caught.bytes() + state.ahead_bytes) {
            state.limit(self.size);
        }
        drop(state);
        self.changed.notify_all();
    }
}

impl<T, C: Catch> State<T, C> {
    fn is_behind(&self, key: &Key) -> bool {
        self.end.as_ref().is_some_and(|end| key > end)
    }

    /// Moves over the results that nothing comes before any more.
    fn release(&mut self) {
        let first = [self.waiting.keys().next(), self.running.keys().next()].into_iter().flatten().min().cloned();
        while let Some(next) = self.ahead.first_entry() {
            if first.as_ref().is_some_and(|first| next.key() >= first) {
                break;
            }
            let result = next.remove();
            self.ahead_items -= result.items();
            self.ahead_bytes -= result.bytes();
            self.caught.append(result);
        }
    }

    /// Finds where the page is full, and drops all that lies behind.
    fn limit(&mut self, size: Size) {
        let (mut items, mut bytes) = (self.caught.items(), self.caught.bytes());
        if size.exceeded(items, bytes) {
            return self.drop_after(Key::new());
        }
        let full = self.ahead.iter().find(|(_, result)| {
            items += result.items();
            bytes += result.bytes();
            size.exceeded(items, bytes)
        });
        if let Some(end) = full.map(|(key, _)| key.clone()) {
            self.drop_after(end);
        }
    }

    fn drop_after(&mut self, end: Key) {
        self.waiting.retain(|key, _| *key <= end);
        self.ahead.retain(|key, _| *key <= end);
        self.ahead_items = self.ahead.values().map(Catch::items).sum();
        self.ahead_bytes = self.ahead.values().map(Catch::bytes).sum();
        for (_, stop) in self.running.iter().filter(|(key, _)| **key > end) {
            stop.store(true, Ordering::Relaxed);
        }
        self.end = Some(end);
    }
}

/// A task that is being done. If the thread falls over it, the others are not left waiting for it.
pub(super) struct Turn<'a, T, C: Catch> {
    board: &'a Board<T, C>,
    pub(super) key: Key,
    task: Option<T>,
    stop: Arc<AtomicBool>,
    finished: bool,
}

impl<T, C: Catch> Turn<'_, T, C> {
    pub(super) fn take(&mut self) -> Option<T> {
        self.task.take()
    }

    /// Set when the result is not needed any more.
    pub(super) fn stop(&self) -> Arc<AtomicBool> {
        self.stop.clone()
    }

    pub(super) fn finish(mut self, tasks: Vec<(Key, T)>, results: Vec<(Key, C)>) {
        self.finished = true;
        self.board.finish(&self.key, tasks, results);
    }
}

impl<T, C: Catch> Drop for Turn<'_, T, C> {
    fn drop(&mut self) {
        if !self.finished {
            self.board.finish(&self.key, Vec::new(), Vec::new());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Catch for Vec<u32> {
        fn items(&self) -> usize {
            self.len()
        }

        fn bytes(&self) -> usize {
            0
        }

        fn append(&mut self, later: Self) {
            self.extend(later);
        }
    }

    fn board(items: usize) -> Board<char, Vec<u32>> {
        Board::new('r', Size { items, bytes: usize::MAX })
    }

    /// The first task splits into three.
    fn split(board: &Board<char, Vec<u32>>) {
        let root = board.next().unwrap();
        root.finish(vec![(vec![0], 'a'), (vec![1], 'b'), (vec![2], 'c')], Vec::new());
    }

    #[test]
    fn results_come_in_order_whoever_is_first() {
        let board = board(100);
        split(&board);
        let (a, b, c) = (board.next().unwrap(), board.next().unwrap(), board.next().unwrap());
        for (turn, result) in [(c, 3), (a, 1), (b, 2)] {
            let key = turn.key.clone();
            turn.finish(Vec::new(), vec![(key, vec![result])]);
        }
        assert!(board.next().is_none());
        assert_eq!(board.into_caught(), [1, 2, 3]);
    }

    #[test]
    fn what_lies_behind_a_full_page_is_dropped_and_what_runs_there_is_stopped() {
        let board = board(1);
        split(&board);
        let (a, b, c) = (board.next().unwrap(), board.next().unwrap(), board.next().unwrap());
        let stopped = c.stop();
        b.finish(vec![(vec![1, 0], 'd')], vec![(vec![1], vec![7, 8])]);
        assert!(stopped.load(Ordering::Relaxed), "two results are enough, but for what may come before them");
        c.finish(Vec::new(), vec![(vec![2], vec![9])]);
        a.finish(vec![(vec![0, 0], 'e')], Vec::new());
        let mut before = board.next().unwrap();
        assert_eq!(before.take(), Some('e'), "it lies before the end");
        before.finish(Vec::new(), vec![(vec![0, 0], vec![6])]);
        assert!(board.next().is_none());
        assert_eq!(board.into_caught(), [6, 7, 8]);
    }

    #[test]
    fn a_thread_that_falls_over_its_task_holds_nobody_up() {
        let board = board(10);
        drop(board.next().unwrap());
        assert!(board.next().is_none());
    }
}
