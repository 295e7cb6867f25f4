//! The event feed behind `/ws`: what happens, in one order for all listeners, now and for an hour afterwards.
//!
//! Calls add their events to a buffer in memory and never wait. One task writes the buffer to the store, which numbers the
//! events and keeps them for an hour; listeners read what the store has numbered. So every replica sends the same events,
//! and a restarted server continues where the last one stopped. Nothing is written while nobody has listened for an hour.

mod event;
mod listener;
mod state;
mod writer;

pub use event::FeedEvent;
pub use listener::{FeedUpdate, Listener};

pub(crate) use event::Called;
pub(crate) use state::Feed;
