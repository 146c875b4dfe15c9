"""A run over all programs: measured in processes of their own, compared, written."""

from __future__ import annotations

import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.real import measure, tables
from benchmarks.real.corpus import Program, unpack

# Files that one process looks at.
SHARD = {"helpers": 25, "loops": 25, "plans": 10}


@dataclass(frozen=True, slots=True)
class Job:
    """A part of a stage for a program."""

    stage: str
    program: Program
    root: Path
    files: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Done:
    """Result of a job, with its CPU seconds and its peak memory in MB."""

    job: Job
    lines: list[str]
    seconds: float
    megabytes: float


def measured(
    programs: Sequence[Program], stages: Sequence[str], jobs: int
) -> tuple[dict[str, list[str]], list[Done]]:
    """The verdicts of each program, sorted, and what the jobs took."""
    verdicts: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory(prefix="real-") as folder:
        work: list[Job] = []
        for program in programs:
            root = unpack(program, Path(folder).resolve())
            verdicts[program.name] = measure.sizes(root)
            for stage in stages:
                work += _split(stage, program, root)
        # The longest first.
        work.sort(key=lambda job: (job.stage != "places", job.stage != "plans", -len(job.files)))
        with multiprocessing.get_context("fork").Pool(jobs, maxtasksperchild=1) as pool:
            done = []
            for each in pool.imap_unordered(_do, work, chunksize=1):
                done.append(each)
                if sys.stderr.isatty():
                    print(f"\rreal: {len(done)} of {len(work)} jobs", end="", file=sys.stderr)
    for each in done:
        verdicts[each.job.program.name] += each.lines
    return {name: sorted(set(lines)) for name, lines in verdicts.items()}, done


def _split(stage: str, program: Program, root: Path) -> list[Job]:
    if stage in ("places", "reviews"):
        return [Job(stage, program, root, ())]
    files, size = measure.files_of(stage, root), SHARD[stage]
    # A program's own plan needs no file of the sample.
    starts = range(0, len(files) or int(stage == "plans"), size)
    return [Job(stage, program, root, tuple(files[at : at + size])) for at in starts]


def _do(job: Job) -> Done:
    start = time.process_time()
    lines = measure.measure(job.stage, job.program, job.root, job.files)
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        1 << (20 if sys.platform == "darwin" else 10)
    )
    return Done(job, lines, seconds, peak)


def costs(done: Sequence[Done]) -> str:
    """A page of CPU seconds by program and stage, and the peak memory."""
    names = sorted({each.job.program.name for each in done})
    rows = []
    for name in [*names, ""]:
        mine = [each for each in done if each.job.program.name == name or not name]
        seconds = [sum(e.seconds for e in mine if e.job.stage == stage) for stage in measure.STAGES]
        peak = max(each.megabytes for each in mine)
        rows.append([name or "all", *(f"{s:.1f}" for s in seconds), f"{sum(seconds):.1f}", f"{peak:.0f}"])
    head = "Seconds of CPU by stage, and the peak memory of a process in MB. Not compared."
    return (
        f"# What a run takes\n\n{head}\n\n"
        + tables.table(["program", *measure.STAGES, "all", "MB"], rows)
        + "\n"
    )
