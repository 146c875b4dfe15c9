"""The planted changes as data, and how one is applied."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

import xxhash

from golden.mutate.mutants import Mutant
from golden.mutate.source import Edit

REPOSITORY = Path(__file__).resolve().parents[3]
FOLDER = Path(__file__).resolve().parent / "corpus"
TRAINER_RUNS = (
    "ppo_properties",
    "ppo_small",
    "ppo_lifecycle",
    "ppo_rollback",
    "ppo_limits",
    "ppo_modes",
    "ppo_update",
    "ppo_escrow",
    "ppo_strict",
    "ppo_float16",
    "ppo_text",
    "ppo_watchdog",
    "heuristic_line",
    "heuristic_deep",
)


class CorpusError(Exception):
    """A planted change that can't be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """One change of one line: `before` occurs exactly once in `file`, and `after` takes its place.

    `file` may be a folder, so that a change finds its line where code moves from module to module.

    `run` is the golden run that is to catch it. `step` and `event` are patterns for the first optimizer step
    and the first event that must differ; None: none may. `crash` is one for the message of a run that ends.
    `missed` says why no run can notice the change.
    """

    name: str
    area: str
    file: str
    before: str
    after: str
    imitates: str
    run: str = "ppo_properties"
    step: str | None = None
    event: str | None = None
    crash: str | None = None
    missed: str | None = None

    def __post_init__(self) -> None:
        if self.run not in TRAINER_RUNS:
            raise CorpusError(f"{self.name}: no run {self.run}; known are {', '.join(TRAINER_RUNS)}")
        if self.before == self.after:
            raise CorpusError(f"{self.name}: changes nothing")
        for pattern in (self.step, self.event, self.crash):
            re.compile(pattern or "")

    def place(self, root: Path) -> Path:
        """The file to change, in a tree: the one that has the text, exactly once.

        Raises CorpusError if there is none, or more than one.
        """
        start = root / self.file
        if not start.exists():
            raise CorpusError(f"{self.name}: no {self.file}")
        files = sorted(start.rglob("*.py")) if start.is_dir() else [start]
        counts = {
            path: path.read_text(encoding="utf-8").count(self.before) for path in files if path.exists()
        }
        count = sum(counts.values())
        if count != 1:
            raise CorpusError(f"{self.name}: {self.file} has the text to change {count} times, not once")
        return next(path for path in files if counts[path])

    def applied(self, text: str) -> str:
        """The file's text with the change. Raises CorpusError if that is no program."""
        changed = text.replace(self.before, self.after)
        try:
            compile(changed, self.file, "exec")
        except SyntaxError as error:
            raise CorpusError(f"{self.name}: {self.file} does not compile with the change: {error}") from None
        return changed

    def mutant(self, root: Path) -> Mutant:
        """The change as one that is planted in a tree. Raises CorpusError if that can't be done."""
        path = self.place(root)
        text = path.read_text(encoding="utf-8")
        self.applied(text)
        data, old, new = text.encode(), self.before.encode(), self.after.encode()
        start = data.index(old)
        first = data.count(b"\n", 0, start) + 1
        digest = xxhash.xxh3_64_hexdigest("\0".join((self.file, self.before, self.after, self.run)).encode())
        return Mutant(
            name=f"{self.name}-{digest}",
            path=str(path.relative_to(root)),
            first=first,
            last=first + self.before.count("\n"),
            line=first,
            scope="",
            operator=self.area,
            before=self.before,
            after=self.after,
            edit=Edit(start, start + len(old), new),
            runs=tuple(dict.fromkeys([self.run, *TRAINER_RUNS])),
        )


def load_corpus() -> list[Mutation]:
    """All planted changes, by area."""
    found: list[Mutation] = []
    for path in sorted(FOLDER.glob("*.toml")):
        for name, table in tomllib.loads(path.read_text(encoding="utf-8")).items():
            try:
                found.append(Mutation(name=name, area=path.stem, **table))
            except (TypeError, re.error) as error:
                raise CorpusError(f"{path.name}: {name}: {error}") from None
    names = [mutation.name for mutation in found]
    if len(set(names)) < len(names):
        raise CorpusError(f"a name is there twice: {next(n for n in names if names.count(n) > 1)}")
    return found
