"""Splitting text into words, and words into tokens of a vocabulary: the part of the encoder that needs no vectors.

The server has the same in Rust (`crates/mainstay-search/src/words` and `src/embedding`). Both are held together by
`golden.json`, which `export` writes and the tests of both sides read.
"""

import re
from collections.abc import Iterator, Sequence

# Longer words are hashes and encoded data, which say nothing about what code does.
MAX_WORD_BYTES = 64
# What the server reads of a text; a function seldom has more.
MAX_TOKENS = 512
# Rows of a model that stand for no text.
SPECIAL_TOKENS = ("[PAD]", "[UNK]")
CONTINUATION = "##"

# `HTTPServer2` is HTTP, Server, 2. Only ASCII letters and digits belong to words.
WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")


def words(text: str) -> Iterator[str]:
    """The words of a text in lower case, split inside identifiers; too long ones are left out."""
    for match in WORD.finditer(text):
        word = match.group()
        if len(word) <= MAX_WORD_BYTES:
            yield word.lower()


class Vocabulary:
    """The tokens of a model; a token's position is its row."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self.tokens = list(tokens)
        self.rows = {token: row for row, token in enumerate(self.tokens)}
        if len(self.rows) != len(self.tokens):
            raise ValueError("the vocabulary has a token twice")
        if tuple(self.tokens[:2]) != SPECIAL_TOKENS:
            raise ValueError(f"the vocabulary does not begin with {' and '.join(SPECIAL_TOKENS)}")
        # Most words occur often: the second time costs one lookup.
        self._pieces: dict[str, tuple[int, ...]] = {}

    def pieces(self, word: str) -> tuple[int, ...]:
        """The rows of a word's tokens, the longest first at every place; none if a part of the word is no token."""
        known = self._pieces.get(word)
        if known is None:
            known = self._pieces[word] = tuple(self._split(word))
        return known

    def _split(self, word: str) -> list[int]:
        rows: list[int] = []
        start = 0
        while start < len(word):
            prefix = CONTINUATION if start else ""
            for end in range(len(word), start, -1):
                row = self.rows.get(prefix + word[start:end])
                if row is not None:
                    rows.append(row)
                    start = end
                    break
            else:
                return []
        return rows

    def token_ids(self, text: str) -> list[int]:
        """The rows of a text's tokens, in order and with repetitions, as many as the server reads."""
        ids: list[int] = []
        for word in words(text):
            ids.extend(self.pieces(word))
            if len(ids) >= MAX_TOKENS:
                break
        return ids[:MAX_TOKENS]
