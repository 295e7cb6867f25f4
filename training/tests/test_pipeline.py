"""The whole pipeline on packages that the test writes: from licences to the figures of an exported model."""

import contextlib
import io
import json
import tempfile
import unittest
from dataclasses import asdict
from pathlib import Path

import numpy as np

from training import __main__ as command
from training import average, evaluate, export, sources
from training import model as models
from training.arrays import NumpyArrays, TorchArrays
from training.bags import Corpus
from training.batches import Batch, BatchMaker, Settings
from training.initialise import start_vectors
from training.loss import loss_and_gradient
from training.pairs import Pair, code_key, query_key, read_pairs
from training.tests import synthetic
from training.train import train
from training.vocabulary import choose
from training.words import SPECIAL_TOKENS, Vocabulary

DIMENSIONS = 16
LETTERS = [chr(letter) for letter in range(ord("a"), ord("z") + 1)]
OLD_WORDS = ["telegraph", "typewriter", "gramophone", *synthetic.WORDS[: len(synthetic.WORDS) // 2]]
BASE_TOKENS = [*SPECIAL_TOKENS, *LETTERS, *(f"##{letter}" for letter in LETTERS), *OLD_WORDS]
# Two epochs of small batches: many steps of a few pairs each.
SETTINGS = Settings(epochs=2, batch=8, block=4, learning_rate=0.05, warm_up=5, temperature=0.2, chunk=0.1, anchor=0.01)
OPTIONS = [f"--{name.replace('_', '-')}={value}" for name, value in asdict(SETTINGS).items() if name != "seed"]


def step(*arguments: object) -> str:
    """Runs one step as the command line does; what it printed."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(io.StringIO()):
        code = command.main([str(argument) for argument in arguments])
    if code != 0:
        raise AssertionError(f"{arguments}: exit code {code}")
    return output.getvalue()


def base_model(directory: Path) -> None:
    """A model of random vectors."""
    table = np.random.default_rng(5).normal(size=(len(BASE_TOKENS), DIMENSIONS)).astype(np.float32)
    export.export(table, BASE_TOKENS, directory)
    (directory / "LICENSE-NOTICE").write_text("Random numbers.\n")


def files_of(directory: Path) -> dict[str, bytes]:
    """The content of a directory's files."""
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


class PipelineTest(unittest.TestCase):
    root: Path
    train_pairs: list[Pair]
    dev_pairs: list[Pair]

    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.root = root = Path(directory.name)
        judged = [sources.judge(download, root / "sources") for download in synthetic.packages(root / "sources")]
        sources.write_sources(root / "sources" / "packages.tsv", judged)
        (root / "excluded.txt").write_text("# a benchmark\nbenchmarked\n")
        base_model(root / "base")
        pairs = ("--sources", root / "sources", "--excluded", root / "excluded.txt", "--dev-share", 0.25)
        step("pairs", *pairs, "--out", root / "pairs")
        cls.train_pairs, cls.dev_pairs = (read_pairs(root / "pairs" / f"{name}.jsonl") for name in ("train", "dev"))
        cls.build(root / "one")

    @classmethod
    def build(cls, out: Path) -> None:
        """Everything after the pairs, into a directory."""
        base, data = cls.root / "base", out / "data"
        step(
            "vocabulary",
            "--pairs",
            cls.root / "pairs",
            "--base",
            base,
            "--min-pairs=10",
            "--min-packages=3",
            "--out",
            data,
        )
        step("initialise", "--base", base, "--vocabulary", data / "vocab.txt", "--out", data / "start.npy")
        runs = [out / "run-3.npy", out / "run-4.npy"]
        for seed, run in zip((3, 4), runs):
            step("train", "--data", data, "--out", run, "--seed", seed, *OPTIONS)
        step("average", *runs, "--out", out / "mean.npy")
        files = ("--vectors", out / "mean.npy", "--vocabulary", data / "vocab.txt")
        origin = ("--base", base, "--packages", cls.root / "pairs" / "train_packages.tsv")
        step("export", *files, *origin, "--out", out / "model")

    def test_packages_are_in_one_half_only_with_their_queries_and_code(self):
        self.assertGreater(len(self.train_pairs), 200)
        self.assertGreater(len(self.dev_pairs), 50)
        for key in (lambda pair: pair.package, lambda pair: query_key(pair.query), lambda pair: code_key(pair.code)):
            self.assertFalse({key(pair) for pair in self.train_pairs} & {key(pair) for pair in self.dev_pairs})
        self.assertEqual({pair.language for pair in self.train_pairs}, {"c", "js", "py", "rs"})

    def test_copyleft_excluded_and_borrowed_code_is_not_in_the_pairs(self):
        every = self.train_pairs + self.dev_pairs
        self.assertFalse({"strict-1.0", "benchmarked-1.0"} & {pair.package for pair in every})
        self.assertFalse([pair for pair in every if "borrowed" in pair.path])
        rows = (self.root / "pairs" / "train_packages.tsv").read_text().splitlines()
        self.assertEqual(rows[0], "lang\tpackage-version\tpairs_extracted\tlicence\tpairs_used")
        self.assertEqual(sum(int(row.split("\t")[4]) for row in rows[1:]), len(self.train_pairs))
        self.assertTrue(all(len(row.split("\t")) == 5 and row.split("\t")[3] for row in rows[1:]))

    def test_a_benchmark_given_to_pairs_keeps_its_queries_out(self):
        chosen = self.train_pairs[0]
        benchmark = {"docs": [{"query": chosen.query, "code": "nothing"}], "queries": []}
        (self.root / "blocked.json").write_text(json.dumps(benchmark))
        out = self.root / "blocked"
        step(
            "pairs", "--sources", self.root / "sources", "--excluded", self.root / "excluded.txt", "--out", out,
            "--benchmark", self.root / "blocked.json",
        )  # fmt: skip
        self.assertNotIn(chosen.query, {pair.query for pair in read_pairs(out / "train.jsonl")})

    def test_the_same_seed_gives_the_same_bytes(self):
        self.build(self.root / "two")
        for name in ("data", "model"):
            self.assertEqual(files_of(self.root / "one" / name), files_of(self.root / "two" / name))
        runs = [(self.root / "one" / f"run-{seed}.npy").read_bytes() for seed in (3, 4)]
        self.assertNotEqual(runs[0], runs[1])

    def test_training_lowers_the_loss_and_finds_more_than_the_start(self):
        data = self.root / "one" / "data"
        corpus, start = Corpus.load(data / "train.npz"), np.load(data / "start.npy")
        losses = [progress.loss for progress in train(corpus, start, SETTINGS, NumpyArrays())]
        self.assertLess(np.mean(losses[-10:]), 0.8 * np.mean(losses[:10]))
        report = json.loads((self.root / "one" / "run-3.json").read_text())
        self.assertGreater(report["dev"]["all"], report["dev_start"]["all"])

    def test_the_exported_model_beats_the_base_model_on_packages_it_has_not_seen(self):
        documents = [{"lang": pair.language, "name": pair.name, "code": pair.code} for pair in self.dev_pairs]
        queries = [
            {"lang": pair.language, "query": pair.query, "qid": number} for number, pair in enumerate(self.dev_pairs)
        ]
        (self.root / "benchmark.json").write_text(json.dumps({"docs": documents, "queries": queries}))
        benchmark = evaluate.read_benchmark(self.root / "benchmark.json")
        before, after = (
            evaluate.evaluate(models.load(self.root / name), benchmark)["all"] for name in ("base", "one/model")
        )
        self.assertGreater(after, before + 0.1)
        printed = step("evaluate", self.root / "benchmark.json", self.root / "one" / "model")
        self.assertIn(f"all {after:.3f}", printed)

    def test_the_exported_model_has_its_golden_vectors_and_its_papers(self):
        directory = self.root / "one" / "model"
        model = models.load(directory)
        golden = json.loads((directory / "golden.json").read_text())
        vectors = models.encode(model.table(), model.vocabulary, [entry["text"] for entry in golden])
        for entry, vector in zip(golden, vectors):
            self.assertEqual(model.vocabulary.token_ids(entry["text"]), entry["ids"])
            np.testing.assert_allclose(vector, entry["vector"], atol=1e-5)
        self.assertTrue({"LICENSE-NOTICE", "train_packages.tsv", "config.json"} <= set(files_of(directory)))


class StepTest(unittest.TestCase):
    def test_frequent_words_take_the_rows_of_rare_ones(self):
        pairs = [
            Pair("py", f"p{number}", "a.py", "f", "function", "Opens the dataframe", "read dataframe")
            for number in range(8)
        ]
        tokens = [*SPECIAL_TOKENS, "read", "opens", "the", "telegraph", "##frame", "data"]
        chosen = choose(tokens, pairs, min_pairs=30, min_packages=6)
        self.assertEqual(chosen, [*SPECIAL_TOKENS, "read", "opens", "the", "dataframe", "##frame", "data"])
        self.assertEqual(choose(tokens, pairs, min_pairs=30, min_packages=9), tokens)
        base = models.quantise(np.random.default_rng(1).normal(size=(len(tokens), 4)), tokens)
        start = start_vectors(base, chosen)
        np.testing.assert_allclose(start[5], 0.7 * (start[6] + start[7]), atol=1e-6)
        np.testing.assert_allclose(np.linalg.norm(start_vectors(base, tokens)[2:], axis=1).mean(), 1, atol=1e-6)

    def test_an_average_is_the_mean_and_refuses_other_shapes(self):
        np.testing.assert_array_equal(average.average([np.zeros((2, 2)), np.ones((2, 2))]), np.full((2, 2), 0.5))
        with self.assertRaises(ValueError):
            average.average([np.zeros((2, 2)), np.zeros((3, 2))])

    def test_of_equal_scores_the_first_document_ranks_first(self):
        scores = np.array([[1.0, 1.0, 0.5], [0.1, 0.9, 0.3]])
        np.testing.assert_array_equal(evaluate.ranks(scores, np.array([1, 2])), [2, 2])
        np.testing.assert_allclose(evaluate.ndcg_at_10(np.array([1, 3, 11])), [1, 0.5, 0])

    def test_an_unknown_step_is_an_error(self):
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual((command.main(["fly"]), command.main([])), (2, 0))


class GradientTest(unittest.TestCase):
    def setUp(self):
        vocabulary = Vocabulary([*SPECIAL_TOKENS, *LETTERS])
        code = "a b c d e f g h i j k l m n o p q r s t u v w x y z"
        pairs = [
            Pair(
                "py",
                f"p{number // 4}",
                "z.py",
                code[2 * number],
                "function",
                code[number : number + 9],
                code[number : number + 20],
            )
            for number in range(12)
        ]
        pairs[5] = pairs[5]._replace(query=pairs[4].query)
        self.corpus = Corpus.count(pairs, vocabulary)
        self.table = np.random.default_rng(3).normal(size=(len(vocabulary.tokens), 5))

    def batch(self, **settings) -> Batch:
        return BatchMaker(self.corpus, Settings(**settings)).batch(np.arange(len(self.corpus)))

    def test_the_gradient_is_that_of_the_loss(self):
        batch = self.batch(chunk=1.0, query_from_name=0.3)
        loss, gradient = loss_and_gradient(NumpyArrays(), self.table, batch, 0.5)
        self.assertGreater(loss, 0)
        random = np.random.default_rng(4)
        for _ in range(20):
            direction = random.normal(size=self.table.shape)
            around = [
                loss_and_gradient(NumpyArrays(), self.table + sign * 1e-5 * direction, batch, 0.5)[0]
                for sign in (1, -1)
            ]
            self.assertAlmostEqual((around[0] - around[1]) / 2e-5, float((gradient * direction).sum()), places=5)

    def test_torch_gives_the_same(self):
        try:
            arrays = TorchArrays("cpu")
        except ImportError:
            self.skipTest("torch is not installed")
        table = self.table.astype(np.float32)
        batch = self.batch(chunk=1.0)
        expected, gradient = loss_and_gradient(NumpyArrays(), table, batch, 0.05)
        loss, found = loss_and_gradient(arrays, arrays.put(table), batch, 0.05)
        self.assertAlmostEqual(loss, expected, places=4)
        np.testing.assert_allclose(arrays.get(found), gradient, atol=1e-4)
        runs = []
        for each in (NumpyArrays(), arrays):
            *_, last = train(self.corpus, table, Settings(epochs=3, batch=8, block=4), each)
            runs.append(each.get(last.table))
        np.testing.assert_allclose(runs[0], runs[1], atol=1e-3)

    def test_names_are_masked_or_counted_three_times(self):
        for share, expected in (("name_heavy", 1 + np.log(3)), ("name_masked", 0)):
            settings = {"name_heavy": 0.0, "name_masked": 0.0, "chunk": 0.0, "code_drop": 0.0} | {share: 1.0}
            documents = self.batch(**settings).documents
            name = self.corpus.names.tokens[3]
            weights = documents.weights[(documents.places == 3) & (documents.tokens == name)]
            np.testing.assert_allclose(weights.sum(), expected, rtol=1e-6)

    def test_joined_neighbours_are_of_the_same_package_and_no_negatives(self):
        batch = self.batch(chunk=1.0)
        after, before = batch.joined
        np.testing.assert_array_equal(after, [1, 2, 3, -1, 5, 6, 7, -1, 9, 10, 11, -1])
        self.assertTrue(set(before) <= {-1, *range(12)})
        self.assertEqual(batch.documents.size, 12)

    def test_a_block_has_neighbours_of_one_package(self):
        maker = BatchMaker(self.corpus, Settings(batch=4, block=4, epochs=1))
        batches = list(maker)
        self.assertEqual(len(batches), maker.steps)
        for batch in batches:
            self.assertEqual(len(set(self.corpus.packages[batch.pairs])), 1)


if __name__ == "__main__":
    unittest.main()
