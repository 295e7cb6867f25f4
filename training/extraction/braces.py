"""Languages with braces: a documentation comment, the head of a definition, and a body in matching brackets."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import NamedTuple

from training.extraction.definition import MAX_CODE, MIN_CODE, Definition, Kind, first_sentence, without_name

MAX_COMMENT = 4000
# Between a comment and the body: attributes of at most so many characters, and a head of at most so many.
MAX_ATTRIBUTES = 1500
MAX_HEAD = 600
MAX_SCAN = 9000
# What is read of a type before the comments of its members are taken out.
MAX_TYPE = 2 * MAX_CODE


class Head(NamedTuple):
    """What a definition's first lines say."""

    kind: Kind
    name: str


@dataclass(frozen=True)
class Syntax:
    """A language: how documentation comments begin (empty: there are none of that form) and how heads are read."""

    block: str
    line: str
    head: Callable[[str], Head | None]
    quotes: str = "char"


COMMENT = re.compile(r"/\*[^*]*\*+(?:[^/*][^*]*\*+)*/[ \t]*\n|(?:^[ \t]*//[^\n]*\n)+", re.M)
BLOCK_MARGIN = re.compile(r"(?m)^[ \t]*[*!]+ ?")
LINE_MARK = re.compile(r"(?m)^[ \t]*//[/!]*<? ?")
# Annotations, attributes, template parameters and macros on a line of their own.
ATTRIBUTES = re.compile(
    r"""(?:\s*(?:@[\w.]+(?:\((?:[^()"]|"[^"\n]*"|\([^()]*\))*\))?
      |\#\[[^\n]*\]|\[[A-Z][^\]\n]*\](?=\s*[\n\[])
      |__attribute__\s*\(\([^)]*\)\)|template\s*<[^{};]{0,200}?>(?=\s)|[A-Z_]{4,}(?:\([^)\n]*\))?(?=\s*\n)))*\s*""",
    re.X,
)
_TOKENS = r'"(?:[^"\\\n]|\\.)*"|{quotes}|//[^\n]*|/\*.*?\*/|`[^`]{{0,2000}}`|[(){{}}\[\];]|\n[ \t]*\n'
TOKENS = {
    # `'` begins a character, or a lifetime that has no end.
    "char": re.compile(_TOKENS.format(quotes=r"'(?:[^'\\\n]|\\.){1,2}'"), re.S),
    "string": re.compile(_TOKENS.format(quotes=r"'(?:[^'\\\n]|\\.)*'"), re.S),
}
# After a closing brace of JavaScript or TypeScript: it was a pattern of parameters or a type, not the body.
CONTINUES = re.compile(r"\s*(?:[:=>|&\[{]|\))")


def body_end(text: str, start: int, quotes: str) -> int | None:
    """The end of the definition that begins at `start`: where its first block of braces closes. None if it has none."""
    depth = 0
    opened = False
    for match in TOKENS[quotes].finditer(text, start, start + MAX_SCAN):
        token = match.group()
        if token in ("(", "[", "{"):
            if token == "{" and depth == 0:
                if match.start() - start > MAX_HEAD:
                    return None
                opened = True
            depth += 1
        elif token in (")", "]", "}"):
            depth -= 1
            if depth < 0:
                return None
            if (
                token == "}"
                and depth == 0
                and not (quotes == "string" and CONTINUES.match(text, match.end(), match.end() + 40))
            ):
                return match.end()
        elif depth == 0 and not opened and (token == ";" or token.isspace()):
            # A declaration, or an expression that ends at a blank line.
            return None
    return start + MAX_CODE if opened else None


