"""Packages for the tests: documentation and code use different words for the same, which is what is learned."""

import io
import itertools
import random
import tarfile
import zipfile
from pathlib import Path

from training.registries import Download, Package, sha256_of

# What documentation says, and what code says for it.
VERBS = {
    "Delete": "purge", "Send": "emit", "Search": "lookup", "Start": "launch", "Stop": "halt", "Copy": "clone",
    "Count": "tally", "Show": "render", "Check": "verify", "Join": "merge", "Rename": "alias", "Lock": "pin",
    "Repair": "fix", "Compare": "diff", "Hide": "mask", "Divide": "split",
}  # fmt: skip
NOUNS = {
    "customer": "client", "invoice": "bill", "picture": "image", "message": "mail", "password": "secret",
    "address": "location", "appointment": "event", "machine": "host", "directory": "folder", "table": "grid",
    "colour": "tint", "sentence": "phrase", "vehicle": "car", "journey": "trip", "worker": "agent", "mistake": "bug",
}  # fmt: skip
WORDS = [word.lower() for pair in (*VERBS.items(), *NOUNS.items()) for word in pair]

TEMPLATES = {
    "py": (
        "import store\nimport errors\n\n",
        'def {verb}_{noun}(handle):\n    """{sentence}"""\n'
        "    found = store.{noun}(handle)\n    return found.{verb}(handle, strict=True)\n\n",
    ),
    "js": (
        "'use strict';\nconst store = require('store');\n\n",
        "/** {sentence} */\nfunction {verb}_{noun}(handle) {{\n"
        "  const found = store.{noun}(handle);\n  return found.{verb}(handle);\n}}\n\n",
    ),
    "rs": (
        "use crate::store;\nuse crate::errors::Error;\n\n",
        "/// {sentence}\npub fn {verb}_{noun}(handle: u64) -> Result<(), Error> {{\n"
        "    store::{noun}(handle)?.{verb}()\n}}\n\n",
    ),
    "c": (
        '#include "store.h"\n#include "errors.h"\n\n',
        "/* {sentence} */\nint {verb}_{noun}(int handle)\n{{\n"
        "    struct {noun} *found = store_{noun}(handle);\n    return {verb}(found);\n}}\n\n",
    ),
}
SENTENCES = (
    "{verb} the {noun} of this user.", "{verb} one {noun} at once.", "{verb} a {noun} that was given.",
    "{verb} each {noun} by number.",
    "{verb} every {noun} in order.", "{verb} some {noun} for later.", "{verb} any {noun} we have.",
    "{verb} an old {noun} again.",
)  # fmt: skip


def source(language: str, seed: int, count: int = 32) -> str:
    """A source file with some of all combinations of verbs and nouns."""
    begin, template = TEMPLATES[language]
    chosen = random.Random(seed).sample(sorted(itertools.product(VERBS, NOUNS)), count)
    parts = [begin]
    for number, (verb, noun) in enumerate(chosen):
        sentence = SENTENCES[(seed + number // 2) % len(SENTENCES)].format(verb=verb, noun=noun)
        code = template.format(verb=VERBS[verb], noun=NOUNS[noun], sentence=sentence)
        # Every package calls the same thing differently, so that its functions are no copies of another's.
        parts.append(code.replace("handle", f"h{seed}"))
    return "".join(parts)


def wheel(root: Path, name: str, text: str, licence: str = "MIT") -> Download:
    """A wheel with one module."""
    path = root / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}/module.py", text)
        archive.writestr(f"{name}-1.0.dist-info/METADATA", f"Name: {name}\nLicense-Expression: {licence}\n\n")
    return Download(Package("pypi", name, "1.0"), (path,), sha256_of(path))


def tarball(path: Path, files: dict[str, str]) -> Path:
    """A compressed tarball."""
    with tarfile.open(path, "w:xz" if path.suffix == ".xz" else "w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return path


def npm(root: Path, name: str, text: str) -> Download:
    """A tarball of npm with one module."""
    files = {"package/package.json": '{"license": "Apache-2.0"}', "package/lib/index.js": text}
    path = tarball(root / f"{name}-1.0.tgz", files)
    return Download(Package("npm", name, "1.0"), (path,), sha256_of(path))


def crate(root: Path, name: str, text: str) -> Download:
    """A vendored crate."""
    path = root / f"{name}-1.0"
    (path / "src").mkdir(parents=True)
    (path / "Cargo.toml").write_text('[package]\nlicense = "MIT OR Apache-2.0"\n')
    (path / "src" / "lib.rs").write_text(text)
    return Download(Package("crates", name, "1.0"), (path,), "0" * 64)


COPYRIGHT = """Files: *
License: Expat

Files: src/borrowed.c
License: GPL-2+
"""


def debian(root: Path, name: str, text: str, borrowed: str) -> Download:
    """A source package of Debian, one of whose files is under another licence."""
    files = {f"{name}-1.0/src/main.c": text, f"{name}-1.0/src/borrowed.c": borrowed}
    upstream = tarball(root / f"{name}_1.0.orig.tar.xz", files)
    packaging = tarball(root / f"{name}_1.0-1.debian.tar.xz", {"debian/copyright": COPYRIGHT})
    return Download(Package("debian-source", name, "1.0"), (upstream, packaging), sha256_of(upstream))


def packages(root: Path) -> list[Download]:
    """A small registry: packages of four languages, one under a copyleft licence, one that a benchmark is made of."""
    root.mkdir(parents=True, exist_ok=True)
    downloads = [wheel(root, "strict", source("py", 90), "GPL-3.0-only"), wheel(root, "benchmarked", source("py", 91))]
    for number in range(8):
        downloads.append(wheel(root, f"pyworks{number}", source("py", number)))
        downloads.append(npm(root, f"jsworks{number}", source("js", 10 + number)))
        downloads.append(crate(root, f"rsworks{number}", source("rs", 20 + number)))
        downloads.append(debian(root, f"cworks{number}", source("c", 30 + number), source("c", 60 + number)))
    return downloads
