"""semble as a process of its own, driven by lines of JSON.

    semble_peer.py make-model SOURCE TARGET    puts a model where semble can load it
    semble_peer.py index MODEL DIRECTORY       indexes a directory, prints the counts and ends
    semble_peer.py serve MODEL                 answers requests on stdin, one line each

Requests are {"index": DIRECTORY} and {"search": QUERY, "top_k": N}. Times are of the call of semble's Python API alone,
without the start of the interpreter and without this protocol.
"""

import json
import os
import shutil
import sys
import time
from pathlib import Path

# Where identifiers are divided: camelCase, ABCDef, and letters beside digits.
BORDERS = (
    r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
    r"|(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])"
)
LONGEST_WORD = 64


def make_model(source: Path, target: Path) -> None:
    """Copies a model and adds the tokenizer that the library model2vec wants beside it."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

    words = (source / "vocab.txt").read_text(encoding="utf-8").rstrip("\n").split("\n")
    vocabulary = {word: row for row, word in enumerate(words)}
    model = models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=LONGEST_WORD)
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Replace(Regex(BORDERS), " "), normalizers.Lowercase()]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[^a-z0-9]+"), "removed")
    target.mkdir(parents=True, exist_ok=True)
    for name in ("model.safetensors", "config.json"):
        shutil.copyfile(source / name, target / name)
    tokenizer.save(str(target / "tokenizer.json"))


def processor_seconds() -> float:
    """User and system time of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


class Peer:
    """One index at a time."""

    def __init__(self, model: str) -> None:
        self.model = model
        self.index = None

    def answer(self, request: dict) -> dict:
        if "index" in request:
            return self.build(request["index"])
        return self.search(request["search"], request["top_k"])

    def build(self, directory: str) -> dict:
        from semble import SembleIndex

        started, processor = time.perf_counter(), processor_seconds()
        self.index = SembleIndex.from_path(directory, model_path=self.model)
        stats = self.index.stats
        return {
            "files": stats.indexed_files,
            "chunks": stats.total_chunks,
            "seconds": time.perf_counter() - started,
            "processor_seconds": processor_seconds() - processor,
        }

    def search(self, query: str, top_k: int) -> dict:
        started = time.perf_counter()
        results = self.index.search(query, top_k=top_k)
        seconds = time.perf_counter() - started
        return {"paths": [result.chunk.file_path for result in results], "seconds": seconds}


def serve(model: str) -> None:
    peer = Peer(model)
    for line in sys.stdin:
        print(json.dumps(peer.answer(json.loads(line))), flush=True)


def main(arguments: list[str]) -> None:
    match arguments:
        case ["make-model", source, target]:
            make_model(Path(source), Path(target))
        case ["index", model, directory]:
            print(json.dumps(Peer(model).build(directory)))
        case ["serve", model]:
            serve(model)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
