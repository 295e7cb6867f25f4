//! Our figures beside those of another tool, function by function.

use std::collections::{BTreeMap, HashMap};

use anyhow::{Context, Result};
use serde_json::Value;

/// What identifies a function in both outputs besides its file.
#[derive(Clone, Copy)]
pub(super) enum MatchBy {
    NameAndFirstLine,
    /// For a tool whose first line is that of a decorator.
    NameAndLastLine,
    /// For functions without names.
    FirstByte,
}

#[derive(PartialEq, Eq, Hash)]
struct Key {
    file: String,
    name: String,
    position: u64,
}

/// A function with our figure.
pub(super) struct Ours {
    pub(super) name: String,
    pub(super) line: u64,
    pub(super) figure: u64,
    pub(super) text: String,
}

/// One function of the other tool.
struct Theirs {
    key: Key,
    figure: u64,
    /// How many tokens of each class are in the figure that are no decisions.
    not_decisions: BTreeMap<String, u64>,
}

/// A function whose figures differ.
pub(super) struct Difference<'a> {
    pub(super) ours: &'a Ours,
    pub(super) theirs: u64,
}

/// The outcome of one comparison.
#[derive(Default)]
pub(super) struct Agreement {
    pub(super) compared: usize,
    pub(super) not_found: usize,
    pub(super) equal: usize,
    /// Equal before tokens that are no decisions were taken out of the other tool's figures.
    pub(super) equal_as_reported: usize,
    /// How many functions have tokens of a class.
    pub(super) not_decisions: BTreeMap<String, usize>,
    /// By class: how many, and the first as an example.
    pub(super) classes: BTreeMap<String, (usize, String)>,
}

impl Agreement {
    #[expect(clippy::cast_precision_loss, reason = "a percentage of some ten thousand functions")]
    pub(super) fn percent(equal: usize, compared: usize) -> f64 {
        if compared == 0 { 0.0 } else { equal as f64 * 100.0 / compared as f64 }
    }
}

/// Compares our output, one line of JSON per file, with the list of the other tool.
pub(super) fn compare(
    ours: &str,
    theirs: &str,
    figure: &str,
    by: MatchBy,
    classify: fn(&Difference<'_>) -> &'static str,
) -> Result<Agreement> {
    let ours = read_ours(ours, figure, by)?;
    let mut agreement = Agreement::default();
    for theirs in read_theirs(theirs, by)? {
        let Some(ours) = ours.get(&theirs.key) else {
            agreement.not_found += 1;
            continue;
        };
        agreement.compared += 1;
        agreement.equal_as_reported += usize::from(ours.figure == theirs.figure);
        for class in theirs.not_decisions.keys() {
            *agreement.not_decisions.entry(class.clone()).or_default() += 1;
        }
        let decisions = theirs.figure.saturating_sub(theirs.not_decisions.values().sum());
        if ours.figure == decisions {
            agreement.equal += 1;
            continue;
        }
        let class = classify(&Difference { ours, theirs: decisions });
        let example = || format!("{}:{} {}: {}, there {decisions}", theirs.key.file, ours.line, ours.name, ours.figure);
        agreement.classes.entry(class.to_owned()).or_insert_with(|| (0, example())).0 += 1;
    }
    Ok(agreement)
}

fn read_ours(output: &str, figure: &str, by: MatchBy) -> Result<HashMap<Key, Ours>> {
    let mut functions = HashMap::new();
    for line in output.lines() {
        let measured: Value = serde_json::from_str(line).context("our output is not JSON")?;
        let file = measured["file"].as_str().unwrap_or_default();
        if let Some(error) = measured["error"].as_str() {
            println!("  not measured: {file}: {error}");
            continue;
        }
        let source = std::fs::read(file)?;
        for function in measured["metrics"]["functions"].as_array().into_iter().flatten() {
            let span = |field: &str| function["span"][field].as_u64().unwrap_or_default();
            let name = function["name"].as_str().unwrap_or_default().to_owned();
            let simple = name.rsplit(['.', ':']).next().unwrap_or_default();
            let key = match by {
                MatchBy::NameAndFirstLine => key(file, simple, span("start_line")),
                MatchBy::NameAndLastLine => key(file, simple, span("end_line")),
                MatchBy::FirstByte => key(file, "", span("start_byte")),
            };
            let range = usize::try_from(span("start_byte"))?..usize::try_from(span("end_byte"))?;
            let text = String::from_utf8_lossy(source.get(range).unwrap_or_default()).into_owned();
            let figure = function[figure].as_u64().unwrap_or_default();
            functions.insert(key, Ours { name, line: span("start_line"), figure, text });
        }
    }
    Ok(functions)
}

/// Rows are `[file, name, first line, last line, figure]`, followed by counts of tokens or by the first byte.
fn read_theirs(output: &str, by: MatchBy) -> Result<Vec<Theirs>> {
    let rows: Vec<Value> = serde_json::from_str(output).context("the other tool's output is not JSON")?;
    let functions = rows.iter().map(|row| {
        let text = |index: usize| row[index].as_str().unwrap_or_default();
        let number = |index: usize| row[index].as_u64().unwrap_or_default();
        let simple = text(1).rsplit(':').next().unwrap_or_default();
        let key = match by {
            MatchBy::NameAndFirstLine => key(text(0), simple, number(2)),
            MatchBy::NameAndLastLine => key(text(0), simple, number(3)),
            MatchBy::FirstByte => key(text(0), "", number(5)),
        };
        let counts = row[5].as_object().into_iter().flatten();
        let not_decisions = counts.map(|(class, count)| (class.clone(), count.as_u64().unwrap_or_default())).collect();
        Theirs { key, figure: number(4), not_decisions }
    });
    Ok(functions.collect())
}

fn key(file: &str, name: &str, position: u64) -> Key {
    Key { file: file.to_owned(), name: name.to_owned(), position }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: &str = r#"{"file":"F","error":null,"metrics":{"functions":[
        {"name":"A.f","span":{"start_line":2,"end_line":3,"start_byte":0,"end_byte":1},"cyclomatic":4}]}}"#;

    #[test]
    fn functions_are_matched_and_differences_classified() {
        let directory = crate::scratch::Scratch::new("oracle-compare").unwrap();
        let file = directory.path().join("f.py");
        std::fs::write(&file, "x").unwrap();
        let ours = OURS.replace('\n', "").replace("\"F\"", &format!("{file:?}"));
        let run = |figure: u64, counts: &str| {
            let theirs = format!("[[{file:?},\"f\",2,3,{figure},{counts}],[{file:?},\"g\",9,9,1]]");
            compare(&ours, &theirs, "cyclomatic", MatchBy::NameAndFirstLine, |_| "class").unwrap()
        };
        let equal = run(4, "{}");
        assert_eq!((equal.compared, equal.equal, equal.not_found), (1, 1, 1));
        let differs = run(5, "{}");
        assert_eq!((differs.equal, differs.classes["class"].0), (0, 1));
        let explained = run(5, "{\"where\":1}");
        assert_eq!((explained.equal, explained.equal_as_reported), (1, 0));
    }
}
