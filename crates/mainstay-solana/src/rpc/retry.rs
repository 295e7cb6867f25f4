//! When to try again: what a node asks for, and random waits.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use mainstay_core::{Clock, SystemClock};
use reqwest::header::{DATE, HeaderMap, HeaderName, RETRY_AFTER};

use super::settings::RetrySettings;

/// The wait that a `Retry-After` header asks for: seconds, or a date (RFC 9110, section 10.2.3).
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let until = date(text)?;
    // Measured from the sender's own date where it gives one, so that a wrong clock here does not matter.
    let now = header_date(headers, &DATE).unwrap_or_else(|| SystemClock.now());
    Some(Duration::try_from(until.duration_since(now)).unwrap_or_default())
}

fn header_date(headers: &HeaderMap, name: &HeaderName) -> Option<Timestamp> {
    date(headers.get(name)?.to_str().ok()?)
}

fn date(text: &str) -> Option<Timestamp> {
    DateTimeParser::new().parse_timestamp(text).ok()
}

/// A random wait before another request to the same node, after `failures` failed ones. The bound doubles up to the longest
/// one; "full jitter", down to zero, spreads the clients that failed at the same moment.
pub(crate) fn backoff(settings: &RetrySettings, failures: u32) -> Duration {
    bound(settings, failures).mul_f64(random_fraction())
}

fn bound(settings: &RetrySettings, failures: u32) -> Duration {
    let factor = 1u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
    settings.first_backoff.saturating_mul(factor).min(settings.longest_backoff)
}

/// From 0 to 1. Without a random number, the middle: the wait then is the same for all, which is no error.
fn random_fraction() -> f64 {
    let mut bytes = [0u8; 4];
    match aws_lc_rs::rand::fill(&mut bytes) {
        Ok(()) => f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX),
        Err(_) => 0.5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(HeaderName, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect()
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        assert_eq!(retry_after(&headers(&[(RETRY_AFTER, "12")])), Some(Duration::from_secs(12)));
        let at = |date| headers(&[(RETRY_AFTER, "Wed, 21 Oct 2015 07:28:00 GMT"), (DATE, date)]);
        assert_eq!(retry_after(&at("Wed, 21 Oct 2015 07:27:30 GMT")), Some(Duration::from_secs(30)));
        assert_eq!(retry_after(&at("Wed, 21 Oct 2015 07:29:00 GMT")), Some(Duration::ZERO), "it has passed");
        let past = headers(&[(RETRY_AFTER, "Wed, 21 Oct 2015 07:28:00 GMT")]);
        assert_eq!(retry_after(&past), Some(Duration::ZERO), "by the clock of this machine");
        for text in ["", "soon", "-1", "1.5"] {
            assert_eq!(retry_after(&headers(&[(RETRY_AFTER, text)])), None, "{text}");
        }
    }

    #[test]
    fn waits_double_up_to_the_longest_and_are_random_below_it() {
        let settings = RetrySettings::default();
        let bounds: Vec<u128> = [1, 2, 3, 4, 5, 6, 40].iter().map(|n| bound(&settings, *n).as_millis()).collect();
        assert_eq!(bounds, [250, 500, 1000, 2000, 4000, 4000, 4000]);
        let waits: Vec<Duration> = (0..50).map(|_| backoff(&settings, 1)).collect();
        assert!(waits.iter().all(|wait| *wait <= settings.first_backoff), "{waits:?}");
        assert!(waits.iter().any(|wait| *wait != waits[0]), "{waits:?}");
    }
}
