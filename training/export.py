"""Write the files that the server ships.

OUT gets model.safetensors (int8 rows with float32 weights), vocab.txt, config.json and golden.json, whose texts, token
numbers and vectors the tests of the server's encoder compare with their own; and, where they are given,
train_packages.tsv and the base model's LICENSE-NOTICE, which a derived model has to carry on.
"""

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from training import model as models

# Every rule of the encoder once: plain words, borders inside identifiers, code, nothing at all, characters outside
# ASCII, a word that is too long, a sentence.
GOLDEN_TEXTS = (
    "authentication middleware",
    "readFile HTTPRequests to_string(Vec2) sha256 parseXMLDocument",
    "fn read_to_string(path: &Path) -> io::Result<String> { fs::read(path) }",
    "",
    "déjà vu naïve",
    "x" * 80 + " open_file",
    "Returns the number of elements in the queue.",
)


def golden(model: models.Model) -> list[dict[str, Any]]:
    """The token numbers and vectors of the golden texts."""
    vectors = models.encode(model.table(), model.vocabulary, GOLDEN_TEXTS)
    return [
        {"text": text, "ids": model.vocabulary.token_ids(text), "vector": [round(float(value), 6) for value in vector]}
        for text, vector in zip(GOLDEN_TEXTS, vectors)
    ]


def config(dimensions: int) -> dict[str, Any]:
    """What other programs that read such models want to know; the server does not read it."""
    return {
        "model_type": "model2vec",
        "architectures": ["StaticModel"],
        "tokenizer_name": "sentence-transformers/all-MiniLM-L6-v2",
        "apply_pca": dimensions,
        "hidden_dim": dimensions,
        "seq_length": 1000000,
        "normalize": True,
        "embedding_dtype": "int8",
        "tf": "1+ln(tf) (own encoder); plain mean also works",
    }


def export(table: np.ndarray, tokens: list[str], out: Path) -> models.Model:
    """Quantises the vectors and writes the four files."""
    model = models.quantise(table, tokens)
    models.save(model, out)
    (out / "config.json").write_text(json.dumps(config(model.dimensions), indent=1), encoding="utf-8")
    (out / "golden.json").write_text(json.dumps(golden(model)), encoding="utf-8")
    return model


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The step's options."""
    parser.add_argument("--vectors", type=Path, required=True, help="the .npy file of a run or an average")
    parser.add_argument("--vocabulary", type=Path, required=True, help="vocab.txt of the step vocabulary")
    parser.add_argument("--packages", type=Path, help="train_packages.tsv of the step pairs")
    parser.add_argument("--base", type=Path, help="directory of the model it started from, for its LICENSE-NOTICE")
    parser.add_argument("--out", type=Path, required=True, help="directory to write")


def run(arguments: argparse.Namespace) -> None:
    """Exports, and copies what belongs to the model."""
    model = export(np.load(arguments.vectors), models.read_vocabulary(arguments.vocabulary).tokens, arguments.out)
    if arguments.packages:
        shutil.copyfile(arguments.packages, arguments.out / "train_packages.tsv")
    if arguments.base:
        shutil.copyfile(arguments.base / "LICENSE-NOTICE", arguments.out / "LICENSE-NOTICE")
    print(f"{len(model.vocabulary.tokens)} tokens of {model.dimensions} dimensions")
