//! `mainstay search` and `mainstay index`.

use std::path::PathBuf;

use clap::Args;

pub(crate) const EXAMPLES: &str = "Examples:\n  mainstay search \"where are routes matched\"\n  mainstay search Router::match --top 3\n  mainstay search \"parse the config file\" --lang rust --path src --json";

#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// What to find: a question or description, or a name
    #[arg(required = true, value_name = "WORDS")]
    pub(crate) words: Vec<String>,
    /// Maximum number of matches
    #[arg(long, short = 'n', default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=50))]
    pub(crate) top: u8,
    /// Only files in this directory, or this file; may be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Vec<String>,
    /// Only files in this language, such as rust, python or markdown; may be repeated
    #[arg(long, value_name = "LANGUAGE")]
    pub(crate) lang: Vec<String>,
    /// Maximum lines of each snippet
    #[arg(long, default_value_t = 10, value_name = "N")]
    pub(crate) lines: usize,
    /// Print the matches as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct IndexArgs {
    /// Directory to index [default: the workspace]
    #[arg(value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    /// Show what is indexed, and change nothing
    #[arg(long, conflicts_with = "rebuild")]
    pub(crate) status: bool,
    /// Throw the index away and build it again
    #[arg(long)]
    pub(crate) rebuild: bool,
    /// Print the state of the index as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
