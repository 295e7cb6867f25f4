"""What the scanners find, and the sentence of a comment that becomes a query."""

import re
from typing import Literal, NamedTuple

# A paragraph is commented code inside a script; an undocumented definition has no query of its own.
Kind = Literal["function", "type", "file", "paragraph", "undocumented"]

# The server reads 512 tokens, some 2,000 characters of code.
MAX_CODE = 3000
MIN_CODE = 60

MIN_WORDS = 4
MAX_SENTENCE = 320
# A comment's first paragraph ends at a blank line or where a list of parameters, an example or a rule begins.
PARAGRAPH_END = re.compile(
    r"\n\s*\n"
    r"|\n\s*(?:@|#|\*|[-+]\s|:param|:return|>>>|```|-{3}|={3}|\\(?:param|return|see|note|sa|pre|post|throws)\b)"
    r"|\n\s*(?:Args|Arguments|Parameters|Returns|Usage|Examples?)\b"
)
MARKUP = [
    (re.compile(r"\{@\w+\s+([^{}]*)\}"), r"\1"),  # {@link Name}
    (re.compile(r"\[([^\[\]]*)\]\([^()]*\)"), r"\1"),  # [text](target)
    (re.compile(r":(?:py:)?[a-z]+:`~?([^`]*)`"), r"\1"),  # :class:`Name`
    (re.compile(r"<[^<>]{1,40}>"), " "),  # <code>
    (re.compile(r"[\\@](?:c|a|p|b|e|em|ref|link|endlink|code|endcode)\b"), " "),  # \c name
    (re.compile(r"[`\[\]*]"), ""),
    (re.compile(r"\s+"), " "),
]
SENTENCE = re.compile(r".{12,}?[.!?](?=\s+[A-Z]|$)")
# Notes to tools and to other developers, and phrases that every constructor has: they do not describe what the code
# does.
NO_DESCRIPTION = re.compile(
    r"(?i)see |todo|fixme|deprecated|(?:auto.?)?generated|internal use|this (?:function|method|class) is deprecated"
    r"|returns self|(?:default )?constructor\b|destructor|creates a new instance of|test |inheritdoc|non.?javadoc"
    r"|eslint|tslint|prettier|istanbul|pylint|noqa|rubocop|shellcheck|vim:|-\*-|@|\(c\)|licen[cs]e|spdx|http"
)
LEGAL = re.compile(r"(?i)copyright|all rights reserved|licen[sc]e[ds]? (?:under|to)|\bGNU |redistribut|permission")
# Code that was commented out.
CODE = re.compile(r"[;{}]\s*$|^(?:if|for|while|return|else|switch|case)\s*\(")


class Definition(NamedTuple):
    """A definition with the sentence that describes it."""

    kind: Kind
    name: str
    sentence: str
    code: str


def first_sentence(comment: str) -> str | None:
    """The first sentence of a comment as someone might search for it; none if it hardly describes anything."""
    text = PARAGRAPH_END.split(comment.strip(), maxsplit=1)[0].strip()
    if not text or text[0] in "@#\\":
        return None
    for pattern, replacement in MARKUP:
        text = pattern.sub(replacement, text)
    text = text.strip(" -=:/#")
    match = SENTENCE.match(text)
    sentence = match.group() if match else text
    return sentence if _describes(sentence) else None


def _describes(sentence: str) -> bool:
    if len(sentence) > MAX_SENTENCE or len(re.findall(r"[A-Za-z]+", sentence)) < MIN_WORDS:
        return False
    letters = sum(character.isalpha() or character == " " for character in sentence)
    ascii_only = sum(character.isascii() for character in sentence)
    # Tables, formulas and rulers have few letters. The encoder reads ASCII alone.
    if letters < 0.78 * len(sentence) or ascii_only < 0.97 * len(sentence):
        return False
    return not (NO_DESCRIPTION.match(sentence) or LEGAL.search(sentence) or CODE.search(sentence))


def without_name(comment: str, name: str) -> str:
    """A comment without the name it begins with, as Go and C have it: `Name - does something`, `Name is a thing`."""
    text = comment.strip()
    if not text.lower().startswith(name.lower()):
        return text
    rest = text[len(name) :]
    # `Parser` does not begin `Parsers are …`.
    return text if re.match(r"\w", rest) else re.sub(r"^(?:\(\))?\s*(?:[-:=–]+|is\b)?\s*", "", rest)
