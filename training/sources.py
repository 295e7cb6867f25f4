"""Download packages and check their licences.

A list has one package a word, `#` begins a comment: `name`, `name==version`, or for Debian's binary packages a pattern
such as `golang-*-dev@500`, which stands for at most 500 packages. Everything goes to OUT/REGISTRY; OUT/packages.tsv
says what was downloaded, in which version, under which licence, with which checksum, and why a package was left out.
With --locked that file is read back: the same versions are fetched and must have the same checksums.
"""

import argparse
import csv
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from training import archives, licences, registries
from training.archives import ArchiveError
from training.registries import Download, DownloadError, Package

# Cargo solves a batch's dependencies together; a smaller one is tried where that fails.
CRATES_IN_A_BATCH = 24


@dataclass(frozen=True)
class Source:
    """A row of packages.tsv."""

    registry: str
    name: str
    version: str
    licence: str
    use: str
    sha256: str
    files: str

    @property
    def label(self) -> str:
        """The package as train_packages.tsv names it."""
        return f"{self.name}-{self.version}"


def read_names(path: Path) -> list[str]:
    """The words of a list, each once, without comments."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return list(dict.fromkeys(word for line in lines for word in line.partition("#")[0].split()))


def read_list(path: Path, registry: str) -> list[Package]:
    """The packages of a list, without repetitions."""
    packages = []
    for entry in read_names(path):
        name, _, version = entry.partition("==")
        if "*" in name:
            pattern, _, limit = name.partition("@")
            packages += [Package(registry, found) for found in registries.names_like(pattern, int(limit))]
        else:
            packages.append(Package(registry, name, version))
    return packages


def judge(download: Download, root: Path) -> Source:
    """Reads a downloaded package's declaration and says whether it is used."""
    declared = ""
    try:
        declared = read_declaration(download.files).licence
        use = verdict(declared)
    except ArchiveError as error:
        use = f"no: {one_line(str(error))}"
    package = download.package
    files = " ".join(path.relative_to(root).as_posix() for path in download.files)
    return Source(package.registry, package.name, package.version, one_line(declared), use, download.sha256, files)


def verdict(declared: str) -> str:
    """Whether a package with this declaration is used, and why not."""
    if not declared:
        return "no: no licence declared"
    return "yes" if licences.is_permissive(declared) else "no: licence not on the list"


def read_declaration(files: Sequence[Path]) -> licences.Declaration:
    """What a package's files declare. Debian's own files come last and are read first: they are about the whole."""
    metadata = [entry for path in reversed(files) for entry in archives.read_files(path, licences.is_metadata)]
    return licences.declaration(metadata)


def one_line(text: str) -> str:
    """A declaration as a cell: some are whole licence texts."""
    return " ".join(text.split())[:80]


def fetch_all(packages: list[Package], root: Path) -> Iterator[Download | tuple[Package, DownloadError]]:
    """Downloads packages; a failure is reported and does not end the run."""
    crates = [package for package in packages if package.registry == "crates"]
    for package in packages:
        if package.registry == "crates":
            continue
        into = fresh(root / package.registry / package.name.replace("/", "+"))
        try:
            yield registries.FETCH[package.registry](package, into)
        except (DownloadError, ValueError, IndexError, OSError) as error:
            yield package, DownloadError(str(error))
    batches = [crates[at : at + CRATES_IN_A_BATCH] for at in range(0, len(crates), CRATES_IN_A_BATCH)]
    seen: set[Package] = set()
    while batches:
        batch = batches.pop(0)
        into = fresh(root / "crates" / batch[0].name)
        try:
            downloads = registries.fetch_crates(batch, into)
        except DownloadError as error:
            if len(batch) == 1:
                yield batch[0], error
            else:
                middle = len(batch) // 2
                batches[:0] = [batch[:middle], batch[middle:]]
            continue
        # Batches share dependencies.
        yield from [download for download in downloads if download.package not in seen]
        seen |= {download.package for download in downloads}


def fresh(directory: Path) -> Path:
    """An empty directory: what a client finds there from an earlier run would be taken for its download."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    return directory


def read_sources(path: Path) -> list[Source]:
    """The rows of packages.tsv."""
    with path.open(encoding="utf-8", newline="") as file:
        return [Source(**row) for row in csv.DictReader(file, delimiter="\t")]


def write_sources(path: Path, sources: list[Source]) -> None:
    """Writes packages.tsv, sorted."""
    with path.open("w", encoding="utf-8", newline="") as file:
        names = [field.name for field in fields(Source)]
        writer = csv.DictWriter(file, names, delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(
            asdict(source) for source in sorted(sources, key=lambda each: (each.registry, each.name, each.version))
        )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The step's options."""
    for registry in (*registries.FETCH, "crates"):
        parser.add_argument(f"--{registry}", type=Path, metavar="LIST", help=f"packages from {registry}")
    parser.add_argument("--locked", type=Path, metavar="TSV", help="fetch what an earlier packages.tsv names")
    parser.add_argument("--out", type=Path, required=True, help="directory for packages and packages.tsv")


def run(arguments: argparse.Namespace) -> None:
    """Downloads, judges, writes packages.tsv."""
    packages: list[Package] = []
    for registry in (*registries.FETCH, "crates"):
        names = getattr(arguments, registry.replace("-", "_"))
        packages += read_list(names, registry) if names else []
    expected: dict[Package, str] = {}
    if arguments.locked:
        locked = [source for source in read_sources(arguments.locked) if source.sha256]
        expected = {Package(source.registry, source.name, source.version): source.sha256 for source in locked}
        packages += list(expected)
    # The clients run in directories of their own, so a relative path would mean another place there.
    root = arguments.out.resolve()
    root.mkdir(parents=True, exist_ok=True)
    sources: list[Source] = []
    for result in fetch_all(packages, root):
        if isinstance(result, Download):
            if expected.get(result.package, result.sha256) != result.sha256:
                raise SystemExit(
                    f"{result.package.name} {result.package.version}: not the checksum of {arguments.locked}"
                )
            sources.append(judge(result, root))
        else:
            package, error = result
            sources.append(
                Source(package.registry, package.name, package.version, "", f"no: {one_line(str(error))}", "", "")
            )
    write_sources(root / "packages.tsv", sources)
    used = sum(source.use == "yes" for source in sources)
    print(f"{used} of {len(sources)} packages may be used")
