//! Protected names that appear, move and are replaced between commands and while others run.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mainstay_core::Kind;
use mainstay_sandbox::exec::{Command, ExecSettings};

use crate::attacks::SECRET;
use crate::fixture::{Fixture, Level};

fn shell(line: &str) -> Command {
    Command { program: line.to_owned(), shell: true, ..Command::default() }
}

/// Every file of the workspace in which a command finds the secret; `None` if the command was refused.
async fn exposed(fixture: &Fixture) -> Option<String> {
    let search = shell(&format!("grep -rls '{SECRET}' .; echo done"));
    match fixture.sandbox.run(&search, None, Duration::from_mins(1), None).await {
        Ok(finished) => Some(finished.stdout.text.strip_suffix("done\n").unwrap().to_owned()),
        Err(refused) => {
            assert_eq!(refused.kind, Kind::Unavailable, "{refused:?}");
            None
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_appears_between_two_commands_is_hidden_from_the_second() {
    let fixture = Fixture::new(Level::Namespaces);
    assert_eq!(fixture.sandbox.protections().await.unwrap().level, "namespaces");
    let (workspace, outside) = (fixture.workspace(), fixture.outside());
    let at = |name: &str| workspace.join(name);
    let write = |path: &Path| std::fs::write(path, SECRET).unwrap();
    assert_eq!(exposed(&fixture).await.unwrap(), "");
    let steps: [(&str, &dyn Fn()); 9] = [
        ("a file in a new directory", &|| {
            std::fs::create_dir_all(at("new/er")).unwrap();
            write(&at("new/er/.env"));
        }),
        ("a directory above that is renamed", &|| std::fs::rename(at("new"), at("deep/moved")).unwrap()),
        ("one that came from outside", &|| {
            std::fs::create_dir_all(outside.join("repo/.git")).unwrap();
            write(&outside.join("repo/.git/config"));
            std::fs::rename(outside.join("repo"), at("repo")).unwrap();
        }),
        ("a file that is replaced", &|| {
            write(&at("other"));
            std::fs::rename(at("other"), at(".env")).unwrap();
        }),
        ("a file that gets a protected name", &|| {
            write(&at("deep/plain"));
            std::fs::rename(at("deep/plain"), at("deep/plain.key")).unwrap();
        }),
        ("a directory that was removed and made again", &|| {
            std::fs::remove_dir_all(at("deep/er")).unwrap();
            std::fs::create_dir(at("deep/er")).unwrap();
            write(&at("deep/er/server.key"));
        }),
        ("a directory that gets a protected name", &|| std::fs::rename(at("deep"), at(".ssh")).unwrap()),
        ("one that loses it", &|| std::fs::rename(at(".ssh"), at("deep")).unwrap()),
        ("directories that change places", &|| {
            std::fs::rename(at("repo"), at("aside")).unwrap();
            std::fs::rename(at("deep"), at("repo")).unwrap();
            std::fs::rename(at("aside"), at("repo/deep")).unwrap();
        }),
    ];
    for (what, step) in steps {
        step();
        assert_eq!(exposed(&fixture).await.unwrap(), "", "{what}");
    }
    // What is not protected is found.
    write(&at("plain.txt"));
    assert_eq!(exposed(&fixture).await.unwrap(), "./plain.txt\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_moves_directories_about_uncovers_nothing_for_others() {
    let fixture = Fixture::new(Level::Namespaces);
    assert_eq!(exposed(&fixture).await.unwrap(), "");
    let moving = shell("mkdir -p a b; while :; do mv deep a; mv a/deep b; mv b/deep .; mkdir c; rmdir c; done");
    let search = async {
        // Until the other one has begun.
        while !fixture.workspace().join("b").exists() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let mut searched = 0;
        for _ in 0..60 {
            if let Some(exposed) = exposed(&fixture).await {
                assert_eq!(exposed, "");
                searched += 1;
            }
        }
        searched
    };
    tokio::select! {
        searched = search => assert!(searched > 0, "no command was run"),
        ended = fixture.sandbox.run(&moving, None, Duration::from_mins(5), None) => panic!("{ended:?}"),
    }
}

/// Few mounts, so that a test need not create thousands of names.
fn with_little_room() -> Fixture {
    Fixture::with(Level::Namespaces, "/var/tmp", |settings: &mut ExecSettings| settings.hidden_names = 60)
}

const CROWD: &str = "for number in $(seq 200); do mkdir -p crowd/$number/.git; echo x > crowd/$number/.env; done";

#[tokio::test(flavor = "multi_thread")]
async fn names_created_in_great_number_keep_nobody_from_running_commands() {
    let fixture = with_little_room();
    let run = async |line: &str| fixture.sandbox.run(&shell(line), None, Duration::from_mins(1), None).await.unwrap();
    run(CROWD).await;
    std::fs::write(fixture.workspace().join("crowd/7/.env"), SECRET).unwrap();
    assert_eq!(exposed(&fixture).await.unwrap(), "");
    let used = run("cat plain.txt; echo new > deep/new; cat deep/new; ls -A crowd; mv crowd c; rm -rf crowd").await;
    assert_eq!(used.stdout.text, "plainnew\n", "{used:?}");
    assert!(fixture.workspace().join("crowd/200/.git").exists());
    let inside = Command { program: "true".into(), cwd: Some("crowd/1".into()), ..Command::default() };
    let refused = fixture.sandbox.start(&inside).await.err().unwrap();
    assert!(refused.kind == Kind::Invalid && refused.public.contains("crowd"), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_is_moved_out_of_a_crowded_directory_stays_hidden() {
    let fixture = with_little_room();
    assert_eq!(exposed(&fixture).await.unwrap(), "");
    let wait = |name: &str| format!("until [ -e {name} ]; do sleep 0.01; done");
    let moving = shell(&format!("touch ready; {}; mv deep/er out && touch moved; sleep 60", wait("go")));
    let moved = async {
        while !fixture.workspace().join("ready").exists() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        for number in 0..200 {
            std::fs::create_dir(fixture.workspace().join(format!("deep/{number}"))).unwrap();
            std::fs::write(fixture.workspace().join(format!("deep/{number}/.env")), "x").unwrap();
        }
        let reading = shell(&format!("ls -A deep; touch go; {}; ls out; cat out/*; echo done", wait("moved")));
        fixture.sandbox.run(&reading, None, Duration::from_secs(50), None).await.unwrap()
    };
    tokio::select! {
        read = moved => assert_eq!(read.stdout.text, "server.key\ndone\n", "{read:?}"),
        ended = fixture.sandbox.run(&moving, None, Duration::from_mins(2), None) => panic!("{ended:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn directories_that_move_to_and_fro_keep_nobody_from_running_commands() {
    const DIRECTORIES: usize = 12;
    let fixture = Fixture::new(Level::Namespaces);
    let workspace = fixture.workspace();
    for number in 0..DIRECTORIES {
        std::fs::create_dir_all(workspace.join(format!("here/{number}"))).unwrap();
        std::fs::write(workspace.join(format!("here/{number}/.env")), SECRET).unwrap();
    }
    std::fs::create_dir(workspace.join("there")).unwrap();
    // Before the first command nothing is known that could be missed.
    assert_eq!(exposed(&fixture).await.unwrap(), "");
    let stop = AtomicBool::new(false);
    let move_all = |from: &str, to: &str| {
        for number in 0..DIRECTORIES {
            std::fs::rename(workspace.join(format!("{from}/{number}")), workspace.join(format!("{to}/{number}")))
                .unwrap();
            std::thread::sleep(Duration::from_micros(50));
        }
    };
    let (mut refused, mut seen) = (0, String::new());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                move_all("here", "there");
                move_all("there", "here");
            }
        });
        let run = async {
            for _ in 0..20 {
                match exposed(&fixture).await {
                    Some(exposed) => seen += &exposed,
                    None => refused += 1,
                }
            }
        };
        tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(run));
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!((refused, seen.as_str()), (0, ""));
}
