//! A hotspot report as one page: a plot and a table. It needs no script, no other file and no network, and says so to the
//! browser. Names of files and functions are written by others, so everything is escaped.

mod plot;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use super::hotspots::{Hotspot, HotspotReport};

const STYLE: &str = include_str!("style.css");

/// The most rows of the table. The files are sorted, so the ones that are left out have the lowest scores.
const MAX_ROWS: usize = 500;

/// The page. `title` names what was analysed, `version` this program's version.
pub fn hotspots_to_html(report: &HotspotReport, title: &str, version: &str) -> String {
    let title = escape(title);
    let ranked = report.hotspots.len() + report.omitted;
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>Hotspots of {title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1>Hotspots of {title}</h1>\n\
         <p>{ranked} source files that changed in {} days, {} commits. Work on files that are both complex and changed \
         often pays off first.</p>\n",
        report.period_days, report.total_commits
    );
    if let Some(reason) = &report.reason {
        let _ = writeln!(page, "<section><h2>Nothing was measured</h2><p>{}</p></section>", escape(reason));
    } else {
        let _ = writeln!(page, "<section>\n<h2>Complexity and changes</h2>\n{}</section>", plot::plot(report));
        page.push_str(&table(report));
    }
    page.push_str(&failed(report));
    let _ = writeln!(page, "<p>mainstay {}</p>\n</main>\n</body>\n</html>", escape(version));
    page
}

fn table(report: &HotspotReport) -> String {
    let mut table = "<section>\n<h2>Files</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th>Score</th>\
                     <th class=\"name\">File</th><th>Commits</th><th>Churn</th><th>Complexity</th>\
                     <th>Max cyclomatic</th><th>Functions</th><th>Lines</th>\
                     <th class=\"name\">Most complex function</th></tr></thead>\n<tbody>\n"
        .to_owned();
    let highest = highest_score(&report.hotspots);
    report.hotspots.iter().take(MAX_ROWS).for_each(|hotspot| write_row(&mut table, hotspot, highest));
    table.push_str("</tbody>\n</table></div>\n");
    let omitted = report.omitted + report.hotspots.len().saturating_sub(MAX_ROWS);
    if omitted > 0 {
        let _ = writeln!(table, "<p>{omitted} more files are not listed.</p>");
    }
    table + "</section>\n"
}

/// Colours and bars are relative to it: where churn and complexity hardly meet, all scores are small.
fn highest_score(hotspots: &[Hotspot]) -> f64 {
    // No file has a score where none has any complexity.
    let highest = hotspots.iter().map(|hotspot| hotspot.hotspot_score).fold(0.0, f64::max);
    if highest > 0.0 { highest } else { 1.0 }
}

fn write_row(table: &mut String, hotspot: &Hotspot, highest: f64) {
    let _ = writeln!(
        table,
        "<tr><td class=\"score\" style=\"--share:{:.0}%\">{:.2}</td><td class=\"name\">{}</td><td>{}</td><td>{:.2}</td>\
         <td>{:.2}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"name\">{}, line {}</td></tr>",
        hotspot.hotspot_score / highest * 100.0,
        hotspot.hotspot_score,
        // A long path is broken between names.
        escape(&hotspot.path).replace('/', "/<wbr>"),
        hotspot.commit_count,
        hotspot.churn_score,
        hotspot.complexity_score,
        hotspot.max_cyclomatic,
        hotspot.function_count,
        hotspot.code_lines,
        escape(&hotspot.worst_function),
        hotspot.worst_line
    );
}

/// What has no figures: a page that leaves it out would look complete.
fn failed(report: &HotspotReport) -> String {
    let unmeasured = &report.unmeasured;
    let (files, functions) = (&unmeasured.files_failed, &unmeasured.functions_skipped);
    let all = files.len() + functions.len();
    if all == 0 {
        return String::new();
    }
    let files = files.iter().map(|failed| (failed.file.clone(), failed.reason.clone()));
    let functions = functions.iter().map(|skipped| {
        (format!("{}:{}", skipped.file, skipped.line), format!("{} has a syntax error.", skipped.function))
    });
    let mut list = "<section>\n<h2>Not measured</h2>\n<ul>\n".to_owned();
    for (place, reason) in files.chain(functions).take(MAX_ROWS) {
        let _ = writeln!(list, "<li>{}: {}</li>", escape(&place), escape(&reason));
    }
    let omitted = all.saturating_sub(MAX_ROWS);
    if omitted > 0 {
        let _ = writeln!(list, "<li>{omitted} more</li>");
    }
    list + "</ul>\n</section>\n"
}

/// Text for an element or an attribute in quotes. Characters that are not seen, or that reverse what is, are spelled out.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in mainstay_core::escape_invisible(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // Only these two are left of what a name could break a line with.
            '\n' => escaped.push_str("\\n"),
            '\t' => escaped.push_str("\\t"),
            _ => escaped.push(c),
        }
    }
    escaped
}
