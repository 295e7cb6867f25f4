"""Reading packages as they were downloaded: wheels, tarballs, Debian packages, directories of crates.

Nothing is unpacked to disk: names inside an archive may point anywhere, and none of them is ever opened as a path.
"""

import lzma
import subprocess
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

# Files that are longer are generated or data.
MAX_FILE_BYTES = 600_000

Wanted = Callable[[str], bool]


class ArchiveError(Exception):
    """A package that cannot be read."""


def read_files(package: Path, wanted: Wanted) -> Iterator[tuple[str, str]]:
    """The wanted text files of a package as path and content. A tarball's top directory is not part of the paths."""
    try:
        if package.is_dir():
            yield from _directory(package, wanted)
        elif package.suffix == ".whl":
            yield from _wheel(package, wanted)
        elif package.suffix == ".deb":
            yield from _debian(package, wanted)
        else:
            with tarfile.open(package, "r|*") as archive:
                yield from _tar(archive, wanted, strip_top=not package.name.endswith(_PACKAGING))
    except (OSError, EOFError, tarfile.TarError, zipfile.BadZipFile, lzma.LZMAError, zlib.error) as error:
        raise ArchiveError(f"{package.name}: {error}") from error


# The tarball with Debian's own files has no top directory but `debian/`, which is part of their paths.
_PACKAGING = tuple(f".debian.tar.{kind}" for kind in ("xz", "gz", "bz2"))


def _directory(package: Path, wanted: Wanted) -> Iterator[tuple[str, str]]:
    for path in sorted(package.rglob("*")):
        name = path.relative_to(package).as_posix()
        if wanted(name) and not path.is_symlink() and path.is_file() and path.stat().st_size <= MAX_FILE_BYTES:
            yield name, path.read_text(encoding="utf-8", errors="replace")


def _wheel(package: Path, wanted: Wanted) -> Iterator[tuple[str, str]]:
    with zipfile.ZipFile(package) as archive:
        for entry in archive.infolist():
            if wanted(entry.filename) and entry.file_size <= MAX_FILE_BYTES:
                yield entry.filename, archive.read(entry).decode("utf-8", "replace")


def _tar(archive: tarfile.TarFile, wanted: Wanted, *, strip_top: bool) -> Iterator[tuple[str, str]]:
    for member in archive:
        name = member.name.removeprefix("./")
        if strip_top:
            name = name.partition("/")[2]
        if member.isfile() and member.size <= MAX_FILE_BYTES and wanted(name):
            content = archive.extractfile(member)
            if content is not None:
                yield name, content.read().decode("utf-8", "replace")


def _debian(package: Path, wanted: Wanted) -> Iterator[tuple[str, str]]:
    command = ["dpkg-deb", "--fsys-tarfile", str(package)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as unpack:
        with tarfile.open(fileobj=unpack.stdout, mode="r|") as archive:
            yield from _tar(archive, wanted, strip_top=False)
