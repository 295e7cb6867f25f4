"""A model and its files: `model.safetensors` (int8 rows and their float32 weights) and `vocab.txt`.

The safetensors format is eight bytes with the length of a JSON header, the header, and the tensors' bytes; writing it
by hand keeps numpy the only dependency.
"""

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from training.words import Vocabulary

FORMAT = "model2vec int8 rows + f32 row weights"
TYPES: dict[str, np.dtype[Any]] = {"F32": np.dtype("<f4"), "I8": np.dtype("i1")}


@dataclass(frozen=True)
class Model:
    """Quantised rows, the scale of each, and the tokens that they belong to."""

    embeddings: np.ndarray
    weights: np.ndarray
    vocabulary: Vocabulary

    def __post_init__(self) -> None:
        rows = len(self.vocabulary.tokens)
        if self.embeddings.ndim != 2 or len(self.embeddings) != rows or self.weights.shape != (rows,):
            raise ValueError(f"{rows} tokens, but {self.embeddings.shape} embeddings and {self.weights.shape} weights")

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return self.embeddings.shape[1]

    def table(self) -> np.ndarray:
        """The vector of each token in float32."""
        return self.embeddings.astype(np.float32) * self.weights[:, None]


def quantise(table: np.ndarray, tokens: Sequence[str]) -> Model:
    """Rounds each row to int8 at its own scale. Special tokens become zero; weights are scaled to a mean of one.

    The common scale does not matter, because vectors of texts are brought to length one; a mean of one keeps the sums
    of all models in the same range.
    """
    scale = np.abs(table).max(axis=1) / 127 + 1e-12
    embeddings = np.clip(np.rint(table / scale[:, None]), -127, 127).astype(np.int8)
    weights = (scale / scale[2:].mean()).astype(np.float32)
    embeddings[:2] = 0
    weights[:2] = 0
    return Model(embeddings, weights, Vocabulary(tokens))


def encode(table: np.ndarray, vocabulary: Vocabulary, texts: Sequence[str]) -> np.ndarray:
    """The vectors of texts: the sum over distinct tokens of (1 + ln count) · row, brought to length one."""
    vectors = np.zeros((len(texts), table.shape[1]), np.float32)
    for vector, text in zip(vectors, texts):
        rows, counts = np.unique(vocabulary.token_ids(text), return_counts=True)
        if len(rows):
            vector[:] = (1 + np.log(counts)).astype(np.float32) @ table[rows]
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)


def document_text(name: str, code: str) -> str:
    """What is embedded of a definition. The name twice weighs more than a name that is only used in the code."""
    return f"{name} {name} {code}"


def tensor_bytes(tensors: dict[str, np.ndarray]) -> bytes:
    """A safetensors file with these tensors, in this order; put the widest type first, so that all are aligned."""
    header: dict[str, object] = {"__metadata__": {"format": FORMAT}}
    data = b""
    for name, array in tensors.items():
        kind = next(kind for kind, dtype in TYPES.items() if dtype == array.dtype)
        content = np.ascontiguousarray(array, TYPES[kind]).tobytes()
        header[name] = {
            "dtype": kind,
            "shape": list(array.shape),
            "data_offsets": [len(data), len(data) + len(content)],
        }
        data += content
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def parse_tensors(content: bytes) -> dict[str, np.ndarray]:
    """The tensors of a safetensors file."""
    (length,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + length])
    data = content[8 + length :]
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            start, end = entry["data_offsets"]
            tensors[name] = np.frombuffer(data[start:end], TYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def read_vocabulary(path: Path) -> Vocabulary:
    """The tokens of `vocab.txt`, one a line."""
    return Vocabulary(path.read_text(encoding="utf-8").removesuffix("\n").split("\n"))


def write_vocabulary(path: Path, tokens: Sequence[str]) -> None:
    """Writes `vocab.txt`."""
    path.write_text("\n".join(tokens) + "\n", encoding="utf-8")


def load(directory: Path) -> Model:
    """Reads a model from its directory."""
    tensors = parse_tensors((directory / "model.safetensors").read_bytes())
    return Model(tensors["embeddings"], tensors["weights"], read_vocabulary(directory / "vocab.txt"))


def save(model: Model, directory: Path) -> None:
    """Writes `model.safetensors` and `vocab.txt`."""
    directory.mkdir(parents=True, exist_ok=True)
    tensors = {"weights": model.weights, "embeddings": model.embeddings}
    (directory / "model.safetensors").write_bytes(tensor_bytes(tensors))
    write_vocabulary(directory / "vocab.txt", model.vocabulary.tokens)
