"""How a suite is split over machines, its results or those of one shard as a file, and all put together."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ValidationError

from golden.check.fixtures import write_whole
from golden.reach.evidence import Evidence, merged
from golden.record import Run
from golden.trace.errors import ExitCode, UnusableInput, worst

FILE = "results.json"
_FORMAT: Literal[1] = 1


def parse_shard(text: str | None) -> tuple[int, int]:
    """Return the two numbers of ``I/N``, I from 1 to N; without a text those of the whole suite."""
    match = re.fullmatch(r"(\d+)/(\d+)", text or "1/1", re.ASCII)
    index, count = map(int, match.groups()) if match else (0, 0)
    if not 1 <= index <= count:
        raise UnusableInput(f"shard {text}: give I/N with I from 1 to N, such as 2/3")
    return index, count


def shard(runs: Sequence[Run], index: int, count: int) -> list[Run]:
    """Return the runs of one of ``count`` shards. Every run is in exactly one."""
    longest = sorted(runs, key=lambda run: (-run.budget, run.name))
    mine = {run.name for run in longest[index - 1 :: count]}
    return [run for run in runs if run.name in mine]


class Result(BaseModel, extra="forbid", frozen=True):
    """The result of one run: exit status, verdict in words, traces below the file's folder.

    ``tolerated`` says that it took a tolerance, ``not_compared`` has the lines of the verdict that say so.
    """

    run: str
    code: ExitCode
    text: str
    tolerated: bool = False
    seconds: float = 0.0
    budget: float = 0.0
    left: str | None = None
    right: str | None = None
    not_compared: tuple[str, ...] = ()


class Results(BaseModel, extra="forbid", frozen=True):
    """The results of one shard; ``suite`` names the runs of all, ``evidence`` has the diff coverage."""

    format: Literal[1] = _FORMAT
    command: str
    shard: tuple[int, int] = (1, 1)
    suite: tuple[str, ...]
    results: tuple[Result, ...]
    evidence: Evidence | None = None


def write_results(folder: Path, results: Results) -> None:
    """Write the file to the folder of the traces."""
    write_whole(folder / FILE, results.model_dump_json(indent=1) + "\n")


def read_results(folder: Path) -> Results | None:
    """Read the results that were written to a folder, if any were. Raises `UnusableInput` if damaged."""
    path = folder / FILE
    if not path.is_file():
        return None
    try:
        return Results.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, ValidationError) as error:
        raise UnusableInput(f"{path} is damaged: {str(error).splitlines()[0]}") from None


@dataclass(frozen=True, slots=True)
class Merged:
    """The results of a whole suite: every run of it exactly once, with the folder of its shard."""

    shards: int
    missing: tuple[int, ...]
    results: tuple[tuple[Path, Result], ...]
    evidence: Evidence | None

    @property
    def code(self) -> int:
        """The exit status of the whole: never 0 where a shard left no result."""
        lost = [ExitCode.RUN_FAILED] if self.missing else []
        return worst([*lost, *(result.code for _, result in self.results)])


def merge(folders: Sequence[Path]) -> Merged:
    """Put the results of shards together: a shard without any is missing, a run that nobody judged failed.

    Raises `UnusableInput` if the folders are of different suites, or one shard is there twice.
    """
    found = [(folder, results) for folder in folders if (results := read_results(folder)) is not None]
    if not found:
        raise UnusableInput(
            f"no {FILE} in {', '.join(map(str, folders))}: run `golden verify` or `golden ab` with -o DIR"
        )
    first = found[0][1]
    count = first.shard[1]
    for folder, results in found[1:]:
        same = (results.command, results.suite, results.shard[1]) == (first.command, first.suite, count)
        if not same:
            raise UnusableInput(f"{folder} and {found[0][0]} are not shards of one suite")
    seen = Counter(results.shard[0] for _, results in found)
    twice = [str(index) for index, times in seen.items() if times > 1]
    if twice:
        raise UnusableInput(f"shard {twice[0]} of {count} is there twice")
    judged = {result.run: (folder, result) for folder, results in found for result in results.results}
    missing = tuple(index for index in range(1, count + 1) if index not in seen)
    lost = (
        f"no result: shard {' and '.join(map(str, missing))} of {count} left none" if missing else "no result"
    )
    everything = []
    for run in first.suite:
        fallback = Result(run=run, code=ExitCode.RUN_FAILED, text=f"{run}: {lost}")
        everything.append(judged.get(run, (found[0][0], fallback)))
    return Merged(count, missing, tuple(everything), _evidence([results.evidence for _, results in found]))


def _evidence(found: Sequence[Evidence | None]) -> Evidence | None:
    """Put the diff coverage of all shards together; None if they were not asked for it."""
    known = [each for each in found if each is not None]
    if not known:
        return None
    if len(known) < len(found):
        raise UnusableInput("one shard says what it reached of a change, another does not")
    return merged(known)
