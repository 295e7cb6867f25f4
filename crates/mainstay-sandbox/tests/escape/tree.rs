//! The end of processes, and the limits of resources.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use mainstay_sandbox::exec::ExecSettings;

use crate::fixture::{Fixture, Level};

const LEVELS: [Level; 2] = [Level::Namespaces, Level::Landlock];
/// Leftover processes of a command are ended even where nothing confines it.
const EVERYWHERE: [Level; 3] = [Level::Namespaces, Level::Landlock, Level::Off];

/// Whether a process still writes.
async fn is_writing(workspace: &Path) -> bool {
    let size = || std::fs::metadata(workspace.join("heartbeat")).unwrap().len();
    let before = size();
    tokio::time::sleep(Duration::from_millis(200)).await;
    size() != before
}

async fn first_write(workspace: &Path) {
    while std::fs::metadata(workspace.join("heartbeat")).unwrap().len() == 0 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Waits until no process writes any more; false if that takes too long.
async fn stops_writing(workspace: &Path) -> bool {
    for _ in 0..50 {
        if !is_writing(workspace).await {
            return true;
        }
    }
    false
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_survives_the_call() {
    for level in EVERYWHERE {
        for name in ["new_session", "double_fork", "deaf_daemon", "watcher_without_handles"] {
            // Unconfined, a command may do to its supervisor whatever the server's user may.
            if level == Level::Off && name == "watcher_without_handles" {
                continue;
            }
            let fixture = Fixture::new(level);
            let finished = fixture.run(name).await.unwrap();
            assert!(finished.stdout.text.contains("HELD"), "{finished:?}");
            assert!(!is_writing(&fixture.workspace()).await, "{name} {level:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_survives_the_deadline() {
    for level in EVERYWHERE {
        for name in ["waiting", "deaf_and_waiting"] {
            let fixture = Fixture::new(level);
            let finished =
                fixture.sandbox.run(&fixture.attack(name), None, Duration::from_secs(2), None).await.unwrap();
            assert!(finished.timed_out, "{name}");
            assert!(!is_writing(&fixture.workspace()).await, "{name} {level:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_survives_a_cancelled_call() {
    for level in EVERYWHERE {
        let fixture = Fixture::new(level);
        let command = fixture.attack("deaf_and_waiting");
        let workspace = fixture.workspace();
        tokio::select! {
            ended = fixture.sandbox.run(&command, None, Duration::from_mins(1), None) => panic!("{ended:?}"),
            () = first_write(&workspace) => {}
        }
        assert!(stops_writing(&workspace).await, "{level:?}");
    }
}

/// Does nothing unless it is started as a server that is to be killed.
#[tokio::test(flavor = "multi_thread")]
async fn server_to_be_killed() {
    let Ok(level) = std::env::var("KILLED_SERVER") else { return };
    let level = if level == "landlock" { Level::Landlock } else { Level::Namespaces };
    let fixture = Fixture::new(level);
    println!("WORKSPACE {}", fixture.workspace().display());
    let _ = fixture.run("deaf_and_waiting").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_survives_a_killed_server() {
    use std::io::BufRead as _;
    for level in ["namespaces", "landlock"] {
        let mut server = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["tree::server_to_be_killed", "--exact", "--nocapture"])
            .env("KILLED_SERVER", level)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = std::io::BufReader::new(server.stdout.take().unwrap()).lines();
        let workspace = lines.map_while(Result::ok).find_map(|line| line.split("WORKSPACE ").nth(1).map(str::to_owned));
        let workspace = Path::new(workspace.as_deref().unwrap());
        first_write(workspace).await;
        server.kill().unwrap();
        server.wait().unwrap();
        assert!(stops_writing(workspace).await, "{level}");
        std::fs::remove_dir_all(workspace.parent().unwrap()).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_bomb_has_an_end_and_leaves_nothing() {
    for level in LEVELS {
        let fixture = Fixture::with(level, "/var/tmp", |settings: &mut ExecSettings| settings.processes = 200);
        assert!(!fixture.escapes("fork_bomb").await, "{level:?}");
        let forever = fixture.attack("fork_bomb_forever");
        let finished = fixture.sandbox.run(&forever, None, Duration::from_secs(2), None).await.unwrap();
        assert!(finished.timed_out, "{finished:?}");
        assert_eq!(fixture.run("no_new_privileges").await.unwrap().status.code, 0, "others can still be run");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_memory_hog_is_stopped() {
    for level in LEVELS {
        let fixture = Fixture::with(level, "/var/tmp", |settings: &mut ExecSettings| settings.memory_mb = Some(512));
        let finished = fixture.run("memory_hog").await.unwrap();
        assert!(!finished.stdout.text.contains("ESCAPED"), "{finished:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_has_a_largest_size_and_no_core_is_dumped() {
    let fixture = Fixture::with(Level::Namespaces, "/var/tmp", |settings: &mut ExecSettings| settings.file_mb = 16);
    assert!(!fixture.escapes("file_flood").await);
    assert!(!fixture.escapes("core_dump").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_do_not_use_up_the_inotify_instances_of_their_user() {
    assert!(!Fixture::new(Level::Namespaces).escapes("inotify_flood").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gigabyte_of_output_is_kept_head_and_tail() {
    let fixture = Fixture::new(Level::Namespaces);
    let finished = fixture.run("output_flood").await.unwrap();
    assert_eq!(finished.status.code, 0);
    assert!(finished.stdout.omitted > 1 << 29, "{}", finished.stdout.omitted);
    assert!(finished.stdout.text.len() < 9 << 20);
    assert!(finished.stdout.text.contains("bytes left out") && finished.stdout.text.contains("HELD"));
}
