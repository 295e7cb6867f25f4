//! Fixtures of the tasks extension (SEP-2663).
//!
//! A long job reports its start with its first notification. A question before that is part of the call itself and is
//! answered with another call; a question after it belongs to the task, which waits for it.

use std::time::Duration;

use mainstay_core::{Context, Effect, Error, Kind, Pace, Reply, Result, Spec, Spelling, Tool};
use serde_json::Value;
use tokio::time::sleep;

use crate::client_requests::{field, form};
use crate::{NoArgs, fixture};

/// Work that takes longer than any server would keep a caller waiting before it makes a task of the call.
const WORK: Duration = Duration::from_millis(300);

/// The suite's names for these have no family.
const fn job(verb: &'static str, pace: Pace, spellings: &'static [Spelling], description: &'static str) -> Spec {
    Spec { description, pace, spellings, ..Spec::new("job", verb, Effect::Reads) }
}

async fn begin(context: &Context) {
    context.progress(0.0, Some(1.0), "Started".to_owned()).await;
}

/// Stops as soon as the caller does not want the result any more.
async fn work(time: Duration, context: &Context) -> Result<()> {
    tokio::select! {
        () = sleep(time) => Ok(()),
        () = context.cancel.cancelled() => Err(Error::new(Kind::Cancelled, "The job was cancelled.")),
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct GreetArgs {
    /// Whom to greet
    name: String,
}

/// Never a task, whatever the client hints.
pub(crate) struct Greet;

impl Tool for Greet {
    const SPEC: Spec =
        job("greet", Pace::Quick, &[Spelling { dialect: "mcp", name: "greet" }], "Greets somebody at once.");
    type Args = GreetArgs;
    type Output = Reply;

    async fn call(&self, args: GreetArgs, _context: &Context) -> Result<Reply> {
        Ok(Reply::text(format!("Hello, {}!", args.name)))
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct ComputeArgs {
    /// How long to compute
    #[serde(default)]
    #[schemars(range(min = 0, max = 3600))]
    seconds: f64,
    /// What to call the computation in the result
    #[serde(default)]
    label: Option<String>,
}

/// A task for a client that can follow one, a plain reply for others, and for nobody a task when there is nothing
/// to wait for.
pub(crate) struct SlowCompute;

impl Tool for SlowCompute {
    const SPEC: Spec = job(
        "slow_compute",
        Pace::Long,
        &[Spelling { dialect: "mcp", name: "slow_compute" }],
        "Computes for the given number of seconds.",
    );
    type Args = ComputeArgs;
    type Output = Reply;

    async fn call(&self, args: ComputeArgs, context: &Context) -> Result<Reply> {
        let time = Duration::try_from_secs_f64(args.seconds).map_err(|error| Error::invalid(error.to_string()))?;
        if !time.is_zero() {
            begin(context).await;
            work(time, context).await?;
        }
        let label = args.label.as_deref().unwrap_or("compute");
        Ok(Reply::text(format!("{label} took {} seconds.", args.seconds)))
    }
}

/// A failure of the tool's own: its task completes.
pub(crate) struct FailingJob;

impl Tool for FailingJob {
    const SPEC: Spec = job(
        "fail",
        Pace::Task,
        &[Spelling { dialect: "mcp", name: "failing_job" }],
        "Works for a while, and says itself that it failed.",
    );
    type Args = NoArgs;
    type Output = Reply;

    async fn call(&self, _args: NoArgs, context: &Context) -> Result<Reply> {
        begin(context).await;
        work(WORK, context).await?;
        Ok(Reply::failure("This job intentionally fails."))
    }
}

/// A failure of the server's: its task fails.
pub(crate) struct ProtocolErrorJob;

impl Tool for ProtocolErrorJob {
    const SPEC: Spec = job(
        "break",
        Pace::Long,
        &[Spelling { dialect: "mcp", name: "protocol_error_job" }],
        "Works for a while, and breaks.",
    );
    type Args = NoArgs;
    type Output = Reply;

    async fn call(&self, _args: NoArgs, context: &Context) -> Result<Reply> {
        begin(context).await;
        work(WORK, context).await?;
        Err(Error::internal("protocol_error_job breaks on purpose"))
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct DeleteArgs {
    /// What to pretend to delete
    #[serde(default)]
    filename: Option<String>,
}

/// Deletes nothing, so it needs nobody's consent but the answer to its own question.
pub(crate) struct ConfirmDelete;

impl Tool for ConfirmDelete {
    const SPEC: Spec = job(
        "confirm_delete",
        Pace::Long,
        &[Spelling { dialect: "mcp", name: "confirm_delete" }],
        "Asks in the middle of its work whether to pretend to delete a file.",
    );
    type Args = DeleteArgs;
    type Output = Reply;

    async fn call(&self, args: DeleteArgs, context: &Context) -> Result<Reply> {
        begin(context).await;
        work(WORK, context).await?;
        let file = args.filename.as_deref().unwrap_or("the file");
        let answer = context.ask("confirm", form(&format!("Delete {file}?"), "confirm", "boolean")).await?;
        let deed = if answer.value["confirm"] == Value::Bool(true) { "Deleted" } else { "Kept" };
        Ok(Reply::text(format!("{deed} {file}.")))
    }
}

/// Two questions open at once, which the suite answers one after the other.
pub(crate) struct MultiInput;

impl Tool for MultiInput {
    const SPEC: Spec = job(
        "multi_input",
        Pace::Long,
        &[Spelling { dialect: "mcp", name: "multi_input" }],
        "Asks two questions at once in the middle of its work.",
    );
    type Args = NoArgs;
    type Output = Reply;

    async fn call(&self, _args: NoArgs, context: &Context) -> Result<Reply> {
        begin(context).await;
        work(WORK, context).await?;
        let questions = vec![
            ("name".to_owned(), form("What is your name?", "name", "string")),
            ("confirm".to_owned(), form("Go on?", "confirm", "boolean")),
        ];
        let answers = context.ask_all(questions, Value::Null).await?;
        let told: Vec<String> =
            ["name", "confirm"].iter().zip(&answers).map(|(key, answer)| field(answer, key)).collect();
        Ok(Reply::text(format!("Received: {}", told.join(", "))))
    }
}

/// `tasks-mrtr-composition`: the question comes before the work, so the first round is no task and the second is.
pub(crate) struct WithTask;

impl Tool for WithTask {
    const SPEC: Spec =
        Spec { pace: Pace::Long, ..fixture("tool_with_task", "Asks for a name, and then works on a greeting.") };
    type Args = NoArgs;
    type Output = Reply;

    async fn call(&self, _args: NoArgs, context: &Context) -> Result<Reply> {
        let answer = context.ask("user_name", form("What is your name?", "name", "string")).await?;
        begin(context).await;
        work(WORK, context).await?;
        Ok(Reply::text(format!("Hello, {}!", field(&answer, "name"))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ScriptedClient;
    use mainstay_core::Note;

    #[tokio::test(start_paused = true)]
    async fn a_cancelled_computation_stops() {
        let script = ScriptedClient::new();
        let context = script.context();
        context.cancel.cancel();
        let args = ComputeArgs { seconds: 3600.0, label: None };
        assert_eq!(SlowCompute.call(args, &context).await.unwrap_err().kind, Kind::Cancelled);
    }

    #[tokio::test(start_paused = true)]
    async fn a_job_that_asks_inside_its_task_has_begun_and_one_that_asks_before_has_not() {
        let inside = ScriptedClient::new();
        let error = ConfirmDelete.call(DeleteArgs { filename: None }, &inside.context()).await.unwrap_err();
        assert_eq!(error.kind, Kind::InputRequired);
        assert!(matches!(inside.notes().as_slice(), [Note::Progress { .. }]));

        let before = ScriptedClient::new();
        let error = WithTask.call(NoArgs {}, &before.context()).await.unwrap_err();
        assert_eq!(error.kind, Kind::InputRequired);
        assert!(before.notes().is_empty());
    }
}
