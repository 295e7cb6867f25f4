//! `server_time`: returns the server's time.

use mainstay_core::{Context, Effect, Pace, Result, Spec, Tool};

/// Uses the server's clock, so that tests and audit entries agree with it.
pub(crate) struct Time;

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct Args {}

#[derive(serde::Serialize, schemars::JsonSchema)]
pub(crate) struct Output {
    /// Time in UTC, RFC 3339.
    utc: String,
    /// Milliseconds since 1970.
    unix_ms: i64,
}

impl Tool for Time {
    const SPEC: Spec = Spec {
        title: "Time",
        description: "Returns the server's current time in UTC. Use it instead of guessing the date.",
        pace: Pace::Instant,
        tags: &["diagnostic"],
        ..Spec::new("server", "time", Effect::Reads)
    };
    type Args = Args;
    type Output = Output;

    async fn call(&self, _args: Args, context: &Context) -> Result<Output> {
        let now = context.clock.now();
        Ok(Output { utc: now.to_string(), unix_ms: now.as_millisecond() })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use mainstay_core::ManualClock;

    use super::*;

    #[tokio::test]
    async fn both_formats_are_the_same_time() {
        let mut context = Context::detached();
        context.clock = Arc::new(ManualClock::at_ms(1_234_567_890_123));
        let out = Time.call(Args {}, &context).await.unwrap();
        assert_eq!((out.utc.as_str(), out.unix_ms), ("2009-02-13T23:31:30.123Z", 1_234_567_890_123));
    }
}
