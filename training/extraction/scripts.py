"""Languages without braces: Ruby, Lua, Elixir and Haskell, and shell, whose closing braces are lines of their own.

A definition ends at the line that closes it with the indentation at which it began, which holds for formatted code and
needs no parser. Comments are found first and heads of definitions are matched where they end: one pattern for both
would take quadratic time on long comments.
"""

import re
from collections.abc import Iterator

from training.extraction.definition import MAX_CODE, Definition, Kind, first_sentence, without_name

# Scripts are short, and so are their functions.
MIN_CODE = 50
MAX_SCAN = 8000


def definitions(language: str, text: str) -> Iterator[Definition]:
    """The documented definitions of a file."""
    return {"rb": _ruby, "sh": _shell, "lua": _lua, "hs": _haskell, "ex": _elixir}[language](text)


def _comments(text: str, mark: str) -> Iterator[tuple[str, int]]:
    """Blocks of comment lines without their marks, each with the position where the next line begins."""
    for match in re.finditer(rf"^[ \t]*{mark}[^\n]*\n(?:[ \t]*{mark}[^\n]*\n)*", text, re.M):
        yield re.sub(rf"(?m)^[ \t]*{mark[0]}+[ \t]?", "", match.group()), match.end()


def _until(text: str, start: int, indent: str, closing: str) -> str:
    """The code from `start` to the closing line of the same indentation; empty if there is none near."""
    end = re.compile(rf"\n{indent}{closing}").search(text, start, start + MAX_SCAN)
    return text[start : end.end()] if end else ""


def _definition(kind: Kind, name: str, sentence: str | None, code: str) -> Iterator[Definition]:
    if sentence and len(code) >= MIN_CODE:
        yield Definition(kind, name, sentence, code[:MAX_CODE])


RUBY = re.compile(
    r"(?P<indent>[ \t]*)(?P<head>(?:(?:private|protected|public|module_function|memoize)[ \t]+)?"
    r"def[ \t]+(?:self\.)?(?P<function>[\w?!=]+)|(?:class|module)[ \t]+(?:\w+::)*(?P<type>\w+))"
)
# YARD tags, RDoc headings and call sequences begin what is not the description.
RUBY_TAGS = re.compile(r"\n\s*(?:@\w+|call-seq|\+|=+ |Examples?:)")
TOMDOC = re.compile(r"^(?:Public|Internal|Private|Protected):\s*")


def _ruby(text: str) -> Iterator[Definition]:
    for comment, end in _comments(text, "#"):
        head = RUBY.match(text, end)
        if not head or comment.lstrip().startswith((":", "@")):
            continue
        sentence = first_sentence(TOMDOC.sub("", RUBY_TAGS.split(comment.strip(), maxsplit=1)[0]))
        code = _until(text, head.start("head"), head["indent"], r"end\b")
        if head["function"]:
            yield from _definition("function", head["function"], sentence, code)
        else:
            # A class would be found by its methods' comments instead of its own.
            yield from _definition("type", head["type"], sentence, re.sub(r"(?m)^[ \t]*#[^\n]*\n", "", code))


SHELL = re.compile(
    r"^(?P<indent>[ \t]*)(?P<head>function[ \t]+(?P<name>[\w:.-]+)(?:[ \t]*\([ \t]*\))?"
    r"|(?P<plain>[\w:.-]+)[ \t]*\([ \t]*\))"
    r"[ \t]*\n?[ \t]*\{",
    re.M,
)
SHELL_PARAGRAPH = re.compile(r"(?:[ \t]*[^\s#][^\n]*\n){2,14}")


def _shell(text: str) -> Iterator[Definition]:
    if "GENERATED" in text[:300]:
        return
    # Comments of scripts are often framed by rulers.
    comments = {end: re.sub(r"(?m)^[-=#*\s]*$", "", comment) for comment, end in _comments(text, "#(?!!)")}
    for head in SHELL.finditer(text):
        code = _until(text, head.start("head"), head["indent"], r"\}")
        name = head["name"] or head["plain"]
        sentence = first_sentence(without_name(comments.pop(head.start(), ""), name))
        if sentence:
            yield from _definition("function", name, sentence, code)
        elif len(code) >= MIN_CODE:
            yield Definition("undocumented", name, "", code[:MAX_CODE])
    for end, comment in comments.items():
        lines = SHELL_PARAGRAPH.match(text, end)
        if lines:
            yield from _definition("paragraph", "", first_sentence(comment), lines.group())


LUA = re.compile(
    r"(?P<indent>[ \t]*)(?P<head>(?:local[ \t]+)?(?:function[ \t]+(?:\w+[.:])*(?P<name>\w+)"
    r"|(?:\w+\.)*(?P<value>\w+)[ \t]*=[ \t]*function\b))"
)


def _lua(text: str) -> Iterator[Definition]:
    for comment, end in _comments(text, "--"):
        head = LUA.match(text, end)
        if head:
            code = _until(text, head.start("head"), head["indent"], r"end\b")
            yield from _definition("function", head["name"] or head["value"], first_sentence(comment), code)


HASKELL = re.compile(
    r"(?:data|newtype|class|type|instance)\s+(?:\([^()\n]*\)\s*=>\s*)?(?P<type>\w+)|(?P<function>\w+)\s*::"
)
HASKELL_END = re.compile(r"\n\n(?:\n|-- [|*$]|\{-|[a-z]\w* *::)|\n-- \|")


def _haskell(text: str) -> Iterator[Definition]:
    for comment, end in _comments(text, "--"):
        head = HASKELL.match(text, end)
        # Haddock's comments begin with a bar; its quotes and @ mark names.
        if head and comment.startswith("|"):
            stop = HASKELL_END.search(text, end, end + MAX_SCAN)
            code = text[end : stop.start() if stop else end + MAX_CODE // 2]
            sentence = first_sentence(re.sub(r"['@]", "", comment[1:]))
            yield from _definition(
                "function" if head["function"] else "type", head["function"] or head["type"], sentence, code
            )


ELIXIR_DOC = re.compile(
    r'^[ \t]*@doc\s+(?:~S)?"""\n(?P<comment>(?:(?![ \t]*""")[^\n]*\n)*)[ \t]*"""\n(?:[ \t]*@\w+[^\n]*\n)*', re.M
)
ELIXIR = re.compile(r"(?P<indent>[ \t]*)(?P<head>(?:defp?|defmacrop?)\s+(?P<name>\w+))")


def _elixir(text: str) -> Iterator[Definition]:
    for documentation in ELIXIR_DOC.finditer(text):
        head = ELIXIR.match(text, documentation.end())
        if head:
            code = _until(text, head.start("head"), head["indent"], r"end\b")
            yield from _definition("function", head["name"], first_sentence(documentation["comment"]), code)
