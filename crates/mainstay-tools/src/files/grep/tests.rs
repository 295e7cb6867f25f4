use super::*;
use crate::files::sample::{Sample, field};

fn args(pattern: &str) -> Args {
    serde_json::from_value(serde_json::json!({ "pattern": pattern })).unwrap()
}

fn found(sample: &Sample, args: &Args) -> Output {
    grep(&sample.desk(), args, &Progress::default()).unwrap()
}

/// `path:line:text`, as people know it.
fn told(output: &Output) -> Vec<String> {
    let lines = |file: &Matched| {
        let path = file.path.clone();
        file.matches.iter().map(move |hit| format!("{path}:{}:{}", hit.line, hit.text)).collect::<Vec<_>>()
    };
    output.files.iter().flat_map(lines).collect()
}

fn all_pages(sample: &Sample, mut args: Args) -> Vec<String> {
    let mut all = Vec::new();
    loop {
        let page = found(sample, &args);
        let lines = told(&page);
        assert!(lines.len() <= args.limit && page.files.len() <= args.limit);
        if args.show == Show::Lines {
            all.extend(lines);
        } else {
            all.extend(page.files.iter().map(|file| file.path.clone()));
        }
        args.cursor = page.next_cursor;
        if args.cursor.is_none() {
            return all;
        }
    }
}

#[tokio::test]
async fn lines_are_found_by_path_with_their_numbers() {
    let sample =
        Sample::with(&[("b.rs", "x\nfn main() {}\n"), ("a/c.rs", "fn a() {}\r\nfn b() {}"), ("d.md", "none\n")]);
    let reply = Grep(sample.desk()).call(args(r"fn \w+"), &Context::detached()).await.unwrap();
    assert!(reply.text.lines().all(|line| line.contains(':')), "{}", reply.text);
    let out = reply.value;
    assert_eq!(told(&out), ["a/c.rs:1:fn a() {}", "a/c.rs:2:fn b() {}", "b.rs:2:fn main() {}"]);
    assert_eq!((out.searched, out.binary, out.next_cursor), (3, 0, None));
}

#[test]
fn the_pattern_is_read_as_asked() {
    let sample = Sample::with(&[("f", "a.b\naxb\nA.B\ncat concat\n")]);
    let lines = |args: Args| {
        found(&sample, &args).files.into_iter().flat_map(|f| f.matches).map(|h| h.line).collect::<Vec<_>>()
    };
    assert_eq!(lines(args("a.b")), [1, 2]);
    assert_eq!(lines(Args { literal: true, ..args("a.b") }), [1]);
    assert_eq!(lines(Args { case: Case::Insensitive, ..args("A.b") }), [1, 2, 3]);
    assert_eq!(lines(Args { case: Case::Smart, ..args("A.B") }), [3]);
    assert_eq!(lines(Args { case: Case::Smart, ..args("a.b") }), [1, 2, 3]);
    assert_eq!(lines(Args { word: true, ..args("xb|concat|on") }), [4]);
    assert_eq!(lines(args("b$")), [1, 2]);
}

#[test]
fn a_match_goes_across_lines_if_asked() {
    let sample = Sample::with(&[("f", "a {\n  b\n}\nc\n")]);
    let out = found(&sample, &Args { multiline: true, ..args(r"\{\n.*\n\}") });
    assert_eq!(told(&out), ["f:1:a {\n  b\n}"]);
    let refused = grep(&sample.desk(), &args(r"\{\n"), &Progress::default()).unwrap_err();
    assert!(field(&refused) == "pattern" && refused.public.contains("multiline"), "{refused}");
}

#[test]
fn lines_around_a_match_are_told_once() {
    let sample = Sample::with(&[("f", "1\n2\nX\n4\nX\n6\n7\n8\nX\n")]);
    let out = found(&sample, &Args { context: 2, after: Some(1), ..args("X") });
    let hits = &out.files[0].matches;
    let around: Vec<_> = hits.iter().map(|hit| (hit.line, hit.before.join(" "), hit.after.join(" "))).collect();
    let expected = [(3, "1 2", "4"), (5, "", "6"), (9, "7 8", "")];
    assert_eq!(around, expected.map(|(line, before, after)| (line, before.to_owned(), after.to_owned())));
}

#[test]
fn pages_hold_every_match_once_in_one_order() {
    let sample = Sample::with(&[]);
    let mut expected = Vec::new();
    for (a, b) in (0..9).flat_map(|a| (0..9).map(move |b| (a, b))) {
        let path = if b % 2 == 0 { format!("{a}/{b}/f") } else { format!("{a}/{b}") };
        sample.write(&path, b"hit\nno\nhit\n");
        expected.extend([format!("{path}:1:hit"), format!("{path}:3:hit")]);
    }
    for limit in [1, 5, 161, 162, 2000] {
        assert_eq!(all_pages(&sample, Args { limit, ..args("hit") }), expected, "{limit}");
        assert_eq!(all_pages(&sample, Args { limit, context: 1, ..args("hit") }), expected, "{limit}");
        for show in [Show::Files, Show::Counts] {
            assert_eq!(all_pages(&sample, Args { show, limit, ..args("hit") }).len(), 81, "{limit}");
        }
    }
    let one = all_pages(&sample, Args { path: "3/1".into(), limit: 1, ..args("hit") });
    assert_eq!(one, ["3/1:1:hit", "3/1:3:hit"]);
}

