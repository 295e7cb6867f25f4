"""The loss of a batch and its gradient.

Queries and documents of a batch are compared with each other; cross entropy in both directions asks that each query is
nearest to its own document and each document to its own query (InfoNCE). The gradient is written out, so that numpy and
torch share one formula, and the test compares it with differences of the loss.
"""

import numpy as np

from training.arrays import Array, Arrays
from training.batches import Batch, WeightedBags

NO_NEGATIVE = -1e4
EPSILON = 1e-6


class Texts:
    """The vectors of a batch's texts, and the way back from their gradient to the table's."""

    def __init__(self, arrays: Arrays, table: Array, bags: WeightedBags) -> None:
        self.arrays, self.rows = arrays, table.shape[0]
        self.tokens, self.places = arrays.put(bags.tokens), arrays.put(bags.places)
        self.weights = arrays.put(bags.weights)[:, None]
        self.sums = arrays.add_rows(table[self.tokens] * self.weights, self.places, bags.size)
        self.lengths = arrays.sqrt((self.sums * self.sums).sum(1)[:, None])
        self.vectors = self.sums / (self.lengths + EPSILON)

    def back(self, gradient: Array) -> Array:
        """The gradient of the table."""
        along = (self.vectors * gradient).sum(1)[:, None] * self.sums / (self.lengths + EPSILON)
        of_sums = (gradient - along) / (self.lengths + EPSILON)
        return self.arrays.add_rows(of_sums[self.places] * self.weights, self.tokens, self.rows)


def loss_and_gradient(arrays: Arrays, table: Array, batch: Batch, temperature: float) -> tuple[float, Array]:
    """The loss of a batch, and its gradient with respect to the table."""
    queries, documents = Texts(arrays, table, batch.queries), Texts(arrays, table, batch.documents)
    size = batch.queries.size
    # Numbers of rows: indices with them twice are the diagonal, where each query meets its own document.
    own = arrays.put(np.arange(size))
    keys, pairs = arrays.put(batch.keys), arrays.put(batch.pairs)
    also_right = keys[:, None] == keys[None, :]
    also_right[own, own] = False
    for joined in batch.joined:
        also_right = also_right | (pairs[:, None] == arrays.put(joined)[None, :])
    scores = queries.vectors @ documents.vectors.T / temperature
    scores = arrays.where(also_right, NO_NEGATIVE, scores)
    total: Array = 0.0
    gradient: Array = 0.0
    for axis in (1, 0):
        shifted = scores - arrays.largest(scores, axis)
        exponentials = arrays.exp(shifted)
        sums = exponentials.sum(axis)
        total = total + (arrays.log(sums) - shifted[own, own]).sum() / (2 * size)
        gradient = gradient + exponentials / (sums[:, None] if axis == 1 else sums[None, :])
    gradient[own, own] -= 2
    gradient = arrays.where(also_right, 0.0, gradient) / (2 * size * temperature)
    return float(total), queries.back(gradient @ documents.vectors) + documents.back(gradient.T @ queries.vectors)
