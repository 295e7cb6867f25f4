"""Which packages may be trained on: those whose declared licence is permissive.

Only what a package declares counts: an SPDX expression, a classifier, or Debian's machine-readable copyright file.
Nothing is guessed from licence texts. No declaration, an unknown name or a copyleft licence leaves the package out.
"""

import fnmatch
import json
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass

# SPDX identifiers of licences that allow any use and ask for notices at most.
PERMISSIVE = frozenset(
    """0BSD Apache-2.0 BlueOak-1.0.0 BSD-1-Clause BSD-2-Clause BSD-2-Clause-Patent BSD-3-Clause BSL-1.0 CC0-1.0 curl
    HPND IJG ISC Libpng libpng-2.0 MIT MIT-0 MIT-CMU NCSA OLDAP-2.8 OpenSSL PHP-3.01 PostgreSQL PSF-2.0
    Python-2.0 Ruby TCL Unicode-3.0 Unicode-DFS-2016 Unlicense W3C WTFPL X11 Zlib""".split()
)
EXCEPTIONS = frozenset(["llvm-exception"])
# Names in use for the same licences: PyPI's classifiers, Debian's short names, and what people write. "BSD" alone is
# taken for the three-clause licence, which asks for the most of the two in use.
ALIASES = {
    "apache": "Apache-2.0", "apache 2.0": "Apache-2.0", "apache-2": "Apache-2.0", "apache license 2.0": "Apache-2.0",
    "apache 2.0 license": "Apache-2.0", "apache license": "Apache-2.0", "apache2": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0", "apache software license": "Apache-2.0", "boost": "BSL-1.0",
    "boost-1.0": "BSL-1.0", "bsd": "BSD-3-Clause", "bsd license": "BSD-3-Clause", "bsd-2": "BSD-2-Clause",
    "bsd-3": "BSD-3-Clause", "bsd2": "BSD-2-Clause", "bsd3": "BSD-3-Clause", "cc0": "CC0-1.0", "expat": "MIT",
    "isc license (iscl)": "ISC", "mit license": "MIT", "mit-expat": "MIT", "mit-x": "X11", "mit-x11": "X11",
    "openldap-2.8": "OLDAP-2.8", "psf": "PSF-2.0", "public-domain": "CC0-1.0", "ruby's": "Ruby",
    "python software foundation license": "PSF-2.0", "the mit license": "MIT", "the unlicense (unlicense)": "Unlicense",
    "unicode": "Unicode-3.0", "zlib/libpng license": "Zlib",
}  # fmt: skip
_CANONICAL = {name.lower(): name for name in PERMISSIVE}
# Commas separate alternatives nowhere and conditions in Debian ("GPL-2+, and MIT"), so they count as "and".
_TOKEN = re.compile(
    r"\(|\)|\bor\b|\band\b|\bwith\b|/|,(?!\s*version)|(?:(?!\b(?:or|and|with)\b)[^()/,]|,(?=\s*version))+", re.I
)
# Licences that a file may name for itself although its package is permissive.
_FILE_NOTICE = re.compile(r"SPDX-License-Identifier:[ \t]*([^\n*]+)")
_COPYLEFT_NOTICE = re.compile(
    r"GNU\s+(?:Lesser\s+|Library\s+|Affero\s+)?General\s+Public|Mozilla\s+Public\s+Licen|Eclipse\s+Public", re.I
)


def is_permissive(declared: str) -> bool:
    """Whether a declared licence lets the package be used: one permissive alternative of each condition suffices."""
    text = declared.strip()
    if _known(text):
        return True
    tokens = [token.strip() for token in _TOKEN.findall(text) if token.strip()]
    try:
        result, rest = _alternatives(tokens)
    except IndexError:
        return False
    return result and not rest


def _known(name: str) -> bool:
    # Debian marks variants of a text with ~ ("BSD-3-clause~Google").
    plain = re.sub(r"\s+", " ", name.split("~")[0]).strip(" \"'").lower()
    return plain in _CANONICAL or plain in ALIASES


def _alternatives(tokens: list[str]) -> tuple[bool, list[str]]:
    result, tokens = _conditions(tokens)
    while tokens and tokens[0].lower() in ("or", "/"):
        other, tokens = _conditions(tokens[1:])
        result = result or other
    return result, tokens


