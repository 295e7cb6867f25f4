//! What is measured again, and what is known.

use mainstay_sandbox::exec::ExecSettings;
use serde_json::json;

use super::repository::{call, text};
use crate::code::analysis::{CodeAnalysis, SourceOptions};
use crate::code::complexity::Complexity;
use crate::progress::Progress;
use crate::setup::CodeSettings;
use crate::testing::SampleWorkspace;

fn analysis(sample: &SampleWorkspace, cache: &std::path::Path) -> CodeAnalysis {
    CodeAnalysis::new(sample.workspace(), &ExecSettings::default(), &CodeSettings::default(), Some(cache))
}

/// The number of files that one more analysis parses, and the names of all functions.
fn measure(analysis: &CodeAnalysis) -> (u64, Vec<String>) {
    let before = analysis.files_read_and_parsed().1;
    let options = SourceOptions { path: ".".into(), toolchain: "all".into() };
    let measurement = analysis.measure(&options, &Progress::default()).unwrap();
    let names = measurement.functions().map(|(_, function)| function.name.clone()).collect();
    (analysis.files_read_and_parsed().1 - before, names)
}

fn sample() -> SampleWorkspace {
    let sample = SampleWorkspace::with(&[("broken.py", "def (:\n")]);
    for number in 0..100 {
        sample.write(format!("src/f{number:03}.rs"), format!("fn f{number}() {{}}\n").as_bytes());
    }
    sample
}

#[test]
fn a_second_run_parses_only_what_has_changed() {
    let (sample, data) = (sample(), tempfile::tempdir().unwrap());
    let analysis = analysis(&sample, data.path());
    assert_eq!(measure(&analysis).0, 101);
    assert_eq!(measure(&analysis).0, 0);
    sample.write("src/f007.rs", b"fn changed() {}\n");
    let (parsed, names) = measure(&analysis);
    assert_eq!((parsed, &names[7]), (1, &"changed".to_owned()));
    // Known content under another name is not parsed again.
    std::fs::rename(sample.path().join("src/f008.rs"), sample.path().join("src/z.rs")).unwrap();
    assert_eq!(measure(&analysis).0, 0);
}

#[test]
fn another_process_starts_with_what_is_known() {
    let (sample, data) = (sample(), tempfile::tempdir().unwrap());
    let expected = measure(&analysis(&sample, data.path())).1;
    assert_eq!(measure(&analysis(&sample, data.path())), (0, expected));
}

#[test]
fn an_old_file_is_not_even_read() {
    let (sample, data) = (SampleWorkspace::with(&[("a.rs", "fn a() {}\n")]), tempfile::tempdir().unwrap());
    settle();
    let analysis = analysis(&sample, data.path());
    assert_eq!(measure(&analysis), (1, vec!["a".to_owned()]));
    assert_eq!(analysis.files_read_and_parsed(), (1, 1));
    assert_eq!(measure(&analysis), (0, vec!["a".to_owned()]));
    assert_eq!(analysis.files_read_and_parsed(), (1, 1));
    // A change of anything the system keeps about the file is a reason to read it again.
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(sample.path().join("a.rs"), permissions).unwrap();
    assert_eq!(measure(&analysis), (0, vec!["a".to_owned()]));
    assert_eq!(analysis.files_read_and_parsed(), (2, 1));
}

/// Waits until every later change of what was written shows in the metadata.
fn settle() {
    std::thread::sleep(std::time::Duration::from_millis(2100));
}

#[test]
fn a_change_that_shows_in_no_metadata_is_seen() {
    let (sample, data) = (SampleWorkspace::with(&[("a.rs", "")]), tempfile::tempdir().unwrap());
    // Each writes as many bytes as the one before, most of them in the same tick of the file system's clock.
    for number in 0..50 {
        let name = format!("f{number:02}");
        sample.write("a.rs", format!("fn {name}() {{}}\n").as_bytes());
        assert_eq!(measure(&analysis(&sample, data.path())).1, [name]);
    }
}

#[test]
fn a_file_that_takes_the_place_of_another_is_seen() {
    let (sample, data) =
        (SampleWorkspace::with(&[("a.rs", "fn a() {}\n"), ("new", "fn b() {}\n")]), tempfile::tempdir().unwrap());
    let [old, new] = ["a.rs", "new"].map(|name| sample.path().join(name));
    let modified = std::fs::metadata(&old).unwrap().modified().unwrap();
    std::fs::File::options().write(true).open(&new).unwrap().set_modified(modified).unwrap();
    settle();
    assert_eq!(measure(&analysis(&sample, data.path())).1, ["a"]);
    // Equal size and time of modification, as after unpacking an archive.
    std::fs::rename(new, old).unwrap();
    assert_eq!(measure(&analysis(&sample, data.path())).1, ["b"]);
}

#[test]
fn a_known_file_over_the_limit_is_not_measured() {
    let (sample, data) = (SampleWorkspace::with(&[("a.rs", "fn a() {}\n")]), tempfile::tempdir().unwrap());
    settle();
    assert_eq!(measure(&analysis(&sample, data.path())).1, ["a"]);
    let settings = CodeSettings { file_bytes: 5, ..CodeSettings::default() };
    let limited = CodeAnalysis::new(sample.workspace(), &ExecSettings::default(), &settings, Some(data.path()));
    let options = SourceOptions { path: ".".into(), toolchain: "all".into() };
    let measurement = limited.measure(&options, &Progress::default()).unwrap();
    assert!(measurement.files.is_empty() && measurement.failed[0].reason.contains("10 bytes"), "{measurement:?}");
}

#[test]
fn known_files_without_their_metrics_are_measured_again() {
    let (sample, data) = (sample(), tempfile::tempdir().unwrap());
    settle();
    let expected = measure(&analysis(&sample, data.path()));
    let metrics = std::fs::read_dir(data.path()).unwrap().map(|entry| entry.unwrap().path());
    let metrics = metrics.into_iter().find(|path| path.to_string_lossy().contains("metrics")).unwrap();
    // As another version of this program might have written it.
    std::fs::write(metrics, b"mscode99, and more").unwrap();
    assert_eq!(measure(&analysis(&sample, data.path())), expected);
}

#[test]
fn a_damaged_cache_is_an_empty_one() {
    let (sample, data) = (sample(), tempfile::tempdir().unwrap());
    measure(&analysis(&sample, data.path()));
    let mut stored = 0;
    for entry in std::fs::read_dir(data.path()).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        stored += 1;
    }
    assert!(stored > 0);
    assert_eq!(measure(&analysis(&sample, data.path())).0, 101);
}

#[tokio::test]
async fn a_failed_file_is_told_from_the_cache_too() {
    let (sample, data) = (sample(), tempfile::tempdir().unwrap());
    let tool = Complexity { analysis: analysis(&sample, data.path()), version: "0" };
    for _ in 0..2 {
        let reply = call(&tool, json!({ "project_path": ".", "toolchain": "all" })).await.unwrap();
        assert!(text(&reply).contains("not measured: broken.py: The file has a syntax error in line 1."), "{reply:?}");
    }
}
