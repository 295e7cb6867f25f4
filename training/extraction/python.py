"""Python: docstrings of modules, classes and functions, by the standard parser."""

import ast
import re
import warnings
from collections.abc import Iterator
from pathlib import PurePosixPath

from training.extraction.definition import MAX_CODE, MIN_CODE, Definition, Kind, first_sentence

MAX_LINES = 150
DOCSTRING = re.compile(r'"""[^"].*?"""', re.S)
Documented = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def definitions(text: str, path: str) -> Iterator[Definition]:
    """The module and its documented classes and functions, each without its docstring."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    lines = text.split("\n")
    sentence = first_sentence(ast.get_docstring(tree) or "")
    if sentence and len(tree.body) > 2:
        code = "\n".join(lines[tree.body[0].end_lineno :])
        yield Definition("file", PurePosixPath(path).stem, sentence, code[:MAX_CODE])
    for node in ast.walk(tree):
        # A body of the docstring alone is an interface without code.
        if isinstance(node, Documented) and len(node.body) > 1:
            sentence = first_sentence(ast.get_docstring(node) or "")
            code = _without_docstring(node, lines)
            if sentence and len(code) >= MIN_CODE:
                kind: Kind = "type" if isinstance(node, ast.ClassDef) else "function"
                yield Definition(kind, node.name, sentence, code[:MAX_CODE])


def _without_docstring(node: Documented, lines: list[str]) -> str:
    docstring = node.body[0]
    end = min(node.end_lineno or node.lineno, node.lineno + MAX_LINES)
    code = "\n".join(lines[node.lineno - 1 : docstring.lineno - 1] + lines[docstring.end_lineno : end])
    # A class would be found by the words of its methods' docstrings instead of its own code.
    return DOCSTRING.sub("", code) if isinstance(node, ast.ClassDef) else code
