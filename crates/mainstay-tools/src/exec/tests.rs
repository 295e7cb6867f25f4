//! Sessions as callers use them.

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{Caller, Context, Kind, Principal, Result, Tool};
use mainstay_sandbox::exec::{ExecSettings, Sandbox, SessionSettings, TerminalSize};
use mainstay_sandbox::{FilesSettings, Workspace};
use serde_json::{Value, json};

use super::sessions::registry::SessionRegistry;
use super::sessions::session::ExitState;
use super::{kill, list, read, resize, start, write};

struct SessionTools {
    directory: tempfile::TempDir,
    sandbox: Sandbox,
    sessions: Arc<SessionRegistry>,
    context: Context,
}

impl SessionTools {
    fn new(settings: SessionSettings) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(directory.path(), &FilesSettings::default()).unwrap();
        let sandbox = Sandbox::new(workspace, ExecSettings::default());
        Self { directory, sandbox, sessions: Arc::new(SessionRegistry::new(settings)), context: Context::detached() }
    }

    fn small(change: impl FnOnce(&mut SessionSettings)) -> Self {
        let mut settings = SessionSettings::default();
        change(&mut settings);
        Self::new(settings)
    }

    async fn start(&self, args: Value) -> Result<String> {
        let tool = start::Start { sandbox: self.sandbox.clone(), sessions: self.sessions.clone() };
        tool.call(serde_json::from_value(args).unwrap(), &self.context).await.map(|out| out.id)
    }

    async fn write(&self, id: &str, text: &str, close: bool) -> Result<usize> {
        let args = serde_json::from_value(json!({"id": id, "text": text, "close": close})).unwrap();
        write::Write(self.sessions.clone()).call(args, &self.context).await.map(|out| out.written)
    }

    async fn read(&self, id: &str, cursor: u64) -> Result<read::Output> {
        let args = serde_json::from_value(json!({"id": id, "cursor": cursor, "wait_ms": 20_000})).unwrap();
        read::Read(self.sessions.clone()).call(args, &self.context).await
    }

    /// Everything until the text has appeared or the session has ended.
    async fn read_until(&self, id: &str, text: &str) -> (String, read::Output) {
        let (mut all, mut cursor) = (String::new(), 0);
        loop {
            let part = self.read(id, cursor).await.unwrap();
            all.push_str(&part.output);
            if all.contains(text) || (!part.exit.running && part.output.is_empty()) {
                return (all, part);
            }
            cursor = part.cursor;
        }
    }

    async fn kill(&self, id: &str, signal: &str) -> Result<ExitState> {
        let args = serde_json::from_value(json!({"id": id, "signal": signal})).unwrap();
        kill::Kill(self.sessions.clone()).call(args, &self.context).await
    }

    async fn resize(&self, id: &str, rows: u16, columns: u16) -> Result<TerminalSize> {
        let args = serde_json::from_value(json!({"id": id, "rows": rows, "columns": columns})).unwrap();
        resize::Resize(self.sessions.clone()).call(args, &self.context).await
    }

    async fn list(&self) -> Vec<list::ListedSession> {
        self.page(json!({})).await.sessions
    }

    async fn page(&self, args: Value) -> list::Output {
        let args = serde_json::from_value(args).unwrap();
        list::List(self.sessions.clone()).call(args, &self.context).await.unwrap()
    }
}

#[tokio::test]
async fn a_shell_in_a_terminal_answers_what_is_typed() {
    let tools = SessionTools::new(SessionSettings::default());
    let id = tools.start(json!({"command": "sh"})).await.unwrap();
    assert!(id.len() >= 32);
    tools.resize(&id, 31, 97).await.unwrap();
    tools.write(&id, "stty size; tty; echo $((6*7))!\n", false).await.unwrap();
    let (output, _) = tools.read_until(&id, "42!").await;
    assert!(output.contains("31 97") && output.contains("/dev/pts/"), "{output}");
    tools.write(&id, "exit 5\n", false).await.unwrap();
    let (_, end) = tools.read_until(&id, "never written").await;
    assert_eq!((end.exit.running, end.exit.exit_code), (false, Some(5)));
    assert_eq!(tools.write(&id, "x", false).await.unwrap_err().kind, Kind::Conflict);
}

