//! The tasks extension: a call that turns out to take time is answered with a handle to follow.
//!
//! A call begins as any other. If it ends, or asks something, before it has said anything on its way, that is the
//! answer. Its first note, or a second of silence, turns it into a task; questions after that are the task's.

use std::sync::Arc;
use std::time::Duration;

use dashmap::DashMap;
use futures::FutureExt;
use mainstay_core::{
    Answer, Asked, BoxFuture, Call, CancellationToken, Error, Kind, Note, Outcome, Principal, Result, Sink,
};
use rmcp::model::{CallToolResult, ClientCapabilities, CreateTaskResult, ErrorData};
use rmcp::task_manager::{TaskContext, TaskExit, TaskManager, TaskOptions};
use tokio::sync::watch;

use super::answers::{input_request, read_answer};
use super::errand::{Visit, tool_result};
use super::sink::{Era, able};
use super::{Shared, encode};

/// A task nobody asks for is forgotten after this.
const LIFE: Duration = Duration::from_hours(1);

/// A call that has not answered by then is better followed than waited for.
const SILENCE: Duration = Duration::from_secs(1);

/// One set of tasks for each principal: somebody else's task cannot be named at all.
#[derive(Default)]
pub(crate) struct Tasks(DashMap<Principal, TaskManager>);

impl Tasks {
    pub(crate) fn of(&self, principal: &Principal) -> TaskManager {
        self.0.entry(principal.clone()).or_default().clone()
    }
}

pub(crate) enum Ran {
    ToItsEnd(Result<Outcome>),
    OnAsTask(CreateTaskResult),
}

/// Runs a call that may become a task.
pub(crate) async fn run(shared: &Arc<Shared>, mut call: Call, visit: Visit) -> Ran {
    let (stage, mut watching) = watch::channel(Stage::Direct);
    call.sink = Arc::new(Switch { direct: visit.sink, stage: stage.clone(), capabilities: visit.capabilities });
    // The request may end before its work does, and must not take it along.
    let cancel = CancellationToken::new();
    call.cancel = cancel.clone();
    let (engine, lane) = (shared.engine.clone(), visit.origin.lane.clone());
    let mut work = async move { engine.call(call, &lane).await }.boxed();
    let early = tokio::select! {
        result = &mut work => Some(result),
        () = reached(&mut watching, |stage| matches!(stage, Stage::Wanted)) => None,
        () = tokio::time::sleep(SILENCE) => None,
        () = visit.cancel.cancelled() => {
            cancel.cancel();
            Some(work.as_mut().await)
        }
    };
    match early {
        Some(result) => Ran::ToItsEnd(result),
        None => Ran::OnAsTask(go_on(&shared.tasks.of(&visit.origin.caller.principal), work, stage, cancel)),
    }
}

fn go_on(
    tasks: &TaskManager,
    work: BoxFuture<'static, Result<Outcome>>,
    stage: watch::Sender<Stage>,
    cancel: CancellationToken,
) -> CreateTaskResult {
    let life = u64::try_from(LIFE.as_millis()).unwrap_or(u64::MAX);
    let options = TaskOptions::new().with_ttl_ms(life).with_poll_interval_ms(500);
    let task = tasks.spawn(options, move |context| {
        stage.send_replace(Stage::Task(context.clone()));
        Box::pin(async move {
            tokio::select! {
                result = work => settle(result).map_err(TaskExit::Error),
                () = context.cancelled() => {
                    cancel.cancel();
                    Err(TaskExit::Cancelled)
                }
            }
        })
    });
    CreateTaskResult::new(task)
}

/// How a task ends: a tool that failed has completed with an error to read; a server that failed has failed.
fn settle(result: Result<Outcome>) -> Result<CallToolResult, ErrorData> {
    match result {
        Ok(outcome) => tool_result(outcome),
        Err(error) if error.kind == Kind::Internal => Err(encode::protocol_error(error)),
        Err(error) => encode::tool_error(error, Era::Stateless),
    }
}

/// Where a call stands on its way to becoming a task.
#[derive(Clone)]
enum Stage {
    Direct,
    /// It has something to say and waits for the task that carries it.
    Wanted,
    Task(TaskContext),
}

async fn reached(watching: &mut watch::Receiver<Stage>, stage: fn(&Stage) -> bool) {
    let _ = watching.wait_for(stage).await;
}

/// The way back of a call that may become a task.
struct Switch {
    direct: Arc<dyn Sink>,
    stage: watch::Sender<Stage>,
    capabilities: ClientCapabilities,
}

impl Switch {
    fn task(&self) -> Option<TaskContext> {
        match &*self.stage.borrow() {
            Stage::Task(task) => Some(task.clone()),
            Stage::Direct | Stage::Wanted => None,
        }
    }

    /// Asks to become a task and waits until it is one.
    async fn become_task(&self) -> Option<TaskContext> {
        if self.task().is_none() {
            self.stage.send_if_modified(|stage| {
                let direct = matches!(stage, Stage::Direct);
                if direct {
                    *stage = Stage::Wanted;
                }
                direct
            });
            reached(&mut self.stage.subscribe(), |stage| matches!(stage, Stage::Task(_))).await;
        }
        self.task()
    }
}

impl Sink for Switch {
    fn send(&self, note: Note) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let task = self.become_task().await;
            if let (Some(task), Note::Progress { message: Some(message), .. }) = (task, note) {
                task.set_status_message(message);
            }
        })
    }

    fn ask(&self, asked: Asked) -> BoxFuture<'_, Result<Vec<Answer>>> {
        Box::pin(async move {
            let Some(task) = self.task() else { return self.direct.ask(asked).await };
            able(&self.capabilities, &asked)?;
            let waiting = asked.questions.into_iter().map(|(key, question)| {
                let task = task.clone();
                async move {
                    let answer = task.request_input(key, input_request(question)?).await;
                    answer.map(read_answer).map_err(stopped)
                }
            });
            futures::future::try_join_all(waiting).await
        })
    }
}

fn stopped(exit: TaskExit) -> Error {
    match exit {
        TaskExit::Cancelled => Error::new(Kind::Cancelled, "The task was cancelled."),
        TaskExit::Error(error) => Error::internal(error),
    }
}
