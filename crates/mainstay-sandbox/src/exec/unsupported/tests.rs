use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use mainstay_core::{Kind, Result};
use rustix::fs::{Mode, OFlags};

use crate::exec::{Command, CommandOutput, ExecSettings, Sandbox, SandboxMode, TerminalSize, diagnose};
use crate::{FilesSettings, Workspace};

const LONG: Duration = Duration::from_mins(1);

fn sandbox(mode: SandboxMode) -> (tempfile::TempDir, Sandbox) {
    let directory = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(directory.path(), &FilesSettings::default()).unwrap();
    (directory, Sandbox::new(workspace, ExecSettings { sandbox: mode, ..Default::default() }))
}

fn program(name: &str, args: &[&str]) -> Command {
    Command { program: name.into(), args: args.iter().map(|&arg| arg.into()).collect(), ..Default::default() }
}

fn line(text: &str) -> Command {
    Command { shell: true, ..program(text, &[]) }
}

async fn run(command: &Command) -> Result<CommandOutput> {
    let (_directory, sandbox) = sandbox(SandboxMode::Off);
    sandbox.run(command, None, LONG, None).await
}

/// Whether a process has the pipe of this name open for writing.
fn is_held(pipe: &Path) -> bool {
    let pipe = rustix::fs::open(pipe, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty()).unwrap();
    rustix::io::read(&pipe, &mut [0; 1]) != Ok(0)
}

