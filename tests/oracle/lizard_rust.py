"""Cyclomatic complexity by lizard, for the Rust files whose names come on standard input.

Prints a JSON list of [file, name, first line, last line, figure, {class: count}]. Lizard reads tokens, and counts some that are
no decisions in Rust; the counts say how many of those are in the figure of each function:

  where    the keyword of a bound
  closure  `||` where an operand would have to begin: the empty parameter list of a closure
  ?Sized   the relaxed bound
  for      `for` of an `impl` or of a higher-ranked type
"""

import json
import sys

import lizard

KEYWORDS_BEFORE_CLOSURES = {"move", "return", "in", "else", "break", "async", "match", "if", "while", "static"}


def ends_operand(token):
    if token in KEYWORDS_BEFORE_CLOSURES:
        return False
    return token[-1:].isalnum() or token[-1:] in {")", "]", "}", "?", "_", '"', "'"}


def not_decisions(tokens, reader):
    previous, in_impl = "", False
    for token in tokens:
        found = None
        if token == "impl":
            in_impl = True
        elif token in ("{", ";"):
            in_impl = False
        if token == "where":
            found = "where"
        elif token == "||" and not ends_operand(previous):
            found = "closure"
        elif token == "Sized" and previous == "?":
            found = "?Sized"
        elif token == "for" and in_impl or token == "<" and previous == "for":
            found = "for"
        if found:
            counts = reader.context.current_function.__dict__.setdefault("not_decisions", {})
            counts[found] = counts.get(found, 0) + 1
        previous = token
        yield token


analyze = lizard.FileAnalyzer(lizard.get_extensions([not_decisions]))
rows = []
for line in sys.stdin:
    path = line.rstrip("\n")
    for function in analyze(path).function_list:
        counts = getattr(function, "not_decisions", {})
        rows.append(
            [path, function.name, function.start_line, function.end_line, function.cyclomatic_complexity, counts]
        )
json.dump(rows, sys.stdout)
