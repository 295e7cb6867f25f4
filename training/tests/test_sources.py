"""Licences, lists, archives, and what is left out of the pairs."""

import tempfile
import unittest
import zipfile
from pathlib import Path

from training import archives, sources
from training.licences import Declaration, declaration, file_is_permissive, is_permissive
from training.pairs import Excluded, Pair, Selection, is_dev, limited
from training.registries import Download, DownloadError, Package, sha256_of
from training.tests.synthetic import tarball

COPYRIGHT = """Format: machine-readable
Upstream-Name: example

Files: *
Copyright: somebody
License: Expat

Files: src/borrowed/* debian/*
Copyright: somebody else
License: GPL-2+
 This file is free software.
"""


class LicenceTest(unittest.TestCase):
    def test_permissive_expressions_are_allowed(self):
        for declared in (
            "MIT", "mit", "MIT License", "Expat", "Apache-2.0 OR MIT", "MIT/Apache-2.0",
            "(MIT OR GPL-3.0) AND BSD-3-Clause",
            "GPL-2+ or Ruby", "Apache-2.0 WITH LLVM-exception", "BSD-3-clause~Google", "Apache License, Version 2.0",
            "LGPL-2.1+ or GPL-2+ or Apache-2.0",
        ):  # fmt: skip
            self.assertTrue(is_permissive(declared), declared)

    def test_copyleft_unknown_and_broken_declarations_are_not(self):
        for declared in (
            "", "GPL-3.0-or-later", "LGPL-2.1", "MPL-2.0", "MIT AND GPL-2.0", "MIT, and GPL-2+", "UNLICENSED",
            "SEE LICENSE IN X",
            "Apache-2.0 WITH other-exception", "(MIT", "MIT OR", "OR", "other", "CC-BY-SA-4.0", "AGPL-3.0/commercial",
            "MIT)",
        ):  # fmt: skip
            self.assertFalse(is_permissive(declared), declared)

    def test_each_registrys_metadata_is_read(self):
        for name, text, expected in (
            ("a.dist-info/METADATA", "Name: a\nLicense-Expression: MIT\n\nLicense: GPL", "MIT"),
            ("a.dist-info/METADATA", "Classifier: License :: OSI Approved :: MIT License\n", "MIT License"),
            ("package.json", '{"license": "ISC"}', "ISC"),
            ("package.json", '{"license": {"type": "MIT"}}', ""),
            ("package.json", "{", ""),
            ("Cargo.toml", '[package]\nlicense = "MIT OR Apache-2.0"\n', "MIT OR Apache-2.0"),
            ("debian/copyright", COPYRIGHT, "Expat"),
            ("usr/share/doc/a/copyright", "This package is free.", ""),
        ):
            self.assertEqual(declaration([(name, text)]).licence, expected, text)
        two = declaration(
            [("METADATA", "Classifier: License :: OSI Approved :: MIT License\nClassifier: License :: Other\n")]
        )
        self.assertFalse(is_permissive(two.licence))

    def test_single_files_under_another_licence_are_left_out(self):
        debian = declaration([("debian/copyright", COPYRIGHT)])
        self.assertTrue(debian.allows("src/own.c"))
        self.assertFalse(debian.allows("src/borrowed/list.c"))
        self.assertFalse(Declaration().allows("a.c"))
        for text, expected in (
            ("// SPDX-License-Identifier: MIT\n", True),
            ("/* SPDX-License-Identifier: GPL-2.0 */\n", False),
            ("# under the terms of the GNU Lesser General\n", True),
            ("# the GNU Lesser General Public License\n", False),
            ("int a;", True),
        ):
            self.assertEqual(file_is_permissive(text), expected, text)


class SourcesTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name)

    def judged(self, registry: str, *files: Path) -> sources.Source:
        return sources.judge(Download(Package(registry, "a", "1"), files, sha256_of(files[0])), self.root)

    def test_a_package_is_used_if_its_licence_is_permissive(self):
        upstream = tarball(self.root / "a_1.orig.tar.xz", {"a-1/src/a.c": "int a;"})
        packaging = tarball(self.root / "a_1-1.debian.tar.xz", {"debian/copyright": COPYRIGHT})
        self.assertEqual(self.judged("debian-source", upstream, packaging).use, "yes")
        copyleft = tarball(self.root / "b.tgz", {"package/package.json": '{"license": "GPL-3.0"}'})
        self.assertEqual(self.judged("npm", copyleft).use, "no: licence not on the list")
        silent = tarball(
            self.root / "c.tgz", {"package/index.js": "x", "package/deep/er/package.json": '{"license": "MIT"}'}
        )
        self.assertEqual(self.judged("npm", silent).use, "no: no licence declared")
        (self.root / "d.tgz").write_bytes(b"not an archive")
        self.assertTrue(self.judged("npm", self.root / "d.tgz").use.startswith("no: d.tgz"))

    def test_a_declaration_with_line_breaks_stays_one_cell(self):
        wheel = self.root / "a.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr("a.dist-info/METADATA", "License: Some\tterms\r\n of our own\n\n")
        row = self.judged("pypi", wheel)
        sources.write_sources(self.root / "packages.tsv", [row])
        self.assertEqual(sources.read_sources(self.root / "packages.tsv"), [row])
        self.assertEqual(len((self.root / "packages.tsv").read_text().splitlines()), 2)

    def test_lists_have_names_versions_and_comments(self):
        (self.root / "list").write_text("one two==1.2 # three\none\n")
        self.assertEqual(
            sources.read_list(self.root / "list", "npm"), [Package("npm", "one"), Package("npm", "two", "1.2")]
        )

    def test_a_batch_of_crates_that_fails_is_halved_until_the_bad_one_is_alone(self):
        def vendor(packages, into):
            if any(package.name == "bad" for package in packages):
                raise DownloadError("no such crate")
            return [Download(Package("crates", package.name, "1"), (into,), "0") for package in packages]

        original, sources.registries.fetch_crates = sources.registries.fetch_crates, vendor
        self.addCleanup(setattr, sources.registries, "fetch_crates", original)
        results = list(sources.fetch_all([Package("crates", name) for name in ("a", "b", "bad", "c")], self.root))
        self.assertEqual([each.package.name for each in results if isinstance(each, Download)], ["a", "b", "c"])
        self.assertEqual([each[0].name for each in results if isinstance(each, tuple)], ["bad"])

    def test_links_and_large_files_of_directories_are_not_read(self):
        crate = self.root / "crate"
        crate.mkdir()
        (crate / "a.rs").write_text("fn a() {}")
        (crate / "big.rs").write_text("x" * (archives.MAX_FILE_BYTES + 1))
        (crate / "link.rs").symlink_to("/etc/passwd")
        self.assertEqual([name for name, _ in archives.read_files(crate, lambda _: True)], ["a.rs"])


class SelectionTest(unittest.TestCase):
    def pair(
        self, query="Opens the file for reading and writing.", code="def open(): pass", language="py", kind="function"
    ):
        return Pair(language, "p-1", "a.py", "open", kind, query, code)

    def test_excluded_packages_are_found_in_names_and_paths(self):
        excluded = Excluded(["tokio", "click"])
        for name in ("tokio", "tokio-util", "python3-click", "Click"):
            self.assertTrue(excluded.package(name), name)
        for name in ("tokiox", "clickhouse", "serde"):
            self.assertFalse(excluded.package(name), name)
        self.assertTrue(excluded.path("src/click/core.py"))
        self.assertFalse(excluded.path("src/click.py"))
        self.assertFalse(Excluded([]).package("anything"))

    def test_copies_of_code_and_queries_are_taken_once(self):
        selection = Selection()
        pairs = [self.pair(code=f"def open{number}(): pass") for number in range(9)]
        self.assertEqual(len(selection.take(pairs, 100)), 3)
        self.assertEqual(
            selection.take([self.pair(query="Something else that it does.", code="def open0():\n\n  pass")], 100), []
        )

    def test_blocked_queries_are_not_taken_in_another_order_of_words(self):
        selection = Selection()
        selection.block("reading and writing, opens the FILE for", "")
        self.assertEqual(selection.take([self.pair()], 100), [])

    def test_packages_and_languages_are_limited_and_weak_queries_go_first(self):
        pairs = [self.pair(f"Does the thing number {number} of all.", f"def a{number}(): pass") for number in range(9)]
        self.assertEqual(len(Selection().take(pairs, 4)), 4)
        weak = [self.pair("some words here", "code", kind="undocumented")]
        kept = limited(weak + pairs, {"py": 9}, 1)
        self.assertEqual(len(kept), 9)
        self.assertNotIn(weak[0], kept)

    def test_the_split_depends_on_the_name_alone(self):
        names = [f"package-{number}" for number in range(1000)]
        share = sum(is_dev(name, 0.1) for name in names) / len(names)
        self.assertTrue(0.07 < share < 0.13)
        self.assertEqual(
            [name for name in names[:30] if is_dev(name, 0.1)], ["package-12", "package-13", "package-23", "package-28"]
        )


if __name__ == "__main__":
    unittest.main()
