//! `server_echo`: does the connection work?

use mainstay_core::{Context, Effect, Pace, Result, Spec, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) struct Echo;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Any text; it comes back unchanged.
    text: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The text that was sent.
    text: String,
}

impl Tool for Echo {
    const SPEC: Spec = Spec {
        title: "Echo",
        description: "Returns the text it is given. Use it to check that the connection to this server works.",
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
    async fn text_comes_back_unchanged() {
        let out = Echo.call(Args { text: "a\u{0}ü\n".into() }, &Context::detached()).await.unwrap();
        assert_eq!(out.text, "a\u{0}ü\n");
    }
}
