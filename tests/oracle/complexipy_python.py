"""Cognitive complexity by complexipy, for the Python files whose names come on standard input.

Prints a JSON list of [file, name, first line, last line, figure]. The first line is that of the first decorator, if there is one.
"""

import json
import sys

import complexipy

rows = []
for line in sys.stdin:
    path = line.rstrip("\n")
    for function in complexipy.file_complexity(path, no_ignore=True, with_plans=False).functions:
        name = function.name.rsplit("::", 1)[-1]
        rows.append([path, name, function.line_start, function.line_end, function.complexity])
json.dump(rows, sys.stdout)
