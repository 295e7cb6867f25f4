//! The tasks extension: a call that turns out to take time is answered with a handle to follow.
//!
//! A call begins as any other. If it ends, or asks something, before it has said anything on its way, that is the
//! answer. Its first note, or a second of silence, turns it into a task; questions after that are the task's.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dashmap::DashMap;
use futures::FutureExt;
use mainstay_core::{
    Answer, BoxFuture, Call, CancellationToken, Error, Kind, Note, OpenQuestions, Outcome, Principal, Result, Sink,
};
use rmcp::model::{CallToolResult, ClientCapabilities, CreateTaskResult, ErrorData};
use rmcp::task_manager::{TaskContext, TaskExit, TaskManager, TaskOptions};
use tokio::sync::watch;

use super::answers::{input_request, read_answer};
use super::errand::{Visit, signed, tool_result};
use super::sink::{Era, able};
use super::{Shared, encode};

/// How long a finished task waits to be asked for.
const KEPT: Duration = Duration::from_mins(10);

/// A call that has not answered by then is better followed than waited for.
const SILENCE: Duration = Duration::from_secs(1);

/// Tasks one principal may have running; further calls are waited for as if there were no tasks.
const MOST: usize = 256;

/// One set of tasks for each principal: somebody else's task cannot be named at all.
#[derive(Default)]
pub(crate) struct Tasks(DashMap<Principal, Set>);

struct Set {
    manager: TaskManager,
    last_begun: Instant,
}

impl Tasks {
    pub(crate) fn of(&self, principal: &Principal) -> TaskManager {
        self.0.get(principal).map(|set| set.manager.clone()).unwrap_or_default()
    }

    /// The set to begin a task in, if it has room. Sets that nobody has used for long are forgotten on the way.
    fn room(&self, principal: &Principal, life: Duration) -> Option<TaskManager> {
        self.0.retain(|_, set| set.last_begun.elapsed() < 2 * life || set.manager.running_task_count() > 0);
        let new = || Set { manager: TaskManager::new(), last_begun: Instant::now() };
        let mut set = self.0.entry(principal.clone()).or_insert_with(new);
        set.last_begun = Instant::now();
        (set.manager.running_task_count() < MOST).then(|| set.manager.clone())
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
    let id = call.request_id.clone();
    let (engine, lane) = (shared.engine.clone(), visit.connection.lane.clone());
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
    if let Some(result) = early {
        return Ran::ToItsEnd(result);
    }
    // A call that has asked is about to end with its question.
    let asking = matches!(&*stage.borrow(), Stage::Asking);
    let life = Duration::from_secs(shared.engine.settings().long_deadline_seconds) + KEPT;
    let room = shared.tasks.room(&visit.connection.caller.principal, life).filter(|_| !asking);
    if let Some(tasks) = room {
        return Ran::OnAsTask(go_on(shared, &tasks, life, Running { work, stage, cancel, id }));
    }
    stage.send_replace(Stage::Alone);
    Ran::ToItsEnd(work.await)
}

struct Running {
    work: BoxFuture<'static, Result<Outcome>>,
    stage: watch::Sender<Stage>,
    cancel: CancellationToken,
    id: Arc<str>,
}

fn go_on(shared: &Arc<Shared>, tasks: &TaskManager, life: Duration, running: Running) -> CreateTaskResult {
    let life = u64::try_from(life.as_millis()).unwrap_or(u64::MAX);
    let options = TaskOptions::new().with_ttl_ms(life).with_poll_interval_ms(500);
    let Running { mut work, stage, cancel, id } = running;
    let shared = shared.clone();
    let task = tasks.spawn(options, move |context| {
        stage.send_replace(Stage::Task(context.clone()));
        Box::pin(async move {
            tokio::select! {
                result = &mut work => settle(&shared, result, &id).map_err(TaskExit::Error),
                () = context.cancelled() => {
                    cancel.cancel();
                    // It stops at once, and writes down that it did.
                    let _ = work.await;
                    Err(TaskExit::Cancelled)
                }
            }
        })
    });
    CreateTaskResult::new(task)
}

/// How a task ends: a tool that failed has completed with an error to read; a server that failed has failed.
fn settle(shared: &Shared, result: Result<Outcome>, id: &str) -> Result<CallToolResult, ErrorData> {
    let result = match result {
        Ok(outcome) => tool_result(outcome),
        Err(error) if error.kind == Kind::Internal => Err(encode::protocol_error(error)),
        Err(error) => encode::tool_error(error, Era::Stateless),
    };
    result.map(|result| signed(shared, Era::Stateless, result, id))
}

/// Where a call stands on its way to becoming a task.
#[derive(Clone)]
enum Stage {
    Direct,
    /// It has something to say and waits for the task that carries it.
    Wanted,
    /// It has put a question to the one who called, and ends with it.
    Asking,
    /// It stays a call: there is no task to be had.
    Alone,
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
            Stage::Direct | Stage::Wanted | Stage::Asking | Stage::Alone => None,
        }
    }

    fn step_from_direct(&self, next: Stage) {
        self.stage.send_if_modified(|stage| {
            let direct = matches!(stage, Stage::Direct);
            if direct {
                *stage = next;
            }
            direct
        });
    }

    /// Asks to become a task and waits until it is one, or cannot be.
    async fn become_task(&self) -> Option<TaskContext> {
        if self.task().is_none() {
            self.step_from_direct(Stage::Wanted);
            reached(&mut self.stage.subscribe(), |stage| matches!(stage, Stage::Task(_) | Stage::Alone)).await;
        }
        self.task()
    }
}

impl Sink for Switch {
    fn send(&self, note: Note) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            match (self.become_task().await, note) {
                (Some(task), Note::Progress { message: Some(message), .. }) => task.set_status_message(message),
                (Some(_), _) => {}
                (None, note) => self.direct.send(note).await,
            }
        })
    }

    fn ask(&self, asked: OpenQuestions) -> BoxFuture<'_, Result<Vec<Answer>>> {
        Box::pin(async move {
            self.step_from_direct(Stage::Asking);
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
