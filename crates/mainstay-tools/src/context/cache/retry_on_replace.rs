//! Reading a cache that may be replaced at any moment.

use mainstay_core::Result;
use mainstay_sandbox::Dir;

use super::error::Failure;

/// A cache is replaced while it is read again and again only by somebody who means to.
const TRIES: usize = 100;

/// Opens a cache and does something with it. What was opened is removed when a new one takes its place; if it turns out
/// to be damaged and its name leads elsewhere by now, that one is meant.
pub(crate) fn steady<T>(
    open: impl Fn() -> Result<Dir>,
    work: impl Fn(&Dir) -> Result<T>,
    damaged: impl Fn(&T) -> bool,
) -> Result<T> {
    let mut directory = open()?;
    for _ in 0..TRIES {
        let result = work(&directory);
        let doubtful = match &result {
            Ok(value) => damaged(value),
            Err(error) => matches!(Failure::of(error), Failure::CacheInvalid | Failure::Io),
        };
        if !doubtful {
            return result;
        }
        let now = open()?;
        if now.is_same(&directory) {
            return result;
        }
        directory = now;
    }
    work(&directory)
}