async fn comes_to_be(held: bool, pipe: &Path) {
    let looking = async {
        while !pipe.exists() || is_held(pipe) != held {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(LONG, looking).await.unwrap();
}

/// Something in the background that holds a pipe open and does not care for polite signals.
const STUBBORN: &str = "mkfifo held; trap '' TERM INT HUP; (exec 3<>held; sleep 1000) & echo begun; sleep 1000";

#[tokio::test]
async fn without_protections_commands_are_refused_with_the_reason_and_the_setting() {
    for mode in [SandboxMode::On, SandboxMode::Strict] {
        let (_directory, sandbox) = sandbox(mode);
        let refused = sandbox.run(&program("true", &[]), None, LONG, None).await.unwrap_err();
        assert_eq!(refused.kind, Kind::Unavailable);
        assert!(refused.public.contains("Landlock"), "{}", refused.public);
        assert!(refused.public.contains("exec.sandbox = \"off\""), "{}", refused.public);
        assert_eq!(sandbox.protections().await.unwrap_err().public, refused.public);
    }
}

#[tokio::test]
async fn the_survey_says_why_commands_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(directory.path(), &FilesSettings::default()).unwrap();
    let found = diagnose(&workspace, &ExecSettings::default()).await;
    let commands = found.iter().find(|finding| finding.name == "commands").unwrap();
    assert!(!commands.enforced && commands.what.contains("Landlock"), "{commands:?}");
}

#[tokio::test]
async fn switched_off_a_command_runs_and_says_what_does_not_hold_it() {
    let (_directory, sandbox) = sandbox(SandboxMode::Off);
    let done = sandbox.run(&program("echo", &["a; b", "$HOME"]), None, LONG, None).await.unwrap();
    assert_eq!((done.status.code, done.stdout.text.as_str(), done.timed_out), (0, "a; b $HOME\n", false));
    let protections = sandbox.protections().await.unwrap();
    assert_eq!(protections.level, "off");
    assert!(protections.filesystem.contains("none"));
}

#[tokio::test]
async fn an_exit_code_and_a_signal_are_told() {
    let failed = run(&line("echo oh >&2; exit 7")).await.unwrap();
    assert_eq!((failed.status.code, failed.status.signal, failed.stderr.text.as_str()), (7, None, "oh\n"));
    let killed = run(&line("kill -9 $$")).await.unwrap();
    assert_eq!((killed.status.code, killed.status.signal), (137, Some(9)));
}

#[tokio::test]
async fn it_runs_in_the_directory_it_was_given_and_nowhere_else() {
    let (directory, sandbox) = sandbox(SandboxMode::Off);
    std::fs::create_dir(directory.path().join("inner")).unwrap();
    let here = Command { cwd: Some("inner".into()), ..line("touch here; cat") };
    let done = sandbox.run(&Command { piped: true, ..here.clone() }, Some("read".into()), LONG, None).await.unwrap();
    assert_eq!(done.stdout.text, "read");
    assert!(directory.path().join("inner/here").exists());
    let outside = Command { cwd: Some("..".into()), ..here };
    assert_eq!(sandbox.run(&outside, None, LONG, None).await.unwrap_err().field_name().unwrap(), "cwd");
}

#[tokio::test]
async fn its_environment_is_made_from_nothing() {
    let wanted = Command { env: BTreeMap::from([("MINE".into(), "a=b".into())]), ..program("env", &[]) };
    let done = run(&wanted).await.unwrap();
    let lines: Vec<&str> = done.stdout.text.lines().collect();
    assert!(lines.contains(&"MINE=a=b"));
    assert!(!lines.iter().any(|line| line.starts_with("CARGO")), "{lines:?}");
    let home = lines.iter().find_map(|line| line.strip_prefix("HOME=")).unwrap();
    assert!(!Path::new(home).exists(), "the private directory is gone with the command");
    let refused = Command { env: BTreeMap::from([("LD_PRELOAD".into(), "x".into())]), ..program("env", &[]) };
    assert_eq!(run(&refused).await.unwrap_err().field_name().unwrap(), "env");
}

#[tokio::test]
async fn when_its_time_is_up_the_whole_group_is_killed() {
    let (directory, sandbox) = sandbox(SandboxMode::Off);
    let done = sandbox.run(&line(STUBBORN), None, Duration::from_secs(2), None).await.unwrap();
    assert!(done.timed_out);
    assert_eq!((done.status.signal, done.stdout.text.as_str()), (Some(9), "begun\n"));
    comes_to_be(false, &directory.path().join("held")).await;
}

#[tokio::test]
async fn what_runs_on_in_the_background_ends_with_the_command() {
    let (directory, sandbox) = sandbox(SandboxMode::Off);
    let text = "mkfifo held; exec 3<>held; sleep 1000 & exit 3";
    let done = sandbox.run(&line(text), None, LONG, None).await.unwrap();
    assert_eq!((done.status.code, done.timed_out), (3, false));
    comes_to_be(false, &directory.path().join("held")).await;
}

#[tokio::test]
async fn a_dropped_command_is_killed_with_its_group() {
    let (directory, sandbox) = sandbox(SandboxMode::Off);
    let held = directory.path().join("held");
    let child = sandbox.start(&line(STUBBORN)).await.unwrap();
    comes_to_be(true, &held).await;
    drop(child);
    comes_to_be(false, &held).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_process_that_leaves_the_group_does_not_hold_the_call_up() {
    let (_directory, sandbox) = sandbox(SandboxMode::Off);
    let wanted = line("setsid sh -c 'sleep 30' & echo done");
    let done = sandbox.run(&wanted, None, Duration::from_secs(20), None).await.unwrap();
    assert_eq!((done.stdout.text.as_str(), done.timed_out), ("done\n", false));
}

#[tokio::test]
async fn much_output_arrives_whole_and_in_order() {
    let done = run(&line("i=0; while [ $i -lt 20000 ]; do echo $i; i=$((i+1)); done")).await.unwrap();
    assert!(done.stdout.text.lines().eq((0..20_000).map(|i| i.to_string())), "{} bytes", done.stdout.text.len());
}

#[tokio::test]
async fn what_cannot_be_started_is_named() {
    assert_eq!(run(&program("./nothing", &[])).await.unwrap_err().field_name().unwrap(), "command");
    assert_eq!(run(&program("no-such-program", &[])).await.unwrap_err().field_name().unwrap(), "command");
    let terminal = Command { terminal: Some(TerminalSize { rows: 24, columns: 80 }), ..program("true", &[]) };
    assert_eq!(run(&terminal).await.unwrap_err().kind, Kind::Unsupported);
}
