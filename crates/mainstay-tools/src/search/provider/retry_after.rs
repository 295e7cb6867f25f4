//! The wait that a service asks for.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use mainstay_core::{Clock as _, SystemClock};
use reqwest::header::{DATE, HeaderMap, HeaderName, RETRY_AFTER};

/// What a `Retry-After` header says: seconds, or a date (RFC 9110, section 10.2.3).
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let until = date(headers, &RETRY_AFTER)?;
    // Measured from the sender's own date where it gives one, so that a wrong clock here does not matter.
    let now = date(headers, &DATE).unwrap_or_else(|| SystemClock.now());
    Some(Duration::try_from(until.duration_since(now)).unwrap_or_default())
}

fn date(headers: &HeaderMap, name: &HeaderName) -> Option<Timestamp> {
    DateTimeParser::new().parse_timestamp(headers.get(name)?.to_str().ok()?.trim()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_seconds_or_a_date() {
        let headers = |pairs: &[(HeaderName, &'static str)]| -> HeaderMap {
            pairs.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect()
        };
        assert_eq!(retry_after(&headers(&[(RETRY_AFTER, " 3")])), Some(Duration::from_secs(3)));
        let at = |date| headers(&[(RETRY_AFTER, "Wed, 21 Oct 2015 07:28:00 GMT"), (DATE, date)]);
        assert_eq!(retry_after(&at("Wed, 21 Oct 2015 07:27:58 GMT")), Some(Duration::from_secs(2)));
        assert_eq!(retry_after(&at("Wed, 21 Oct 2015 07:29:00 GMT")), Some(Duration::ZERO), "it has passed");
        for text in ["", "soon", "-1", "1.5"] {
            assert_eq!(retry_after(&headers(&[(RETRY_AFTER, text)])), None, "{text}");
        }
        assert_eq!(retry_after(&HeaderMap::new()), None);
    }
}
