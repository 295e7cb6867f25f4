//! `server_echo`: returns its argument.

use mainstay_core::{Context, Effect, Pace, Result, Spec, Tool};

/// Has no effect at all, so that clients and benchmarks can measure the bare protocol.
pub(crate) struct Echo;

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct Args {
    /// Text to return.
    text: String,
}

#[derive(serde::Serialize, schemars::JsonSchema)]
pub(crate) struct Output {
    /// The same text.
    text: String,
}

impl Tool for Echo {
    const SPEC: Spec = Spec {
        title: "Echo",
        description: "Returns the given text. Use it to check the connection to this server.",
        pace: Pace::Instant,
        tags: &["diagnostic"],
        ..Spec::new("server", "echo", Effect::Reads)
    };
    type Args = Args;
    type Output = Output;

    async fn call(&self, args: Args, _context: &Context) -> Result<Output> {
        Ok(Output { text: args.text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn text_is_returned_unchanged() {
        let out = Echo.call(Args { text: "a\u{0}ü\n".into() }, &Context::detached()).await.unwrap();
        assert_eq!(out.text, "a\u{0}ü\n");
    }
}
