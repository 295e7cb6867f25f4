//! `exec_run`: runs a command to its end.

use std::fmt::Write as _;
use std::time::Duration;

use mainstay_core::{BoxFuture, Context, Effect, Note, Pace, Result, Spec, Tool, WithText};
use mainstay_sandbox::exec::{Command, OutputListener, Protections, Sandbox};
use tokio::time::Instant;

use super::command_args::CommandArgs;
use crate::descriptors;
use crate::progress::report_while;

/// Everything the command starts ends with it: on exit, timeout, cancellation, and when the server dies.
pub(crate) struct Run(pub(crate) Sandbox);

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct Args {
    #[serde(flatten)]
    command: CommandArgs,
    /// Time limit for the command and everything it starts.
    #[serde(default = "crate::defaults::number::<u64, 60_000>")]
    #[schemars(range(min = 1000, max = 600_000))]
    timeout_ms: u64,
    /// Text for its standard input. Default: empty.
    stdin: Option<String>,
    /// Also send output as it appears.
    #[serde(default)]
    stream: bool,
}

#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
pub(crate) struct Output {
    /// Exit code; 128 plus the signal's number after a signal, 124 after a timeout.
    exit_code: i32,
    /// Standard output. If it is too long, its beginning and end, with a line between them and one at the end about what
    /// was omitted.
    stdout: String,
    stderr: String,
    duration_ms: u64,
    timed_out: bool,
    /// Bytes of stdout that were omitted.
    stdout_omitted: u64,
    stderr_omitted: u64,
    /// Signal that ended it.
    signal: Option<i32>,
    /// Protections that were in force.
    sandbox: Protections,
}

impl Output {
    /// The reply for clients that read only text: what a terminal would show, and how the command ended.
    fn text(&self) -> String {
        let mut text = self.stdout.clone();
        // The markers stand on lines of their own, whatever the output ends with.
        let line = |text: &mut String| {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
        };
        if !self.stderr.is_empty() {
            line(&mut text);
            text.push_str("[stderr]\n");
            text.push_str(&self.stderr);
        }
        line(&mut text);
        let end = match (self.timed_out, self.signal) {
            (true, _) => "timed out".to_owned(),
            (false, Some(signal)) => format!("signal {signal}"),
            (false, None) => format!("exit code {}", self.exit_code),
        };
        let _ = write!(text, "[{end} after {} ms; sandbox: {}]", self.duration_ms, self.sandbox.level);
        text
    }
}

/// The exit code of `timeout(1)` for a command that timed out.
const TIMED_OUT: i32 = 124;
/// How often a progress notification says that the command still runs.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

impl Tool for Run {
    const SPEC: Spec = Spec {
        title: "Run command",
        description: "Runs a command in the workspace and returns its exit code and output. It runs in a sandbox: it can \
                      change only the workspace and a temporary directory, and has no network unless the operator \
                      allows it. All processes it started end with it. Use exec_start for a command that keeps \
                      running.",
        pace: Pace::Long,
        tags: &["exec"],
        ..Spec::new("exec", "run", Effect::Executes)
    };
    type Args = Args;
    type Output = WithText<Output>;

