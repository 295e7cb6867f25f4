use super::*;
use crate::report::{FailedFile, Unmeasured, UnmeasuredFunction};

fn hotspot(path: &str, commits: u64, complexity: f64, lines: u32) -> Hotspot {
    Hotspot {
        path: path.to_owned(),
        hotspot_score: complexity / 90.0,
        churn_score: 0.5,
        commit_count: commits,
        complexity_score: complexity,
        max_cyclomatic: 9,
        function_count: 3,
        code_lines: lines,
        worst_function: format!("{path}::f"),
        worst_line: 7,
    }
}

fn report(hotspots: Vec<Hotspot>) -> HotspotReport {
    HotspotReport {
        measured: true,
        reason: None,
        period_days: 30,
        repository_root: ".".to_owned(),
        total_commits: 12,
        hotspots,
        omitted: 0,
        unmeasured: Unmeasured::default(),
    }
}

#[test]
fn no_name_can_become_markup() {
    let hostile = "</title><script>alert(1)</script>\"' onload=x &amp;\u{202e}\u{1b}\n.rs";
    let failed = FailedFile { file: hostile.to_owned(), reason: hostile.to_owned() };
    let skipped = UnmeasuredFunction { file: hostile.to_owned(), line: 1, function: hostile.to_owned() };
    let unmeasured =
        Unmeasured { files_failed: vec![failed], functions_skipped: vec![skipped], ..Unmeasured::default() };
    let report = HotspotReport { unmeasured, ..report(vec![hotspot(hostile, 3, 40.0, 100)]) };
    let page = hotspots_to_html(&report, hostile, "1");
    // What is left of all names, wherever they are, is text.
    assert!(!page.contains("<script") && !page.contains("\" onload") && !page.contains("' onload"), "{page}");
    assert!(!page.chars().any(|c| c == '\u{202e}' || c == '\u{1b}'), "{page}");
    assert!(page.contains("&lt;script&gt;") && page.contains("\\u{202e}") && page.contains("&amp;amp;"), "{page}");
    assert_eq!(page.matches("<title>").count(), 2, "the page's own, and one tooltip");
}

#[test]
fn a_page_loads_nothing() {
    let page = hotspots_to_html(&report(vec![hotspot("a.rs", 3, 40.0, 100)]), "demo", "1");
    for word in ["src=", "href=", "url(", "@import", "<script", "http://", "https://"] {
        assert!(!page.contains(word), "{word}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn every_file_is_a_circle_inside_the_plot_and_a_row() {
    let file = |n: u32| hotspot(&format!("crates/src/f{n}.rs"), n.into(), 90.0 - 2.0 * f64::from(n), n * 50);
    let files = (0..40).map(file).collect();
    let page = hotspots_to_html(&report(files), "demo", "1");
    assert_eq!((page.matches("<circle ").count(), page.matches("<tr><td").count()), (40, 40));
    assert!(page.matches("class=\"label\"").count() > 3 && page.contains(">src/f0.rs</text>"), "{page}");
    for circle in page.split("<circle ").skip(1) {
        let figure = |name: &str| {
            let (_, rest) = circle.split_once(&format!("{name}=\"")).unwrap();
            rest.split('"').next().unwrap().parse::<f64>().unwrap()
        };
        assert!((0.0..=1080.0).contains(&figure("cx")) && (0.0..=480.0).contains(&figure("cy")), "{circle}");
        assert!(figure("r") >= 3.5 && figure("r") <= 22.0, "{circle}");
    }
}

#[test]
fn figures_that_are_all_zero_are_drawn() {
    let page = hotspots_to_html(&report(vec![hotspot("a.rs", 0, 0.0, 0)]), "demo", "1");
    assert!(page.contains("<circle ") && !page.contains("NaN") && !page.contains("inf"), "{page}");
}

#[test]
fn the_page_says_what_it_leaves_out() {
    let files = (0..600).map(|n| hotspot(&format!("f{n}.rs"), 1, 10.0, 10)).collect();
    let page = hotspots_to_html(&HotspotReport { omitted: 7, ..report(files) }, "demo", "1");
    assert!(page.contains("107 more files are not listed") && page.contains("607 source files"), "{page}");
    let nothing = HotspotReport { reason: Some("No commits.".into()), measured: false, ..report(Vec::new()) };
    let page = hotspots_to_html(&nothing, "demo", "1");
    assert!(page.contains("Nothing was measured") && !page.contains("<svg"), "{page}");
}
