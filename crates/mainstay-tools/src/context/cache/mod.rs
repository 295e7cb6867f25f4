//! The cache on disk: its layout (`manifest.rs`), reading it (`reader.rs`), verifying it (`verify.rs`), and what can be
//! wrong with it (`defect.rs`, `error.rs`).

pub(crate) mod defect;
pub(crate) mod error;
pub(crate) mod manifest;
pub(crate) mod reader;
pub(crate) mod retry_on_replace;
pub(crate) mod verify;
