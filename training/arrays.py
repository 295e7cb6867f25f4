"""The arrays that training computes with: of numpy, or of torch where there is a GPU.

Both understand the same operators, indices and most methods; what they do not have in common is here.
"""

from typing import Any

import numpy as np

# An array of numpy or of torch.
Array = Any


class NumpyArrays:
    """Arrays in main memory. Sums run in a fixed order, so that results are the same every time."""

    exp: Any = staticmethod(np.exp)
    log: Any = staticmethod(np.log)
    sqrt: Any = staticmethod(np.sqrt)
    where: Any = staticmethod(np.where)

    def put(self, array: np.ndarray) -> Array:
        """Brings an array to where the work is done."""
        return array

    def get(self, array: Array) -> np.ndarray:
        """Brings an array back."""
        return np.asarray(array)

    def largest(self, array: Array, axis: int) -> Array:
        """The largest element along an axis, which stays."""
        return array.max(axis=axis, keepdims=True)

    def add_rows(self, rows: Array, numbers: Array, size: int) -> Array:
        """A table of `size` rows: row `numbers[i]` has `rows[i]` added."""
        result = np.zeros((size, rows.shape[1]), rows.dtype)
        if len(numbers):
            order = np.argsort(numbers, kind="stable")
            starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
            result[numbers[order][starts]] = np.add.reduceat(rows[order], starts, axis=0)
        return result


class TorchArrays:
    """Arrays of torch, on a GPU or in main memory. On a GPU the order of sums, and so the last digits, may vary."""

    def __init__(self, device: str) -> None:
        import torch

        self.torch: Any = torch
        self.device = device
        self.exp, self.log, self.sqrt, self.where = torch.exp, torch.log, torch.sqrt, torch.where

    def put(self, array: np.ndarray) -> Array:
        """Brings an array to where the work is done."""
        return self.torch.from_numpy(np.ascontiguousarray(array)).to(self.device)

    def get(self, array: Array) -> np.ndarray:
        """Brings an array back."""
        return np.asarray(array.cpu())

    def largest(self, array: Array, axis: int) -> Array:
        """The largest element along an axis, which stays."""
        return array.amax(axis, keepdim=True)

    def add_rows(self, rows: Array, numbers: Array, size: int) -> Array:
        """A table of `size` rows: row `numbers[i]` has `rows[i]` added."""
        result = self.torch.zeros((size, rows.shape[1]), dtype=rows.dtype, device=self.device)
        return result.index_add_(0, numbers, rows)


Arrays = NumpyArrays | TorchArrays