TYPE = re.compile(
    r"[^={(;\n]*?\b(?:class|struct|interface|enum|trait|record|namespace|object|protocol|extension|union)\s+(?:[A-Z_]{4,}\s+)?([A-Za-z_]\w*)"
)
C_TYPE = re.compile(r"(?:typedef\s+)?(?:struct|enum|union)\s+([A-Za-z_]\w*)[^(){};]*\{")
GO = re.compile(r"func\s+(?:\([^)]*\)\s*)?(?P<function>\w+)|type\s+(?P<type>\w+)\s+(?:struct|interface)")
RUST = re.compile(
    r"(?:pub(?:\([^)]*\))?\s+)?(?:(?:default|const|async|unsafe|extern(?:\s+\"[^\"]*\")?)\s+)*"
    r"(?:(?:fn|macro_rules!)\s+(?P<function>\w+)|(?:struct|enum|trait|union|mod)\s+(?P<type>\w+))"
)
KEYWORD = re.compile(r"\b(?:fun|def|func|function)\s+(?:<[^>]*>\s*)?&?(?:[\w.<>?]+\.)?(\w+)|\b(init)\s*[(?]")
CALL = re.compile(r"([A-Za-z_~$][\w$]*)\s*(?:<[^<>(){}]{0,80}>)?\s*\(")
PROPERTY = re.compile(r"(?:[\w<>\[\],.?]+\s+)+(\w+)\s*\{")
ASSIGNED = re.compile(
    r"(?:export\s+)?(?:default\s+)?(?:const|let|var|static|readonly|public|private|protected)?\s*([\w.$]+)\s*(?::[^=]{0,120})?="
    r"\s*(?:async\s*)?(?:function\b|\(|\w+\s*=>|<)|([\w$]+)\s*:\s*(?:async\s*)?function\b"
)
# What stands before a bracket without being a function's name.
STATEMENTS = frozenset(
    """assert await case catch defined delete do elif else for foreach function if lock new return sizeof super switch
    synchronized this throw typeof using while yield""".split()
)


def _named(pattern: re.Pattern[str]) -> Callable[[str], Head | None]:
    def read(head: str) -> Head | None:
        match = pattern.match(head)
        if not match:
            return None
        return Head("function", match["function"]) if match["function"] else Head("type", match["type"])

    return read


def _type(head: str) -> Head | None:
    match = TYPE.match(head)
    return Head("type", match.group(1)) if match else None


def _with_keyword(head: str) -> Head | None:
    match = KEYWORD.search(head.split("{", 1)[0])
    return _type(head) or (Head("function", match.group(1) or match.group(2)) if match else None)


def _call(head: str) -> Head | None:
    """`int name(`: the last word before the first bracket, if nothing before it ends a statement."""
    match = CALL.search(head)
    if not match or re.search(r"[;=}{]", head[: match.start()]) or match.group(1) in STATEMENTS:
        return None
    return Head("function", match.group(1))


def _java(head: str) -> Head | None:
    return _type(head) or _call(head)


def _c_family(head: str) -> Head | None:
    """`struct name *make(void) {` is a function, and a call of a macro, in capitals, is nothing."""
    match = C_TYPE.match(head)
    found = Head("type", match.group(1)) if match else _call(head)
    return None if found and found.kind == "function" and found.name.isupper() else found


def _cpp(head: str) -> Head | None:
    signature = head.split("{", 1)[0]
    return _c_family(head) if "(" in signature else _type(head) or _c_family(head)


def _csharp(head: str) -> Head | None:
    match = PROPERTY.match(head)
    return _type(head) or (Head("function", match.group(1)) if match else _call(head))


def _javascript(head: str) -> Head | None:
    match = ASSIGNED.match(head)
    if match:
        return Head("function", (match.group(1) or match.group(2)).rsplit(".", 1)[-1])
    function = re.match(r"(?:export\s+)?(?:default\s+)?(?:async\s+)?function\s*\*?\s*([\w$]+)", head)
    return Head("function", function.group(1)) if function else _type(head) or _call(head)


SYNTAX = {
    "c": Syntax("/*", "//", _c_family),
    "cpp": Syntax("/*", "//", _cpp),
    "cs": Syntax("", "///", _csharp),
    "go": Syntax("", "//", _named(GO)),
    "java": Syntax("/**", "", _java),
    "js": Syntax("/**", "", _javascript, "string"),
    "kt": Syntax("/**", "", _with_keyword),
    "php": Syntax("/**", "", _with_keyword, "string"),
    "rs": Syntax("/**", "///", _named(RUST)),
    "scala": Syntax("/**", "", _with_keyword),
    "swift": Syntax("/**", "///", _with_keyword),
    "ts": Syntax("/**", "//", _javascript, "string"),
}
MEMBER_COMMENTS = re.compile(r"/\*\*.*?\*/|^[ \t]*///[^\n]*\n", re.M | re.S)
REFERENCE = re.compile(r'<(?:see|seealso|paramref|typeparamref)\s+\w+="(?:\w:)?(?:[\w.]*\.)?(\w+)[^"]*"\s*/?>')


