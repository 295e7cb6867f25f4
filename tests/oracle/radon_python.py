"""Cyclomatic complexity by radon, for the Python files whose names come on standard input.

Prints a JSON list of [file, name, first line, last line, figure]. Radon keeps functions inside functions as `closures`, and
methods in their classes; they are listed like all others.
"""

import json
import sys

from radon.visitors import ComplexityVisitor

rows = []


def add_function(path, function):
    rows.append([path, function.name, function.lineno, function.endline, function.complexity])
    for closure in function.closures:
        add_function(path, closure)


def add_class(path, found):
    for method in found.methods:
        add_function(path, method)
    for inner in found.inner_classes:
        add_class(path, inner)


for line in sys.stdin:
    path = line.rstrip("\n")
    with open(path, encoding="utf-8") as file:
        visitor = ComplexityVisitor.from_code(file.read())
    for function in visitor.functions:
        add_function(path, function)
    for found in visitor.classes:
        add_class(path, found)
json.dump(rows, sys.stdout)
