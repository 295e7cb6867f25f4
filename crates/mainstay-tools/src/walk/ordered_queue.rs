//! A queue of tasks that several threads work on, with results in the order of the tasks' keys and not of the threads.
//!
//! The first waiting task is always taken first, so results come nearly in order. As soon as there are enough of them
//! for a page, everything behind the page is dropped and what runs there is told to stop.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::page::PageLimits;
use super::visitor::Collected;

/// The position of a task in the tree: at each level the position of the entry in its directory. Compared level by level,
/// which is the order of the paths.
pub(crate) type Key = Vec<u32>;

/// Tasks of type `T` whose results are items of type `I`.
pub(crate) struct OrderedQueue<T, I> {
    state: Mutex<State<T, I>>,
    changed: Condvar,
    limits: PageLimits,
}

struct State<T, I> {
    waiting: BTreeMap<Key, T>,
    /// The tasks that threads work on, each with the flag that tells it to stop.
    running: BTreeMap<Key, Arc<AtomicBool>>,
    /// Results that cannot be collected yet, because a task before them is not done.
    ahead: BTreeMap<Key, Collected<I>>,
    ahead_items: usize,
    ahead_bytes: usize,
    collected: Collected<I>,
    /// Nothing behind this key is needed any more.
    end: Option<Key>,
    /// Threads that wait for a task.
    sleeping: usize,
}

impl<T, I> OrderedQueue<T, I> {
    pub(crate) fn new(first: T, limits: PageLimits) -> Self {
        let state = State {
            waiting: BTreeMap::from([(Key::new(), first)]),
            running: BTreeMap::new(),
            ahead: BTreeMap::new(),
            ahead_items: 0,
            ahead_bytes: 0,
            collected: Collected::default(),
            end: None,
            sleeping: 0,
        };
        Self { state: Mutex::new(state), changed: Condvar::new(), limits }
    }

    fn state(&self) -> MutexGuard<'_, State<T, I>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first waiting task. Waits while other threads may still add tasks; `None` when all is done.
    pub(crate) fn next(&self) -> Option<(T, Slot<'_, T, I>)> {
        let mut state = self.state();
        loop {
            if let Some((key, task)) = state.waiting.pop_first() {
                let stop = Arc::new(AtomicBool::new(false));
                state.running.insert(key.clone(), stop.clone());
                let slot = Slot { queue: self, key, stop, tasks: Vec::new(), results: Vec::new() };
                return Some((task, slot));
            }
            if state.running.is_empty() {
                return None;
            }
            // Another thread works on a task that may split into more.
            state.sleeping += 1;
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.sleeping -= 1;
        }
    }

    /// How many tasks wait: whether another thread would have something to do.
    pub(crate) fn waiting(&self) -> usize {
        self.state().waiting.len()
    }

    /// Drops every waiting task and tells the running ones to stop.
    pub(crate) fn abandon(&self) {
        self.state().drop_after(Key::new());
        self.changed.notify_all();
    }

    pub(crate) fn into_collected(self) -> Collected<I> {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner).collected
    }

    /// Takes over what came of a task, and drops what it made superfluous.
    fn finish(&self, key: &Key, tasks: Vec<(Key, T)>, results: Vec<(Key, Collected<I>)>) {
        let mut state = self.state();
        // First, so that its own results are not held back by it.
        state.running.remove(key);
        for (key, task) in tasks {
            if !state.is_dropped(&key) {
                state.waiting.insert(key, task);
            }
        }
        for (key, result) in results {
            if !state.is_dropped(&key) {
                state.ahead_items += result.items;
                state.ahead_bytes += result.bytes;
                state.ahead.insert(key, result);
            }
        }
        state.collect_ready();
        let items = state.collected.items + state.ahead_items;
        let bytes = state.collected.bytes + state.ahead_bytes;
        if self.limits.exceeded(items, bytes) {
            state.cut_at_limits(self.limits);
        }
        // A notification is a system call, even if nobody sleeps, and in most walks most tasks are short.
        let wakes = state.sleeping > 0 && (!state.waiting.is_empty() || state.running.is_empty());
        drop(state);
        if wakes {
            self.changed.notify_all();
        }
    }
}

impl<T, I> State<T, I> {
    /// Whether a key is behind the end of the page.
    fn is_dropped(&self, key: &Key) -> bool {
        self.end.as_ref().is_some_and(|end| key > end)
    }

