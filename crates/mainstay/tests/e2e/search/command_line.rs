//! `mainstay search` and `mainstay index`.

use std::process::Command;

use serde_json::Value;

use super::sources::{Sources, finished};
use crate::PROGRAM;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn matches_exit_with_0_and_none_with_1() {
    let sources = Sources::sample();
    let (code, out, error) = sources.run(&["search", "verify", "the", "signature", "--top", "1", "--lines", "2"]);
    assert_eq!((code, error.as_str()), (0, ""), "{out}");
    assert!(out.starts_with("src/token.rs:1-7 verify_token "), "{out}");
    assert!(out.contains("    1 //! Access tokens.\n"), "{out}");
    assert!(!out.contains('\x1b'), "{out:?}");
    let (code, out, _) = sources.run(&["search", "signature", "--lang", "kotlin"]);
    assert_eq!((code, out.as_str()), (1, "No matches.\n"));
    let (code, out, _) = sources.run(&["search", "signature", "--lang", "kotlin", "--json"]);
    assert_eq!((code, json(&out)["matches"].as_array().unwrap().len()), (1, 0));
    // What cannot be there is no answer.
    for (option, value) in [("--path", "nowhere"), ("--path", "/etc"), ("--lang", "cobol")] {
        let (code, out, error) = sources.run(&["search", "signature", option, value]);
        assert_eq!((code, out.as_str()), (2, ""), "{value}");
        assert!(error.contains(value), "{error}");
    }
}

#[test]
fn json_languages_paths_and_the_number_of_matches() {
    let sources = Sources::sample();
    let found = |args: &[&str]| {
        let (code, out, error) = sources.run(&[&["search", "match the path of a route", "--json"], args].concat());
        assert!(code == 0 || code == 1, "{args:?}: {error}");
        json(&out)["matches"].as_array().unwrap().clone()
    };
    let one = found(&["--top", "1"]);
    assert_eq!(one.len(), 1);
    let names: Vec<&String> = one[0].as_object().unwrap().keys().collect();
    assert_eq!(names, ["lang", "line_end", "line_start", "name", "path", "score", "snippet", "tags"]);
    assert!(found(&["--lang", "python"]).iter().all(|one| one["lang"] == "python"));
    assert_eq!(found(&["--lang", "kotlin"]), Vec::<Value>::new());
    let absolute = sources.path("tests");
    for path in ["tests", "tests/", "./tests", "tests/test_router.py", absolute.to_str().unwrap()] {
        let found = found(&["--path", path]);
        assert!(
            !found.is_empty() && found.iter().all(|one| one["path"] == "tests/test_router.py"),
            "{path}: {found:?}"
        );
    }
    let both = found(&["--path", "docs", "--path", "tests", "--top", "50"]);
    assert!(both.iter().all(|one| one["path"] != "src/router.py") && !both.is_empty(), "{both:?}");
    assert!(!found(&["--path", "."]).is_empty());
}

#[test]
fn a_directory_of_a_repository_is_searched_with_the_index_of_the_repository() {
    let sources = Sources::sample();
    sources.git(&["init", "-q", "-b", "main"]);
    assert_eq!(sources.run(&["index"]).0, 0);
    for path in [&[][..], &["--path", "."], &["--path", "./"], &["--path", "token.rs"]] {
        let mut command = Command::new(PROGRAM);
        command.args(["search", "verify the signature", "--json"]).args(path).current_dir(sources.path("src"));
        command.arg("--data-dir").arg(sources.data()).env("XDG_CONFIG_HOME", sources.data());
        command.env_remove("MAINSTAY_CONFIG").env_remove("MAINSTAY_WORKSPACE");
        let (code, out, error) = finished(command);
        assert_eq!(code, 0, "{path:?}: {out}{error}");
        let found = json(&out);
        assert_eq!(found["matches"][0]["path"], "token.rs", "{path:?}");
        assert!(found["matches"].as_array().unwrap().iter().all(|one| !one["path"].as_str().unwrap().contains('/')));
    }
    // One index, of the repository.
    sources.index();
}

#[test]
fn colours_are_for_terminals_and_control_characters_of_files_are_never_printed() {
    let sources = Sources::sample();
    sources.write(
        "src/evil.md",
        "# Walrus\n\nThe walrus \x1b]0;title\x07 says \x1b[2J\u{9b}31m and \r overwrites \u{202e}text.\n",
    );
    let (code, plain, _) = sources.run(&["search", "walrus", "--top", "1"]);
    assert_eq!(code, 0);
    assert!(plain.contains("src/evil.md"), "{plain}");
    let is_control = |character: char| character.is_control() && character != '\n';
    assert!(!plain.contains(is_control), "{plain:?}");
    let data = sources.data();
    // `script` gives the program a terminal.
    let on_terminal = |no_color: &str| {
        let line = format!(
            "'{PROGRAM}' search walrus --top 1 --data-dir '{}' --workspace '{}'",
            data.display(),
            sources.path("").display()
        );
        let mut command = Command::new("script");
        command.args(["-qec", &line, "/dev/null"]).env("NO_COLOR", no_color).env("XDG_CONFIG_HOME", &data);
        command.env_remove("MAINSTAY_CONFIG");
        finished(command)
    };
    let (code, coloured, _) = on_terminal("");
    assert_eq!(code, 0, "{coloured}");
    assert!(coloured.contains("\x1b[35msrc/evil.md\x1b[0m"), "{coloured:?}");
    assert!(coloured.contains("\x1b[1;31mwalrus\x1b[0m"), "{coloured:?}");
    for hostile in ["\x1b]0;", "\x07", "\x1b[2J", "\u{9b}"] {
        assert!(!coloured.contains(hostile), "{hostile:?}: {coloured:?}");
    }
    let (_, refused, _) = on_terminal("1");
    // The line that shows progress is removed by an escape sequence, too; that is no colour.
    assert!(refused.contains("src/evil.md:1-3 Walrus"), "{refused:?}");
}

#[test]
fn index_builds_shows_and_rebuilds() {
    let sources = Sources::sample();
    let status = |args: &[&str]| {
        let (code, out, error) = sources.run(&[&["index", "--json"], args].concat());
        assert_eq!(code, 0, "{args:?}: {error}");
        json(&out)
    };
    let before = status(&["--status"]);
    assert_eq!((before["documents"].as_u64(), before["complete"].as_bool()), (Some(0), Some(false)));
    let built = status(&[]);
    assert_eq!((built["documents"].as_u64(), built["complete"].as_bool()), (Some(5), Some(true)));
    assert_eq!(status(&["--status"])["chunks"], built["chunks"]);
    sources.write("src/new.rs", "pub fn new_function() {}\n");
    assert_eq!(status(&["--status"])["documents"], 5, "the status changes nothing");
    assert_eq!(status(&[])["documents"], 6);
    let rebuilt = status(&["--rebuild"]);
    assert_eq!((rebuilt["documents"].as_u64(), rebuilt["segments"].as_u64()), (Some(6), Some(1)));
    let (code, out, _) = sources.run(&["index"]);
    assert_eq!(code, 0);
    assert!(out.starts_with("6 files, ") && out.contains("; complete; model "), "{out}");
    let (code, out, error) = sources.run(&["index", sources.path("missing").to_str().unwrap()]);
    assert_eq!((code, out.as_str()), (1, ""), "{error}");
    assert!(error.contains("missing"), "{error}");
    assert_eq!(sources.run(&["index", "--status", "--rebuild"]).0, 2);
}
