//! Sessions as a caller sees them.

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{Caller, Context, Kind, Principal, Result, Tool};
use mainstay_sandbox::exec::{ExecSettings, Sandbox, SessionSettings};
use mainstay_sandbox::{FilesSettings, Workspace};
use serde_json::{Value, json};

use super::sessions::Sessions;
use super::{kill, list, read, resize, start, write};

struct House {
    directory: tempfile::TempDir,
    sandbox: Sandbox,
    sessions: Arc<Sessions>,
    context: Context,
}

impl House {
    fn new(settings: SessionSettings) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(directory.path(), &FilesSettings::default()).unwrap();
        let sandbox = Sandbox::new(workspace, ExecSettings::default());
        Self { directory, sandbox, sessions: Arc::new(Sessions::new(settings)), context: Context::detached() }
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
            if all.contains(text) || (!part.running && part.output.is_empty()) {
                return (all, part);
            }
            cursor = part.cursor;
        }
    }

    async fn kill(&self, id: &str, signal: &str) -> Result<kill::Output> {
        let args = serde_json::from_value(json!({"id": id, "signal": signal})).unwrap();
        kill::Kill(self.sessions.clone()).call(args, &self.context).await
    }

    async fn resize(&self, id: &str, rows: u16, columns: u16) -> Result<resize::Output> {
        let args = serde_json::from_value(json!({"id": id, "rows": rows, "columns": columns})).unwrap();
        resize::Resize(self.sessions.clone()).call(args, &self.context).await
    }

    async fn list(&self) -> Vec<list::Item> {
        let args = serde_json::from_value(json!({})).unwrap();
        list::List(self.sessions.clone()).call(args, &self.context).await.unwrap().sessions
    }
}

#[tokio::test]
async fn a_shell_at_a_terminal_answers_what_is_typed() {
    let house = House::new(SessionSettings::default());
    let id = house.start(json!({"command": "sh"})).await.unwrap();
    assert!(id.len() >= 32);
    house.resize(&id, 31, 97).await.unwrap();
    house.write(&id, "stty size; tty; echo $((6*7))!\n", false).await.unwrap();
    let (said, _) = house.read_until(&id, "42!").await;
    assert!(said.contains("31 97") && said.contains("/dev/pts/"), "{said}");
    house.write(&id, "exit 5\n", false).await.unwrap();
    let (_, end) = house.read_until(&id, "never said").await;
    assert_eq!((end.running, end.exit_code), (false, Some(5)));
    assert_eq!(house.write(&id, "x", false).await.unwrap_err().kind, Kind::Conflict);
}

#[tokio::test]
async fn a_control_key_interrupts_and_the_end_of_input_ends() {
    let house = House::new(SessionSettings::default());
    let id = house.start(json!({"command": "sed", "args": ["-u", "s/^/echo /"]})).await.unwrap();
    house.write(&id, "ready\n", false).await.unwrap();
    house.read_until(&id, "echo ready").await;
    house.write(&id, "\u{3}", false).await.unwrap();
    let (_, end) = house.read_until(&id, "never said").await;
    assert_eq!((end.exit_code, end.signal), (Some(130), Some(2)));
    let id = house.start(json!({"command": "cat"})).await.unwrap();
    house.write(&id, "said\n", true).await.unwrap();
    let (said, end) = house.read_until(&id, "never said").await;
    assert!(said.contains("said") && end.exit_code == Some(0), "{said} {end:?}");
}

#[tokio::test]
async fn a_pipe_is_read_to_its_end() {
    let house = House::new(SessionSettings::default());
    let id = house.start(json!({"command": "cat", "terminal": false})).await.unwrap();
    assert_eq!(house.write(&id, "grüße", false).await.unwrap(), 7);
    assert_eq!(house.read_until(&id, "grüße").await.0, "grüße");
    house.write(&id, "", true).await.unwrap();
    let (all, end) = house.read_until(&id, "never said").await;
    assert_eq!((all.as_str(), end.exit_code), ("grüße", Some(0)));
    assert!(house.resize(&id, 1, 1).await.is_err());
}

#[tokio::test]
async fn what_is_not_kept_any_more_is_counted() {
    let house = House::small(|settings| settings.buffer_bytes = 1000);
    let id = house.start(json!({"command": "seq", "args": ["100000"], "terminal": false})).await.unwrap();
    let (_, _) = house.read_until(&id, "never said").await;
    let part = house.read(&id, 0).await.unwrap();
    assert_eq!((part.dropped, part.output.len(), part.cursor), (588_895 - 1000, 1000, 588_895));
    assert!(part.output.ends_with("\n100000\n"));
}

