//! Indexes in memory.

use std::fs::File;
use std::sync::Arc;

use crate::document::{Prepared, prepare, versions};
use crate::embedding::built_in;
use crate::index::{Index, IndexDirectory, MapFile, Snapshot, Update};
use crate::segment::{Bytes, SegmentBuilder};

/// An index in a directory that lives as long as it does.
pub(in crate::ranking) struct TestIndex {
    index: Index,
    _directory: tempfile::TempDir,
}

impl TestIndex {
    pub(in crate::ranking) fn snapshot(&self) -> Arc<Snapshot> {
        self.index.snapshot()
    }

    /// Adds documents as one more segment.
    pub(in crate::ranking) fn add(&self, files: &[(&str, &str)]) {
        let mut builder = SegmentBuilder::new(versions(built_in().unwrap()));
        for (path, source) in files {
            document(path, source).add_to(&mut builder).unwrap();
        }
        let replaced = files.iter().map(|(path, _)| (*path).to_owned()).collect();
        self.index.apply(Update { added: Some(builder), replaced, ..Update::default() }).unwrap();
    }

    pub(in crate::ranking) fn add_prepared(&self, document: &Prepared) {
        let mut builder = SegmentBuilder::new(versions(built_in().unwrap()));
        document.add_to(&mut builder).unwrap();
        self.index.apply(Update { added: Some(builder), ..Update::default() }).unwrap();
    }

    pub(in crate::ranking) fn remove(&self, path: &str) {
        self.index.apply(Update { removed: vec![path.to_owned()], ..Update::default() }).unwrap();
    }
}

pub(in crate::ranking) fn document(path: &str, source: &str) -> Prepared {
    let size = u64::try_from(source.len()).unwrap();
    prepare(path, source.as_bytes(), size, 0, [1; 16], built_in().unwrap(), &|| true).unwrap()
}

/// Reads the file instead of mapping it.
fn map() -> MapFile {
    Arc::new(|file: &File| {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut &*file, &mut bytes)?;
        let bytes: Bytes = Arc::new(bytes);
        Ok(bytes)
    })
}

pub(in crate::ranking) fn empty() -> TestIndex {
    let directory = tempfile::tempdir().unwrap();
    let opened = IndexDirectory::open(directory.path().to_owned(), map()).unwrap();
    let index = Index::open(opened, versions(built_in().unwrap())).unwrap();
    TestIndex { index, _directory: directory }
}

/// An index of one segment.
pub(in crate::ranking) fn index(files: &[(&str, &str)]) -> TestIndex {
    let index = empty();
    index.add(files);
    index
}

/// A little of everything that ranking tells apart.
pub(in crate::ranking) const FILES: &[(&str, &str)] = &[
    ("src/stack.rs", STACK),
    ("src/queue.rs", QUEUE),
    ("src/http/mod.rs", HTTP),
    ("src/json_element.py", JSON_ELEMENT),
    ("src/unix/terminal.c", UNIX_TERMINAL),
    ("src/win/terminal.c", WINDOWS_TERMINAL),
    ("tests/stack_test.rs", STACK_TEST),
    ("web/v1/schema.ts", SCHEMA_1),
    ("web/v2/schema.ts", SCHEMA_2),
    ("README.md", README),
];

const STACK: &str = r#"//! A stack of values.

/// Keeps values; the last one that was put in comes out first.
pub struct ValueStack {
    values: Vec<u64>,
    highest: usize,
    limit: Option<usize>,
}

impl ValueStack {
    /// Puts a value on top of the stack.
    pub fn push_value(&mut self, value: u64) {
        assert!(self.limit.is_none_or(|limit| self.values.len() < limit), "the stack is full");
        self.values.push(value);
        self.highest = self.highest.max(self.values.len());
    }

    /// Removes the value on top of the stack and returns it.
    pub fn pop_value(&mut self) -> Option<u64> {
        let value = self.values.pop()?;
        if self.values.is_empty() {
            self.highest = 0;
        }
        Some(value)
    }
}
"#;

const QUEUE: &str = r"//! A queue of jobs.

/// Jobs that wait for a worker thread.
pub struct JobQueue {
    waiting: std::collections::VecDeque<Job>,
    workers: usize,
    closed: bool,
}

impl JobQueue {
    /// Adds a job at the end and wakes a worker thread that is idle.
    pub fn submit(&mut self, job: Job) -> Result<(), Closed> {
        if self.closed {
            return Err(Closed);
        }
        self.waiting.push_back(job);
        self.wake_idle_worker();
        Ok(())
    }

