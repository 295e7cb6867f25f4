//! `search_symbols`: where a name is defined and used.

use std::fmt::Write as _;

use mainstay_core::{Context, Effect, Error, Pace, Result, Spec, Spelling, Tool, WithText};
use mainstay_search::ranking::{self, Filter};
use serde::{Deserialize, Serialize};

use super::search_tools::{RootsSnapshot, SearchTools};
use super::spec;
use crate::progress::{Progress, run_with_progress};

/// A longer name is none.
const MAX_NAME_BYTES: usize = 512;

/// The most files that are read for references.
const MAX_FILES: usize = 2000;

/// The most bytes of a line that are shown.
const MAX_LINE_BYTES: usize = 200;

pub(crate) struct SearchSymbols(pub(super) SearchTools);

#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(crate) struct Args {
    /// Name of a function, type, method, constant or module; with its owner where it has one: Stack::push.
    name: String,
    /// What to return.
    #[serde(default)]
    show: Show,
    /// Only paths that begin with this, such as src/.
    path_prefix: Option<String>,
    /// Maximum number of definitions, and of references.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 200))]
    limit: usize,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Show {
    #[default]
    All,
    Definitions,
    References,
}

fn default_limit() -> usize {
    20
}

#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct Output {
    definitions: Vec<Definition>,
    references: Vec<Reference>,
    /// There are more references than returned.
    more_references: bool,
}

#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(inline)]
struct Definition {
    path: String,
    line_start: u32,
    line_end: u32,
    name: String,
    kind: String,
    lang: String,
}

#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(inline)]
struct Reference {
    path: String,
    line: u32,
    text: String,
}

impl Tool for SearchSymbols {
    const SPEC: Spec = Spec {
        title: "Find a symbol",
        description: "Finds where a function, type, method or constant is defined and where its name is used, with lines. \
                      Use it when you know the name; use vector_search when you know what it does.",
        pace: Pace::Long,
        spellings: &[Spelling { dialect: "mcp", name: "search_symbols" }],
        ..spec("symbols", Effect::Reads)
    };
    type Args = Args;
    type Output = WithText<Output>;

    async fn call(&self, args: Args, context: &Context) -> Result<WithText<Output>> {
        let name = args.name.trim();
        if name.is_empty() || name.len() > MAX_NAME_BYTES {
            let line = format!("The name is empty or longer than {MAX_NAME_BYTES} bytes.");
            return Err(Error::field("name", line));
        }
        // Every line has the empty name.
        if simple_name(name).is_empty() {
            let line = format!("{name:?} does not end with a name; use one such as push or Stack::push.");
            return Err(Error::field("name", line));
        }
        let roots = self.0.roots(None).unwrap_or_default();
        let roots = roots.into_iter().map(|root| (root.index.clone(), None)).collect();
        let tools = self.0.clone();
        let found = run_with_progress(context, "files", move |progress| {
            let searched = RootsSnapshot::up_to_date(roots, &progress)?;
            tools.symbols(&searched, &args, &progress)
        });
        found.await.map(Output::with_text)
    }
}

impl SearchTools {
    fn symbols(&self, searched: &RootsSnapshot, args: &Args, progress: &Progress) -> Result<Output> {
        let filter = Filter { prefix: args.path_prefix.clone().unwrap_or_default(), ..Filter::default() };
        let name = args.name.trim();
        let symbols = ranking::symbols(&searched.snapshot, name, &filter, usize::MAX);
        let mut definitions = Vec::new();
        for symbol in symbols {
            definitions.push(Definition {
                path: searched.root(symbol.part)?.0.display(&symbol.path),
                line_start: symbol.first_line,
                line_end: symbol.last_line,
                name: symbol.name,
                kind: format!("{:?}", symbol.kind).to_lowercase(),
                lang: symbol.language.to_owned(),
            });
        }
        let (mut references, mut more_references) = (Vec::new(), false);
        if args.show != Show::Definitions {
            (references, more_references) = self.references(searched, args, &filter, &definitions, progress)?;
        }
        definitions.truncate(if args.show == Show::References { 0 } else { args.limit });
        Ok(Output { definitions, references, more_references })
    }

    /// The lines that have the name and do not define it, and whether there are more.
    fn references(
        &self,
        searched: &RootsSnapshot,
        args: &Args,
        filter: &Filter,
        definitions: &[Definition],
        progress: &Progress,
    ) -> Result<(Vec<Reference>, bool)> {
        let simple = simple_name(args.name.trim());
        let mut references = Vec::new();
        let files = ranking::documents_naming(&searched.snapshot, simple, filter, MAX_FILES);
        let mut is_cut = files.len() == MAX_FILES;
        'files: for file in files {
            progress.check()?;
            let path = searched.root(file.part)?.0.display(&file.path);
            let content = self.workspace().find(&path).and_then(|found| found.open_file());
            let content = content.and_then(|file| file.read_whole(self.settings().file_bytes));
            // Removed a moment ago.
            let Ok(Some(content)) = content else { continue };
            let text = String::from_utf8_lossy(&content);
            for (line, text) in (1..).zip(text.lines()) {
                let defines = |one: &Definition| one.line_start == line && one.path == path;
                if !has_identifier(text, simple) || definitions.iter().any(defines) {
                    continue;
                }
                if references.len() == args.limit {
                    is_cut = true;
                    break 'files;
                }
                references.push(Reference { path: path.clone(), line, text: shortened(text.trim()) });
            }
        }
        Ok((references, is_cut))
    }
}

impl Output {
    /// For models: one line for each.
    fn with_text(self) -> WithText<Self> {
        let mut text = String::new();
        for Definition { path, line_start, line_end, name, kind, .. } in &self.definitions {
            let _ = writeln!(text, "{path}:{line_start}-{line_end} {kind} {name}");
        }
        if !self.references.is_empty() {
            let _ = writeln!(text, "References:");
        }
        for Reference { path, line, text: found } in &self.references {
            let _ = writeln!(text, "{path}:{line}:{found}");
        }
        if self.more_references {
            let _ = writeln!(text, "[more references: raise limit, or set path_prefix]");
        }
        if text.is_empty() {
            text.push_str("No definition and no reference has this name.\n");
        }
        WithText { value: self, text }
    }
}

/// The last part of a qualified name, without a call's parentheses.
fn simple_name(name: &str) -> &str {
    let name = name.trim_end_matches(['(', ')', '!', ';']);
    name.rsplit(['.', ':', '#', '/']).next().unwrap_or(name)
}

/// Whether a line has the name as a whole identifier.
fn has_identifier(line: &str, name: &str) -> bool {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    line.match_indices(name).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        let after = line[start + name.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

fn shortened(line: &str) -> String {
    let end = line.floor_char_boundary(MAX_LINE_BYTES);
    if end == line.len() { line.to_owned() } else { format!("{}…", &line[..end]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_is_whole_and_the_last_part_of_a_name() {
        assert!(has_identifier("x = push(1)", "push") && has_identifier("push", "push"));
        assert!(!has_identifier("pushed, repush, push_all, pushé", "push"));
        assert!(has_identifier("push_all; push", "push"));
        for (name, simple) in [("Stack::push", "push"), ("a.b.read()", "read"), ("vec!", "vec"), ("x", "x")] {
            assert_eq!(simple_name(name), simple);
        }
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        assert_eq!(shortened("short"), "short");
        let cut = shortened(&"é".repeat(150));
        assert!(cut.len() <= MAX_LINE_BYTES + 3 && cut.ends_with('…'));
    }
}
