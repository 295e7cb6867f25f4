//! Searching the content of files with ripgrep's search engine, and the matches in path order.

use std::io::Read;
use std::os::unix::ffi::OsStrExt as _;

use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch};
use mainstay_sandbox::OpenFile;

use crate::text::line;
use crate::walk::page::PageLimits;
use crate::walk::{Collected, StopSignal, Visitor, WalkEntry};

/// A search that several threads run, each with a [`Worker`] of its own.
pub(crate) struct FileSearcher {
    pub(crate) matcher: RegexMatcher,
    pub(crate) searcher: SearcherBuilder,
    pub(crate) show: Show,
    pub(crate) limits: PageLimits,
    /// Where the page begins: a path, and the last of its lines that was on the page before; 0 if it is finished.
    pub(crate) resume: Option<(Vec<u8>, u64)>,
}

/// The matcher and the buffers of one thread: sharing a matcher would have the threads compete for its cache.
pub(crate) struct Worker {
    matcher: RegexMatcher,
    searcher: Searcher,
}

impl FileSearcher {
    /// Searches one file from where the page begins, and adds the matches to the results.
    pub(crate) fn search(
        &self,
        worker: &mut Worker,
        file: &OpenFile,
        path: &[u8],
        stop: &StopSignal,
        results: &mut Collected<FileMatches>,
    ) {
        let Worker { matcher, searcher } = worker;
        let mut sink = MatchSink {
            search: self,
            matcher,
            after: self.resume.as_ref().filter(|(last, _)| last == path).map_or(0, |(_, line)| *line),
            items: results.items,
            bytes: results.bytes,
            count: 0,
            lines: Vec::new(),
            before: Vec::new(),
            skipping: false,
            binary: false,
        };
        // Read through the handle that the sandbox opened, never by path, and no further than the size the file had when
        // it was opened: that saves the system call which would only find the end, and a file that grows while it is
        // read cannot keep the search busy.
        let content = StoppableReader { file: file.reader(0), stop }.take(file.metadata().size);
        let searched = searcher.search_reader(&*matcher, content, &mut sink);
        results.searched += 1;
        results.binary += u64::from(sink.binary);
        results.unsearched += u64::from(searched.is_err());
        if sink.count > 0 {
            let found = FileMatches {
                path_bytes: path.to_vec(),
                path: file.display().to_owned(),
                count: (self.show == Show::Counts).then_some(sink.count),
                matches: sink.lines,
            };
            let (items, bytes) = (found.items(), found.bytes());
            results.add(found, items, bytes);
        }
    }
}

impl Visitor for FileSearcher {
    type Worker = Worker;
    type Item = FileMatches;
    const PARALLEL_ENTRIES: bool = true;

    fn worker(&self) -> Worker {
        Worker { matcher: self.matcher.clone(), searcher: self.searcher.build() }
    }

    fn visit(&self, worker: &mut Worker, found: &WalkEntry<'_>, stop: &StopSignal, all: &mut Collected<FileMatches>) {
        match found.directory.file(&found.entry.name) {
            Ok(file) => self.search(worker, &file, found.path().as_os_str().as_bytes(), stop, all),
            Err(_) => all.unsearched += 1,
        }
    }
}

/// Reads a file until the search is stopped.
struct StoppableReader<'a, R> {
    file: R,
    stop: &'a StopSignal,
}

impl<R: Read> Read for StoppableReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.stop.is_set() {
            return Err(std::io::Error::other("the search was stopped"));
        }
        self.file.read(buffer)
    }
}

/// Receives the matches of one file from the search engine.
struct MatchSink<'a> {
    search: &'a FileSearcher,
    matcher: &'a RegexMatcher,
    /// Lines up to this one were on the page before.
    after: u64,
    /// What this thread has found in other files of its batch, which counts towards the page.
    items: usize,
    bytes: usize,
    count: u64,
    lines: Vec<LineMatch>,
    /// The context lines before the next match.
    before: Vec<String>,
    /// The last match was on the page before, and so are the context lines that follow it.
    skipping: bool,
    binary: bool,
}

impl MatchSink<'_> {
    fn add(&mut self, number: u64, bytes: &[u8]) {
        let bytes = without_line_ending(bytes);
        let is_long = bytes.len() > line::MAX_LINE_BYTES;
        // Where the match is only matters for a line that is too long to be shown.
        let at = if is_long { self.matcher.find(bytes).ok().flatten().map_or(0, |found| found.start()) } else { 0 };
        let displayed = line::display_around(bytes, at);
        let found = LineMatch {
            line: number,
            text: displayed.text,
            cut: displayed.cut,
            lossy: displayed.lossy,
            before: std::mem::take(&mut self.before),
            after: Vec::new(),
        };
        self.bytes += found.bytes();
        self.lines.push(found);
    }
}