def _conditions(tokens: list[str]) -> tuple[bool, list[str]]:
    result, tokens = _single(tokens)
    while tokens and tokens[0].lower() in ("and", ","):
        # "GPL-2+, and MIT" has two signs for one condition.
        while tokens and tokens[0].lower() in ("and", ","):
            tokens = tokens[1:]
        other, tokens = _single(tokens)
        result = result and other
    return result, tokens


def _single(tokens: list[str]) -> tuple[bool, list[str]]:
    if tokens[0] == "(":
        result, tokens = _alternatives(tokens[1:])
        if tokens[0] != ")":
            return False, tokens
        tokens = tokens[1:]
    else:
        result, tokens = _known(tokens[0]), tokens[1:]
    if tokens and tokens[0].lower() == "with":
        result, tokens = result and tokens[1].lower() in EXCEPTIONS, tokens[2:]
    return result, tokens


def file_is_permissive(text: str) -> bool:
    """Whether nothing at the head of a file says otherwise than its package."""
    head = text[:4000]
    notice = _FILE_NOTICE.search(head)
    if notice:
        return is_permissive(notice.group(1).removesuffix("-->"))
    return _COPYLEFT_NOTICE.search(head) is None


@dataclass(frozen=True)
class Declaration:
    """What a package declares: its licence, and the patterns of files under other ones, where the format has them."""

    licence: str = ""
    files: tuple[tuple[str, str], ...] = ()

    def allows(self, path: str) -> bool:
        """Whether a file may be used; the last pattern that fits decides, as Debian's format says."""
        licence = self.licence
        for pattern, own in self.files:
            if fnmatch.fnmatchcase(path, pattern):
                licence = own
        return is_permissive(licence)


def declaration(files: Iterable[tuple[str, str]]) -> Declaration:
    """The declaration in a package's metadata files, given as names and contents."""
    for name, text in files:
        base = name.rsplit("/", 1)[-1]
        found = _READERS[base](text) if base in _READERS else Declaration()
        if found.licence:
            return found
    return Declaration()


def is_metadata(path: str) -> bool:
    """Whether a file of an archive may declare the package's licence: those at its top, and Debian's."""
    base = path.rsplit("/", 1)[-1]
    return base in _READERS and (path.count("/") <= 1 or base == "copyright")


def _from_wheel(text: str) -> Declaration:
    head = text.split("\n\n", 1)[0]
    for pattern in (
        r"License-Expression: *(.+)",
        r"Classifier: License :: (?:OSI Approved :: )?(.+)",
        r"License: *(.+)",
    ):
        names = re.findall(rf"^{pattern}$", head, re.M)
        if names:
            # Several classifiers do not say whether they are alternatives; asking for all of them is safe.
            return Declaration(" AND ".join(f"({name.strip()})" if len(names) > 1 else name.strip() for name in names))
    return Declaration()


def _from_npm(text: str) -> Declaration:
    try:
        licence = json.loads(text).get("license", "")
    except (ValueError, AttributeError):
        return Declaration()
    return Declaration(licence) if isinstance(licence, str) else Declaration()


def _from_cargo(text: str) -> Declaration:
    try:
        licence = tomllib.loads(text).get("package", {}).get("license", "")
    except tomllib.TOMLDecodeError:
        return Declaration()
    return Declaration(licence) if isinstance(licence, str) else Declaration()


def _from_debian(text: str) -> Declaration:
    """The stanzas of a machine-readable copyright file, without the packaging's own files."""
    patterns: list[tuple[str, str]] = []
    for stanza in re.split(r"\n[ \t]*\n", text):
        names = re.search(r"^Files:((?:.|\n[ \t])*)", stanza, re.M)
        licence = re.search(r"^License:[ \t]*(.*)$", stanza, re.M)
        if names and licence:
            patterns += [(pattern, licence.group(1).strip()) for pattern in names.group(1).split()]
    whole = [licence for pattern, licence in patterns if pattern == "*"]
    return Declaration(whole[0] if whole else "", tuple(patterns))


_READERS = {"METADATA": _from_wheel, "package.json": _from_npm, "Cargo.toml": _from_cargo, "copyright": _from_debian}
