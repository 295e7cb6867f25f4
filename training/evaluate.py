"""Measure a model on a benchmark: the first sentence of a documentation comment must find its function.

A benchmark is JSON, plain or gzipped: `docs` (lang, name, code) and `queries` (query, lang, qid: the number of the
document that answers it). The figure is NDCG@10 of the vectors alone, without BM25 or ranking.
"""

import argparse
import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from training import model as models


def read_benchmark(path: Path) -> dict[str, list[dict[str, Any]]]:
    """A benchmark's documents and queries."""
    content = path.read_bytes()
    return json.loads(gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content)


def ranks(scores: np.ndarray, answers: np.ndarray) -> np.ndarray:
    """The rank of each row's answer, from 1. Of equal scores the first document wins, so that ties are not luck."""
    own = scores[np.arange(len(answers)), answers][:, None]
    before = np.arange(scores.shape[1])[None, :] < answers[:, None]
    return 1 + ((scores > own) | ((scores == own) & before)).sum(axis=1)


def ndcg_at_10(found: np.ndarray) -> np.ndarray:
    """The gain of each query with one right answer at this rank."""
    return np.where(found <= 10, 1 / np.log2(1 + found), 0.0)


def by_language(gains: np.ndarray, languages: Sequence[str]) -> dict[str, float]:
    """The mean gain of each language."""
    names = np.array(languages)
    return {name: float(gains[names == name].mean()) for name in sorted(set(languages))}


def evaluate(model: models.Model, benchmark: dict[str, list[dict[str, Any]]]) -> dict[str, float]:
    """NDCG@10 of all queries and of each language."""
    table = model.table()
    documents = [models.document_text(entry["name"], entry["code"]) for entry in benchmark["docs"]]
    document_vectors = models.encode(table, model.vocabulary, documents)
    queries = benchmark["queries"]
    query_vectors = models.encode(table, model.vocabulary, [entry["query"] for entry in queries])
    answers = np.array([entry["qid"] for entry in queries])
    gains = ndcg_at_10(ranks(query_vectors @ document_vectors.T, answers))
    return {"all": float(gains.mean())} | by_language(gains, [entry["lang"] for entry in queries])


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The step's options."""
    parser.add_argument("benchmark", type=Path, help="the benchmark, .json or .json.gz")
    parser.add_argument("models", type=Path, nargs="+", help="directories of models")


def run(arguments: argparse.Namespace) -> None:
    """Prints one line for each model."""
    benchmark = read_benchmark(arguments.benchmark)
    for directory in arguments.models:
        figures = evaluate(models.load(directory), benchmark)
        print(directory, " ".join(f"{name} {figure:.3f}" for name, figure in figures.items()))
