"""Jobs: queued, waited for, and what became of each."""

from __future__ import annotations

import contextlib
import logging
import math
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from golden.executors import task as tasks
from golden.executors.settings import Executor
from golden.executors.task import Task, tree_state
from golden.trace.errors import UnusableInput

_POLL_S, _ASK_EVERY_S = 0.5, 15.0
# submitit takes a signal for the end of the time, not for a pre-emption, in the last fifth of the time and in
# the last ten minutes.
_LAST_PART, _LAST_S = 0.2, 600.0
_TIMED_OUT = "timed-out too many times"
LOGS = "logs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A command of golden, as a job.

    Attributes:
        name: what it is called.
        argv: the command; its results go to ``folder``, which must not be there yet.
        folder: the job's alone.
        goes_on: whether the command goes on with what it finds in its folder.
        seconds: how long it may take.
        cpus: how many cores it needs.
        gpus: how many GPUs.
    """

    name: str
    argv: Sequence[str]
    folder: Path
    seconds: float
    cpus: int = 2
    gpus: int = 0
    goes_on: bool = False


@dataclass(frozen=True, slots=True)
class Finished:
    """The command came to its end, with an exit status; ``said`` is the last line of its errors."""

    status: int
    said: str


@dataclass(frozen=True, slots=True)
class Lost:
    """There is no result, and why."""

    why: str


Ended = Finished | Lost


def run_jobs(
    jobs: Sequence[Job],
    executor: Executor,
    *,
    root: Path,
    refs: Sequence[str] = (),
    notify: Callable[[str], None],
) -> list[Ended]:
    """Queue every job and wait for all of them; whoever is interrupted cancels those that are left.

    A job that is pre-empted is queued again and begins anew, as often as that happens. Raises `UnusableInput`
    where no job can be queued.
    """
    _check(jobs, executor)
    state = tree_state(str(root), refs)
    if not state:
        notify(f"{root} is not in a git repository: change nothing in it while jobs wait")
    submit = _submitter(executor)
    ended: dict[str, Ended] = {}
    waiting, running = list(jobs), list[tuple[Job, Any]]()
    states: dict[str, str] = {}
    asked = time.monotonic()
    package = str(Path(__file__).resolve().parents[2])
    try:
        while waiting or running:
            while waiting and (executor.at_a_time is None or len(running) < executor.at_a_time):
                job = waiting.pop(0)
                task = Task(
                    job.argv, package, str(job.folder), str(root), tuple(refs), state, not job.goes_on
                )
                running.append((job, queued := submit(job, task)))
                notify(f"{job.name}: job {queued.job_id} of {executor.name}")
            ask = time.monotonic() - asked > _ASK_EVERY_S
            asked = time.monotonic() if ask else asked
            for job, queued in list(running):
                if queued.done(force_check=ask):
                    running.remove((job, queued))
                    ended[job.name] = _ended(queued)
                elif (now := str(queued.state)) not in (states.get(job.name), "UNKNOWN"):
                    states[job.name] = now
                    notify(f"{job.name}: job {queued.job_id} is {now.lower()}")
            if running:
                time.sleep(_POLL_S)
    finally:
        for _, queued in running:
            with contextlib.suppress(OSError, subprocess.SubprocessError):
                queued.cancel(check=False)
    return [ended[job.name] for job in jobs]


def limit_minutes(seconds: float) -> int:
    """The limit of a job that may take ``seconds``: longer, so that no pre-emption is taken for its end."""
    return math.ceil(max(seconds / (1 - _LAST_PART), seconds + _LAST_S) / 60)


def _check(jobs: Sequence[Job], executor: Executor) -> None:
    if len({job.folder for job in jobs}) < len(jobs):
        raise UnusableInput("two jobs can't share a folder: name each run once")
    for job in jobs:
        if job.folder.exists() and not job.goes_on:
            raise UnusableInput(f"{job.folder} exists already; name another folder with -o, or remove it")
    if executor.name == "slurm":
        # submitit asks sacct for the states of jobs; without it a lost job looks like one that waits.
        try:
            done = subprocess.run(
                ["sacct", "-n", "-X", "-j", "1"], capture_output=True, text=True, check=False
            )
        except FileNotFoundError:
            raise UnusableInput("no Slurm here: sacct is not on PATH; try --executor local") from None
        if done.returncode != 0:
            why = " ".join(done.stderr.split())
            raise UnusableInput(f"Slurm keeps no accounts here, so a lost job could not be told: {why}")


def _submitter(executor: Executor) -> Callable[[Job, Task], Any]:
    """What queues a job; it raises `UnusableInput`."""
    import submitit  # an extra

    import cloudpickle  # isort: skip

    cloudpickle.register_pickle_by_value(tasks)
    logging.getLogger("submitit").setLevel(logging.WARNING)
    logs = executor.folder / LOGS

    def submit(job: Job, task: Task) -> Any:
        parameters: dict[str, Any] = {"timeout_min": limit_minutes(job.seconds), **executor.parameters}
        try:
            if executor.name == "local":
                # Golden's own locks give a run its device, so a job sees all of them.
                seen = _visible()
                made: Any = submitit.LocalExecutor(logs, max_num_timeout=0)
                made.update_parameters(**parameters, visible_gpus=seen, gpus_per_node=len(seen))
            else:
                made = submitit.AutoExecutor(logs, cluster="slurm", slurm_max_num_timeout=0)
                needed = {"cpus_per_task": job.cpus, **({"gpus_per_node": job.gpus} if job.gpus else {})}
                made.update_parameters(**{"name": f"golden-{job.name}", **needed, **parameters})
            return made.submit(task)
        except subprocess.CalledProcessError as error:
            reason = " ".join(str(error.stderr or error).split())
        except (ValueError, NameError, TypeError, AssertionError, RuntimeError, OSError) as error:
            reason = " ".join(str(error).split())
        raise UnusableInput(f"{executor.name} takes no job {job.name}: {reason}")

    return submit


def _visible() -> list[int]:
    """The numbers of the GPUs that this process may use."""
    import torch

    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is None:
        return list(range(torch.cuda.device_count()))
    try:
        return [int(name) for name in named.split(",") if name.strip()]
    except ValueError:
        raise UnusableInput("--executor local needs CUDA_VISIBLE_DEVICES as numbers") from None


def _ended(queued: Any) -> Ended:
    """What became of a job that is done."""
    failed = queued.exception()
    log = queued.paths.stderr
    lines = [line for line in (queued.stderr() or "").splitlines() if line.strip()]
    if failed is None:
        said = [line for line in lines if line.startswith("golden")]
        return Finished(int(queued.result()), said[-1] if said else "")
    where = f"job {queued.job_id}"
    if _TIMED_OUT in str(failed) or "TIMEOUT" in queued.state:
        return Lost(f"{where} ran over its time limit; its log is {log}")
    if type(failed).__name__ == "UncompletedJobError":
        return Lost(f"{where} was lost: it ended without a result ({queued.state.lower()}); its log is {log}")
    last = next((line for line in reversed(str(failed).splitlines()) if "Error: " in line), "")
    return Lost(f"{where} failed: {last.partition('Error: ')[2] or 'no reason was given'}; its log is {log}")
