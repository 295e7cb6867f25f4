"""`python -m training STEP …`: one command for every step of the pipeline."""

import argparse
import importlib
import sys

# In the order of the pipeline. Each is a module with `add_arguments(parser)` and `run(arguments)`; only the chosen one
# is imported, so that `sources` and `pairs` work without numpy.
STEPS = {
    "sources": "download packages and check their licences",
    "pairs": "extract pairs of a documentation sentence and its code",
    "vocabulary": "choose the vocabulary and count the tokens of the pairs",
    "initialise": "make the start vectors from an existing model",
    "train": "train one run",
    "average": "average several runs",
    "export": "write the files that the server ships",
    "evaluate": "measure a model on a benchmark of documentation sentences",
}


def main(arguments: list[str]) -> int:
    """Runs one step; the exit code."""
    if not arguments or arguments[0] not in STEPS:
        lines = [f"  {name:<12} {about}" for name, about in STEPS.items()]
        print("usage: python -m training STEP [--help]\n\n" + "\n".join(lines))
        return 0 if arguments in ([], ["-h"], ["--help"]) else 2
    step = importlib.import_module(f"training.{arguments[0]}")
    parser = argparse.ArgumentParser(
        prog=f"python -m training {arguments[0]}",
        description=step.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    step.add_arguments(parser)
    step.run(parser.parse_args(arguments[1:]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
