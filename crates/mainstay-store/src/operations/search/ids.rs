//! Lists of ids and words in a statement: as JSON, which both engines can take apart.

use crate::{Result, StoreError};

/// A statement that ends with a condition on `id`, which holds for the ids in the parameter `$2`.
macro_rules! with_ids {
    ($engine:expr, $($statement:tt)+) => {
        $engine.pick(
            concat!($($statement)+, " id IN (SELECT value FROM json_each($2))"),
            concat!($($statement)+, " id IN (SELECT json_array_elements_text(CAST($2 AS json)))"),
        )
    };
}
pub(super) use with_ids;

/// PostgreSQL cannot take a NUL out of JSON, so it is rejected on both engines, as it is outside of JSON.
pub(super) fn to_json<T: AsRef<str> + serde::Serialize>(texts: &[T]) -> Result<String> {
    if texts.iter().any(|text| text.as_ref().contains('\0')) {
        return Err(StoreError::Nul);
    }
    serde_json::to_string(texts).map_err(StoreError::failed)
}
