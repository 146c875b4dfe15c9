"""Mistakes spread over jobs of a scheduler, each with its part of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from golden.executors.jobs import Finished, Job, Lost, run_jobs
from golden.executors.settings import Executor
from golden.executors.suite import JOBS, Asked
from golden.power.result import FILE, Power, merged
from golden.record import Run
from golden.trace.errors import NothingComparable, RunFailed, UnusableInput

# The reference of each run, and what a mistake that was begun in time may still take.
_RECORDINGS = 3


def measure_as_jobs(
    arguments: Sequence[str],
    runs: Sequence[Run],
    executor: Executor,
    *,
    minutes: float | None,
    root: Path,
    refs: Sequence[str],
    notify: Callable[[str], None],
) -> Power:
    """What ``golden mutate ARGUMENTS`` finds, with a job for each of as many parts as jobs go at a time.

    Raises `RunFailed` where a job was lost; the same command goes on with what all of them tried.
    """
    if minutes is None and "timeout_min" not in executor.parameters:
        raise UnusableInput(
            "--minutes 0 has no limit, and a job has one: say --parameter timeout_min=MINUTES"
        )
    count = executor.at_a_time or 1
    each = [Asked(run, run.name, _RECORDINGS) for run in runs]
    jobs = [
        Job(
            name=f"mutate-{index}-of-{count}",
            argv=[
                "mutate",
                *arguments,
                f"--root={root}",
                f"--shard={index}/{count}",
                "--jobs=1",
                f"-o{folder}",
            ],
            folder=folder,
            seconds=(minutes or 0) * 60 + sum(asked.seconds for asked in each),
            cpus=max([2, *(run.threads for run in runs)]),
            gpus=max(asked.gpus for asked in each),
            goes_on=True,
        )
        for index in range(1, count + 1)
        for folder in [executor.folder / JOBS / f"{index}-of-{count}"]
    ]
    for job in jobs:
        (job.folder / FILE).unlink(missing_ok=True)
    ended = run_jobs(jobs, executor, root=root, refs=refs, notify=notify)
    lost = [f"{job.name}: {end.why}" for job, end in zip(jobs, ended, strict=True) if isinstance(end, Lost)]
    if lost:
        raise RunFailed(f"{'; '.join(lost)}; the same command goes on with what was tried")
    for job, end in zip(jobs, ended, strict=True):
        if isinstance(end, Finished) and not (job.folder / FILE).exists():
            kind = {2: UnusableInput, 4: NothingComparable}.get(end.status, RunFailed)
            raise kind(f"{job.name}: {end.said.removeprefix('golden: ') or f'status {end.status}'}")
    return merged([job.folder for job in jobs])
