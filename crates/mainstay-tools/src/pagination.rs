//! Pages of a list. A cursor is the key of the last row of the page before: an id where the newest come first, a name
//! where rows are ordered by name. Rows that are added meanwhile therefore neither repeat nor shift a page.

use mainstay_core::{Error, Result};
use schemars::JsonSchema;
use serde::Deserialize;

/// The largest page, in rows.
const MAX_ROWS: u32 = 200;

/// The largest page, in bytes: a page ends early rather than become a reply that clients cannot take.
const MAX_BYTES: usize = 1024 * 1024;

const fn default_limit() -> u32 {
    50
}

// The arguments of every list, flattened into its own. Not a doc comment: the schema would take it as its description.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct PageArgs {
    /// Maximum number of entries to return.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = MAX_ROWS))]
    limit: u32,
    /// next_cursor of the page before; leave it out for the first page.
    #[serde(default)]
    cursor: Option<String>,
}

impl PageArgs {
    /// For lists with the newest first: only ids below this one.
    pub(crate) fn before(&self) -> Result<Option<i64>> {
        let parse = |cursor: &String| {
            cursor.parse().map_err(|_| {
                let shown: String = cursor.chars().take(80).collect();
                let message = format!("{shown:?} is not a cursor of this tool; leave it out to get the first page.");
                Error::field("cursor", message)
            })
        };
        self.cursor.as_ref().map(parse).transpose()
    }

    /// For lists ordered by name: only names after this one.
    pub(crate) fn after(&self) -> Option<&str> {
        self.cursor.as_deref()
    }

    fn rows(&self) -> u32 {
        self.limit.clamp(1, MAX_ROWS)
    }

    /// How many rows to fetch: one more than the page shows, to know whether another page follows.
    pub(crate) fn fetch_limit(&self) -> u32 {
        self.rows() + 1
    }

    /// Cuts the page out of the fetched rows; also gives the next cursor if rows are left. `size` estimates the JSON of a
    /// row in bytes, `key` is what the next page starts after. A page holds at least one row,
    /// however large that is: otherwise nobody could get past it.
    pub(crate) fn cut<T>(
        &self,
        mut rows: Vec<T>,
        size: impl Fn(&T) -> usize,
        key: impl Fn(&T) -> String,
    ) -> (Vec<T>, Option<String>) {
        let max_rows = usize::try_from(self.rows()).unwrap_or(usize::MAX);
        let mut total = 0;
        let page = rows.iter().take(max_rows).take_while(|row| {
            let first = total == 0;
            total += size(row);
            first || total <= MAX_BYTES
        });
        let page = page.count();
        let has_more = rows.len() > page;
        rows.truncate(page);
        let next_cursor = rows.last().filter(|_| has_more).map(key);
        (rows, next_cursor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page_args(limit: u32, cursor: Option<&str>) -> PageArgs {
        PageArgs { limit, cursor: cursor.map(str::to_owned) }
    }

    #[test]
    fn page_ends_at_its_row_limit_or_byte_limit_and_is_never_empty() {
        let page = |rows: Vec<usize>, limit| page_args(limit, None).cut(rows, |bytes| *bytes, ToString::to_string);
        assert_eq!(page(vec![1, 2, 3], 2), (vec![1, 2], Some("2".into())));
        assert_eq!(page(vec![1, 2], 2), (vec![1, 2], None));
        assert_eq!(page(vec![MAX_BYTES + 1, 2], 5), (vec![MAX_BYTES + 1], Some((MAX_BYTES + 1).to_string())));
        assert_eq!(page(vec![MAX_BYTES - 1, 1, 2], 5).0.len(), 2);
        assert_eq!(page(vec![], 5), (vec![], None));
    }

    #[test]
    fn malformed_cursor_is_rejected() {
        assert_eq!(page_args(1, Some("12")).before().unwrap(), Some(12));
        assert!(page_args(1, Some("x")).before().is_err());
    }
}
