//! What every storage operation works with.

use crate::sql::Readers;
use crate::writer::Writer;

/// Reads go to a connection of the pool and never wait for a write; whatever changes something goes through the writer.
pub(crate) struct Database {
    pub(crate) readers: Readers,
    pub(crate) writer: Writer,
}