#[test]
fn a_page_also_ends_when_its_bytes_are_full() {
    let sample = Sample::with(&[("a", &"hit 0123456789\n".repeat(100)), ("b", "hit\n")]);
    let (mut cursor, mut hits, mut pages) = (None, 0, 0);
    loop {
        let page = grep(&sample.desk_that_reads(300), &Args { cursor, ..args("hit") }, &Progress::default()).unwrap();
        hits += told(&page).len();
        pages += 1;
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(hits, 101);
    assert!(pages > 10, "{pages}");
}

#[test]
fn files_are_chosen_by_globs_and_counted() {
    let sample = Sample::with(&[("a.rs", "x\nx\n"), ("s/b.rs", "x\n"), ("s/c.md", "x\n"), ("gen/d.rs", "x\n")]);
    let globs = vec!["*.rs".to_owned(), "!gen".to_owned()];
    let out = found(&sample, &Args { globs, show: Show::Counts, ..args("x") });
    let counts: Vec<_> = out.files.iter().map(|file| (file.path.as_str(), file.count)).collect();
    assert_eq!(counts, [("a.rs", Some(2)), ("s/b.rs", Some(1))]);
    assert_eq!(out.searched, 2);
}

#[test]
fn what_is_protected_ignored_or_no_file_is_never_searched() {
    let sample = Sample::with(&[
        (".env", "SECRET=1"),
        (".git/config", "SECRET"),
        ("keys/a.pem", "SECRET"),
        (".gitignore", "out\n"),
        ("out/log", "SECRET"),
        ("plain", "no SECRET\n"),
    ]);
    sample.pipe("pipe");
    sample.link(".env", "env");
    sample.link(".", "loop");
    assert_eq!(told(&found(&sample, &args("SECRET"))), ["plain:1:no SECRET"]);
    let all = found(&sample, &Args { ignored: true, ..args("SECRET") });
    assert_eq!(told(&all), ["out/log:1:SECRET", "plain:1:no SECRET"]);
    for path in [".env", "env", ".git", "keys/a.pem", "pipe", "../"] {
        assert!(
            grep(&sample.desk(), &Args { path: path.into(), ..args("S") }, &Progress::default()).is_err(),
            "{path}"
        );
    }
}

#[test]
fn binary_files_are_counted_and_odd_text_is_shown_as_far_as_it_goes() {
    let sample = Sample::with(&[]);
    sample.write("binary", b"\0\0hit\n");
    sample.write("latin", b"hit \xe4\n");
    sample.write("wide", b"\xff\xfeh\0i\0t\0\n\0");
    sample.write("long", &[vec![b'x'; 100_000], b" hit ".to_vec(), vec![b'y'; 100_000]].concat());
    let out = found(&sample, &args("hit"));
    assert_eq!((out.files.len(), out.binary), (3, 1));
    let hit = |at: usize| &out.files[at].matches[0];
    assert!(hit(0).lossy && hit(0).text == "hit \u{fffd}");
    assert!(hit(1).cut && hit(1).text.contains(" hit ") && hit(1).text.len() <= 2000);
    assert_eq!(hit(2).text, "hit");
}

#[test]
fn what_cannot_be_asked_names_its_argument() {
    let sample = Sample::with(&[]);
    let refused = |args: &Args| grep(&sample.desk(), args, &Progress::default()).unwrap_err();
    let unclosed = refused(&args("(a"));
    assert!(field(&unclosed) == "pattern" && unclosed.public.contains("unclosed group"), "{unclosed}");
    assert_eq!(field(&refused(&args(r"(\pL{1000}){1000}"))), "pattern", "it would take too much memory");
    assert_eq!(field(&refused(&Args { globs: vec!["[".into()], ..args("a") })), "globs");
    assert_eq!(field(&refused(&Args { cursor: Some("a".into()), ..args("a") })), "cursor");
    assert_eq!(refused(&Args { path: "missing".into(), ..args("a") }).kind, Kind::NotFound);
}

#[tokio::test]
async fn a_cancelled_search_stops() {
    let sample = Sample::with(&[("a", "x\n")]);
    for path in [".", "a"] {
        let context = Context::detached();
        context.cancel.cancel();
        let stopped = Grep(sample.desk()).call(Args { path: path.into(), ..args("x") }, &context).await;
        assert_eq!(stopped.unwrap_err().kind, Kind::Cancelled, "{path}");
    }
}
