//! Plans that compete for the shared memory.

use std::time::Duration;

use mainstay_core::{CancellationToken, Kind};
use mainstay_sandbox::Content;

use super::commit::DiffInReply;
use super::memory_budget::{MemoryBudget, MemoryReservation};
use super::plan::{LinkHandling, NewState, Plan};
use crate::files::testing::workspace::SampleWorkspace;

static SMALL: MemoryBudget = MemoryBudget::new(1000, Duration::ZERO);

fn plan(sample: &SampleWorkspace) -> Plan {
    let plan = Plan::new(&sample.tools().workspace, &CancellationToken::new());
    Plan { memory: MemoryReservation::of(&SMALL), ..plan }
}

#[test]
fn plans_share_one_memory_budget_and_release_it() {
    let sample = SampleWorkspace::with(&[("x", &"x".repeat(600))]);
    let (mut first, mut second) = (plan(&sample), plan(&sample));
    let new = first.item("path", "y", LinkHandling::Follow).unwrap();
    first.set_state(new, NewState::File(Content::Bytes(vec![0; 600]))).unwrap();
    let old = second.item("path", "x", LinkHandling::Follow).unwrap();
    assert_eq!(second.content(old).unwrap_err().kind, Kind::Unavailable);
    first.finish(false, DiffInReply::Never).unwrap();
    assert_eq!(second.content(old).unwrap().len(), 600);
}