#[tokio::test]
async fn a_session_is_its_starters_alone() {
    let mut house = House::new(SessionSettings::default());
    let id = house.start(json!({"command": "cat"})).await.unwrap();
    let mut other = Caller::local(None);
    other.principal = Principal::new("https://issuer", "mallory");
    house.context.caller = Arc::new(other);
    assert_eq!(house.read(&id, 0).await.unwrap_err().kind, Kind::NotFound);
    assert_eq!(house.write(&id, "x", false).await.unwrap_err().kind, Kind::NotFound);
    assert_eq!(house.kill(&id, "kill").await.unwrap_err().kind, Kind::NotFound);
    assert_eq!(house.resize(&id, 1, 1).await.unwrap_err().kind, Kind::NotFound);
    assert!(house.list().await.is_empty());
    house.context = Context::detached();
    assert!(house.list().await[0].running);
}

#[tokio::test]
async fn signals_arrive_and_only_kill_cannot_be_ignored() {
    let house = House::new(SessionSettings::default());
    let line = "trap '' TERM; trap 'echo heard' HUP; echo ready; while :; do sleep 0.01; done";
    let id = house.start(json!({"command": line, "shell": true, "terminal": false})).await.unwrap();
    house.read_until(&id, "ready").await;
    assert!(house.kill(&id, "term").await.unwrap().running);
    house.kill(&id, "hup").await.unwrap();
    house.read_until(&id, "heard").await;
    let end = house.kill(&id, "kill").await.unwrap();
    assert_eq!((end.running, end.exit_code, end.signal), (false, Some(137), Some(9)));
}

#[tokio::test]
async fn there_is_a_limit_and_what_has_ended_makes_way() {
    let house = House::small(|settings| settings.per_caller = 1);
    let id = house.start(json!({"command": "cat"})).await.unwrap();
    let refused = house.start(json!({"command": "cat"})).await.unwrap_err();
    assert!(refused.kind == Kind::Unavailable && refused.public.contains("exec_kill"), "{refused:?}");
    house.kill(&id, "kill").await.unwrap();
    let next = house.start(json!({"command": "cat"})).await.unwrap();
    assert_eq!(house.list().await.iter().map(|item| item.id.clone()).collect::<Vec<_>>(), [next]);
}

#[tokio::test]
async fn a_lifetime_has_an_end() {
    let house = House::new(SessionSettings::default());
    let id = house.start(json!({"command": "cat", "lifetime_seconds": 1})).await.unwrap();
    let (_, end) = house.read_until(&id, "never said").await;
    assert_eq!((end.running, end.signal), (false, Some(9)));
}

#[tokio::test]
async fn a_time_that_no_clock_shows_never_comes() {
    let house = House::small(|settings| settings.idle_minutes = u64::MAX);
    let id = house.start(json!({"command": "cat", "lifetime_seconds": u64::MAX})).await.unwrap();
    house.write(&id, "said\n", false).await.unwrap();
    house.read_until(&id, "said").await;
    let end = house.kill(&id, "kill").await.unwrap();
    assert_eq!((end.running, end.signal), (false, Some(9)));
}

#[tokio::test]
async fn a_session_that_nobody_accompanies_any_more_has_ended() {
    let house = House::new(SessionSettings::default());
    let id = house.start(json!({"command": "cat"})).await.unwrap();
    let session = house.sessions.find(&id, &Principal::local()).unwrap();
    session.abandon();
    let (_, end) = house.read_until(&id, "never said").await;
    assert_eq!((end.running, end.signal), (false, Some(9)));
}

#[tokio::test]
async fn a_character_that_comes_in_two_parts_is_read_as_one() {
    let house = House::new(SessionSettings::default());
    let line = "printf 'a\\303'; read x; printf '\\274'; read x; printf '\\303'";
    let id = house.start(json!({"command": line, "shell": true, "terminal": false})).await.unwrap();
    let first = house.read(&id, 0).await.unwrap();
    assert_eq!((first.output.as_str(), first.cursor), ("a", 1));
    let half = json!({"id": id, "cursor": 1, "wait_ms": 100});
    let half = read::Read(house.sessions.clone()).call(serde_json::from_value(half).unwrap(), &house.context).await;
    let half = half.unwrap();
    assert_eq!((half.output.as_str(), half.cursor, half.running), ("", 1, true));
    house.write(&id, "\n", false).await.unwrap();
    let whole = house.read(&id, 1).await.unwrap();
    assert_eq!((whole.output.as_str(), whole.cursor), ("ü", 3));
    house.write(&id, "\n", false).await.unwrap();
    let last = house.read(&id, 3).await.unwrap();
    assert_eq!((last.output.as_str(), last.cursor, last.running), ("\u{fffd}", 4, false));
}

#[tokio::test]
async fn nothing_is_left_when_the_sessions_are_dropped() {
    let house = House::new(SessionSettings::default());
    let line = "setsid sh -c 'while :; do echo . >> beats; sleep 0.01; done' & sleep 100";
    let id = house.start(json!({"command": line, "shell": true})).await.unwrap();
    let beats = house.directory.path().join("beats");
    let size = || std::fs::metadata(&beats).map_or(0, |facts| facts.len());
    while size() == 0 {
        assert!(house.sessions.find(&id, &Principal::local()).unwrap().ended().is_none());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(house.sessions);
    let mut before = u64::MAX;
    while size() != before {
        before = size();
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