impl Sink for &mut MatchSink<'_> {
    type Error = std::io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> std::io::Result<bool> {
        if self.search.show != Show::Lines {
            self.count += 1;
            // For a list of files the first match is enough.
            return Ok(self.search.show == Show::Counts);
        }
        let number = found.line_number().unwrap_or(0);
        self.skipping = number <= self.after;
        // Its context belongs to the page before, too.
        if self.skipping {
            self.before.clear();
            return Ok(true);
        }
        self.count += 1;
        self.add(number, found.bytes());
        Ok(!self.search.limits.exceeded(self.items + self.lines.len(), self.bytes))
    }

    fn context(&mut self, _searcher: &Searcher, context: &SinkContext<'_>) -> std::io::Result<bool> {
        let text = line::display(without_line_ending(context.bytes())).text;
        match context.kind() {
            SinkContextKind::Before => self.before.push(text),
            SinkContextKind::After if !self.skipping => {
                self.bytes += text.len();
                if let Some(last) = self.lines.last_mut() {
                    last.after.push(text);
                }
            }
            SinkContextKind::After | SinkContextKind::Other => {}
        }
        Ok(true)
    }

    /// Context lines after a gap do not belong to the match before it.
    fn context_break(&mut self, _searcher: &Searcher) -> std::io::Result<bool> {
        self.before.clear();
        Ok(true)
    }

    /// The engine stops at the first NUL byte; what it found before that stays.
    fn binary_data(&mut self, _searcher: &Searcher, _offset: u64) -> std::io::Result<bool> {
        self.binary = true;
        Ok(true)
    }
}

fn without_line_ending(bytes: &[u8]) -> &[u8] {
    let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// What a search returns of each file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum Show {
    #[default]
    Lines,
    Files,
    Counts,
}

/// A matching line, or several lines if the match spans them.
#[derive(Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub(crate) struct LineMatch {
    /// Number of the first line.
    pub(crate) line: u64,
    /// The line without its newline.
    pub(crate) text: String,
    /// The line is longer; only the part around the match is shown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) cut: bool,
    /// Some bytes are not UTF-8 and are shown as U+FFFD.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) lossy: bool,
    /// Lines before it. A line between two matches is listed once, after the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) before: Vec<String>,
    /// Lines after it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) after: Vec<String>,
}

impl LineMatch {
    /// The size in a reply, with an estimate for the JSON around the text.
    pub(crate) fn bytes(&self) -> usize {
        24 + self.text.len() + self.before.iter().chain(&self.after).map(String::len).sum::<usize>()
    }
}

/// A file with at least one match.
#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
pub(crate) struct FileMatches {
    // Relative to the start of the search, as bytes: what a cursor needs. The path below may be lossy.
    #[serde(skip)]
    pub(crate) path_bytes: Vec<u8>,
    /// Path, as other tools take it.
    pub(crate) path: String,
    /// Number of matching lines, if `show` is `counts`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) count: Option<u64>,
    /// Matching lines, if `show` is `lines`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) matches: Vec<LineMatch>,
}

impl FileMatches {
    /// How many results of a page it counts as. Where no lines are shown, a page counts files.
    pub(crate) fn items(&self) -> usize {
        self.matches.len().max(1)
    }

    /// The size in a reply.
    pub(crate) fn bytes(&self) -> usize {
        self.path.len() + self.matches.iter().map(LineMatch::bytes).sum::<usize>()
    }
}

/// Cuts the results to one page. If there is more, returns the path and the line that the page ends with; line 0
/// stands for the end of the file.
pub(crate) fn truncate(files: &mut Vec<FileMatches>, limits: PageLimits, show: Show) -> Option<(Vec<u8>, u64)> {
    if show != Show::Lines {
        return limits.truncate(files, |file| file.path.len()).map(|last| (last.path_bytes.clone(), 0));
    }
    let (mut items, mut bytes) = (0, 0);
    let mut full = None;
    for (at, file) in files.iter_mut().enumerate() {
        bytes += file.path.len();
        // At least one match, however large: the cursor of an empty page would lead to the same page again.
        let least = usize::from(items == 0);
        let left = PageLimits {
            items: limits.items.saturating_sub(items),
            bytes: limits.bytes.saturating_sub(bytes).max(least),
        };
        let found = file.matches.len();
        left.truncate(&mut file.matches, LineMatch::bytes);
        if file.matches.len() < found {
            full = Some(at);
            break;
        }
        items += file.matches.len();
        bytes += file.matches.iter().map(LineMatch::bytes).sum::<usize>();
    }
    files.truncate(full.map_or(files.len(), |at| at + 1));
    files.retain(|file| !file.matches.is_empty());
    full?;
    let last = files.last()?;
    Some((last.path_bytes.clone(), last.matches.last()?.line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results() -> Vec<FileMatches> {
        let file = |name: &str| {
            let line = |line| LineMatch {
                line,
                text: "hit".into(),
                cut: false,
                lossy: false,
                before: Vec::new(),
                after: Vec::new(),
            };
            let matches = vec![line(1), line(2)];
            FileMatches { path_bytes: name.into(), path: name.repeat(80), count: None, matches }
        };
        ["a", "b", "c"].map(file).into()
    }

    #[test]
    fn a_page_counts_the_paths_as_well_as_the_lines() {
        let end = |bytes| truncate(&mut results(), PageLimits { items: 100, bytes }, Show::Lines);
        assert_eq!(end(100), Some((b"a".to_vec(), 1)));
        assert_eq!(end(200), Some((b"a".to_vec(), 2)));
        assert_eq!(end(results().iter().map(FileMatches::bytes).sum()), None);
    }

    #[test]
    fn a_page_has_at_least_one_match() {
        let limits = PageLimits { items: 1, bytes: 1 };
        assert_eq!(truncate(&mut results(), limits, Show::Lines), Some((b"a".to_vec(), 1)));
    }
}
