//! Small tools for our own end-to-end tests: each has an effect, or a fault, that a test can count.

mod calls;
mod faults;
mod files;

use std::path::PathBuf;

use mainstay_core::{Effect, Family, Spec};

/// The probes; those that touch files touch nothing outside `dir`.
pub fn probe_family(dir: PathBuf) -> Family {
    Family::new("probe")
        .tool(calls::Echo)
        .tool(calls::Whoami)
        .tool(calls::Ask)
        .tool(calls::Say)
        .tool(files::Append(dir.clone()))
        .tool(files::Destroy(dir))
        .tool(faults::Sleep)
        .tool(faults::Panic)
        .tool(faults::Big)
}

const fn probe(verb: &'static str, effect: Effect, description: &'static str) -> Spec {
    Spec { description, ..Spec::new("probe", verb, effect) }
}
