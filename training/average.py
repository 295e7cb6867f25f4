"""Average several runs: the mean of their vectors.

All runs start from the same vectors and are pulled back to them, so that their rows stay comparable; the mean keeps
what they agree on. The shipped model is the mean of six.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np


def average(tables: Sequence[np.ndarray]) -> np.ndarray:
    """The mean of tables of one shape, summed in float64 so that their order does not matter in float32."""
    if len({table.shape for table in tables}) != 1:
        raise ValueError(f"the runs have different shapes: {[table.shape for table in tables]}")
    return np.stack(tables).mean(axis=0, dtype=np.float64).astype(np.float32)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The step's options."""
    parser.add_argument("runs", type=Path, nargs="+", help="the .npy files of runs")
    parser.add_argument("--out", type=Path, required=True, help="the .npy file to write")


def run(arguments: argparse.Namespace) -> None:
    """Reads the runs, writes their mean."""
    np.save(arguments.out, average([np.load(path) for path in arguments.runs]))