    async fn call(&self, args: Args, context: &Context) -> Result<WithText<Output>> {
        let command = args.command.command(self.0.settings().shell, &context.caller)?;
        let _descriptors = descriptors::for_command(&context.caller.principal)?;
        let output_bytes = (!context.whole_output).then(|| self.0.settings().model_output_bytes);
        let command = Command { piped: args.stdin.is_some(), output_bytes, ..command };
        let forward = |stream, text| -> BoxFuture<'_, ()> { Box::pin(context.note(Note::Chunk { stream, text })) };
        // Most callers wait for the result; the others get every chunk as a notification.
        let listener: Option<OutputListener<'_>> = if args.stream { Some(&forward) } else { None };
        let limit = Duration::from_millis(args.timeout_ms);
        let (begun, running) = (Instant::now(), self.0.run(&command, args.stdin, limit, listener));
        let report = || {
            let seconds = begun.elapsed().as_secs_f64().floor();
            context.progress(seconds, Some(limit.as_secs_f64()), format!("running for {seconds} s"))
        };
        let finished = report_while(running, PROGRESS_INTERVAL, report).await?;
        let value = Output {
            exit_code: if finished.timed_out { TIMED_OUT } else { finished.status.code },
            stdout: finished.stdout.text,
            stderr: finished.stderr.text,
            duration_ms: u64::try_from(finished.duration.as_millis()).unwrap_or(u64::MAX),
            timed_out: finished.timed_out,
            stdout_omitted: finished.stdout.omitted,
            stderr_omitted: finished.stderr.omitted,
            signal: finished.status.signal,
            sandbox: self.0.protections().await?,
        };
        Ok(WithText { text: value.text(), value })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use mainstay_core::{Answer, Call, Caller, Kind, NoSink, OpenQuestions, Scopes, Sink, SystemClock};
    use mainstay_sandbox::exec::ExecSettings;
    use mainstay_sandbox::{FilesSettings, Workspace};
    use serde_json::json;

    use super::*;

    async fn run(args: serde_json::Value) -> Result<Output> {
        run_as(Context::detached(), args).await
    }

    async fn run_as(context: Context, args: serde_json::Value) -> Result<Output> {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(directory.path(), &FilesSettings::default()).unwrap();
        let tool = Run(Sandbox::new(workspace, ExecSettings { output_bytes: 1000, ..Default::default() }));
        tool.call(serde_json::from_value(args).unwrap(), &context).await.map(|reply| reply.value)
    }

    #[tokio::test]
    async fn both_streams_and_the_exit_code_are_returned() {
        let out = run(json!({"command": "cat; echo no >&2; exit 3", "shell": true, "stdin": "yes"})).await.unwrap();
        assert_eq!((out.exit_code, out.stdout.as_str(), out.stderr.as_str()), (3, "yes", "no\n"));
        assert!(!out.timed_out && out.signal.is_none() && out.stdout_omitted == 0);
        assert_ne!(out.sandbox.level, "off");
    }

    #[tokio::test]
    async fn the_text_reply_shows_what_a_terminal_shows() {
        let out = run(json!({"command": "printf yes; echo no >&2; exit 3", "shell": true})).await.unwrap();
        let text = out.text();
        assert!(text.starts_with("yes\n[stderr]\nno\n[exit code 3 after "), "{text}");
    }

    #[tokio::test]
    async fn a_signal_and_a_timeout_have_their_exit_codes() {
        let killed = run(json!({"command": "kill -9 $$", "shell": true})).await.unwrap();
        assert_eq!((killed.exit_code, killed.signal, killed.timed_out), (137, Some(9), false));
        let late = run(json!({"command": "sleep", "args": ["60"], "timeout_ms": 1000})).await.unwrap();
        assert_eq!((late.exit_code, late.timed_out), (124, true));
    }

    #[tokio::test]
    async fn omitted_output_is_counted() {
        let out = run(json!({"command": "seq", "args": ["100000"]})).await.unwrap();
        let omitted = out.stdout_omitted;
        assert!(omitted > 500_000 && out.stdout.starts_with("1\n2\n"));
        assert!(out.stdout.contains(&format!("\n[… {omitted} bytes left out …]\n")), "{}", out.stdout);
        let end = format!("\n100000\n[output truncated: {omitted} of 588895 bytes left out]\n");
        assert!(out.stdout.ends_with(&end), "{}", out.stdout);
    }

    #[tokio::test]
    async fn eight_mebibytes_of_each_stream_are_returned_whole_unless_configured_otherwise() {
        let settings = ExecSettings::default();
        let (directory, bytes) = (tempfile::tempdir().unwrap(), settings.output_bytes);
        assert!(bytes >= 8 << 20);
        let workspace = Workspace::open(directory.path(), &FilesSettings::default()).unwrap();
        let line = format!("yes 0123456 | head -c {bytes}; yes 6543210 | head -c {bytes} >&2");
        let args = serde_json::from_value(json!({"command": line, "shell": true})).unwrap();
        let tool = Run(Sandbox::new(workspace, settings));
        let mut whole = Context::detached();
        whole.whole_output = true;
        let out = tool.call(args, &whole).await.unwrap().value;
        assert_eq!((out.stdout_omitted, out.stderr_omitted), (0, 0));
        assert!(out.stdout == "0123456\n".repeat(bytes / 8) && out.stderr == "6543210\n".repeat(bytes / 8));
        // A model gets less of it.
        let args = serde_json::from_value(json!({"command": line, "shell": true})).unwrap();
        let out = tool.call(args, &Context::detached()).await.unwrap().value;
        assert!(out.stdout.len() < 66_000 && out.stdout_omitted == (bytes - 65_536) as u64, "{}", out.stdout_omitted);
    }

    #[tokio::test]
    async fn an_invalid_argument_is_named() {
        let field = async |args| run(args).await.unwrap_err().field_name().unwrap().to_owned();
        assert_eq!(field(json!({"command": "no-such-program"})).await, "command");
        assert_eq!(field(json!({"command": "true", "env": {"LD_PRELOAD": "x"}})).await, "env");
        assert_eq!(field(json!({"command": "true", "cwd": "missing"})).await, "cwd");
    }

    #[tokio::test]
    async fn a_caller_without_the_scope_gets_no_shell() {
        let mut context = Context::detached();
        let scopes = Scopes::parse("execute");
        context.caller = Arc::new(Caller { scopes, ..Caller::local(None) });
        let refused = run_as(context.clone(), json!({"command": "true", "shell": true})).await.unwrap_err();
        assert_eq!(refused.kind, Kind::Denied);
        assert_eq!(run_as(context, json!({"command": "true"})).await.unwrap().exit_code, 0);
    }

    /// Keeps what it is sent, after a while.
    #[derive(Clone, Default)]
    struct RecordedNotes {
        notes: Arc<Mutex<Vec<Note>>>,
        delay: Duration,
    }

    impl Sink for RecordedNotes {
        fn send(&self, note: Note) -> BoxFuture<'_, ()> {
            Box::pin(async {
                tokio::time::sleep(self.delay).await;
                self.notes.lock().unwrap().push(note);
            })
        }

        fn ask(&self, asked: OpenQuestions) -> BoxFuture<'_, Result<Vec<Answer>>> {
            NoSink.ask(asked)
        }
    }

    fn context_with(sink: &RecordedNotes) -> Context {
        let mut call = Call::new(Arc::new(Caller::local(None)));
        call.sink = Arc::new(sink.clone());
        Context::new(&mut call, Arc::new(SystemClock), Arc::new(|_| {}))
    }

    #[tokio::test]
    async fn a_slow_reader_receives_the_whole_stream() {
        let recorded = RecordedNotes { delay: Duration::from_millis(50), ..RecordedNotes::default() };
        let args = json!({"command": "seq", "args": ["300000"], "stream": true});
        let out = run_as(context_with(&recorded), args).await.unwrap();
        assert_eq!((out.exit_code, out.timed_out), (0, false));
        let notes = recorded.notes.lock().unwrap();
        let text = |note: &Note| if let Note::Chunk { text, .. } = note { text.clone() } else { String::new() };
        let received: String = notes.iter().map(text).collect();
        let sent = (1..=300_000).map(|number| number.to_string() + "\n").collect::<Vec<_>>().concat();
        assert!(received == sent, "{} of {} bytes", received.len(), sent.len());
    }

    #[tokio::test]
    async fn a_reader_that_never_reads_keeps_a_command_no_longer_than_its_time() {
        let recorded = RecordedNotes { delay: Duration::from_hours(1), ..RecordedNotes::default() };
        let args = json!({"command": "yes", "stream": true, "timeout_ms": 1000});
        let out = run_as(context_with(&recorded), args).await.unwrap();
        assert_eq!((out.exit_code, out.timed_out), (124, true));
        assert!(out.stdout.starts_with("y\ny\n"));
    }

    #[tokio::test]
    async fn output_is_streamed_and_returned_as_a_whole() {
        let recorded = RecordedNotes::default();
        let context = context_with(&recorded);
        let line = "echo eins; sleep 0.2; printf '\\303'; sleep 0.2; printf '\\274'; echo zwei >&2";
        let out = run_as(context, json!({"command": line, "shell": true, "stream": true})).await.unwrap();
        assert_eq!((out.stdout.as_str(), out.stderr.as_str()), ("eins\nü", "zwei\n"));
        let notes = recorded.notes.lock().unwrap().clone();
        let chunk = |stream, text: &str| Note::Chunk { stream, text: text.to_owned() };
        let said =
            |wanted| notes.iter().filter(move |note| matches!(note, Note::Chunk { stream, .. } if *stream == wanted));
        assert_eq!(said("stdout").collect::<Vec<_>>(), [&chunk("stdout", "eins\n"), &chunk("stdout", "ü")]);
        assert_eq!(said("stderr").collect::<Vec<_>>(), [&chunk("stderr", "zwei\n")]);
    }
}
