"""Texts as bags of tokens: the distinct tokens of each text with their counts, in flat arrays.

The encoder does not look at the order of tokens, so bags are all that training needs, and they are small enough to hold
half a million functions in memory.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from training.pairs import Pair, query_key
from training.words import Vocabulary, words


@dataclass(frozen=True)
class Bags:
    """Bag `i` has the tokens and counts from `offsets[i]` to `offsets[i + 1]`."""

    tokens: np.ndarray
    counts: np.ndarray
    offsets: np.ndarray

    @classmethod
    def count(cls, texts: Iterable[str], vocabulary: Vocabulary) -> "Bags":
        """Counts the tokens of texts."""
        tokens, counts, offsets = array("I"), array("f"), array("q", [0])
        for text in texts:
            bag: Counter[int] = Counter()
            for word, times in Counter(words(text)).items():
                for row in vocabulary.pieces(word):
                    bag[row] += times
            for row, times in sorted(bag.items()):
                tokens.append(row)
                counts.append(times)
            offsets.append(len(tokens))
        return cls(np.array(tokens, np.int64), np.array(counts, np.float32), np.array(offsets, np.int64))

    def select(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The positions of some bags' entries, and for each the place of its bag in `numbers`."""
        lengths = self.offsets[numbers + 1] - self.offsets[numbers]
        places = np.repeat(np.arange(len(numbers)), lengths)
        first = np.cumsum(lengths) - lengths
        return np.arange(len(places)) - first[places] + self.offsets[numbers][places], places


@dataclass(frozen=True)
class Corpus:
    """Pairs as bags. `in_name` marks the tokens of the code that are also in the definition's name."""

    queries: Bags
    codes: Bags
    names: Bags
    paths: Bags
    in_name: np.ndarray
    packages: np.ndarray
    languages: np.ndarray
    query_keys: np.ndarray
    # Whether a pair is a function or a type, which has a name of its own.
    named: np.ndarray

    def __len__(self) -> int:
        return len(self.packages)

    @classmethod
    def count(cls, pairs: Sequence[Pair], vocabulary: Vocabulary) -> "Corpus":
        """Counts the tokens of pairs."""
        codes = Bags.count((pair.code for pair in pairs), vocabulary)
        names = Bags.count((pair.name for pair in pairs), vocabulary)
        rows = len(vocabulary.tokens)
        every = np.arange(len(pairs))
        code_keys, name_keys = (bags.select(every)[1] * rows + bags.tokens for bags in (codes, names))
        return cls(
            queries=Bags.count((pair.query for pair in pairs), vocabulary),
            codes=codes,
            names=names,
            paths=Bags.count(
                (" ".join(PurePosixPath(pair.path).with_suffix("").parts[-2:]) for pair in pairs), vocabulary
            ),
            in_name=np.isin(code_keys, name_keys),
            packages=np.unique([f"{pair.language} {pair.package}" for pair in pairs], return_inverse=True)[1],
            languages=np.array([pair.language for pair in pairs]),
            query_keys=np.array([query_key(pair.query) for pair in pairs], np.uint64).astype(np.int64),
            named=np.array([pair.kind in ("function", "type") for pair in pairs]),
        )

    def save(self, path: Path) -> None:
        """Writes everything into one file."""
        arrays: dict[str, Any] = {}
        for name, value in vars(self).items():
            parts = vars(value) if isinstance(value, Bags) else {"": value}
            arrays |= {f"{name}.{part}": array for part, array in parts.items()}
        np.savez_compressed(path, **arrays)

    @classmethod
    def load(cls, path: Path) -> "Corpus":
        """Reads what `save` wrote."""
        fields: dict[str, dict[str, Any]] = {}
        with np.load(path) as arrays:
            for key in arrays:
                name, _, part = key.partition(".")
                fields.setdefault(name, {})[part] = arrays[key]
        values: dict[str, Any] = {name: parts[""] if "" in parts else Bags(**parts) for name, parts in fields.items()}
        return cls(**values)
