//! The tasks extension: a call that turns out to take time is answered with a task that the client can follow.
//!
//! A call starts like any other. If it finishes, or asks a question, before it has reported anything, that is the answer.
//! Its first progress or log message, or a second without either, turns it into a task; questions it asks after that are
//! part of the task's state.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use mainstay_core::{
    Answer, BoxFuture, Call, CancellationToken, Error, Kind, Note, OpenQuestions, Pace, Reply, Result, Sink,
};
use rmcp::model::{CallToolResult, ClientCapabilities, CreateTaskResult, ErrorData};
use rmcp::task_manager::{TaskContext, TaskExit, TaskManager, TaskOptions};
use serde_json::Value;
use tokio::sync::watch;

use super::encode;
use super::questions::{check_capabilities, input_request, read_answer};
use super::request::{Era, RequestContext};
use super::shared::Shared;

/// How long the result of a finished task can be fetched.
const RESULT_KEPT: Duration = Duration::from_mins(10);

/// A call that has neither finished nor reported anything by then becomes a task.
const BECOMES_TASK_AFTER: Duration = Duration::from_secs(1);

/// How often clients are told to ask for a task's state.
const POLL_INTERVAL_MS: u64 = 500;

/// Whether a call may be answered with a task: its tool can take long, and the client supports tasks. Fails if the tool
/// always needs a task and the client does not support any.
pub(super) fn may_become_task(shared: &Shared, context: &RequestContext, name: &str) -> Result<bool, ErrorData> {
    let pace = shared.engine.registry().tool(name).map_or(Pace::Quick, |tool| tool.info().pace);
    let supported = context.capabilities.supports_tasks();
    match pace {
        Pace::Instant | Pace::Quick => Ok(false),
        Pace::Task if !supported => {
            let needed = ClientCapabilities::builder().enable_tasks().build();
            Err(ErrorData::missing_required_client_capability(needed))
        }
        Pace::Long | Pace::Task => Ok(supported),
    }
}

/// What a call that may become a task gives.
pub(super) enum ReplyOrTask {
    Reply(Reply),
    /// The call goes on as a task, which the client can follow.
    Task(CreateTaskResult),
}

/// Runs a call until it ends or becomes a task.
pub(super) async fn run(
    shared: &Arc<Shared>,
    name: String,
    args: Value,
    mut call: Call,
    context: &RequestContext,
) -> Result<ReplyOrTask> {
    let (stage, mut watching) = watch::channel(Stage::Direct);
    call.sink = Arc::new(TaskSink {
        direct: context.sink.clone(),
        stage: stage.clone(),
        capabilities: context.capabilities.clone(),
    });
    // The request ends when the task is created; that must not cancel the call.
    let cancel = CancellationToken::new();
    call.cancel = cancel.clone();
    let id = call.request_id.clone();
    let (engine, lane) = (shared.engine.clone(), context.connection.lane.clone());
    // Boxed, because it moves into the task if it becomes one.
    let mut work = async move { engine.call_tool(&name, args, call, &lane).await }.boxed();
    let early = tokio::select! {
        result = &mut work => Some(result),
        () = reached(&mut watching, |stage| matches!(stage, Stage::TaskWanted)) => None,
        () = tokio::time::sleep(BECOMES_TASK_AFTER) => None,
        // While the request is open its client cancels it like any other; a task is cancelled with `tasks/cancel`.
        () = context.cancel.cancelled() => {
            cancel.cancel();
            Some(work.as_mut().await)
        }
    };
    if let Some(result) = early {
        return result.map(ReplyOrTask::Reply);
    }
    // A call that has asked a question is about to end with it.
    let asking = matches!(&*stage.borrow(), Stage::Asking);
    let life = Duration::from_secs(shared.engine.settings().long_deadline_seconds) + RESULT_KEPT;
    let tasks = shared.tasks.with_capacity(&context.connection.caller.principal, life).filter(|_| !asking);
    if let Some(tasks) = tasks {
        return Ok(ReplyOrTask::Task(spawn(shared, &tasks, life, work, stage, cancel, id)));
    }
    // A sink that waits for its task has to learn that there will be none.
    stage.send_replace(Stage::NoTask);
    work.await.map(ReplyOrTask::Reply)
}

