//! A client whose person does not answer.

use std::sync::atomic::{AtomicUsize, Ordering};

use mainstay_core::{Answer, BoxFuture, Note, OpenQuestions, Result, Sink};

/// A client that shows every question to somebody who never answers.
#[derive(Default)]
pub(crate) struct SilentClient {
    pub(crate) asked: AtomicUsize,
}

impl Sink for SilentClient {
    fn send(&self, _note: Note) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn ask(&self, _asked: OpenQuestions) -> BoxFuture<'_, Result<Vec<Answer>>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::pending())
    }
}
