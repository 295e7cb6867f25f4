//! Tables for a terminal: columns as wide as they need to be, and names that cannot break a line.

use std::fmt::{self, Display, Write as _};

use mainstay_code::report::Unmeasured;

use crate::commands::terminal::line;

/// The most files and functions without figures that a table names.
const MAX_UNMEASURED: usize = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

pub(super) struct Table<const N: usize> {
    columns: [(&'static str, Align); N],
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    pub(super) fn new(columns: &[(&'static str, Align); N]) -> Self {
        Self { columns: *columns, rows: Vec::new() }
    }

    pub(super) fn row(&mut self, cells: [String; N]) {
        self.rows.push(cells.map(|cell| line(&cell)));
    }
}

impl<const N: usize> Display for Table<N> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heads = self.columns.map(|(head, _)| head.to_owned());
        let lines = || std::iter::once(&heads).chain(&self.rows);
        for cells in lines() {
            let mut text = String::new();
            for (at, cell) in cells.iter().enumerate() {
                let width = lines().map(|cells| cells[at].chars().count()).max().unwrap_or(0);
                match self.columns[at].1 {
                    Align::Left => write!(text, "{cell:<width$}  ")?,
                    Align::Right => write!(text, "{cell:>width$}  ")?,
                }
            }
            writeln!(out, "{}", text.trim_end())?;
        }
        Ok(())
    }
}

/// Names what has no figures, and why.
pub(super) fn write_unmeasured(text: &mut String, unmeasured: &Unmeasured) {
    let lines = unmeasured_lines(unmeasured);
    if lines.is_empty() {
        return;
    }
    text.push_str("\nNot measured\n");
    for unmeasured in lines.iter().take(MAX_UNMEASURED) {
        let _ = writeln!(text, "{unmeasured}");
    }
    if lines.len() > MAX_UNMEASURED {
        let _ = writeln!(text, "[{} more: --format json names all]", lines.len() - MAX_UNMEASURED);
    }
}

/// A line for each file and each function without figures.
pub(super) fn unmeasured_lines(unmeasured: &Unmeasured) -> Vec<String> {
    let files = unmeasured.files_failed.iter().map(|failed| format!("{}: {}", failed.file, failed.reason));
    let functions = unmeasured.functions_skipped.iter();
    let functions =
        functions.map(|skipped| format!("{}:{}: {} has a syntax error.", skipped.file, skipped.line, skipped.function));
    files.chain(functions).map(|text| line(&text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_names_stay_on_their_line() {
        let mut table = Table::new(&[("n", Align::Right), ("name", Align::Left), ("place", Align::Left)]);
        table.row(["1".into(), "ä".into(), "a\nb\u{1b}[31m:1".into()]);
        table.row(["100".into(), "longer".into(), String::new()]);
        assert_eq!(table.to_string(), "  n  name    place\n  1  ä       a�b�[31m:1\n100  longer\n");
    }
}
