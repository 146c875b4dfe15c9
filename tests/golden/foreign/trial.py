"""Plant one mistake in a copy of the examples, run it, and read where the verdict places it."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

from golden.compare import Comparison, Different, Identical, compare
from golden.record import find_run, record_run
from golden.report.text import describe
from golden.trace.errors import GoldenError
from golden.trace.trace import Trace

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
PROGRAMS = ("gpt", "ema", "dqn", "handwritten")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """One line of ``program`` before and after; ``place`` is a pattern for what the verdict must name.

    ``identical`` says why the change is none that a person could see.
    """

    program: str
    of: str
    before: str
    after: str
    place: str = ""
    identical: str = ""


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of it: the lines of the divergences in order, none where the runs are identical."""

    mistake: Mistake
    lines: tuple[str, ...]

    @property
    def caught(self) -> bool:
        """Whether anything differs."""
        return bool(self.lines)

    @property
    def placed(self) -> str:
        """The first line that names the place; empty if none does."""
        return next((line for line in self.lines if re.search(self.mistake.place, line)), "")

    @property
    def expected(self) -> bool:
        """Whether it came out as the corpus says."""
        return not self.caught if self.mistake.identical else bool(self.placed)


def load_corpus() -> list[Mistake]:
    """All planted mistakes."""
    table = tomllib.loads((Path(__file__).with_name("corpus.toml")).read_text(encoding="utf-8"))
    return [Mistake(**entry) for entry in table["mistake"]]


class Laboratory:
    """Copies of the examples in a scratch folder, and the traces of the unchanged ones."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._references: dict[str, Trace] = {}

    def reference(self, program: str) -> Trace:
        """The trace of an unchanged program."""
        if program not in self._references:
            self._references[program] = self._record(program, None)
        return self._references[program]

    def again(self, program: str) -> Comparison:
        """Compare a program with itself, run once more (A/A)."""
        return compare(self.reference(program), self._record(program, None))

    def try_out(self, mistake: Mistake) -> Trial:
        """Run a program with its mistake."""
        try:
            changed = self._record(mistake.program, mistake)
        except GoldenError as error:
            return Trial(mistake, (str(error),))
        return Trial(mistake, lines(compare(self.reference(mistake.program), changed)))

    def _record(self, program: str, mistake: Mistake | None) -> Trace:
        with tempfile.TemporaryDirectory(dir=self._scratch) as folder:
            tree = Path(folder) / "examples"
            shutil.copytree(EXAMPLES / program, tree / program)
            shutil.copytree(EXAMPLES / "golden", tree / "golden")
            if mistake is not None:
                path = tree / program / "train.py"
                text = path.read_text(encoding="utf-8")
                assert text.count(mistake.before) == 1, mistake
                path.write_text(text.replace(mistake.before, mistake.after), encoding="utf-8")
            out = Path(tempfile.mkdtemp(dir=self._scratch)) / program
            return record_run(find_run(program, tree), root=tree, out=out)


def lines(found: Comparison) -> tuple[str, ...]:
    """Every line of every divergence, in order; a reason where nothing could be compared."""
    match found:
        case Identical():
            return ()
        case Different(first=first, rest=rest):
            return tuple(line for divergence in (first, *rest) for line in describe(divergence))
    return (found.reason,)


def repeats() -> int:
    """How many A/A runs to do of each program: GOLDEN_AA_RUNS, 1 if unset."""
    return int(os.environ.get("GOLDEN_AA_RUNS", "1"))
