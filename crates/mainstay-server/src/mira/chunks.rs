//! Output on its way to the caller, piece by piece.

use mainstay_core::{Answer, BoxFuture, Note, OpenQuestions, Quiet, Result, Sink};
use mainstay_wire::{Id, mira};
use tokio::sync::{Mutex, mpsc};

pub(super) struct Chunks {
    id: Id,
    stream: mpsc::Sender<Vec<u8>>,
    /// Held while a piece is sent, so that pieces leave in the order of their numbers.
    next: Mutex<u64>,
}

impl Chunks {
    pub(super) fn new(id: Id, stream: mpsc::Sender<Vec<u8>>) -> Self {
        Self { id, stream, next: Mutex::new(0) }
    }
}

impl Sink for Chunks {
    fn send(&self, note: Note) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            match note {
                Note::Chunk { stream, text } => {
                    let mut next = self.next.lock().await;
                    let _ = self.stream.send(mira::chunk(&self.id, stream, *next, &text).into_bytes()).await;
                    *next += 1;
                }
                // The contract has no word for these.
                Note::Progress { .. } | Note::Log { .. } => {}
            }
        })
    }

    fn ask(&self, asked: OpenQuestions) -> BoxFuture<'_, Result<Vec<Answer>>> {
        Quiet.ask(asked)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[tokio::test]
    async fn pieces_are_numbered_in_the_order_they_leave_and_nothing_else_is_sent() {
        let (stream, mut sent) = mpsc::channel(8);
        let chunks = Chunks::new(Id::null(), stream);
        chunks.send(Note::Progress { done: 1.0, total: None, message: None }).await;
        for text in ["one", "two"] {
            chunks.send(Note::Chunk { stream: "stderr", text: text.into() }).await;
        }
        drop(chunks);
        for (seq, text) in [(0, "one"), (1, "two")] {
            let note: Value = serde_json::from_slice(&sent.recv().await.unwrap()).unwrap();
            assert_eq!(note["params"], json!({"id": null, "stream": "stderr", "seq": seq, "chunk": text}));
        }
        assert!(sent.recv().await.is_none());
    }
}
