"""A suite as jobs, one for each run; their results are put together as those of shards are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from golden.check.results import FILE, Result, Results, merge, read_results, write_results
from golden.executors.jobs import Ended, Finished, Job, Lost, run_jobs
from golden.executors.settings import Executor
from golden.reach.reached import Reached, read_reached
from golden.record import Run
from golden.trace.errors import ExitCode

JOBS = "jobs"
# A recording may take as many times its budget, and some seconds more, if its own timeout allows it.
_PATIENCE, _GRACE_S = 4.0, 60.0


@dataclass(frozen=True, slots=True)
class Asked:
    """A run, how a command names it, and how many recordings that command makes of it."""

    run: Run
    named: str
    recordings: int

    @property
    def seconds(self) -> float:
        """How long it may take."""
        return self.recordings * min(self.run.timeout, _PATIENCE * self.run.budget + _GRACE_S)

    @property
    def gpus(self) -> int:
        """How many GPUs it needs: ``cuda:N`` is the one after N others."""
        kind, _, number = self.run.device.partition(":")
        return int(number or 0) + 1 if kind == "cuda" else 0


def run_suite(
    command: str,
    asked: Sequence[Asked],
    options: Sequence[str],
    executor: Executor,
    *,
    root: Path,
    refs: Sequence[str] = (),
    notify: Callable[[str], None],
) -> list[Result]:
    """What came of ``golden COMMAND RUN OPTIONS`` for each run.

    Traces are below the executor's folder. A job that is lost is a run that failed.
    """
    if not asked:
        # A shard of a suite that has fewer runs than shards.
        return []
    root = root.resolve()
    jobs = [
        Job(
            name=each.run.name,
            argv=[command, each.named, f"--root={root}", *options, f"--out={folder}"],
            folder=folder,
            seconds=each.seconds,
            cpus=max(2, each.run.threads),
            gpus=each.gpus,
        )
        for each in asked
        for folder in [executor.folder / JOBS / each.run.name]
    ]
    ended = run_jobs(jobs, executor, root=root, refs=refs, notify=notify)
    suite = tuple(job.name for job in jobs)
    for index, (job, end, each) in enumerate(zip(jobs, ended, asked, strict=True), 1):
        result = _result(job, end, each.run)
        shard = (index, len(jobs))
        write_results(job.folder, Results(command=command, shard=shard, suite=suite, results=(result,)))
    merged = merge([job.folder for job in jobs])
    return [_below(executor.folder, folder, result) for folder, result in merged.results]


def reached_by(result: Result, out: Path) -> tuple[Reached, Reached] | None:
    """The lines that a run executed of the base, if that ran, and of the head; None of one without traces."""
    after = read_reached(out / result.right) if result.right else None
    before = read_reached(out / result.left) if result.left else Reached({})
    return (before, after) if before and after else None


def _result(job: Job, end: Ended, run: Run) -> Result:
    match end:
        case Lost(why=why):
            code = ExitCode.RUN_FAILED
        case Finished(status=status, said=said):
            found = read_results(job.folder) if (job.folder / FILE).exists() else None
            if found is not None:
                return found.results[0]
            code = ExitCode.UNUSABLE if status == ExitCode.UNUSABLE else ExitCode.RUN_FAILED
            why = said.removeprefix("golden: ") or f"its job ended with status {status}, without a result"
    return Result(run=run.name, code=code, text=f"golden: {run.name}: {why}", budget=run.budget)


def _below(top: Path, folder: Path, result: Result) -> Result:
    """The result with its traces told from the folder of all jobs."""
    traces = {side: getattr(result, side) for side in ("left", "right")}
    known = {side: str((folder / path).relative_to(top)) for side, path in traces.items() if path}
    return result.model_copy(update=known)
