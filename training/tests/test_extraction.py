"""What the scanners find in a small file of every language, and which sentences become queries."""

import unittest

from training.extraction import definitions, is_source, language_of
from training.extraction.definition import first_sentence, without_name

# Path, text, and what is found: kind, name, sentence.
FILES = [
    (
        "store/cache.py",
        '''"""Keeps recent answers in memory and on disk."""

import os
import time

class Cache:
    """A cache that forgets its oldest entries."""

    def __init__(self, limit):
        self.entries = {}
        self.limit = limit

    def sweep(self, now):
        """Remove every entry that is too old to be useful.

        Args:
            now: the present time
        """
        self.entries = {key: entry for key, entry in self.entries.items() if entry.until > now}

    def undocumented(self):
        return len(self.entries)
''',
        [
            ("file", "cache", "Keeps recent answers in memory and on disk."),
            ("type", "Cache", "A cache that forgets its oldest entries."),
            ("function", "sweep", "Remove every entry that is too old to be useful."),
        ],
    ),
    (
        "src/queue.rs",
        """//! Queues that bound the memory of waiting jobs.

use std::collections::VecDeque;

/// A queue with a fixed number of places.
#[derive(Debug)]
pub struct Queue<'a, T> {
    /// The jobs that have to wait for a worker.
    waiting: VecDeque<&'a T>,
    places: usize,
}

impl<'a, T> Queue<'a, T> {
    /// Adds a job at the end of the queue. Returns false if it is full.
    #[must_use]
    pub fn push(&mut self, job: &'a T) -> bool {
        if self.waiting.len() == self.places { return false; }
        self.waiting.push_back(job);
        true
    }
    // This is no documentation of the next function.
    fn clear(&mut self) { self.waiting.clear(); self.places = 0; }
}
""",
        [
            ("type", "Queue", "A queue with a fixed number of places."),
            ("function", "push", "Adds a job at the end of the queue."),
            ("file", "queue", "Queues that bound the memory of waiting jobs."),
        ],
    ),
    (
        "pool/pool.go",
        """// Package pool lends connections to several goroutines.
package pool

// Pool keeps idle connections until they are asked for.
type Pool struct {
	idle    []*Conn
	limit   int
	timeout time.Duration
}

// Acquire returns an idle connection or opens a new one.
func (p *Pool) Acquire(name string) (*Conn, error) {
	if len(p.idle) > 0 { return p.pop(), nil }
	return dial(name, "}")
}

// Version of the protocol that the peers have to speak.
const Version = 3
""",
        [
            ("type", "Pool", "keeps idle connections until they are asked for."),
            ("function", "Acquire", "returns an idle connection or opens a new one."),
            ("file", "pool", "lends connections to several goroutines."),
        ],
    ),
    (
        "src/list.c",
        """/**
 * @file list.c
 * @brief Linked lists without memory allocation.
 */
#include "list.h"

/* Append a node to the end of the list. */
static int
list_append(struct list *list, struct node *node)
{
    node->next = NULL; list->tail = node;
    return 0;
}

/** A node of a singly linked list. */
struct node {
    struct node *next; /* the next one */
    void *payload_of_the_node;
};

// Declared here and defined in another file.
int list_length(const struct list *list);
""",
        [
            ("function", "list_append", "Append a node to the end of the list."),
            ("type", "node", "A node of a singly linked list."),
            ("file", "list", "Linked lists without memory allocation."),
        ],
    ),
    (
        "src/vector.hpp",
        """namespace math {
/// A vector of three numbers in space.
class Vector {
public:
    /// \\brief Computes the length of the vector in space.
    double length() const {
        return std::sqrt(x * x + y * y + z * z);
    }
    double x, y, z;
};

/** Adds two vectors, element by element. */
template <typename T>
Vector add(const Vector &left, const Vector &right)
{
    return Vector{left.x + right.x, left.y + right.y};
}
}
""",
        [
            ("type", "Vector", "A vector of three numbers in space."),
            ("function", "length", "Computes the length of the vector in space."),
            ("function", "add", "Adds two vectors, element by element."),
        ],
    ),
    (
        "src/Clock.java",
        """package time;

/** A clock that tests can set by hand. */
public class Clock {
    private long now;

    /**
     * Moves the clock forward by {@link Duration} seconds.
     *
     * @param seconds how far
     */
    @Override
    public void advance(long seconds) {
        if (seconds < 0) { throw new IllegalArgumentException("back }"); }
        now += seconds;
    }
}
""",
        [
            ("type", "Clock", "A clock that tests can set by hand."),
            ("function", "advance", "Moves the clock forward by Duration seconds."),
        ],
    ),
    (
        "Net/Retry.cs",
        """namespace Net {
    /// <summary>Repeats requests that failed for a short time.</summary>
    public class Retry {
        /// <summary>
        /// Waits longer after each <see cref="T:Net.Attempt"/> that failed.
        /// </summary>
        /// <param name="count">the attempts so far</param>
        [MethodImpl(MethodImplOptions.NoInlining)]
        public TimeSpan Delay(int count) {
            return TimeSpan.FromSeconds(Math.Pow(2, count));
        }
    }
}
""",
        [
            ("type", "Retry", "Repeats requests that failed for a short time."),
            ("function", "Delay", "Waits longer after each Attempt that failed."),
        ],
    ),
    (
        "lib/escape.js",
        """'use strict';
/**
 * Replaces characters that have a meaning in HTML.
 * @param {string} text
 */
function escape(text) {
  return text.replace(/</g, '&lt;').replace('{', '&#123;');
}

/** Joins the names of classes that are switched on. */
exports.classes = function ({ active, names }) {
  return names.filter((name) => active[name]).join(' ');
};
""",
        [
            ("function", "escape", "Replaces characters that have a meaning in HTML."),
            ("function", "classes", "Joins the names of classes that are switched on."),
        ],
    ),
    (
        "src/emitter.ts",
        """/** Calls listeners in the order in which they were added. */
export class Emitter<T> {
  private listeners: Array<(event: T) => void> = [];

  /** Stops calling a listener from the next event on. */
  off(listener: (event: T) => void): { removed: boolean } {
    this.listeners = this.listeners.filter((other) => other !== listener);
    return { removed: true };
  }
}

// Waits until the page has been drawn once.
export const drawn = async (page: { frame: () => Promise<void> }): Promise<void> => {
  await page.frame();
};
""",
        [
            ("type", "Emitter", "Calls listeners in the order in which they were added."),
            ("function", "off", "Stops calling a listener from the next event on."),
            ("function", "drawn", "Waits until the page has been drawn once."),
        ],
    ),
    (
        "src/Router.php",
        """<?php
/** Finds the controller that answers a request. */
final class Router
{
    private array $routes = [];
    /**
     * Adds a route for one of the methods of HTTP.
     */
    public function add(string $method, string $path): void
    {
        $this->routes[] = [$method, 'not a brace: }', $path];
    }
}
""",
        [
            ("type", "Router", "Finds the controller that answers a request."),
            ("function", "add", "Adds a route for one of the methods of HTTP."),
        ],
    ),
    (
        "src/Session.kt",
        """package web

/** Remembers who is signed in to the site. */
class Session(private val id: String) {
    /** Ends the session and forgets its user. */
    fun close(reason: String) {
        store.remove(id)
        log("closed for this reason: $reason")
    }

    /** Whether the session has an owner that is known. */
    fun owned() = store.owner(id) != null

    fun later() { println("not the body of the function above") }
}
""",
        [
            ("type", "Session", "Remembers who is signed in to the site."),
            ("function", "close", "Ends the session and forgets its user."),
        ],
    ),
    (
        "src/Tree.scala",
        """/** Walks the branches of a tree from left to right. */
object Tree {
  /** Counts the leaves below a branch of the tree. */
  def leaves(branch: Branch): Int = {
    branch.children.map(child => leaves(child)).sum.max(1)
  }
}
// The file has to be long enough to be read at all, so there is this line at its end, and it says nothing else.
""",
        [
            ("type", "Tree", "Walks the branches of a tree from left to right."),
            ("function", "leaves", "Counts the leaves below a branch of the tree."),
        ],
    ),
    (
        "Sources/Buffer.swift",
        """/// Collects bytes until a whole message has arrived.
public struct Buffer {
    var bytes: [UInt8] = []
    /// Takes the first message out of the buffer.
    /// - Returns: the message
    mutating func next(limit: Int) -> [UInt8]? {
        guard bytes.count >= limit else { return nil }
        return Array(bytes.prefix(limit))
    }
}
""",
        [
            ("type", "Buffer", "Collects bytes until a whole message has arrived."),
            ("function", "next", "Takes the first message out of the buffer."),
        ],
    ),
    (
        "lib/report.rb",
        """# Writes the results of a run as a table.
class Report
  # Public: Adds a row for one of the results.
  #
  # name - the name
  def row(name, seconds)
    @rows << [name, format('%.1f', seconds)]
    self
  end

  # @return [Integer]
  def size
    @rows.size
  end
end
# The file has to be long enough to be read at all.
""",
        [
            ("type", "Report", "Writes the results of a run as a table."),
            ("function", "row", "Adds a row for one of the results."),
        ],
    ),
    (
        "bin/backup",
        """#!/usr/bin/env bash
# ---------------------------------------
# Copies a directory to the backup server.
# ---------------------------------------
copy_directory() {
    local from=$1 to=$2
    rsync --archive "$from" "$to"
}

function remove_old_copies {
    find "$target" -mtime +30 -print
    find "$target" -mtime +30 -delete
}

# Stop if another backup is still running.
exec 9> /run/backup.lock
flock --nonblock 9 || exit 1
copy_directory /home "$target"
""",
        [
            ("function", "copy_directory", "Copies a directory to the backup server."),
            ("undocumented", "remove_old_copies", ""),
            ("paragraph", "", "Stop if another backup is still running."),
        ],
    ),
    (
        "src/stack.lua",
        """local Stack = {}
--- Puts a value on top of the stack.
function Stack:push(value)
  self.top = self.top + 1
  self.values[self.top] = value
end

-- Looks at the value on top without taking it.
Stack.peek = function(self)
  if self.top == 0 then return nil end
  return self.values[self.top]
end
return Stack
""",
        [
            ("function", "push", "Puts a value on top of the stack."),
            ("function", "peek", "Looks at the value on top without taking it."),
        ],
    ),
    (
        "src/Graph.hs",
        """module Graph where

-- | A graph whose edges have a weight.
data Graph = Graph
  { nodes :: [Node]
  , edges :: [(Node, Node, Double)]
  }

-- | Finds the shortest path between 'Node's of a graph.
shortest :: Graph -> Node -> Node -> [Node]
shortest graph from to = search graph [(from, 0)] to

-- An ordinary comment about nothing in particular.
other :: Int
other = 3
""",
        [
            ("type", "Graph", "A graph whose edges have a weight."),
            ("function", "shortest", "Finds the shortest path between Nodes of a graph."),
        ],
    ),
    (
        "lib/counter.ex",
        '''defmodule Counter do
  @doc """
  Counts how often a word occurs in a text.

  ## Examples
  """
  @spec count(String.t(), String.t()) :: integer
  def count(text, word) do
    text |> String.split() |> Enum.count(&(&1 == word))
  end

  def other(value) do
    value
  end
end
''',
        [("function", "count", "Counts how often a word occurs in a text.")],
    ),
]


