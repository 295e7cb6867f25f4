"""Choose the vocabulary and count the tokens of the pairs.

The base model's vocabulary stays, in its order: whole words that the pairs hardly have give their rows to frequent
words that it splits. OUT/vocab.txt is the result; OUT/train.npz and OUT/dev.npz are the pairs as bags of its tokens.
"""

import argparse
import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from training import model as models
from training.bags import Corpus
from training.pairs import Pair, read_pairs
from training.words import CONTINUATION, SPECIAL_TOKENS, words

# A row is free if its word is in at most so many pairs; a word gets one if it is in so many pairs and packages, so that
# the names of a single project do not become tokens.
RARE = 8
MIN_PAIRS = 30
MIN_PACKAGES = 6
MAX_SWAPS = 3000
# Queries are short, and each of their words matters more.
QUERY_WEIGHT = 3
CANDIDATE = re.compile(r"[a-z]{3,24}|[0-9]{2,4}")


def choose(
    tokens: Sequence[str],
    pairs: Sequence[Pair],
    *,
    swaps: int = MAX_SWAPS,
    min_pairs: int = MIN_PAIRS,
    min_packages: int = MIN_PACKAGES,
) -> list[str]:
    """The new vocabulary: a base vocabulary with some rare words replaced by frequent ones."""
    frequency: Counter[str] = Counter()
    packages: dict[str, set[str]] = defaultdict(set)
    for pair in pairs:
        for text, weight in ((pair.code, 1), (pair.query, QUERY_WEIGHT)):
            for word in set(words(text)):
                frequency[word] += weight
                packages[word].add(pair.package)
    known = set(tokens)
    free = [
        row
        for row, token in enumerate(tokens)
        if len(token) > 1
        and not token.startswith(CONTINUATION)
        and token not in SPECIAL_TOKENS
        and frequency[token] <= RARE
    ]
    free.sort(key=lambda row: (frequency[tokens[row]], len(packages[tokens[row]]), row))
    candidates = [
        word
        for word, count in frequency.items()
        if word not in known
        and count >= min_pairs
        and len(packages[word]) >= min_packages
        and CANDIDATE.fullmatch(word)
    ]
    candidates.sort(key=lambda word: (-len(packages[word]) * math.log(frequency[word]), word))
    result = list(tokens)
    for row, word in zip(free[:swaps], candidates):
        result[row] = word
    return result


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The step's options."""
    parser.add_argument("--pairs", type=Path, required=True, help="directory that the step pairs wrote")
    parser.add_argument("--base", type=Path, required=True, help="directory of the model to start from")
    parser.add_argument(
        "--swaps", type=int, default=MAX_SWAPS, help="rows that may change hands (default: %(default)s)"
    )
    parser.add_argument(
        "--min-pairs", type=int, default=MIN_PAIRS, help="pairs that a new word must be in (default: %(default)s)"
    )
    parser.add_argument(
        "--min-packages", type=int, default=MIN_PACKAGES, help="packages that it must be in (default: %(default)s)"
    )
    parser.add_argument("--out", type=Path, required=True, help="directory for vocab.txt, train.npz and dev.npz")


def run(arguments: argparse.Namespace) -> None:
    """Chooses, counts, writes."""
    base = models.read_vocabulary(arguments.base / "vocab.txt").tokens
    train = read_pairs(arguments.pairs / "train.jsonl")
    limits = {"swaps": arguments.swaps, "min_pairs": arguments.min_pairs, "min_packages": arguments.min_packages}
    tokens = choose(base, train, **limits)
    arguments.out.mkdir(parents=True, exist_ok=True)
    models.write_vocabulary(arguments.out / "vocab.txt", tokens)
    vocabulary = models.read_vocabulary(arguments.out / "vocab.txt")
    Corpus.count(train, vocabulary).save(arguments.out / "train.npz")
    Corpus.count(read_pairs(arguments.pairs / "dev.jsonl"), vocabulary).save(arguments.out / "dev.npz")
    print(f"{sum(old != new for old, new in zip(base, tokens))} of {len(tokens)} tokens are new")
