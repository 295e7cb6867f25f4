"""Pairs of a documentation sentence and the definition that it documents, from source files of many languages.

Python has a parser in its standard library; the other languages are read by small scanners for comments, heads of
definitions and matching brackets. What they do not understand they leave out: a missing pair costs little, a wrong one
teaches something wrong.
"""

import re
from collections.abc import Iterator

from training.extraction import braces, python, scripts
from training.extraction.definition import Definition

__all__ = ["Definition", "definitions", "is_source", "language_of"]

EXTENSIONS = {
    "bash": "sh", "c": "c", "cc": "cpp", "cpp": "cpp", "cs": "cs", "cxx": "cpp", "ex": "ex", "go": "go", "h": "c",
    "hh": "cpp", "hpp": "cpp", "hs": "hs", "hxx": "cpp", "inl": "cpp", "java": "java", "js": "js", "jsx": "js",
    "kt": "kt", "lua": "lua", "mjs": "js", "php": "php", "py": "py", "rb": "rb", "rs": "rs", "scala": "scala",
    "sh": "sh", "swift": "swift", "ts": "ts", "tsx": "ts",
}  # fmt: skip
# Tests repeat names without saying what they do; vendored code belongs to other packages; builds repeat the sources.
SKIPPED_DIRECTORIES = frozenset(
    """3rdparty __tests__ _esm5 _vendor benches build cjs commonjs demo demos deps dist es esm esm5 example examples
    extern external externals fesm5 gen generated lib-es locale migrations node_modules sample samples spec specs
    test testdata testing tests testsuite testsuites third-party third_party thirdparty tutorial tutorials
    umd vendor vendored""".split()
)
SKIPPED_FILES = re.compile(
    r"(?i)\.min\.js$|bundle\.js$|\.umd\.|\.d\.ts$|\.(spec|test)\.[jt]sx?$|_test\.\w+$|^test_.*\.py$|tests?\.(java|cs|kt)$"
    r"|\.pb\.(go|cc|h)$|_pb2\.py$|^zz_generated|\.designer\.cs$|^(configure|config\.(guess|sub)|ltmain\.sh|install-sh|libtool)$"
)
MIN_FILE_CHARACTERS = 200
SHELL = re.compile(r"#!\s*\S*/(?:env\s+)?(?:ba|da|k|z)?sh\b")
CPP_HEADER = re.compile(r"^\s*(?:class|namespace|template)\b", re.M)


def is_source(path: str) -> bool:
    """Whether a file may have definitions, by its path alone; a file without an extension may be a shell script."""
    *directories, name = path.split("/")
    if SKIPPED_DIRECTORIES.intersection(directory.lower() for directory in directories) or SKIPPED_FILES.search(name):
        return False
    return "." not in name or name.rsplit(".", 1)[1] in EXTENSIONS


def language_of(path: str, text: str) -> str | None:
    """The language of a file that `is_source`; none if it is too short or no source code after all."""
    name = path.rsplit("/", 1)[-1]
    if len(text) < MIN_FILE_CHARACTERS:
        return None
    if "." not in name:
        return "sh" if SHELL.match(text) else None
    language = EXTENSIONS.get(name.rsplit(".", 1)[1])
    return "cpp" if language == "c" and name.endswith(".h") and CPP_HEADER.search(text) else language


def definitions(language: str, text: str, path: str) -> Iterator[Definition]:
    """The documented definitions of a file."""
    text = text.replace("\r\n", "\n")
    match language:
        case "py":
            return python.definitions(text, path)
        case "rb" | "sh" | "lua" | "hs" | "ex":
            return scripts.definitions(language, text)
        case _:
            return braces.definitions(language, text, path)
