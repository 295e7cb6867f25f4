"""The encoder and the files of a model; with TRAINING_MODEL_DIR also those of the shipped model."""

import json
import os
import tempfile
import unittest
from pathlib import Path

import numpy as np

from training import export
from training import model as models
from training.words import Vocabulary, words

SHIPPED = os.environ.get("TRAINING_MODEL_DIR")
TOKENS = ["[PAD]", "[UNK]", "re", "read", "##ing", "##in", "##g", "file", "2"]


class EncoderTest(unittest.TestCase):
    def test_words_end_at_the_borders_inside_identifiers(self):
        for text, expected in (
            ("readFile HTTPServer2 to_string", ["read", "file", "http", "server", "2", "to", "string"]),
            ("déjà ABC aB", ["d", "j", "abc", "a", "b"]),
            ("x" * 64 + " " + "y" * 65, ["x" * 64]),
            ("", []),
        ):
            self.assertEqual(list(words(text)), expected)

    def test_the_longest_token_wins_and_a_word_with_an_unknown_part_has_none(self):
        vocabulary = Vocabulary(TOKENS)
        self.assertEqual(vocabulary.token_ids("reading file"), [3, 4, 7])
        self.assertEqual(vocabulary.token_ids("re readin readx"), [2, 3, 5])
        self.assertEqual(len(vocabulary.token_ids("read " * 600)), 512)

    def test_a_damaged_vocabulary_is_an_error(self):
        for tokens in (["read"], [*TOKENS, "read"]):
            with self.assertRaises(ValueError):
                Vocabulary(tokens)

    def test_a_vector_is_the_weighted_sum_of_distinct_tokens(self):
        table = np.random.default_rng(1).normal(size=(len(TOKENS), 4)).astype(np.float32)
        (vector, empty) = models.encode(table, Vocabulary(TOKENS), ["read file read", ""])
        expected = (1 + np.log(2)) * table[3] + table[7]
        np.testing.assert_allclose(vector, expected / np.linalg.norm(expected), atol=1e-6)
        self.assertFalse(empty.any())


class ModelFilesTest(unittest.TestCase):
    def test_an_exported_model_is_read_back_as_it_was_and_near_what_was_trained(self):
        table = np.random.default_rng(2).normal(size=(len(TOKENS), 16)).astype(np.float32)
        with tempfile.TemporaryDirectory() as directory:
            written = export.export(table, TOKENS, Path(directory))
            read = models.load(Path(directory))
            np.testing.assert_array_equal(read.embeddings, written.embeddings)
            np.testing.assert_array_equal(read.weights, written.weights)
            self.assertEqual(read.vocabulary.tokens, TOKENS)
            self.assertFalse(read.table()[:2].any())
            self.assertEqual(json.loads((Path(directory) / "config.json").read_text())["hidden_dim"], 16)
        exact, quantised = (
            models.encode(each, written.vocabulary, ["reading file 2"]) for each in (table, read.table())
        )
        self.assertGreater(float(exact[0] @ quantised[0]), 0.999)

    def test_tensors_are_aligned_and_of_two_known_types(self):
        content = models.tensor_bytes({"weights": np.ones(3, np.float32), "embeddings": np.ones((3, 5), np.int8)})
        self.assertEqual(int.from_bytes(content[:8], "little") % 8, 0)
        self.assertEqual(set(models.parse_tensors(content)), {"weights", "embeddings"})


@unittest.skipUnless(SHIPPED, "TRAINING_MODEL_DIR is not set")
class ShippedModelTest(unittest.TestCase):
    def test_the_encoder_gives_the_golden_tokens_and_vectors(self):
        model = models.load(Path(SHIPPED))
        golden = json.loads((Path(SHIPPED) / "golden.json").read_text())
        vectors = models.encode(model.table(), model.vocabulary, [entry["text"] for entry in golden])
        for entry, vector in zip(golden, vectors):
            self.assertEqual(model.vocabulary.token_ids(entry["text"]), entry["ids"])
            np.testing.assert_allclose(vector, entry["vector"], atol=1e-5)
        self.assertEqual([entry["text"] for entry in golden], list(export.GOLDEN_TEXTS))

    def test_the_shipped_files_are_what_export_writes(self):
        model = models.load(Path(SHIPPED))
        with tempfile.TemporaryDirectory() as directory:
            models.save(model, Path(directory))
            for name in ("model.safetensors", "vocab.txt"):
                self.assertEqual((Path(directory) / name).read_bytes(), (Path(SHIPPED) / name).read_bytes(), name)
        self.assertEqual(json.loads((Path(SHIPPED) / "config.json").read_text()), export.config(model.dimensions))


if __name__ == "__main__":
    unittest.main()
