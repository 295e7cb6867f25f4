//! The state of a connection that begins with a handshake: what may come next, and what ends it.
//!
//! The states and the first four events are those of contract 004. The contract has no event for a reply that has been
//! made, for the end of the input and for the end of the last call; here they are events of their own, so that every
//! change of state is a row of one table.

use std::fmt;

/// Where a connection is between its first message and its end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ConnectionState {
    /// Nothing but `initialize` is accepted.
    #[default]
    Uninitialized,
    /// `initialize` was accepted. `capabilities`: its reply, which tells them, has been made; requests may follow.
    Initializing { capabilities: bool },
    /// The handshake is complete.
    Ready,
    /// No request is accepted any more. `graceful`: those that run are awaited; otherwise nobody can read their results.
    Shutting { graceful: bool },
    /// Nothing runs and nothing is written any more.
    Closed,
}

/// What happens to a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The request `initialize`.
    Initialize,
    /// The reply to `initialize` has been made.
    Negotiated,
    /// The notification that the client has read the reply, or its first request, which says the same.
    Initialized,
    /// The request `shutdown`.
    Shutdown,
    /// The end of the input, the notification `exit`, or the signal to stop.
    End,
    /// The output cannot be written, or its reader has gone: no response arrives any more.
    Error,
    /// The last call has ended.
    Drained,
}

/// An event that cannot happen in this state. The state stays what it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{event:?} cannot follow in the state {state}")]
pub struct InvalidTransition {
    pub state: ConnectionState,
    pub event: Event,
}

impl ConnectionState {
    /// Changes to the state that follows.
    pub fn transition(&mut self, event: Event) -> Result<(), InvalidTransition> {
        *self = match (*self, event) {
            (Self::Uninitialized, Event::Initialize) => Self::Initializing { capabilities: false },
            (Self::Initializing { capabilities: false }, Event::Negotiated) => {
                Self::Initializing { capabilities: true }
            }
            (Self::Initializing { .. }, Event::Initialized) => Self::Ready,
            (Self::Ready, Event::Shutdown) => Self::Shutting { graceful: true },
            (Self::Uninitialized | Self::Initializing { .. } | Self::Ready, Event::End) => {
                Self::Shutting { graceful: true }
            }
            (_, Event::Error) => Self::Shutting { graceful: false },
            (Self::Shutting { .. }, Event::Drained) => Self::Closed,
            (state, event) => return Err(InvalidTransition { state, event }),
        };
        Ok(())
    }

    /// A request other than `initialize` arrives. The first one after the reply completes the handshake, because the
    /// contract's own clients send no notification in between. Fails where requests are not accepted.
    pub fn request(&mut self) -> Result<(), InvalidTransition> {
        match self {
            Self::Ready => Ok(()),
            Self::Initializing { capabilities: true } => self.transition(Event::Initialized),
            Self::Uninitialized | Self::Initializing { capabilities: false } | Self::Shutting { .. } | Self::Closed => {
                Err(InvalidTransition { state: *self, event: Event::Initialized })
            }
        }
    }

    /// The reply to `initialize` has been made. A dialect that allows a second handshake keeps the state of the first.
    pub fn negotiated(&mut self) {
        if self.transition(Event::Initialize).is_ok() {
            let _ = self.transition(Event::Negotiated);
        }
    }

    /// Whether the connection is about to end.
    pub fn is_shutting(self) -> bool {
        matches!(self, Self::Shutting { .. } | Self::Closed)
    }
}

/// In words, for error messages.
impl fmt::Display for ConnectionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Uninitialized => "not initialized",
            Self::Initializing { .. } => "initializing",
            Self::Ready => "initialized",
            Self::Shutting { .. } => "shutting down",
            Self::Closed => "closed",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::ConnectionState::{Closed, Initializing, Ready, Shutting, Uninitialized};
    use super::*;

    const STATES: [ConnectionState; 7] = [
        Uninitialized,
        Initializing { capabilities: false },
        Initializing { capabilities: true },
        Ready,
        Shutting { graceful: true },
        Shutting { graceful: false },
        Closed,
    ];

    const EVENTS: [Event; 7] = [
        Event::Initialize,
        Event::Negotiated,
        Event::Initialized,
        Event::Shutdown,
        Event::End,
        Event::Error,
        Event::Drained,
    ];

    /// Every state and event that may meet; all other pairs are errors.
    const LEGAL: [(ConnectionState, Event, ConnectionState); 18] = [
        (Uninitialized, Event::Initialize, Initializing { capabilities: false }),
        (Initializing { capabilities: false }, Event::Negotiated, Initializing { capabilities: true }),
        (Initializing { capabilities: false }, Event::Initialized, Ready),
        (Initializing { capabilities: true }, Event::Initialized, Ready),
        (Ready, Event::Shutdown, Shutting { graceful: true }),
        (Uninitialized, Event::End, Shutting { graceful: true }),
        (Initializing { capabilities: false }, Event::End, Shutting { graceful: true }),
        (Initializing { capabilities: true }, Event::End, Shutting { graceful: true }),
        (Ready, Event::End, Shutting { graceful: true }),
        (Uninitialized, Event::Error, Shutting { graceful: false }),
        (Initializing { capabilities: false }, Event::Error, Shutting { graceful: false }),
        (Initializing { capabilities: true }, Event::Error, Shutting { graceful: false }),
        (Ready, Event::Error, Shutting { graceful: false }),
        (Shutting { graceful: true }, Event::Error, Shutting { graceful: false }),
        (Shutting { graceful: false }, Event::Error, Shutting { graceful: false }),
        (Closed, Event::Error, Shutting { graceful: false }),
        (Shutting { graceful: true }, Event::Drained, Closed),
        (Shutting { graceful: false }, Event::Drained, Closed),
    ];

    #[test]
    fn every_pair_of_state_and_event_is_a_row_of_the_table_or_an_error_that_changes_nothing() {
        for from in STATES {
            for event in EVENTS {
                let row = LEGAL.iter().find(|(state, on, _)| (*state, *on) == (from, event));
                let mut state = from;
                match (row, state.transition(event)) {
                    (Some((_, _, to)), Ok(())) => assert_eq!(state, *to, "{from:?} {event:?}"),
                    (None, Err(error)) => {
                        assert_eq!(error, InvalidTransition { state: from, event });
                        assert_eq!(state, from, "{event:?}");
                    }
                    (row, outcome) => panic!("{from:?} {event:?}: {row:?} {outcome:?}"),
                }
            }
        }
    }

    #[test]
    fn a_request_is_accepted_from_the_reply_to_initialize_until_the_shutdown() {
        let accepts = |mut state: ConnectionState| state.request().is_ok();
        let accepted: Vec<_> = STATES.into_iter().filter(|state| accepts(*state)).collect();
        assert_eq!(accepted, [Initializing { capabilities: true }, Ready]);
        let mut state = Initializing { capabilities: true };
        state.request().unwrap();
        assert_eq!(state, Ready, "the first request completes the handshake");
    }

    #[test]
    fn a_handshake_goes_from_the_first_message_to_the_end() {
        let mut state = ConnectionState::default();
        state.negotiated();
        assert_eq!(state, Initializing { capabilities: true });
        for event in [Event::Initialized, Event::Shutdown, Event::Drained] {
            state.transition(event).unwrap();
        }
        assert_eq!(state, Closed);
        for mut state in STATES.into_iter().skip(1) {
            let before = state;
            state.negotiated();
            assert_eq!(state, before, "a second reply changes nothing");
        }
    }
}
