//! Lists come in pages: a cursor is the number, or the name, of the last that was shown.

use mainstay_core::{Error, Result};

/// The most of a list one call returns.
pub(crate) const MOST: u32 = 200;

/// A page ends early when it holds this much.
const BYTES: usize = 1024 * 1024;

pub(crate) fn usual() -> u32 {
    50
}

/// The number a cursor stands for.
pub(crate) fn before(cursor: Option<&str>) -> Result<Option<i64>> {
    let parse = |cursor: &str| {
        cursor.parse().map_err(|_| {
            let shown: String = cursor.chars().take(80).collect();
            let told = format!("{shown:?} is not a cursor of this tool; leave it out to start from the beginning.");
            Error::field("cursor", told)
        })
    };
    cursor.map(parse).transpose()
}

/// The name a cursor stands for.
pub(crate) fn after(cursor: Option<String>) -> Result<String> {
    cursor.map_or_else(|| Ok(String::new()), |cursor| super::validation::name("cursor", cursor))
}

/// One more than is shown, to know whether there is more.
pub(crate) fn fetched(limit: u32) -> u32 {
    limit.clamp(1, MOST) + 1
}

/// Cuts a page out of what was fetched; gives the key of its last row if there is more.
pub(crate) fn cut<T>(
    mut rows: Vec<T>,
    limit: u32,
    bytes: impl Fn(&T) -> usize,
    key: impl Fn(&T) -> String,
) -> (Vec<T>, Option<String>) {
    let most = usize::try_from(fetched(limit) - 1).unwrap_or(usize::MAX);
    let mut held = 0;
    let fits = rows.iter().take(most).take_while(|row| {
        let first = held == 0;
        held += bytes(row);
        first || held <= BYTES
    });
    let fits = fits.count();
    let more = rows.len() > fits;
    rows.truncate(fits);
    let next = rows.last().filter(|_| more).map(key);
    (rows, next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_ends_at_its_limit_or_when_it_is_full_and_always_holds_something() {
        let page = |rows: Vec<usize>, limit| cut(rows, limit, |bytes| *bytes, ToString::to_string);
        assert_eq!(page(vec![1, 2, 3], 2), (vec![1, 2], Some("2".into())));
        assert_eq!(page(vec![1, 2], 2), (vec![1, 2], None));
        assert_eq!(page(vec![BYTES + 1, 2], 5), (vec![BYTES + 1], Some((BYTES + 1).to_string())));
        assert_eq!(page(vec![BYTES - 1, 1, 2], 5).0.len(), 2);
        assert_eq!(page(vec![], 5), (vec![], None));
    }

    #[test]
    fn a_cursor_that_is_none_is_refused() {
        assert_eq!(before(Some("12")).unwrap(), Some(12));
        assert!(before(Some("x")).is_err());
    }
}