#[tokio::test]
async fn ctrl_c_interrupts_and_ctrl_d_ends_a_program() {
    let tools = SessionTools::new(SessionSettings::default());
    let id = tools.start(json!({"command": "sed", "args": ["-u", "s/^/echo /"]})).await.unwrap();
    tools.write(&id, "ready\n", false).await.unwrap();
    tools.read_until(&id, "echo ready").await;
    tools.write(&id, "\u{3}", false).await.unwrap();
    let (_, end) = tools.read_until(&id, "never written").await;
    assert_eq!((end.exit.exit_code, end.exit.signal), (Some(130), Some(2)));
    let id = tools.start(json!({"command": "cat"})).await.unwrap();
    tools.write(&id, "typed\n", true).await.unwrap();
    let (output, end) = tools.read_until(&id, "never written").await;
    assert!(output.contains("typed") && end.exit.exit_code == Some(0), "{output} {end:?}");
}

#[tokio::test]
async fn a_pipe_is_read_to_its_end() {
    let tools = SessionTools::new(SessionSettings::default());
    let id = tools.start(json!({"command": "cat", "terminal": false})).await.unwrap();
    assert_eq!(tools.write(&id, "grüße", false).await.unwrap(), 7);
    assert_eq!(tools.read_until(&id, "grüße").await.0, "grüße");
    tools.write(&id, "", true).await.unwrap();
    let (all, end) = tools.read_until(&id, "never written").await;
    assert_eq!((all.as_str(), end.exit.exit_code), ("grüße", Some(0)));
    assert!(tools.resize(&id, 1, 1).await.is_err());
}

#[tokio::test]
async fn output_that_is_not_kept_any_more_is_counted() {
    let tools = SessionTools::small(|settings| settings.buffer_bytes = 1000);
    let id = tools.start(json!({"command": "seq", "args": ["100000"], "terminal": false})).await.unwrap();
    let (_, _) = tools.read_until(&id, "never written").await;
    let part = tools.read(&id, 0).await.unwrap();
    assert_eq!((part.dropped, part.output.len(), part.cursor), (588_895 - 1000, 1000, 588_895));
    assert!(part.output.ends_with("\n100000\n"));
}

#[tokio::test]
async fn a_session_belongs_to_the_caller_that_started_it() {
    let mut tools = SessionTools::new(SessionSettings::default());
    let id = tools.start(json!({"command": "cat"})).await.unwrap();
    let mut other = Caller::local(None);
    other.principal = Principal::new("https://issuer", "mallory");
    tools.context.caller = Arc::new(other);
    assert_eq!(tools.read(&id, 0).await.unwrap_err().kind, Kind::NotFound);
    assert_eq!(tools.write(&id, "x", false).await.unwrap_err().kind, Kind::NotFound);
    assert_eq!(tools.kill(&id, "kill").await.unwrap_err().kind, Kind::NotFound);
    assert_eq!(tools.resize(&id, 1, 1).await.unwrap_err().kind, Kind::NotFound);
    assert!(tools.list().await.is_empty());
    tools.context = Context::detached();
    assert!(tools.list().await[0].exit.running);
}

#[tokio::test]
async fn signals_are_delivered_and_only_kill_cannot_be_ignored() {
    let tools = SessionTools::new(SessionSettings::default());
    let line = "trap '' TERM; trap 'echo heard' HUP; echo ready; while :; do sleep 0.01; done";
    let id = tools.start(json!({"command": line, "shell": true, "terminal": false})).await.unwrap();
    tools.read_until(&id, "ready").await;
    assert!(tools.kill(&id, "term").await.unwrap().running);
    tools.kill(&id, "hup").await.unwrap();
    tools.read_until(&id, "heard").await;
    let end = tools.kill(&id, "kill").await.unwrap();
    assert_eq!((end.running, end.exit_code, end.signal), (false, Some(137), Some(9)));
}

#[tokio::test]
async fn sessions_are_limited_and_ended_ones_are_removed() {
    let tools = SessionTools::small(|settings| settings.per_caller = 1);
    let id = tools.start(json!({"command": "cat"})).await.unwrap();
    let error = tools.start(json!({"command": "cat"})).await.unwrap_err();
    assert!(error.kind == Kind::Unavailable && error.public.contains("exec_kill"), "{error:?}");
    tools.kill(&id, "kill").await.unwrap();
    let next = tools.start(json!({"command": "cat"})).await.unwrap();
    assert_eq!(tools.list().await.iter().map(|item| item.info.id.clone()).collect::<Vec<_>>(), [next]);
}

