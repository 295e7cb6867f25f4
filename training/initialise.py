"""Make the start vectors from an existing model.

Tokens that both vocabularies have keep their vectors. A new word starts as the sum of the tokens that the old
vocabulary splits it into, somewhat shortened, since a sum of several is longer than one. OUT is a numpy file [tokens,
dimensions].
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from training import model as models

SUM_SCALE = 0.7


def start_vectors(base: models.Model, tokens: Sequence[str]) -> np.ndarray:
    """The vectors that training begins with, scaled to a mean length of one: learning rates are made for that."""
    old = base.table()
    old /= np.linalg.norm(old[2:], axis=1).mean()
    table = old.copy()
    for row, token in enumerate(tokens):
        if token != base.vocabulary.tokens[row]:
            table[row] = old[list(base.vocabulary.pieces(token))].sum(axis=0) * SUM_SCALE
    return table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The step's options."""
    parser.add_argument("--base", type=Path, required=True, help="directory of the model to start from")
    parser.add_argument("--vocabulary", type=Path, required=True, help="vocab.txt of the step vocabulary")
    parser.add_argument("--out", type=Path, required=True, help="the .npy file to write")


def run(arguments: argparse.Namespace) -> None:
    """Reads the model and the vocabulary, writes the start vectors."""
    table = start_vectors(models.load(arguments.base), models.read_vocabulary(arguments.vocabulary).tokens)
    np.save(arguments.out, table)
    print(f"{table.shape[0]} vectors of {table.shape[1]} dimensions")
