//! Hunks as the parser of unified diffs reads them.

use super::patch::{FilePatch, Line, Sign};
use super::unified::parse;

fn one(patch: &str) -> FilePatch {
    let mut files = parse(patch, None).unwrap();
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
}

#[test]
fn a_removed_line_that_looks_like_a_header_is_a_removed_line() {
    let file = one("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- old\n+++ new\n c\n");
    assert_eq!(file.hunks[0].lines[0], Line { sign: Sign::Removed, text: "-- old\n".into() });
    assert_eq!(file.hunks[0].lines.len(), 3);
}

fn parse_failure(hunks: &str) -> String {
    parse(&format!("--- a/x\n+++ b/x\n{hunks}"), None).unwrap_err().public.into_owned()
}

#[test]
fn more_lines_than_the_header_says_are_counted_again() {
    let file = one("--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n a\n-b\n+c\n@@ -9 +9 @@\n-d\n+e\n");
    assert_eq!((file.hunks[0].lines.len(), file.hunks[1].lines.len()), (3, 2));
    let file = one("--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n-b\n+c\n+d\n\n\n");
    assert_eq!(file.hunks[0].lines.len(), 5, "the blank line that was counted, and not the other");
}

#[test]
fn a_truncated_hunk_is_rejected_with_its_counts() {
    let error = parse_failure("@@ -1,6 +1,7 @@\n 1\n-2\n-3\n");
    assert!(error.contains("line 3") && error.contains("truncated"), "{error}");
    assert!(error.contains("6 old and 7 new lines, but there are 3 and 1 where the patch ends"), "{error}");
    let error = parse_failure("@@ -1,9 +1,9 @@\n a\n-b\n+c\n\n");
    assert!(error.contains("there are 3 and 3 where"), "{error}");
    for next in ["@@ -9 +9 @@\n-d\n+e\n", "--- a/y\n+++ b/y\n@@ -1 +1 @@\n-d\n+e\n", "diff --git a/y b/y\n"] {
        let error = parse_failure(&format!("@@ -1,4 +1,4 @@\n a\n-b\n+c\n{next}"));
        assert!(error.contains("truncated") && error.contains("there are 2 and 2 before line 7"), "{error}");
    }
    let error = parse_failure("@@ -1,3 +1,3 @@\n a\n-b\n+c\nd\n");
    assert!(error.contains(r#"line 7 of the patch, "d""#), "{error}");
}

#[test]
fn a_hunk_line_without_a_sign_does_not_hide_the_lines_after_it() {
    for header in ["@@ fn f() {", "@@ -1,1 +1,1 @@"] {
        let error = parse_failure(&format!("{header}\n a\n-b\n+c\nd\n-e\n+f\n"));
        assert!(error.contains("at line 8") && error.contains("line 7 of the patch is not prefixed"), "{error}");
    }
    let fenced = one("```diff\n--- a/x\n+++ b/x\n@@\n-b\n+c\n```\n");
    assert_eq!(fenced.hunks[0].lines.len(), 2);
}

#[test]
fn the_email_around_a_patch_is_not_part_of_it() {
    let file = one("Subject: x\n\n---\n x | 2 +-\n\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n-- \n2.40\n");
    assert_eq!(file.hunks[0].lines.len(), 2);
}

#[test]
fn a_missing_newline_is_missing_from_the_line() {
    let file = one("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
    assert_eq!((file.hunks[0].lines[0].text.as_str(), file.hunks[0].lines[1].text.as_str()), ("a", "a\n"));
}
