"""Cost of spreading hosts over processes, in processor time.

    python benchmarks/distributed.py [--ranks 1,2,3,4] [--envs N] [--rounds R] [--repeat K] [--task NAME]

The same run by the vectorized engine and by so many ranks of torchrun on this machine, one thread each, one
after the other, repeated alternately. Printed for each: processor seconds of all rollouts over those of one
process (what spreading costs), one process's over the busiest rank's (the speed-up that so many cores could
see at most), the part of it that goes into messages, and how many messages and bytes rank 0 passes for each
env-step. Import and preparation are not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from esper.scripts.train import main as train
from esper.simic.client import SimicClient
from esper.tolaria import distributed_engine, engine
from esper.tolaria.distributed_engine import Ranks

FOLDER = "ESPER_BENCHMARK_FOLDER"


class Counted(Ranks):
    """Counts what passes through this rank, and the processor time that it takes."""

    seconds = 0.0
    messages = 0
    passed = 0

    def gather(self, mine: Any) -> list[Any] | None:
        started = time.process_time()
        gathered = super().gather(mine)
        Counted.seconds += time.process_time() - started
        self._count(gathered)
        return gathered

    def scatter(self, parts: Sequence[Any] | None) -> Any:
        started = time.process_time()
        mine = super().scatter(parts)
        Counted.seconds += time.process_time() - started
        self._count(parts)
        return mine

    def _count(self, values: Sequence[Any] | None) -> None:
        for value in (values or ())[1:]:
            Counted.messages += 1
            Counted.passed += len(pickle.dumps(value))


# What no further rank takes over.
DECIDES = ("choose_configurations", "measure_contributions", "choose_actions", "reward_actions", "update")


def timed(owner: type, name: str, spent: list[float]) -> None:
    """Add up the processor time that a method takes."""
    act = getattr(owner, name)

    def call(self: Any, *given: Any) -> Any:
        started = time.process_time()
        result = act(self, *given)
        spent[0] += time.process_time() - started
        return result

    setattr(owner, name, call)


def one_rank(argv: Sequence[str]) -> int:
    """Train, and write down what the rollouts took."""
    spent, decided = [0.0], [0.0]
    timed(engine.VectorizedEngine, "rollout", spent)
    for name in DECIDES:
        timed(SimicClient, name, decided)
    distributed_engine.Ranks = Counted  # type: ignore[misc]
    status = train(argv)
    found = {
        "decided": decided[0],
        "spent": spent[0],
        "told": Counted.seconds,
        "messages": Counted.messages,
        "bytes": Counted.passed,
    }
    Path(os.environ[FOLDER], os.environ.get("RANK", "0")).write_text(json.dumps(found))
    return status


def measure(size: int, argv: Sequence[str]) -> list[dict[str, float]]:
    """One run by so many ranks, or by one process without any for 0."""
    start = [sys.executable]
    if size:
        start += ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(size)]
        argv = [*argv, "--engine", "distributed"]
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {FOLDER: folder, "OMP_NUM_THREADS": "1"}
        subprocess.run([*start, __file__, *argv], env=environment, check=True)
        return [json.loads(Path(folder, str(rank)).read_text()) for rank in range(max(size, 1))]


def main() -> int:
    """Measure and print the table."""
    if FOLDER in os.environ:
        return one_rank(sys.argv[1:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--ranks", default="1,2,3,4")
    parser.add_argument("--envs", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--task", default="cifar_baseline")
    parser.add_argument("--train-images", type=int, default=512)
    parser.add_argument("--val-images", type=int, default=128)
    options = parser.parse_args()
    argv = ["ppo", "--task", options.task, "--envs", str(options.envs), "--rounds", str(options.rounds)]
    argv += ["--episode-length", str(options.epochs), "--train-images", str(options.train_images)]
    argv += ["--val-images", str(options.val_images), "--quiet"]
    epochs = options.rounds * options.epochs
    steps = options.envs * options.rounds * options.epochs
    sizes = [0, *map(int, options.ranks.split(","))]
    runs: dict[int, list[list[dict[str, float]]]] = {size: [] for size in sizes}
    for _ in range(options.repeat):
        for size in sizes:
            runs[size].append(measure(size, argv))
    alone = [run[0]["spent"] for run in runs[0]]
    print(f"{steps} env-steps of {options.task}, {options.repeat} times; medians of processor time")
    each = statistics.median(alone) / steps * 1e3
    print(f"one process: {statistics.median(alone):.2f} s, {each:.1f} ms a step")
    decided = statistics.median(run[0]["decided"] for run in runs[0]) / steps * 1e3
    print(f"the client, which rank 0 has alone, policy updates included: {decided:.2f} ms a step")
    print("ranks  all/one  one/busiest  messages' share  of rank 0, ms an epoch  messages  bytes a step")
    for size in sizes[1:]:
        total = [sum(rank["spent"] for rank in run) for run in runs[size]]
        busiest = [max(rank["spent"] for rank in run) for run in runs[size]]
        told = [sum(rank["told"] for rank in run) for run in runs[size]]
        median = statistics.median
        print(
            f"{size:5}  {median(t / a for t, a in zip(total, alone, strict=True)):7.3f}"
            f"  {median(a / b for a, b in zip(alone, busiest, strict=True)):11.2f}"
            f"  {median(m / t for m, t in zip(told, total, strict=True)):15.2%}"
            f"  {median(run[0]['told'] for run in runs[size]) / epochs * 1e3:21.2f}"
            f"  {runs[size][0][0]['messages'] / steps:8.2f}  {runs[size][0][0]['bytes'] / steps:,.0f}"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
