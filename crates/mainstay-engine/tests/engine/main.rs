//! The engine from outside, on a store of its own, with a clock that stands still.
#![expect(clippy::unwrap_used, reason = "in a test a surprise is a failure")]

mod consent;
mod feed;
mod house;
mod patience;
mod rules;