/// Hands a running call over to a new task. `cancel` ends the call itself: cancelling the task alone would leave it
/// running, and without the audit entry that says so.
fn spawn(
    shared: &Arc<Shared>,
    tasks: &TaskManager,
    life: Duration,
    mut work: BoxFuture<'static, Result<Reply>>,
    stage: watch::Sender<Stage>,
    cancel: CancellationToken,
    id: Arc<str>,
) -> CreateTaskResult {
    let life = u64::try_from(life.as_millis()).unwrap_or(u64::MAX);
    let options = TaskOptions::new().with_ttl_ms(life).with_poll_interval_ms(POLL_INTERVAL_MS);
    let shared = shared.clone();
    let task = tasks.spawn(options, move |context| {
        stage.send_replace(Stage::Task(context.clone()));
        Box::pin(async move {
            tokio::select! {
                result = &mut work => task_result(&shared, result, &id).map_err(TaskExit::Error),
                () = context.cancelled() => {
                    cancel.cancel();
                    // It stops at once, and writes to the audit that it was cancelled.
                    let _ = work.await;
                    Err(TaskExit::Cancelled)
                }
            }
        })
    });
    CreateTaskResult::new(task)
}

/// A task's result. A tool that failed completes its task with an error for the model to read; only an internal error
/// fails the task.
fn task_result(shared: &Shared, result: Result<Reply>, id: &str) -> Result<CallToolResult, ErrorData> {
    let result = match result {
        Ok(reply) => Ok(encode::reply(reply)),
        Err(error) if error.kind == Kind::Internal => Err(encode::protocol_error(error)),
        Err(error) => encode::tool_error(error, Era::Stateless),
    };
    result.map(|result| encode::with_request_id(shared, Era::Stateless, result, id))
}

/// Where a call is on its way to becoming a task.
#[derive(Clone)]
enum Stage {
    /// It has reported nothing yet.
    Direct,
    /// It has something to report and waits for its task.
    TaskWanted,
    /// It has asked the client a question and ends with it.
    Asking,
    /// It stays an ordinary call: there is no capacity for another task, or it has a question.
    NoTask,
    Task(TaskContext),
}

async fn reached(watching: &mut watch::Receiver<Stage>, stage: fn(&Stage) -> bool) {
    let _ = watching.wait_for(stage).await;
}

/// The sink of a call that may become a task: the request's own sink until then, the task afterwards.
struct TaskSink {
    direct: Arc<dyn Sink>,
    stage: watch::Sender<Stage>,
    capabilities: ClientCapabilities,
}

impl TaskSink {
    /// The task, once the call is one.
    fn task(&self) -> Option<TaskContext> {
        match &*self.stage.borrow() {
            Stage::Task(task) => Some(task.clone()),
            Stage::Direct | Stage::TaskWanted | Stage::Asking | Stage::NoTask => None,
        }
    }

    /// Changes the stage only if nothing was decided yet: of a report and a question at the same time, the first wins.
    fn step_from_direct(&self, next: Stage) {
        self.stage.send_if_modified(|stage| {
            let direct = matches!(stage, Stage::Direct);
            if direct {
                *stage = next;
            }
            direct
        });
    }

    /// Asks to become a task, and waits until the call is one or cannot be.
    async fn become_task(&self) -> Option<TaskContext> {
        if self.task().is_none() {
            self.step_from_direct(Stage::TaskWanted);
            reached(&mut self.stage.subscribe(), |stage| matches!(stage, Stage::Task(_) | Stage::NoTask)).await;
        }
        self.task()
    }
}

impl Sink for TaskSink {
    fn send(&self, note: Note) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            match (self.become_task().await, note) {
                (Some(task), Note::Progress { message: Some(message), .. }) => task.set_status_message(message),
                // A task has a status message and no place for percentages, log messages or output.
                (Some(_), _) => {}
                (None, note) => self.direct.send(note).await,
            }
        })
    }

    fn ask(&self, open: OpenQuestions) -> BoxFuture<'_, Result<Vec<Answer>>> {
        Box::pin(async move {
            self.step_from_direct(Stage::Asking);
            let Some(task) = self.task() else { return self.direct.ask(open).await };
            check_capabilities(&self.capabilities, &open)?;
            let answers = open.questions.into_iter().map(|(key, question)| {
                let task = task.clone();
                async move {
                    let answer = task.request_input(key, input_request(question)?).await;
                    answer.map(read_answer).map_err(task_ended)
                }
            });
            // All at once: they are one state of the task, and the client may answer them in any order.
            futures::future::try_join_all(answers).await
        })
    }
}

fn task_ended(exit: TaskExit) -> Error {
    match exit {
        TaskExit::Cancelled => Error::new(Kind::Cancelled, "The task was cancelled."),
        TaskExit::Error(error) => Error::internal(error),
    }
}
