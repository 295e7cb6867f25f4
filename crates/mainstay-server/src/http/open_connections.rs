//! The connections a listener has open, and how they are told to end.

use mainstay_core::CancellationToken;
use tokio_util::task::TaskTracker;

/// Shared by all listeners of a server, and by WebSockets, which outlive their HTTP connection.
#[derive(Clone, Default)]
pub(crate) struct OpenConnections {
    /// Finished when the last connection is closed.
    pub(crate) tasks: TaskTracker,
    /// Cancelled when no further request is read.
    pub(crate) closing: CancellationToken,
    /// Cancelled when streams end, which would otherwise stay open for ever.
    pub(crate) streams: CancellationToken,
}
