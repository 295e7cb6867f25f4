//! Reading a cache that may be replaced at any moment.

use mainstay_core::{CacheFailure, Result};
use mainstay_sandbox::Dir;

/// More replacements during one read are deliberate; then the last result stands.
const MAX_TRIES: usize = 100;

/// Opens a cache and reads from it. A build that replaces the cache deletes the old directory, which to a reader looks
/// like damage; so if the result is doubtful and the name leads to another directory by now, that one is read instead.
pub(crate) fn retry_if_replaced<T>(
    open: impl Fn() -> Result<Dir>,
    read: impl Fn(&Dir) -> Result<T>,
    is_damaged: impl Fn(&T) -> bool,
) -> Result<T> {
    let mut directory = open()?;
    for _ in 0..MAX_TRIES {
        let result = read(&directory);
        let is_doubtful = match &result {
            Ok(value) => is_damaged(value),
            Err(error) => matches!(CacheFailure::of(error), CacheFailure::CacheInvalid | CacheFailure::Io),
        };
        if !is_doubtful {
            return result;
        }
        let current = open()?;
        if current.is_same(&directory) {
            return result;
        }
        directory = current;
    }
    read(&directory)
}
