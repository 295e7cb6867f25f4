//! The engine: what is searched for, and how one file is searched.

use std::io::Read;

use grep_matcher::Matcher as _;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch};
use mainstay_core::{Error, Result};
use mainstay_sandbox::OpenFile;

use super::finds::{File, Finds, Hit};
use super::{Args, Case, Show};
use crate::files::page::Size;
use crate::files::text;
use crate::files::walk::{Catch as _, Stop};

/// The most memory a compiled pattern may take, and its cache in each thread.
const PATTERN_BYTES: usize = 16 * 1024 * 1024;

/// The longest line that is searched, and the largest file whose lines are searched together.
const LINE_BYTES: usize = 16 * 1024 * 1024;
const FILE_BYTES: usize = 32 * 1024 * 1024;

pub(super) struct Engine {
    matcher: RegexMatcher,
    searcher: SearcherBuilder,
    show: Show,
    size: Size,
}

/// What one thread searches with.
pub(super) struct Kit {
    matcher: RegexMatcher,
    searcher: Searcher,
}

impl Engine {
    pub(super) fn new(args: &Args, size: Size) -> Result<Self> {
        let mut searcher = SearcherBuilder::new();
        let lines = args.show == Show::Lines;
        searcher
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(if args.multiline { FILE_BYTES } else { LINE_BYTES }))
            .multi_line(args.multiline)
            .line_number(lines)
            .before_context(if lines { args.before.unwrap_or(args.context) } else { 0 })
            .after_context(if lines { args.after.unwrap_or(args.context) } else { 0 });
        Ok(Self { matcher: matcher(args)?, searcher, show: args.show, size })
    }

    pub(super) fn kit(&self) -> Kit {
        Kit { matcher: self.matcher.clone(), searcher: self.searcher.build() }
    }

    /// Searches one file behind the line `since`, and adds what it finds.
    pub(super) fn search(
        &self,
        kit: &mut Kit,
        file: &OpenFile,
        path: &[u8],
        since: u64,
        stop: &Stop,
        finds: &mut Finds,
    ) {
        let Kit { matcher, searcher } = kit;
        let mut collector = Collector {
            engine: self,
            matcher,
            since,
            items: finds.items(),
            bytes: finds.bytes(),
            matches: 0,
            hits: Vec::new(),
            before: Vec::new(),
            behind: false,
            binary: false,
        };
        let from = Stoppable { from: file.reader(0), left: file.metadata().size, stop };
        let searched = searcher.search_reader(&*matcher, from, &mut collector);
        finds.searched += 1;
        finds.binary += u64::from(collector.binary);
        finds.unsearched += u64::from(searched.is_err());
        if collector.matches > 0 {
            let Collector { hits, matches, .. } = collector;
            finds.add(File { path: path.to_vec(), shown: file.display().to_owned(), matches, hits });
        }
    }
}

fn matcher(args: &Args) -> Result<RegexMatcher> {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .multi_line(true)
        .case_insensitive(args.case == Case::Insensitive)
        .case_smart(args.case == Case::Smart)
        .word(args.word)
        .fixed_strings(args.literal)
        .size_limit(PATTERN_BYTES)
        .dfa_size_limit(PATTERN_BYTES);
    if !args.multiline {
        builder.line_terminator(Some(b'\n'));
    }
    builder.build(&args.pattern).map_err(|error| {
        let hint = if args.pattern.contains(['\n']) || args.pattern.contains("\\n") {
            " Set multiline to match across lines."
        } else if args.literal {
            ""
        } else {
            " Set literal to search for the text as it is."
        };
        Error::field("pattern", format!("The pattern cannot be used: {error}.{hint}"))
    })
}

/// A file that is read no further when nobody needs it, and no further than it was long when it was opened: that it
/// ends there need not be asked.
struct Stoppable<'a, R> {
    from: R,
    left: u64,
    stop: &'a Stop,
}

impl<R: Read> Read for Stoppable<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.left == 0 {
            return Ok(0);
        }
        if self.stop.is_due() {
            return Err(std::io::Error::other("not needed any more"));
        }
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.from.read(&mut buffer[..most])?;
        self.left -= read as u64;
        Ok(read)
    }
}

struct Collector<'a> {
    engine: &'a Engine,
    matcher: &'a RegexMatcher,
    /// Lines up to this one were on the page before.
    since: u64,
    /// What has been found in other files.
    items: usize,
    bytes: usize,
    matches: u64,
    hits: Vec<Hit>,
    /// The lines before the next match.
    before: Vec<String>,
    /// The last match was on the page before, and so are the lines that follow it.
    behind: bool,
    binary: bool,
}

impl Collector<'_> {
    fn hit(&mut self, line: u64, bytes: &[u8]) {
        let bytes = without_newline(bytes);
        let long = bytes.len() > text::LONGEST_LINE;
        let at = if long { self.matcher.find(bytes).ok().flatten().map_or(0, |found| found.start()) } else { 0 };
        let shown = text::around(bytes, at);
        let before = std::mem::take(&mut self.before);
        let hit = Hit { line, text: shown.text, cut: shown.cut, lossy: shown.lossy, before, after: Vec::new() };
        self.bytes += hit.bytes();
        self.hits.push(hit);
    }
}

impl Sink for &mut Collector<'_> {
    type Error = std::io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> std::io::Result<bool> {
        if self.engine.show != Show::Lines {
            self.matches += 1;
            return Ok(self.engine.show == Show::Counts);
        }
        let line = found.line_number().unwrap_or(0);
        self.behind = line <= self.since;
        if self.behind {
            self.before.clear();
            return Ok(true);
        }
        self.matches += 1;
        self.hit(line, found.bytes());
        Ok(!self.engine.size.exceeded(self.items + self.hits.len(), self.bytes))
    }

    fn context(&mut self, _searcher: &Searcher, context: &SinkContext<'_>) -> std::io::Result<bool> {
        let text = text::line(without_newline(context.bytes())).text;
        match context.kind() {
            SinkContextKind::Before => self.before.push(text),
            SinkContextKind::After if !self.behind => {
                self.bytes += text.len();
                if let Some(last) = self.hits.last_mut() {
                    last.after.push(text);
                }
            }
            SinkContextKind::After | SinkContextKind::Other => {}
        }
        Ok(true)
    }

    fn context_break(&mut self, _searcher: &Searcher) -> std::io::Result<bool> {
        self.before.clear();
        Ok(true)
    }

    fn binary_data(&mut self, _searcher: &Searcher, _offset: u64) -> std::io::Result<bool> {
        self.binary = true;
        Ok(true)
    }
}

fn without_newline(bytes: &[u8]) -> &[u8] {
    let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    line.strip_suffix(b"\r").unwrap_or(line)
}
