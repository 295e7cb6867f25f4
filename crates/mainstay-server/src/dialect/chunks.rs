//! Output of a running call on its way to the client, chunk by chunk.

use std::sync::Arc;

use mainstay_core::{Answer, BoxFuture, NoSink, Note, OpenQuestions, Result, Sink};
use mainstay_wire::{Dialect, Id};
use tokio::sync::{Mutex, mpsc};

use crate::memory_limit::Counted;

/// The sink of a call whose client wants output while it runs; it sends nothing else, and cannot ask.
pub(super) struct Chunks {
    dialect: Arc<dyn Dialect>,
    id: Id,
    stream: mpsc::Sender<Counted<Vec<u8>>>,
    /// The next number. Locked while a chunk is sent, so that chunks are sent in the order of their numbers.
    next: Mutex<u64>,
}

impl Chunks {
    pub(super) fn new(dialect: Arc<dyn Dialect>, id: Id, stream: mpsc::Sender<Counted<Vec<u8>>>) -> Self {
        Self { dialect, id, stream, next: Mutex::new(0) }
    }
}

impl Sink for Chunks {
    fn send(&self, note: Note) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            match note {
                Note::Chunk { stream, text } => {
                    let mut next = self.next.lock().await;
                    if let Some(chunk) = self.dialect.chunk(&self.id, stream, *next, &text) {
                        // Not counted: chunks are short, and the length of the queue bounds them.
                        let _ = self.stream.send(chunk.into()).await;
                        *next += 1;
                    }
                }
                // The dialects have no messages for these.
                Note::Progress { .. } | Note::Log { .. } => {}
            }
        })
    }

    fn ask(&self, open: OpenQuestions) -> BoxFuture<'_, Result<Vec<Answer>>> {
        NoSink.ask(open)
    }
}

#[cfg(test)]
mod tests {
    use mainstay_wire::mira::Mira;
    use serde_json::{Value, json};

    use super::*;

    #[tokio::test]
    async fn pieces_are_numbered_in_the_order_they_leave_and_nothing_else_is_sent() {
        let (stream, mut sent) = mpsc::channel(8);
        let chunks = Chunks::new(Arc::new(Mira::new().unwrap()), Id::null(), stream);
        chunks.send(Note::Progress { done: 1.0, total: None, message: None }).await;
        for text in ["one", "two"] {
            chunks.send(Note::Chunk { stream: "stderr", text: text.into() }).await;
        }
        drop(chunks);
        for (seq, text) in [(0, "one"), (1, "two")] {
            let note: Value = serde_json::from_slice(&sent.recv().await.unwrap().bytes).unwrap();
            assert_eq!(note["params"], json!({"id": null, "stream": "stderr", "seq": seq, "chunk": text}));
        }
        assert!(sent.recv().await.is_none());
    }
}