#[tokio::test]
async fn sessions_are_listed_in_pages() {
    let tools = SessionTools::new(SessionSettings::default());
    for _ in 0..3 {
        tools.start(json!({"command": "cat"})).await.unwrap();
    }
    let ids = |page: &list::Output| page.sessions.iter().map(|item| item.info.id.clone()).collect::<Vec<_>>();
    let whole = tools.page(json!({})).await;
    assert_eq!((whole.sessions.len(), &whole.next_cursor), (3, &None));
    let first = tools.page(json!({"limit": 2})).await;
    let second = tools.page(json!({"limit": 2, "cursor": first.next_cursor})).await;
    assert_eq!([ids(&first), ids(&second)].concat(), ids(&whole));
    assert_eq!((first.sessions.len(), second.next_cursor), (2, None));
}

#[tokio::test]
async fn a_session_ends_after_its_lifetime() {
    let tools = SessionTools::new(SessionSettings::default());
    let id = tools.start(json!({"command": "cat", "lifetime_seconds": 1})).await.unwrap();
    let (_, end) = tools.read_until(&id, "never written").await;
    assert_eq!((end.exit.running, end.exit.signal), (false, Some(9)));
}

#[tokio::test]
async fn a_time_limit_past_the_range_of_the_clock_never_ends_a_session() {
    let tools = SessionTools::small(|settings| settings.idle_minutes = u64::MAX);
    let id = tools.start(json!({"command": "cat", "lifetime_seconds": u64::MAX})).await.unwrap();
    tools.write(&id, "typed\n", false).await.unwrap();
    tools.read_until(&id, "typed").await;
    let end = tools.kill(&id, "kill").await.unwrap();
    assert_eq!((end.running, end.signal), (false, Some(9)));
}

#[tokio::test]
async fn a_session_whose_task_was_aborted_has_ended() {
    let tools = SessionTools::new(SessionSettings::default());
    let id = tools.start(json!({"command": "cat"})).await.unwrap();
    let session = tools.sessions.find(&id, &Principal::local()).unwrap();
    session.abort();
    let (_, end) = tools.read_until(&id, "never written").await;
    assert_eq!((end.exit.running, end.exit.signal), (false, Some(9)));
}

#[tokio::test]
async fn a_character_that_is_written_in_two_parts_is_read_as_one() {
    let tools = SessionTools::new(SessionSettings::default());
    let line = "printf 'a\\303'; read x; printf '\\274'; read x; printf '\\303'";
    let id = tools.start(json!({"command": line, "shell": true, "terminal": false})).await.unwrap();
    let first = tools.read(&id, 0).await.unwrap();
    assert_eq!((first.output.as_str(), first.cursor), ("a", 1));
    let half = json!({"id": id, "cursor": 1, "wait_ms": 100});
    let half = read::Read(tools.sessions.clone()).call(serde_json::from_value(half).unwrap(), &tools.context).await;
    let half = half.unwrap();
    assert_eq!((half.output.as_str(), half.cursor, half.exit.running), ("", 1, true));
    tools.write(&id, "\n", false).await.unwrap();
    let whole = tools.read(&id, 1).await.unwrap();
    assert_eq!((whole.output.as_str(), whole.cursor), ("ü", 3));
    tools.write(&id, "\n", false).await.unwrap();
    let last = tools.read(&id, 3).await.unwrap();
    assert_eq!((last.output.as_str(), last.cursor, last.exit.running), ("\u{fffd}", 4, false));
}

#[tokio::test]
async fn no_process_is_left_when_the_sessions_are_dropped() {
    let tools = SessionTools::new(SessionSettings::default());
    let line = "setsid sh -c 'while :; do echo . >> beats; sleep 0.01; done' & sleep 100";
    let id = tools.start(json!({"command": line, "shell": true})).await.unwrap();
    let beats = tools.directory.path().join("beats");
    let size = || std::fs::metadata(&beats).map_or(0, |facts| facts.len());
    while size() == 0 {
        assert!(tools.sessions.find(&id, &Principal::local()).unwrap().ended().is_none());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(tools.sessions);
    let mut before = u64::MAX;
    while size() != before {
        before = size();
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
