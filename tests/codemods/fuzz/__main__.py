"""Search for programs that the tool gets wrong: `python -m tests.codemods.fuzz --seconds 3600 --seed 1`."""

from __future__ import annotations

import argparse
import sys

from codemods.extract import main as extract

from tests.codemods.fuzz.session import Tally, session


def main(argv: list[str]) -> int:
    """Print every failure as a case for the corpus, then the totals; return 1 if there was one."""
    parser = argparse.ArgumentParser(description="Search for programs that the tool gets wrong.")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0, help="the first of the seeds")
    parser.add_argument("--failures", type=int, default=10, help="stop after so many")
    options = parser.parse_args(argv)
    tally, found = Tally(), 0
    for failure in session(extract, options.seed, options.seconds, tally):
        found += 1
        print(failure.as_case(), flush=True)
        if found == options.failures:
            break
    print(f"{tally}\n{found} wrong; seeds {options.seed} to {options.seed + tally.programs - 1}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
