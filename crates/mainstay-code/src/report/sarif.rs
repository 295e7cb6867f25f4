//! A complexity report as SARIF 2.1.0, the format in which code hosts and editors take findings.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::complexity::{ComplexityReport, Violation};
use super::measurement::{FailedFile, UnmeasuredFunction};
use super::thresholds::{Rule, Severity};

const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// What need not be escaped in the path of a URI; slashes stay between names.
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The report as one run of a tool of this version. Files that could not be measured are notifications of the run; a
/// run that has measured nothing is not a successful one.
pub fn to_sarif(report: &ComplexityReport, version: &str) -> Value {
    let unmeasured = &report.summary.unmeasured;
    let functions = unmeasured.functions_skipped.iter().map(function_notification);
    let mut notifications: Vec<Value> = unmeasured.files_failed.iter().map(notification).chain(functions).collect();
    if let Some(reason) = &report.reason {
        notifications.push(json!({ "level": "error", "message": { "text": reason } }));
    }
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "mainstay",
                "version": version,
                "rules": Rule::ALL.map(rule),
            }},
            "invocations": [{
                "executionSuccessful": report.measured,
                "toolExecutionNotifications": notifications,
            }],
            "results": report.violations.iter().map(result).collect::<Vec<_>>(),
        }],
    })
}

/// What a rule is about. The level of a finding is told with the finding; this is the one that code hosts show for the
/// rule.
fn rule(rule: Rule) -> Value {
    let description = match rule {
        Rule::Cyclomatic => "The number of independent paths through a function.",
        Rule::Cognitive => "How hard the control flow of a function is to follow.",
    };
    json!({
        "id": rule.id(),
        "shortDescription": { "text": description },
        "help": { "text": "Split the function, or return early instead of nesting." },
        "defaultConfiguration": { "level": Severity::Warning.name() },
    })
}

/// A finding: where the function is, by line and by name, and the figures for programs that compare runs.
fn result(violation: &Violation) -> Value {
    let index = Rule::ALL.iter().position(|rule| *rule == violation.rule);
    json!({
        "ruleId": violation.rule.id(),
        "ruleIndex": index,
        "level": violation.severity.name(),
        "message": { "text": violation.message },
        "locations": [{
            "physicalLocation": {
                "artifactLocation": { "uri": uri(&violation.file) },
                "region": { "startLine": violation.line, "endLine": violation.end_line.max(violation.line) },
            },
            "logicalLocations": [{ "fullyQualifiedName": violation.function, "kind": "function" }],
        }],
        "properties": { "value": violation.value, "threshold": violation.threshold },
    })
}

/// A file that the run could not look at. It is no finding: nothing is known about it.
fn notification(failed: &FailedFile) -> Value {
    json!({
        "level": "warning",
        "message": { "text": format!("Not measured: {}", failed.reason) },
        "locations": [{ "physicalLocation": { "artifactLocation": { "uri": uri(&failed.file) } } }],
    })
}

/// The same for a function of a file that was measured otherwise.
fn function_notification(skipped: &UnmeasuredFunction) -> Value {
    json!({
        "level": "warning",
        "message": { "text": format!("Not measured: {} has a syntax error.", skipped.function) },
        "locations": [{ "physicalLocation": {
            "artifactLocation": { "uri": uri(&skipped.file) },
            "region": { "startLine": skipped.line.max(1) },
        }}],
    })
}

/// A path as a relative reference. Without a scheme in front, a first name with a colon would be taken for one; it is
/// escaped as every other character that is not plainly part of a name.
fn uri(path: &str) -> String {
    utf8_percent_encode(path, PATH).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_path_is_a_valid_reference() {
        assert_eq!(uri("src/a b:c%20#?.rs"), "src/a%20b%3Ac%2520%23%3F.rs");
        assert_eq!(uri("\u{fc}\n"), "%C3%BC%0A");
    }
}
