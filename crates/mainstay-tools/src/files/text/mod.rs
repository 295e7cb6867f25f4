//! Text as the file tools handle it: lines, encodings, replacement, times.

pub(crate) mod encoding;
pub(crate) mod excerpt;
pub(crate) mod line;
pub(crate) mod replace;
pub(crate) mod timestamp;