    /// Waits until all jobs are done and the worker threads have ended.
    pub fn shutdown(mut self) {
        self.closed = true;
        while self.workers > 0 {
            self.wake_idle_worker();
            self.workers -= 1;
        }
    }
}
";

const HTTP: &str = r"//! The HTTP server.

use crate::queue::JobQueue;

/// Accepts connections and hands their requests to handlers.
pub struct HttpServer {
    routes: Vec<Route>,
    jobs: JobQueue,
    max_body: usize,
}

impl HttpServer {
    /// Finds the handler whose route matches the path of the request.
    pub fn match_route(&self, path: &str) -> Option<&Route> {
        let mut best: Option<&Route> = None;
        for route in &self.routes {
            if path.starts_with(&route.prefix) && best.is_none_or(|best| best.prefix.len() < route.prefix.len()) {
                best = Some(route);
            }
        }
        best
    }

    /// Reads the body of a request, up to the limit.
    pub fn read_body(&self, stream: &mut impl Read, length: usize) -> Result<Vec<u8>, TooLarge> {
        if length > self.max_body {
            return Err(TooLarge);
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).map_err(|_| TooLarge)?;
        Ok(body)
    }
}
";

const JSON_ELEMENT: &str = r#""""Elements of JSON documents."""


class JsonElement:
    """A value in a tree of JSON: an object, an array, a string or a number."""

    def __init__(self, value, parent=None):
        self.value = value
        self.parent = parent
        self.children = []

    def to_text(self, indent=0):
        """Write the element and its children as text."""
        pieces = [" " * indent + repr(self.value)]
        for child in self.children:
            pieces.append(child.to_text(indent + 2))
        return "\n".join(pieces)


def parse_document(text):
    """Parse a text into a tree of elements."""
    root = JsonElement(None)
    for line in text.splitlines():
        root.children.append(JsonElement(line.strip(), root))
    return root
"#;

const UNIX_TERMINAL: &str = r#"#include "terminal.h"

/* Switches the terminal to raw mode, in which keys are not echoed. */
int terminal_set_raw_mode(struct terminal *terminal) {
  struct termios mode;
  if (tcgetattr(terminal->fd, &mode))
    return -1;
  terminal->saved = mode;
  mode.c_lflag &= ~(ECHO | ICANON | ISIG);
  return tcsetattr(terminal->fd, TCSADRAIN, &mode);
}
"#;

const WINDOWS_TERMINAL: &str = r#"#include "terminal.h"

/* Switches the terminal to raw mode, in which keys are not echoed. */
int terminal_set_raw_mode(struct terminal *terminal) {
  DWORD mode;
  if (!GetConsoleMode(terminal->handle, &mode))
    return -1;
  terminal->saved = mode;
  mode &= ~(ENABLE_ECHO_INPUT | ENABLE_LINE_INPUT);
  return SetConsoleMode(terminal->handle, mode) ? 0 : -1;
}
"#;

const STACK_TEST: &str = r"use stack::ValueStack;

#[test]
fn the_last_value_pushed_on_the_stack_is_popped_first() {
    let mut stack = ValueStack::default();
    stack.push_value(1);
    stack.push_value(2);
    assert_eq!(stack.pop_value(), Some(2));
    assert_eq!(stack.pop_value(), Some(1));
    assert_eq!(stack.pop_value(), None);
}
";

const SCHEMA_1: &str = r"/** Checks values against a description of their fields. */
export class Schema {
  constructor(readonly fields: Record<string, string>) {}

  /** Returns the names of fields that are missing in the value. */
  missingFields(value: object): string[] {
    const names = Object.keys(this.fields);
    return names.filter((name) => !(name in value));
  }
}
";

const SCHEMA_2: &str = r"/** Checks values against a description of their fields, which may be nested. */
export class Schema {
  constructor(readonly fields: Map<string, Schema | string>, readonly strict = false) {}

  /** Returns the paths of fields that are missing in the value. */
  missingFields(value: object, path: string[] = []): string[][] {
    const missing: string[][] = [];
    for (const [name, field] of this.fields) {
      if (!(name in value)) missing.push([...path, name]);
      else if (field instanceof Schema) missing.push(...field.missingFields(value[name], [...path, name]));
    }
    return missing;
  }
}
";

const README: &str = r"# Toolbox

A stack of values, a queue of jobs with worker threads, an HTTP server that matches routes, and a schema for values.

## Use

Push a value on the stack and pop it. Submit a job to the queue. Read the body of a request.
";
