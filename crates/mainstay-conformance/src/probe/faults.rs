//! Probes of the pipeline's limits: calls that take too long, return too much, or panic.

use std::time::Duration;

use mainstay_core::{Context, Effect, Error, Kind, Reply, Result, Spec, Spelling, Tool};
use mainstay_wire::toolkit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::probe;
use crate::NoArgs;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct SleepArgs {
    /// How long to sleep, in milliseconds
    #[schemars(range(max = 3_600_000))]
    ms: u64,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct SleepReport {
    /// How many steps of progress were reported
    steps: u32,
}

/// Ten steps of equal length, each reported.
pub(crate) struct Sleep;

impl Tool for Sleep {
    const SPEC: Spec = Spec {
        spellings: &[Spelling { dialect: toolkit::NAME, name: "probe_sleep" }],
        ..probe("sleep", Effect::Reads, "Sleeps, reports its progress, and wakes up when cancelled.")
    };
    type Args = SleepArgs;
    type Output = SleepReport;

    async fn call(&self, args: SleepArgs, context: &Context) -> Result<SleepReport> {
        const STEPS: u32 = 10;
        let step = Duration::from_millis(args.ms) / STEPS;
        for done in 1..=STEPS {
            tokio::select! {
                () = tokio::time::sleep(step) => {}
                () = context.cancel.cancelled() => {
                    return Err(Error::new(Kind::Cancelled, format!("Woken up after {} of {STEPS} steps.", done - 1)));
                }
            }
            context.progress(f64::from(done), Some(f64::from(STEPS)), None).await;
        }
        Ok(SleepReport { steps: STEPS })
    }
}

pub(crate) struct Panic;

impl Tool for Panic {
    const SPEC: Spec = probe("panic", Effect::Reads, "Panics on purpose.");
    type Args = NoArgs;
    type Output = Reply;

    async fn call(&self, _args: NoArgs, _context: &Context) -> Result<Reply> {
        panic!("probe_panic panics on purpose");
    }
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct BigArgs {
    /// How many characters to return
    #[schemars(range(max = 268_435_456))]
    bytes: usize,
}

pub(crate) struct Big;

impl Tool for Big {
    const SPEC: Spec = Spec {
        spellings: &[Spelling { dialect: toolkit::NAME, name: "probe_big" }],
        ..probe("big", Effect::Reads, "Returns a text of the given length.")
    };
    type Args = BigArgs;
    type Output = Reply;

    async fn call(&self, args: BigArgs, _context: &Context) -> Result<Reply> {
        Ok(Reply::text("x".repeat(args.bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ScriptedClient;

    #[tokio::test(start_paused = true)]
    async fn sleep_reports_every_step() {
        let script = ScriptedClient::new();
        let slept = Sleep.call(SleepArgs { ms: 1000 }, &script.context()).await.unwrap();
        assert_eq!((slept.steps, script.notes().len()), (10, 10));
    }

    #[tokio::test(start_paused = true)]
    async fn sleep_wakes_up_when_cancelled() {
        let context = ScriptedClient::new().context();
        let cancel = context.cancel.clone();
        let (slept, ()) = tokio::join!(Sleep.call(SleepArgs { ms: 1000 }, &context), async {
            tokio::time::sleep(Duration::from_millis(250)).await;
            cancel.cancel();
        });
        assert_eq!(slept.err().unwrap().public, "Woken up after 2 of 10 steps.");
    }
}