def definitions(language: str, text: str, path: str) -> Iterator[Definition]:
    """The documented definitions of a file, and the file itself where its language documents files."""
    syntax = SYNTAX[language]
    for match in COMMENT.finditer(text):
        comment = _comment(syntax, match.group())
        if comment is None or text[match.end() : match.end() + 1] == "\n":
            continue
        attributes = ATTRIBUTES.match(text, match.end(), match.end() + MAX_ATTRIBUTES)
        start = attributes.end() if attributes else match.end()
        head = syntax.head(text[start : start + MAX_HEAD])
        end = body_end(text, start, syntax.quotes) if head and len(head.name) > 1 else None
        if head is None or end is None:
            continue
        sentence = first_sentence(without_name(_description(language, comment), head.name))
        code = text[start : min(end, start + MAX_TYPE)]
        if head.kind == "type":
            code = MEMBER_COMMENTS.sub("", code)
        if sentence and len(code) >= MIN_CODE and "\n" in code:
            yield Definition(head.kind, head.name, sentence, code[:MAX_CODE])
    yield from _file(language, text, path)


def _comment(syntax: Syntax, raw: str) -> str | None:
    """The text of a documentation comment; none for any other."""
    raw = raw.strip()
    if raw.startswith("/*"):
        if not syntax.block or not raw.startswith(syntax.block) or len(raw) > MAX_COMMENT:
            return None
        return BLOCK_MARGIN.sub("", raw[2:-2].lstrip("*!"))
    return LINE_MARK.sub("", raw) if syntax.line and raw.startswith(syntax.line) else None


def _description(language: str, comment: str) -> str:
    """The describing part of a comment with tags."""
    if language == "cs":
        summary = re.search(r"<summary>(.*?)</summary>", comment, re.S)
        return REFERENCE.sub(r"\1", summary.group(1)) if summary else comment
    if language in ("c", "cpp"):
        brief = re.search(r"[\\@]brief\s+(.*)", comment, re.S)
        if brief:
            return brief.group(1)
        return re.sub(r"^\s*[\\@](?:fn|name|class|struct|file|ingroup|internal)\b[^\n]*\n", "", comment.lstrip("\n"))
    if language in ("js", "ts"):
        tagged = re.search(r"\A\s*@.*?@desc(?:ription)?\s+(.*)|\A\s*@desc(?:ription)?\s+(.*)", comment, re.S)
        return (tagged.group(1) or tagged.group(2)) if tagged else comment
    return re.sub(r"^[-=*#/\s]+", "", comment)


FILES = {
    "rs": re.compile(r"\A(?:\s+|//(?!!)[^\n]*\n|#!\[[^\n]*\n)*(?P<comment>(?://![^\n]*\n)+)"),
    "go": re.compile(r"^(?P<comment>(?://[^\n]*\n)+)package \w+", re.M),
    "c": re.compile(r"(?P<comment>/\*[*!](?:[^*]|\*(?!/))*?[\\@]file(?:[^*]|\*(?!/))*\*/)"),
}


def _file(language: str, text: str, path: str) -> Iterator[Definition]:
    pattern = FILES.get("c" if language == "cpp" else language)
    match = pattern.search(text, 0, 12000) if pattern else None
    if not match:
        return
    comment = match["comment"]
    comment = _comment(SYNTAX["c"], comment) or "" if comment.startswith("/*") else LINE_MARK.sub("", comment)
    sentence = first_sentence(re.sub(r"\A\s*Package \w+ ", "", _description(language, comment)))
    code = text[match.end() : match.end() + MAX_CODE]
    if sentence and len(code) >= MIN_CODE:
        yield Definition("file", PurePosixPath(path).stem, sentence, code)
