"""Downloading packages with each registry's own client.

The clients know where their registry is, from their own configuration and environment (`PIP_INDEX_URL`,
`npm_config_registry`, Cargo's `source` tables, `APT_CONFIG`), and verify what they download against the registry's
checksums. No client is allowed to run code of a package: wheels instead of source distributions, `--ignore-scripts`,
vendoring instead of building.
"""

import base64
import hashlib
import json
import re
import subprocess
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

TIME_LIMIT = 300.0


class DownloadError(Exception):
    """A client did not deliver a package."""


@dataclass(frozen=True)
class Package:
    """A package of a registry. The version is empty in a list that takes the newest one."""

    registry: str
    name: str
    version: str = ""


@dataclass(frozen=True)
class Download:
    """A downloaded package: its files, the first of which has the source code, and that file's SHA-256."""

    package: Package
    files: tuple[Path, ...]
    sha256: str


def call(command: Sequence[str], directory: Path) -> str:
    """Runs a client; its standard output."""
    try:
        done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=TIME_LIMIT, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DownloadError(f"{command[0]}: {error}") from error
    if done.returncode != 0:
        raise DownloadError(f"{command[0]}: {done.stderr.strip()[-300:]}")
    return done.stdout


def sha256_of(path: Path) -> str:
    """The checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch_pypi(package: Package, into: Path) -> Download:
    """A wheel. A source distribution would run its own build code when pip reads its metadata."""
    wanted = f"{package.name}=={package.version}" if package.version else package.name
    call(["pip", "download", "--no-deps", "--only-binary=:all:", "--quiet", "--dest=.", wanted], into)
    (path,) = into.glob("*.whl")
    return Download(Package("pypi", package.name, path.name.split("-")[1]), (path,), sha256_of(path))


def fetch_npm(package: Package, into: Path) -> Download:
    """The tarball of a package, without running its scripts."""
    wanted = f"{package.name}@{package.version}" if package.version else package.name
    (entry,) = json.loads(call(["npm", "pack", "--json", "--ignore-scripts", "--silent", wanted], into))
    (path,) = into.glob("*.tgz")
    algorithm, _, expected = entry["integrity"].partition("-")
    if base64.b64encode(hashlib.new(algorithm, path.read_bytes()).digest()).decode() != expected:
        raise DownloadError(f"npm: the checksum of {path.name} is not the registry's")
    return Download(Package("npm", package.name, entry["version"]), (path,), sha256_of(path))


def fetch_debian_source(package: Package, into: Path) -> Download:
    """A source package, checked by apt against the signed index: the upstream tarball and Debian's own files."""
    wanted = f"{package.name}={package.version}" if package.version else package.name
    call(["apt-get", "source", "--download-only", "-qq", wanted], into)
    (description,) = into.glob("*.dsc")
    (version,) = re.findall(r"^Version: *(\S+)$", description.read_text(errors="replace"), re.M)
    # The upstream tarball has the code, the other one the copyright file. A native package has one for both; additional
    # upstream tarballs are bundled dependencies.
    tarballs = [path for path in into.glob("*.tar.*") if path.suffix != ".asc" and ".orig-" not in path.name]
    tarballs.sort(key=lambda path: ".debian.tar." in path.name)
    return Download(Package("debian-source", package.name, version), tuple(tarballs), sha256_of(tarballs[0]))


def fetch_debian_binary(package: Package, into: Path) -> Download:
    """A binary package, for languages whose packages contain sources (`ruby-*`, `golang-*-dev`)."""
    wanted = f"{package.name}={package.version}" if package.version else package.name
    call(["apt-get", "download", "-qq", wanted], into)
    (path,) = into.glob("*.deb")
    version = path.name.split("_")[1].replace("%3a", ":")
    return Download(Package("debian-binary", package.name, version), (path,), sha256_of(path))


def fetch_crates(packages: Sequence[Package], into: Path) -> list[Download]:
    """Crates and what they depend on, by `cargo vendor`, which checks the checksums in the lock file that it writes."""
    requirements = []
    for number, package in enumerate(packages):
        version = f"={package.version}" if package.version else "*"
        # Keys of our own: a list may have several versions of one crate.
        entry = f'package = "{package.name}", version = "{version}", default-features = false'
        requirements.append(f"crate{number} = {{ {entry} }}")
    manifest = [
        "[package]",
        'name = "sources"',
        'version = "0.0.0"',
        'edition = "2021"',
        "[dependencies]",
        *requirements,
        "",
    ]
    (into / "src").mkdir(exist_ok=True)
    (into / "src" / "lib.rs").write_text("")
    (into / "Cargo.toml").write_text("\n".join(manifest))
    call(["cargo", "vendor", "--quiet", "--versioned-dirs", "vendor"], into)
    downloads = []
    for entry in tomllib.loads((into / "Cargo.lock").read_text())["package"]:
        directory = into / "vendor" / f"{entry['name']}-{entry['version']}"
        if "checksum" in entry and directory.is_dir():
            downloads.append(
                Download(Package("crates", entry["name"], entry["version"]), (directory,), entry["checksum"])
            )
    return downloads


def names_like(pattern: str, limit: int) -> list[str]:
    """Debian's binary packages whose names fit a pattern such as `golang-*-dev`; of more than the limit an arbitrary
    choice that is the same every time and does not change when others are added."""
    prefix, _, suffix = pattern.partition("*")
    names = {name for name in call(["apt-cache", "pkgnames", prefix], Path(".")).split() if name.endswith(suffix)}
    return sorted(sorted(names, key=lambda name: hashlib.sha256(name.encode()).digest())[:limit])


FETCH: dict[str, Callable[[Package, Path], Download]] = {
    "pypi": fetch_pypi,
    "npm": fetch_npm,
    "debian-source": fetch_debian_source,
    "debian-binary": fetch_debian_binary,
}
