"""Train one run.

DATA is what the steps vocabulary and initialise wrote: train.npz, dev.npz and start.npy. OUT is a numpy file with the
trained vectors; beside it, OUT with .json has the settings and the figures. Several runs with other seeds are worth
more than a longer one: see the step average.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, fields
from pathlib import Path
from typing import NamedTuple

import numpy as np

from training.arrays import Array, Arrays, NumpyArrays, TorchArrays
from training.bags import Corpus
from training.batches import BatchMaker, Settings
from training.evaluate import by_language, ndcg_at_10, ranks
from training.loss import loss_and_gradient

LAST_RATE = 0.02
MOMENTUM, SQUARES = 0.9, 0.99


class Progress(NamedTuple):
    """A step of a run: its number, of how many, its loss, and the table after it."""

    step: int
    steps: int
    loss: float
    table: Array


def train(corpus: Corpus, start: np.ndarray, settings: Settings, arrays: Arrays) -> Iterator[Progress]:
    """Trains step by step. The table of the last step is the result."""
    batches = BatchMaker(corpus, settings)
    anchor = arrays.put(start.astype(np.float32))
    table, mean, squares = anchor + 0, anchor * 0, anchor * 0
    for step, batch in enumerate(batches):
        loss, gradient = loss_and_gradient(arrays, table, batch, settings.temperature)
        mean = MOMENTUM * mean + (1 - MOMENTUM) * gradient
        squares = SQUARES * squares + (1 - SQUARES) * gradient * gradient
        # Adam without the correction of its first steps, which the warm-up covers. Only rows of the batch move: the
        # momentum of a rare word would otherwise go on for many steps after the only text it was in.
        rate = settings.learning_rate * min(1, (step + 1) / settings.warm_up) * max(LAST_RATE, 1 - step / batches.steps)
        moved = (gradient != 0).any(1)[:, None]
        change = mean / (arrays.sqrt(squares) + 1e-8) + settings.anchor * (table - anchor)
        table = table - rate * arrays.where(moved, change, 0.0)
        table[:2] = 0
        yield Progress(step + 1, batches.steps, loss, table)


def dev_score(table: np.ndarray, corpus: Corpus) -> dict[str, float]:
    """NDCG@10 on the development pairs: `all` among all documents, `package` among those of the same package,
    both as the mean of the languages. Documents have their names twice, as in the server."""
    if not len(corpus):
        return {}
    bags, rows = corpus.codes, np.arange(len(corpus))
    _, places = bags.select(rows)
    documents = _vectors(table, bags.tokens, places, 1 + np.log(bags.counts + 2 * corpus.in_name), len(rows))
    _, places = corpus.queries.select(rows)
    queries = _vectors(table, corpus.queries.tokens, places, 1 + np.log(corpus.queries.counts), len(rows))
    scores = queries @ documents.T
    inside = np.where(corpus.packages[:, None] == corpus.packages[None, :], scores, -2)
    figures = {}
    for name, table_of_scores in (("all", scores), ("package", inside)):
        gains = by_language(ndcg_at_10(ranks(table_of_scores, rows)), list(corpus.languages))
        figures[name] = float(np.mean(list(gains.values())))
    return figures


def _vectors(table: np.ndarray, tokens: np.ndarray, places: np.ndarray, weights: np.ndarray, size: int) -> np.ndarray:
    sums = NumpyArrays().add_rows(table[tokens] * weights.astype(np.float32)[:, None], places, size)
    return sums / (np.linalg.norm(sums, axis=1, keepdims=True) + 1e-9)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The step's options."""
    parser.add_argument("--data", type=Path, required=True, help="directory with train.npz, dev.npz and start.npy")
    parser.add_argument("--out", type=Path, required=True, help="the .npy file to write")
    parser.add_argument("--device", default="numpy", help="numpy (default), or a device of torch: cpu, cuda")
    for field in fields(Settings):
        option = "--" + field.name.replace("_", "-")
        parser.add_argument(option, type=type(field.default), default=field.default, help="default: %(default)s")


def run(arguments: argparse.Namespace) -> None:
    """Trains, and writes the vectors and the figures."""
    settings = Settings(**{field.name: getattr(arguments, field.name) for field in fields(Settings)})
    arrays = NumpyArrays() if arguments.device == "numpy" else TorchArrays(arguments.device)
    corpus, dev = (Corpus.load(arguments.data / name) for name in ("train.npz", "dev.npz"))
    start = np.load(arguments.data / "start.npy")
    losses: list[float] = []
    table: Array = arrays.put(start)
    for progress in train(corpus, start, settings, arrays):
        losses.append(progress.loss)
        table = progress.table
        if progress.step % max(1, progress.steps // 10) == 0:
            print(
                f"step {progress.step} of {progress.steps}: loss {np.mean(losses[-100:]):.4f}",
                file=sys.stderr,
                flush=True,
            )
    result = arrays.get(table)
    figures = {"loss": float(np.mean(losses[-100:])), "dev_start": dev_score(start, dev), "dev": dev_score(result, dev)}
    np.save(arguments.out, result)
    report = json.dumps({"settings": asdict(settings), "device": arguments.device, **figures}, indent=1)
    arguments.out.with_suffix(".json").write_text(report + "\n", encoding="utf-8")
    print(report)
