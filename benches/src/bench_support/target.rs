//! What was promised, held against what a run has measured. Nothing here fails the run: figures depend on the machine,
//! and whoever reads them judges.

use serde::Serialize;

#[derive(Serialize)]
pub(crate) struct Target {
    pub(crate) what: String,
    pub(crate) wanted: String,
    /// `None` when a server the target speaks of was left out of the run.
    pub(crate) measured: Option<f64>,
    pub(crate) reached: Option<bool>,
}

impl Target {
    pub(crate) fn at_least(what: String, least: f64, measured: Option<f64>) -> Self {
        Self::judged(what, format!("≥ {least}"), measured, |measured| measured >= least)
    }

    pub(crate) fn at_most(what: String, most: f64, measured: Option<f64>) -> Self {
        Self::judged(what, format!("≤ {most}"), measured, |measured| measured <= most)
    }

    /// A ratio to a server that answered nothing at all in its time is no measurement.
    fn judged(what: String, wanted: String, measured: Option<f64>, reached: impl Fn(f64) -> bool) -> Self {
        let measured = measured.filter(|measured| measured.is_finite());
        Self { what, wanted, measured, reached: measured.map(reached) }
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a process does not reach the 8 petabytes from which on it would lose a byte"
)]
pub(crate) fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_reached_against_a_server_that_answered_nothing() {
        let target = Target::at_least("reads".to_owned(), 5.0, Some(f64::INFINITY));
        assert_eq!((target.measured, target.reached), (None, None));
        assert_eq!(Target::at_least("reads".to_owned(), 5.0, Some(5.0)).reached, Some(true));
    }
}
