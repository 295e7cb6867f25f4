"""Extract pairs of a documentation sentence and its code from the packages that `sources` accepted.

OUT/train.jsonl and OUT/dev.jsonl have one pair a line, sorted by language, package and path; OUT/train_packages.tsv
says how many pairs came from which package under which licence. A package is in one of the two, never in both, and so
is every query and every piece of code.
"""

import argparse
import csv
import gzip
import hashlib
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from training import archives, extraction
from training.archives import ArchiveError
from training.licences import file_is_permissive
from training.sources import Source, read_declaration, read_names, read_sources
from training.words import words

# A few large packages would otherwise be most of a language.
PACKAGE_LIMIT = 2000
# Nearly all documented C# of Debian is in mono, and the standard library of Go is one package.
PACKAGE_LIMITS = {"mono": 45_000, "golang-1.19-src": 8000}
LANGUAGE_LIMITS = {
    "c": 80_000, "cpp": 80_000, "cs": 60_000, "go": 75_000, "hs": 12_000, "java": 110_000, "js": 60_000, "php": 25_000,
    "py": 115_000, "rb": 60_000, "rs": 115_000, "sh": 50_000, "ts": 75_000,
}  # fmt: skip
OTHER_LANGUAGE_LIMIT = 20_000
DEV_LIMIT = 250
# More than the 512 tokens that the server reads are hardly ever in so many characters.
MAX_CODE = 1800
# The same short sentence belongs to many functions; of a long one a few copies are different code.
SHORT_QUERY, SHORT_COPIES, LONG_COPIES = 30, 1, 3
WEAK_KINDS = ("paragraph", "undocumented")
DEV_SHARE = 0.03
SEED = 7


class Pair(NamedTuple):
    """A query and the code that answers it."""

    language: str
    package: str
    path: str
    name: str
    kind: str
    query: str
    code: str


def stable_hash(text: str) -> int:
    """A hash that is the same in every process, unlike Python's own."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest())


def query_key(query: str) -> int:
    """Queries with the same words count as the same."""
    return stable_hash(" ".join(sorted(set(words(query)))))


def code_key(code: str) -> int:
    """Code that begins alike, whitespace aside, counts as the same."""
    return stable_hash("".join(code[:900].split())[:400])


def is_dev(package: str, share: float) -> bool:
    """Whether a package belongs to the development set. It depends on the name alone, so that another version or
    other packages in the list do not move it."""
    return stable_hash(f"{SEED} {package}") < share * 2**64


class Excluded:
    """Packages that must not be trained on, because benchmarks are made of them."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = frozenset(name.lower() for name in names)
        # `tokio` excludes `tokio-util` and `golang-tokio-dev`, but not `tokiox`.
        choices = "|".join(re.escape(name) for name in sorted(self.names)) or r"(?!)"
        self.pattern = re.compile(rf"(?<![a-z])(?:{choices})(?![a-z])")

    def package(self, name: str) -> bool:
        """Whether a package's name has an excluded one in it."""
        return self.pattern.search(name.lower()) is not None

    def path(self, path: str) -> bool:
        """Whether a directory on the path is a copy of an excluded package."""
        return not self.names.isdisjoint(path.lower().split("/")[:-1])


def extract(source: Source, root: Path, excluded: Excluded) -> Iterator[Pair]:
    """The pairs of one package: of its files that are source code, not excluded, and not under another licence."""
    files = [root / file for file in source.files.split(" ")]
    declaration = read_declaration(files)

    def wanted(path: str) -> bool:
        return extraction.is_source(path) and not excluded.path(path) and declaration.allows(path)

    for path, text in archives.read_files(files[0], wanted):
        language = extraction.language_of(path, text)
        if language and file_is_permissive(text):
            for found in extraction.definitions(language, text, path):
                query = found.sentence or name_query(found.name, path)
                if query:
                    yield Pair(language, source.label, path, found.name, found.kind, query, found.code[:MAX_CODE])


def name_query(name: str, path: str) -> str:
    """A query for code without documentation, from its name and its file's; empty if that is too little."""
    found = [*words(name), *words(PurePosixPath(path).stem)]
    return " ".join(found) if len(found) >= 3 else ""


