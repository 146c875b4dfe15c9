"""Do hosts that grow end above hosts that don't, after equally many epochs?

    python benchmarks/growth.py [--task NAME] [--data-dir DIR] [--seeds N] [--rounds N] [--envs N]
                                [--episode-length L]

Runs of a few rounds of fresh hosts. The same hosts, initial weights, data order, augmentation and learning
rates, once with the rule-based policy that grows modules, once with one that always waits. Printed are the
mean final validation accuracies of every round's hosts and the paired difference over all hosts.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
import warnings
from pathlib import Path

import torch

from esper.leyline import FactoredAction
from esper.runtime import get_task_spec
from esper.simic.training import vectorized
from esper.simic.training.config import TrainingConfig
from esper.tamiyo import ActionMasks, HeuristicPolicy
from esper.tolaria.runtime import keep_freed_memory


class Waiting(HeuristicPolicy):
    """Never acts."""

    def decide(self, signals: object, reports: object, masks: ActionMasks) -> FactoredAction:
        return FactoredAction(0, 0, 0, 0, 0, 0, 0, op=0)


def final_accuracies(config: TrainingConfig, policy: type[HeuristicPolicy]) -> list[tuple[float, ...]]:
    """Validation accuracy of every host after its last epoch [rounds][envs]."""
    original, vectorized.HeuristicPolicy = vectorized.HeuristicPolicy, policy
    try:
        result = vectorized.train_ppo_vectorized(config, get_task_spec(config.task))
    finally:
        vectorized.HeuristicPolicy = original
    return [tuple(done.accuracies) for done in result.rounds]


def main(argv: list[str] | None = None) -> int:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", default="cifar_impaired")
    parser.add_argument("--data-dir", type=Path, default=None)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--envs", type=int, default=2)
    parser.add_argument("--episode-length", type=int, default=20)
    parser.add_argument("--train-images", type=int, default=None)
    parser.add_argument("--val-images", type=int, default=None)
    options = vars(parser.parse_args(argv))
    seeds = options.pop("seeds")
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    keep_freed_memory()
    started = time.perf_counter()
    differences: list[float] = []
    print(f"{'seed':>4} {'round':>5} {'ungrown':>8} {'grown':>8} {'difference':>11}")
    for seed in range(seeds):
        config = TrainingConfig(**options, seed=seed, policy="heuristic")
        arms = [final_accuracies(config, policy) for policy in (Waiting, HeuristicPolicy)]
        for index, (plain, grown) in enumerate(zip(*arms, strict=True)):
            gains = [ours - theirs for ours, theirs in zip(grown, plain, strict=True)]
            differences += gains
            means = [statistics.fmean(values) for values in (plain, grown, gains)]
            print(f"{seed:4} {index:5} {means[0]:8.3f} {means[1]:8.3f} {means[2]:+11.3f}", flush=True)
    error = statistics.stdev(differences) / math.sqrt(len(differences)) if len(differences) > 1 else math.nan
    print(
        f"grown minus ungrown: {statistics.fmean(differences):+.3f} (standard error {error:.3f}) "
        f"over {len(differences)} hosts; {sum(gain > 0 for gain in differences)} of them above"
    )
    print(f"{time.perf_counter() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
