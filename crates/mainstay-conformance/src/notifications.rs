//! Fixtures that send notifications before they reply, to their caller or to all subscribers.

use std::time::Duration;

use mainstay_core::{Context, Event, Level, Reply, Result, Spec, Tool};
use tokio::time::sleep;

use crate::{NoArgs, fixture};

/// Long enough for the suite to see two notifications arrive separately.
const PAUSE: Duration = Duration::from_millis(50);

pub(crate) struct WithLogging;

impl Tool for WithLogging {
    const SPEC: Spec = fixture("tool_with_logging", "Sends three log messages while it runs.");
    type Args = NoArgs;
    type Output = Reply;

    async fn call(&self, _args: NoArgs, context: &Context) -> Result<Reply> {
        context.log(Level::Info, "Tool execution started").await;
        sleep(PAUSE).await;
        context.log(Level::Info, "Tool processing data").await;
        sleep(PAUSE).await;
        context.log(Level::Info, "Tool execution completed").await;
        Ok(Reply::text("Three log messages were sent."))
    }
}

/// `server-stateless`: the message must not arrive, because the suite's call asks for no log level.
pub(crate) struct LoggingTool;

impl Tool for LoggingTool {
    const SPEC: Spec = fixture("logging_tool", "Sends one log message, heard only by a caller who asked for logs.");
    type Args = NoArgs;
    type Output = Reply;

    async fn call(&self, _args: NoArgs, context: &Context) -> Result<Reply> {
        context.log(Level::Emergency, "Heard only when a log level was asked for").await;
        Ok(Reply::text("One log message was sent."))
    }
}

pub(crate) struct WithProgress;

impl Tool for WithProgress {
    const SPEC: Spec = fixture("tool_with_progress", "Reports its progress three times.");
    type Args = NoArgs;
    type Output = Reply;

    async fn call(&self, _args: NoArgs, context: &Context) -> Result<Reply> {
        context.progress(0.0, Some(100.0), None).await;
        sleep(PAUSE).await;
        context.progress(50.0, Some(100.0), None).await;
        sleep(PAUSE).await;
        context.progress(100.0, Some(100.0), None).await;
        Ok(Reply::text("Progress was reported three times."))
    }
}

/// `server-sse-polling`: the suite looks at how this call's stream begins, and whether it can be taken up again.
pub(crate) struct Reconnection;

impl Tool for Reconnection {
    const SPEC: Spec = fixture("reconnection", "Takes long enough for its stream to break and be taken up again.");
    type Args = NoArgs;
    type Output = Reply;

    async fn call(&self, _args: NoArgs, _context: &Context) -> Result<Reply> {
        sleep(2 * PAUSE).await;
        Ok(Reply::text("The stream lasted, or the client came back."))
    }
}

pub(crate) struct TriggerToolChange;

impl Tool for TriggerToolChange {
    const SPEC: Spec = fixture("trigger_tool_change", "Announces that the list of tools has changed.");
    type Args = NoArgs;
    type Output = Reply;

    async fn call(&self, _args: NoArgs, context: &Context) -> Result<Reply> {
        context.announce(Event::ToolsChanged);
        Ok(Reply::text("Announced a change of the tool list."))
    }
}

pub(crate) struct TriggerPromptChange;

impl Tool for TriggerPromptChange {
    const SPEC: Spec = fixture("trigger_prompt_change", "Announces that the list of prompts has changed.");
    type Args = NoArgs;
    type Output = Reply;

    async fn call(&self, _args: NoArgs, context: &Context) -> Result<Reply> {
        context.announce(Event::PromptsChanged);
        Ok(Reply::text("Announced a change of the prompt list."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ScriptedClient;

    #[tokio::test]
    async fn a_trigger_is_heard_by_everybody() {
        let script = ScriptedClient::new();
        TriggerPromptChange.call(NoArgs {}, &script.context()).await.unwrap();
        assert_eq!(script.events(), [Event::PromptsChanged]);
    }
}