class Selection:
    """Keeps a pair if its query and code are new, within the limits of its package."""

    def __init__(self) -> None:
        self.codes: set[int] = set()
        self.blocked_queries: set[int] = set()
        self.queries: Counter[int] = Counter()

    def block(self, query: str, code: str) -> None:
        """Keeps every later pair out that has this query or this code."""
        self.blocked_queries.add(query_key(query))
        self.codes.add(code_key(code))

    def take(self, pairs: Iterable[Pair], limit: int) -> list[Pair]:
        """The pairs that are kept of one package, at most `limit` for each language."""
        kept: list[Pair] = []
        counts: Counter[str] = Counter()
        for pair in pairs:
            code, query = code_key(pair.code), stable_hash(pair.language + pair.query.lower())
            copies = SHORT_COPIES if len(pair.query) < SHORT_QUERY else LONG_COPIES
            new = (
                code not in self.codes
                and self.queries[query] < copies
                and query_key(pair.query) not in self.blocked_queries
            )
            if new and counts[pair.language] < limit:
                counts[pair.language] += 1
                self.codes.add(code)
                self.queries[query] += 1
                kept.append(pair)
        return kept


def limited(pairs: list[Pair], limits: dict[str, int], default: int) -> list[Pair]:
    """At most so many pairs of each language, sorted. Where there are more, those with the weakest queries go first."""
    chosen: set[Pair] = set()
    for language in {pair.language for pair in pairs}:
        own = [pair for pair in pairs if pair.language == language]
        own.sort(
            key=lambda pair: (pair.kind in WEAK_KINDS, stable_hash(f"{SEED} {pair.package} {pair.path} {pair.query}"))
        )
        chosen.update(own[: limits.get(language, default)])
    # The sort is stable: neighbours in a file stay neighbours, which training joins to chunks.
    return sorted((pair for pair in pairs if pair in chosen), key=lambda pair: pair[:3])


def write_pairs(path: Path, pairs: Iterable[Pair]) -> None:
    """One pair a line."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(pair._asdict()) + "\n" for pair in pairs)


def read_pairs(path: Path) -> list[Pair]:
    """The pairs of a file."""
    with path.open(encoding="utf-8") as file:
        return [Pair(**json.loads(line)) for line in file]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The step's options."""
    parser.add_argument("--sources", type=Path, required=True, help="directory that the step sources wrote")
    parser.add_argument("--excluded", type=Path, required=True, help="list of packages that benchmarks are made of")
    parser.add_argument(
        "--benchmark", type=Path, action="append", default=[], help="keep its queries and code out as well"
    )
    parser.add_argument(
        "--dev-share", type=float, default=DEV_SHARE, help="share of packages for development (default: %(default)s)"
    )
    parser.add_argument("--out", type=Path, required=True, help="directory for the pairs")


def run(arguments: argparse.Namespace) -> None:
    """Extracts, removes duplicates, splits, writes."""
    excluded = Excluded(read_names(arguments.excluded))
    selection = Selection()
    for path in arguments.benchmark:
        content = path.read_bytes()
        for entry in json.loads(gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content)["docs"]:
            selection.block(entry["query"], entry["code"])
    used = [source for source in read_sources(arguments.sources / "packages.tsv") if source.use == "yes"]
    used = [source for source in used if not excluded.package(source.name)]
    # The development set comes first: what it has, training must not have.
    used.sort(key=lambda source: not is_dev(source.name, arguments.dev_share))
    train: list[Pair] = []
    dev: list[Pair] = []
    extracted: Counter[tuple[str, str]] = Counter()
    for source in used:
        try:
            pairs = list(extract(source, arguments.sources, excluded))
        except ArchiveError as error:
            print(f"left out: {error}", file=sys.stderr)
            continue
        extracted.update((pair.language, pair.package) for pair in pairs)
        if is_dev(source.name, arguments.dev_share):
            found = selection.take([pair for pair in pairs if pair.kind == "function"], PACKAGE_LIMIT)
            for pair in found:
                selection.block(pair.query, pair.code)
            dev += found
        else:
            train += selection.take(pairs, PACKAGE_LIMITS.get(source.name, PACKAGE_LIMIT))
    train, dev = limited(train, LANGUAGE_LIMITS, OTHER_LANGUAGE_LIMIT), limited(dev, {}, DEV_LIMIT)
    arguments.out.mkdir(parents=True, exist_ok=True)
    write_pairs(arguments.out / "train.jsonl", train)
    write_pairs(arguments.out / "dev.jsonl", dev)
    licence_of = {source.label: source.licence for source in used}
    kept = Counter((pair.language, pair.package) for pair in train)
    with (arguments.out / "train_packages.tsv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(["lang", "package-version", "pairs_extracted", "licence", "pairs_used"])
        writer.writerows([*key, extracted[key], licence_of[key[1]], count] for key, count in sorted(kept.items()))
    print(f"{len(train)} pairs of {len({package for _, package in kept})} packages, {len(dev)} for development")
