//! One result of examining the machine.

/// Whether one protection is in force, and what to do if it is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub name: &'static str,
    pub enforced: bool,
    pub what: String,
    /// What the operator can do, if it is not enforced.
    pub remedy: Option<&'static str>,
}

impl Finding {
    /// A protection that is in force.
    pub(super) fn good(name: &'static str, what: impl Into<String>) -> Self {
        Self { name, enforced: true, what: what.into(), remedy: None }
    }

    /// A protection that is not in force, with what the operator can do.
    pub(super) fn missing(name: &'static str, what: impl Into<String>, remedy: &'static str) -> Self {
        Self { name, enforced: false, what: what.into(), remedy: Some(remedy) }
    }
}