class ExtractionTest(unittest.TestCase):
    def test_every_language_has_its_definitions_found(self):
        for path, text, expected in FILES:
            with self.subTest(path):
                language = language_of(path, text)
                self.assertTrue(is_source(path) and language)
                found = [tuple(each[:3]) for each in definitions(language, text, path)]
                self.assertEqual(found, expected)

    def test_code_ends_where_its_body_ends_and_has_no_documentation(self):
        path, text, _ = FILES[1]
        struct, push, _ = definitions("rs", text, path)
        self.assertTrue(push.code.startswith("pub fn push") and push.code.endswith("true\n    }"))
        self.assertNotIn("have to wait", struct.code)
        path, text, _ = FILES[0]
        sweep = [each for each in definitions("py", text, path) if each.name == "sweep"][0]
        self.assertNotIn("too old", sweep.code)

    def test_line_ends_of_windows_make_no_difference(self):
        for path, text, _ in FILES:
            language = language_of(path, text)
            windows = list(definitions(language, text.replace("\n", "\r\n"), path))
            self.assertEqual(windows, list(definitions(language, text, path)), path)

    def test_long_comments_take_linear_time(self):
        for language, mark in (("rb", "#"), ("sh", "#"), ("lua", "--"), ("hs", "--"), ("c", "//"), ("go", "//")):
            text = f"{mark} a line of a comment that never ends\n" * 10_000
            self.assertEqual(list(definitions(language, text, "long")), [])

    def test_tests_vendored_and_generated_files_are_no_sources(self):
        for path in (
            "tests/a.py",
            "a/vendor/b.go",
            "a.min.js",
            "b_test.go",
            "types.d.ts",
            "x/node_modules/y.js",
            "notes.txt",
        ):
            self.assertFalse(is_source(path), path)
        for path in ("src/a.py", "contest/b.go", "bin/tool"):
            self.assertTrue(is_source(path), path)
        self.assertIsNone(language_of("bin/tool", "no script " * 40))
        self.assertIsNone(language_of("a.py", "x = 1"))
        self.assertEqual(language_of("a.h", "\nnamespace a {" + " " * 200), "cpp")

    def test_sentences_that_describe_nothing_are_left_out(self):
        for comment in (
            "", "Short one.", "TODO: write this down some day", "See the manual for how this works", "@param a b c d e",
            "Copyright 2020 by somebody who wrote this", "if (a) return b + c + d + e;",
            "a | b | c | d | e | f | g | h | 1 | 2",
        ):  # fmt: skip
            self.assertIsNone(first_sentence(comment), comment)

    def test_markup_and_parameters_are_taken_out_of_sentences(self):
        for comment, expected in (
            ("Return the `size` of\n  the [list](a.html). More.", "Return the size of the list."),
            ("Uses :class:`~a.b` to find a name\n\nMore", "Uses a.b to find a name"),
            ("Opens the file for reading\n:param a: b", "Opens the file for reading"),
        ):
            self.assertEqual(first_sentence(comment), expected)
        self.assertEqual(without_name("Open - opens a file", "open"), "opens a file")
        self.assertEqual(without_name("Opens a file", "open"), "Opens a file")


if __name__ == "__main__":
    unittest.main()
