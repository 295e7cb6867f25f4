//! The options of `mainstay analyze`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// Rows in each list of a table, unless the person wants more.
pub(crate) const USUAL_ROWS: usize = 20;

// A paragraph is one line: clap breaks it where the terminal ends.
pub(crate) const HELP: &str = "\
Exit codes: 0 measured, 1 a figure is over --fail-over, 2 an error, or there was nothing to measure.

Paths are relative to the git repository around PATH, or to PATH if there is none. Build output, and files that .gitignore \
excludes, are left out. What was measured is remembered: files that have not changed are not read again.";

const COMPLEXITY_HELP: &str = "\
Examples:
  mainstay analyze complexity src --top 5
  mainstay analyze complexity --format sarif --output complexity.sarif
  mainstay analyze complexity --fail-over cyclomatic=15,cognitive=20

The last one is for CI: it exits with 1 if a function is over one of the figures, and names each with its value on standard \
error.

Exit codes: 0 measured, 1 a function is over --fail-over, 2 an error, or there was nothing to measure. A file that cannot be \
parsed is named and has no figures; the others are measured all the same.";

const CHURN_HELP: &str = "\
Examples:
  mainstay analyze churn --days 90
  mainstay analyze churn src --format csv --output churn.csv";

const HOTSPOTS_HELP: &str = "\
Examples:
  mainstay analyze hotspots --days 365 --top 10
  mainstay analyze hotspots --days 365 --format html --output hotspots.html";

#[derive(Debug, Subcommand)]
pub(crate) enum Analyze {
    /// Measure the complexity of functions, and list those over a threshold and the most complex files
    ///
    /// Cyclomatic complexity is the number of independent paths through a function; cognitive complexity is how hard its
    /// control flow is to follow. A function over a maximum is an error, over three quarters of it a warning.
    #[command(after_help = COMPLEXITY_HELP)]
    Complexity(ComplexityArgs),
    /// Rank files by how often and how much they have changed, from the history of git
    #[command(after_help = CHURN_HELP)]
    Churn(ChurnArgs),
    /// Rank source files by churn times complexity: what to refactor first
    #[command(after_help = HOTSPOTS_HELP)]
    Hotspots(HotspotsArgs),
}

// No doc comments on the structs: clap would show them in place of the descriptions of the commands.
#[derive(Debug, Args)]
pub(crate) struct ComplexityArgs {
    /// Directory or file
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,
    /// Language or toolchain: rust, python, go, deno, python-uv …, or all
    #[arg(long, value_name = "NAME", default_value = "all")]
    pub(crate) toolchain: String,
    /// Largest cyclomatic complexity that is no error [default: 20, warning over 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_cyclomatic: Option<u32>,
    /// Largest cognitive complexity that is no error [default: 30, warning over 15]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_cognitive: Option<u32>,
    /// Exit with 1 if a function is over this: cyclomatic=N, cognitive=N, or both. It is the maximum, too, unless that is
    /// given
    #[arg(long, value_name = "FIGURE=N", value_delimiter = ',', value_parser = fail_over)]
    pub(crate) fail_over: Vec<FailOver>,
    /// Output format
    #[arg(long, value_enum, default_value_t = ComplexityOutput::Table)]
    pub(crate) format: ComplexityOutput,
    /// Rows in each list of the table [default: 20]; in other formats, the number of files to rank
    #[arg(long, value_name = "N", value_parser = rows)]
    pub(crate) top: Option<usize>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ChurnArgs {
    #[command(flatten)]
    pub(crate) history: HistoryArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t = ChurnOutput::Table)]
    pub(crate) format: ChurnOutput,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct HotspotsArgs {
    #[command(flatten)]
    pub(crate) history: HistoryArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t = HotspotsOutput::Table)]
    pub(crate) format: HotspotsOutput,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// Directory in a git repository
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,
    /// Days to look back
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    pub(crate) days: u32,
    /// The most files to list [default: 20 in the table, 50 in the summary, otherwise all]
    #[arg(long, value_name = "N", value_parser = rows)]
    pub(crate) top: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// Write to this file instead of standard output; a file that exists is replaced
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ComplexityOutput {
    /// For reading in a terminal
    Table,
    /// One finding in each line, as the tool prints it
    Summary,
    /// The summary, and the figures of every function
    Full,
    /// The whole report
    Json,
    /// SARIF 2.1.0, for code hosts and editors
    Sarif,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ChurnOutput {
    /// For reading in a terminal
    Table,
    /// One file in each line, as the tool prints it
    Summary,
    /// The whole report
    Json,
    /// Tables of files and authors
    Markdown,
    /// One record for each file
    Csv,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum HotspotsOutput {
    /// For reading in a terminal
    Table,
    /// One file in each line, as the tool prints it
    Summary,
    /// The whole report
    Json,
    /// A table of files
    Markdown,
    /// One record for each file
    Csv,
    /// A page with a plot of all files; it needs no other file and no network
    Html,
}

/// A figure that must not be exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailOver {
    Cyclomatic(u32),
    Cognitive(u32),
}

fn fail_over(text: &str) -> Result<FailOver, String> {
    let wrong = || "write cyclomatic=N or cognitive=N, with N from 1 on".to_owned();
    let (figure, most) = text.split_once('=').ok_or_else(wrong)?;
    let most = most.parse().ok().filter(|most| *most > 0).ok_or_else(wrong)?;
    match figure {
        "cyclomatic" => Ok(FailOver::Cyclomatic(most)),
        "cognitive" => Ok(FailOver::Cognitive(most)),
        _ => Err(wrong()),
    }
}

fn rows(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|rows| *rows > 0).ok_or_else(|| "it has to be a whole number, 1 or more".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_names_its_figure() {
        assert_eq!(fail_over("cyclomatic=15"), Ok(FailOver::Cyclomatic(15)));
        assert_eq!(fail_over("cognitive=1"), Ok(FailOver::Cognitive(1)));
        for wrong in ["15", "cyclomatic", "cyclomatic=", "cyclomatic=0", "cyclomatic=-1", "lines=5", "=5"] {
            assert!(fail_over(wrong).is_err(), "{wrong}");
        }
    }
}