    /// Collects the results that no unfinished task comes before.
    fn collect_ready(&mut self) {
        let first = [self.waiting.keys().next(), self.running.keys().next()].into_iter().flatten().min().cloned();
        while let Some(next) = self.ahead.first_entry() {
            if first.as_ref().is_some_and(|first| next.key() >= first) {
                break;
            }
            let result = next.remove();
            self.ahead_items -= result.items;
            self.ahead_bytes -= result.bytes;
            self.collected.append(result);
        }
    }

    /// Finds the key with which the page is full, and drops everything behind it.
    fn cut_at_limits(&mut self, limits: PageLimits) {
        let (mut items, mut bytes) = (self.collected.items, self.collected.bytes);
        if limits.exceeded(items, bytes) {
            return self.drop_after(Key::new());
        }
        let full = self.ahead.iter().find(|(_, result)| {
            items += result.items;
            bytes += result.bytes;
            limits.exceeded(items, bytes)
        });
        if let Some(end) = full.map(|(key, _)| key.clone()) {
            self.drop_after(end);
        }
    }

    /// Drops everything after a key, and makes sure that nothing more is added there.
    fn drop_after(&mut self, end: Key) {
        self.waiting.retain(|key, _| *key <= end);
        self.ahead.retain(|key, _| *key <= end);
        self.ahead_items = self.ahead.values().map(|result| result.items).sum();
        self.ahead_bytes = self.ahead.values().map(|result| result.bytes).sum();
        for (_, stop) in self.running.iter().filter(|(key, _)| **key > end) {
            stop.store(true, Ordering::Relaxed);
        }
        self.end = Some(end);
    }
}

/// A running task, and what comes of it. Dropping it finishes the task, also one that panicked: the other threads would
/// wait for it forever.
pub(crate) struct Slot<'a, T, I> {
    queue: &'a OrderedQueue<T, I>,
    pub(crate) key: Key,
    /// Set once the result is not needed any more.
    pub(crate) stop: Arc<AtomicBool>,
    /// The tasks that this one splits into.
    pub(crate) tasks: Vec<(Key, T)>,
    pub(crate) results: Vec<(Key, Collected<I>)>,
}

impl<T, I> Drop for Slot<'_, T, I> {
    fn drop(&mut self) {
        self.queue.finish(&self.key, std::mem::take(&mut self.tasks), std::mem::take(&mut self.results));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type TestQueue = OrderedQueue<char, u32>;

    fn queue(items: usize) -> TestQueue {
        OrderedQueue::new('r', PageLimits { items, bytes: usize::MAX })
    }

    fn finish(mut slot: Slot<'_, char, u32>, tasks: &[(&[u32], char)], results: &[(&[u32], &[u32])]) {
        slot.tasks.extend(tasks.iter().map(|(key, task)| (key.to_vec(), *task)));
        for (key, list) in results {
            let collected = Collected { list: list.to_vec(), items: list.len(), ..Collected::default() };
            slot.results.push((key.to_vec(), collected));
        }
    }

    /// The first task splits into three.
    fn split(queue: &TestQueue) {
        let (_, root) = queue.next().unwrap();
        finish(root, &[(&[0], 'a'), (&[1], 'b'), (&[2], 'c')], &[]);
    }

    #[test]
    fn results_come_in_key_order_whichever_task_finishes_first() {
        let queue = queue(100);
        split(&queue);
        let [a, b, c] = [(); 3].map(|()| queue.next().unwrap().1);
        for (slot, result) in [(c, 3), (a, 1), (b, 2)] {
            let key = slot.key.clone();
            finish(slot, &[], &[(&key, &[result])]);
        }
        assert!(queue.next().is_none());
        assert_eq!(queue.into_collected().list, [1, 2, 3]);
    }

    #[test]
    fn tasks_behind_a_full_page_are_dropped_and_stopped() {
        let queue = queue(1);
        split(&queue);
        let [a, b, c] = [(); 3].map(|()| queue.next().unwrap().1);
        let stopped = c.stop.clone();
        finish(b, &[(&[1, 0], 'd')], &[(&[1], &[7, 8])]);
        assert!(stopped.load(Ordering::Relaxed), "two results fill the page, though others may still come before them");
        finish(c, &[], &[(&[2], &[9])]);
        finish(a, &[(&[0, 0], 'e')], &[]);
        let (task, before) = queue.next().unwrap();
        assert_eq!(task, 'e', "it lies before the end");
        finish(before, &[], &[(&[0, 0], &[6])]);
        assert!(queue.next().is_none());
        assert_eq!(queue.into_collected().list, [6, 7, 8]);
    }

    #[test]
    fn a_task_that_panics_does_not_block_the_queue() {
        let queue = queue(10);
        drop(queue.next().unwrap());
        assert!(queue.next().is_none());
    }
}
