"""Batches of pairs, and the variants of a pair that a batch may have.

All randomness is here, from numpy's generator: the same seed gives the same batches on every device.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from training.bags import Bags, Corpus


@dataclass(frozen=True)
class Settings:
    """How a run trains. The defaults are those of one half of the shipped model's runs."""

    seed: int = 3
    epochs: float = 10.0
    batch: int = 4096
    # Pairs of one package in a row. They are each other's negatives, and close ones: the same words, the same style.
    block: int = 256
    learning_rate: float = 0.004
    # Steps in which the learning rate rises to its full value.
    warm_up: int = 50
    temperature: float = 0.05
    # Share of documents in which the definition's name counts three times, as when the server adds it twice.
    name_heavy: float = 0.7
    # Share of documents without the tokens of the name: the body alone has to be found.
    name_masked: float = 0.15
    # Share of documents joined with what follows them in the file (and half as often with what precedes them), because
    # the server also embeds chunks of several definitions.
    chunk: float = 0.3
    # Share of pairs whose query becomes their name and path, with the name masked in the document.
    query_from_name: float = 0.0
    # Half of the texts lose up to so many of their tokens.
    query_drop: float = 0.5
    code_drop: float = 0.4
    # How strongly a row is pulled back to where it started each time it is moved.
    anchor: float = 1.0


@dataclass(frozen=True)
class WeightedBags:
    """Entries of the bags of a batch: entry `i` adds `weights[i]` times row `tokens[i]` to text `places[i]`."""

    tokens: np.ndarray
    places: np.ndarray
    weights: np.ndarray
    size: int


@dataclass(frozen=True)
class Batch:
    """Query `i` belongs to document `i`. Others with the same key, or that contain its pair, are no negatives."""

    queries: WeightedBags
    documents: WeightedBags
    keys: np.ndarray
    pairs: np.ndarray
    # The pair that a document was joined with, before and after; -1 for none.
    joined: tuple[np.ndarray, np.ndarray]


def _joined(parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]], size: int) -> WeightedBags:
    """One list of entries, by place: a sum over neighbours in memory is fast, and its order is fixed."""
    tokens, places, weights = (np.concatenate(column) for column in zip(*parts))
    order = np.argsort(places, kind="stable")
    kept = order[weights[order] != 0]
    return WeightedBags(tokens[kept], places[kept], weights[kept].astype(np.float32), size)


def _entries(bags: Bags, numbers: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The bags of some pairs as they are, for the given places in the batch."""
    positions, of = bags.select(numbers)
    return bags.tokens[positions], places[of], 1 + np.log(bags.counts[positions])


class BatchMaker:
    """Draws batches from a corpus."""

    def __init__(self, corpus: Corpus, settings: Settings) -> None:
        self.corpus = corpus
        self.settings = settings
        self.random = np.random.default_rng(settings.seed)
        self.block = min(settings.block, len(corpus))
        self.blocks = max(1, min(settings.batch, len(corpus)) // self.block)

    @property
    def steps(self) -> int:
        """The number of batches of a run."""
        return max(1, int(self.settings.epochs * len(self.corpus) / (self.blocks * self.block)))

    def __iter__(self) -> Iterator[Batch]:
        waiting: list[np.ndarray] = []
        for _ in range(self.steps):
            if len(waiting) < self.blocks:
                waiting = self._shuffled_blocks()
            chosen = [waiting.pop() for _ in range(self.blocks)]
            yield self.batch(np.concatenate(chosen))

    def _shuffled_blocks(self) -> list[np.ndarray]:
        """All pairs in blocks: shuffled inside their packages, then the blocks among each other."""
        order = np.lexsort((self.random.random(len(self.corpus)), self.corpus.packages))
        count = len(order) // self.block
        blocks = order[: count * self.block].reshape(count, self.block)
        return list(blocks[self.random.permutation(count)])

    def batch(self, pairs: np.ndarray) -> Batch:
        """The batch of these pairs, each in a variant drawn at random."""
        from_name = (self.random.random(len(pairs)) < self.settings.query_from_name) & self.corpus.named[pairs]
        every = np.arange(len(pairs))
        parts = [self._documents(pairs, every, from_name)]
        joined = []
        drawn = self.random.random(len(pairs))
        for step, share in ((1, self.settings.chunk), (-1, self.settings.chunk / 2)):
            other = np.clip(pairs + step, 0, len(self.corpus) - 1)
            near = (drawn < share) & (other != pairs) & (self.corpus.packages[other] == self.corpus.packages[pairs])
            parts.append(self._documents(other[near], every[near], np.zeros(near.sum(), bool)))
            joined.append(np.where(near, other, -1))
        return Batch(
            queries=self._queries(pairs, from_name),
            documents=_joined(parts, len(pairs)),
            keys=self.corpus.query_keys[pairs],
            pairs=pairs,
            joined=(joined[0], joined[1]),
        )

    def _queries(self, pairs: np.ndarray, from_name: np.ndarray) -> WeightedBags:
        every = np.arange(len(pairs))
        tokens, places, weights = _entries(self.corpus.queries, pairs, every)
        weights = weights * self._kept(places, len(pairs), self.settings.query_drop) * ~from_name[places]
        parts = [(tokens, places, weights)]
        if from_name.any():
            parts += [
                _entries(bags, pairs[from_name], every[from_name]) for bags in (self.corpus.names, self.corpus.paths)
            ]
        return _joined(parts, len(pairs))

    def _documents(
        self, pairs: np.ndarray, places: np.ndarray, masked: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        positions, of = self.corpus.codes.select(pairs)
        in_name = self.corpus.in_name[positions]
        variant = self.random.random(len(pairs))
        heavy = variant < self.settings.name_heavy
        masked = masked | (variant > 1 - self.settings.name_masked)
        counts = self.corpus.codes.counts[positions] + 2 * (in_name & heavy[of])
        kept = self._kept(of, len(pairs), self.settings.code_drop) & ~(in_name & masked[of])
        return self.corpus.codes.tokens[positions], places[of], (1 + np.log(counts)) * kept

    def _kept(self, places: np.ndarray, size: int, drop: float) -> np.ndarray:
        """Which entries stay: half of the texts are whole, the others lose a share of at most `drop`."""
        share = self.random.random(size) * drop * (self.random.random(size) < 0.5)
        return self.random.random(len(places)) >= share[places]
