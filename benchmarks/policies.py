"""Does the learnt policy earn its place? Never grow, random, rules and PPO on the same hosts.

    python benchmarks/policies.py --data-dir DIR [--task NAME] [--seeds N] [--rounds R] [--reward-mode MODE]
                                  [--policies never,rules] [--jobs N] [--keep DIR]

PPO learns for R rounds with each seed. Then all policies get the same rounds of fresh hosts that none of them
has seen: initial weights, data order, augmentation, epochs and learning rates are equal, so that hosts are
compared in pairs. The learnt policy stands still; "ppo" takes its most likely action, "ppo, sampled" draws.
The standard error is that of the means of seeds, since hosts of one seed share a policy.
"""

from __future__ import annotations

import math
import multiprocessing
import statistics
import time
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import click
import torch
from rich.console import Console
from rich.table import Table

from esper.leyline import HEAD_INDEX, LifecycleOp, SlotConfig
from esper.runtime import get_task_spec
from esper.simic.agent import PPOAgent, PPOUpdateResult
from esper.simic.training import vectorized
from esper.simic.training.config import TrainingConfig
from esper.tamiyo import choose_actions
from esper.tolaria.runtime import keep_freed_memory

POLICIES = ("never", "random", "rules", "ppo, sampled", "ppo")
UNSEEN = 10_000
"""Added to a seed: hosts and data orders that no training has seen."""


class Fixed(PPOAgent):
    """A policy that does not learn."""

    def update(self, *arguments: Any, **options: Any) -> PPOUpdateResult:
        for parameter in self.policy.parameters():
            parameter.grad = torch.zeros_like(parameter)  # what is reported of a round looks at gradients
        return PPOUpdateResult(skipped=None, epochs=0, stopped_early=False, metrics={})


class Never(Fixed):
    """Waits in every step."""

    def get_action(self, *arguments: Any, **options: Any) -> Any:
        decided = super().get_action(*arguments, **options)
        actions = decided.actions.clone()
        actions[:, HEAD_INDEX["op"]] = int(LifecycleOp.WAIT)
        return replace(decided, actions=actions)


class Random(Fixed):
    """Draws each head from what is legal, all choices alike."""

    def get_action(self, features: Any, masks: Any, hidden: Any, noise: Any = None) -> Any:
        decided = super().get_action(features, masks, hidden, noise)
        alike = {name: torch.zeros(mask.shape) for name, mask in masks.items()}
        return replace(decided, actions=choose_actions(alike, masks, noise))


class Learnt(Fixed):
    """The policy of a checkpoint, sampled."""

    checkpoint: Path

    def __init__(self, slot_config: SlotConfig, *arguments: Any, **options: Any) -> None:
        super().__init__(slot_config, *arguments, **options)
        trained, _ = PPOAgent.load(self.checkpoint)
        self.policy, self.observations = trained.policy, trained.observations


class Greedy(Learnt):
    """The policy of a checkpoint, taking what is most likely."""

    def get_action(self, features: Any, masks: Any, hidden: Any, noise: Any = None) -> Any:
        return super().get_action(features, masks, hidden, None)


@dataclass(frozen=True, slots=True)
class Hosts:
    """Final validation accuracies and returns of the same hosts under one policy."""

    accuracies: tuple[float, ...]
    returns: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Job:
    """What one seed does: a run's settings, the rounds of hosts to compare on, the folder of its policy."""

    seed: int
    settings: Mapping[str, Any]
    policies: tuple[str, ...]
    compared_rounds: int
    folder: Path

    @property
    def checkpoint(self) -> Path:
        """Where the learnt policy is kept."""
        return self.folder / f"policy-{self.seed}.pt"


def compare(job: Job) -> dict[str, Hosts]:
    """Train with one seed, then show all policies the same hosts."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    keep_freed_memory()
    if any(name.startswith("ppo") for name in job.policies):
        _learn(job)
    shown = job.settings | {"rounds": job.compared_rounds, "seed": UNSEEN + job.seed, "quiet": True}
    agents: dict[str, type[PPOAgent]] = {
        "never": Never,
        "random": Random,
        "ppo, sampled": type("Agent", (Learnt,), {"checkpoint": job.checkpoint}),
        "ppo": type("Agent", (Greedy,), {"checkpoint": job.checkpoint}),
    }
    found = {name: _hosts(TrainingConfig(**shown), agents[name]) for name in job.policies if name in agents}
    rules = {name: shown[name] for name in shown if not name.startswith("entropy")}
    return found | {"rules": _hosts(TrainingConfig(**rules, policy="heuristic"), PPOAgent)}


def _learn(job: Job) -> None:
    """Train PPO for the rounds asked for, from where an earlier call stopped."""
    wanted = TrainingConfig(**job.settings, seed=job.seed, quiet=True, save=job.checkpoint)
    if job.checkpoint.exists():
        done = PPOAgent.load(job.checkpoint)[1]["rounds"]
        if done >= wanted.rounds:
            return
        wanted = wanted.replaced({"resume": job.checkpoint})
    vectorized.train_ppo_vectorized(wanted, get_task_spec(wanted.task))


def _hosts(config: TrainingConfig, agent: type[PPOAgent]) -> Hosts:
    with patch.object(vectorized, "PPOAgent", agent):
        rounds = vectorized.train_ppo_vectorized(config, get_task_spec(config.task)).rounds
    return Hosts(
        tuple(accuracy for done in rounds for accuracy in done.accuracies),
        tuple(value for done in rounds for value in done.returns),
    )


def table(found: Sequence[Mapping[str, Hosts]]) -> Table:
    """Means over seeds with their standard errors, and the paired difference to the rules."""
    shown = Table("policy", box=None, padding=(0, 2, 0, 0))
    for title in ("final accuracy", "minus rules", "better hosts", "return"):
        shown.add_column(title, justify="right")
    for name in (name for name in POLICIES if name in found[0]):
        gains = [
            [
                ours - theirs
                for ours, theirs in zip(seed[name].accuracies, seed["rules"].accuracies, strict=True)
            ]
            for seed in found
        ]
        flat = [gain for of_seed in gains for gain in of_seed]
        paired = "" if name == "rules" else _mean([statistics.fmean(of_seed) for of_seed in gains], "+.4f")
        better = "" if name == "rules" else f"{sum(gain > 0 for gain in flat)} of {len(flat)}"
        accuracy = _mean([statistics.fmean(seed[name].accuracies) for seed in found], ".4f")
        shown.add_row(
            name,
            accuracy,
            paired,
            better,
            _mean([statistics.fmean(seed[name].returns) for seed in found], "+.2f"),
        )
    return shown


def _mean(values: Sequence[float], form: str) -> str:
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return f"{statistics.fmean(values):{form}} +- {error:{form.lstrip('+')}}"


@click.command()
@click.option("--data-dir", type=click.Path(path_type=Path, exists=True), help="Default: synthetic images.")
@click.option("--task", default="cifar_impaired", show_default=True)
@click.option("--policies", default="never,random,rules,ppo", show_default=True, help="Rules always are.")
@click.option("--seeds", default=5, show_default=True)
@click.option("--rounds", default=40, show_default=True, help="That PPO learns in.")
@click.option("--compared-rounds", default=2, show_default=True, help="Of fresh hosts, for every policy.")
@click.option("--envs", default=8, show_default=True)
@click.option("--episode-length", default=16, show_default=True)
@click.option("--train-images", default=512, show_default=True)
@click.option("--val-images", default=256, show_default=True)
@click.option("--reward-mode", default="shaped", show_default=True)
@click.option("--entropy-start", default=0.05, show_default=True)
@click.option("--entropy-anneal-episodes", default=0, show_default=True)
@click.option("--jobs", default=1, show_default=True, help="Seeds side by side, a thread each.")
@click.option("--keep", type=click.Path(path_type=Path), default=Path("out/policies"), show_default=True)
def main(policies: str, seeds: int, jobs: int, keep: Path, compared_rounds: int, **settings: Any) -> None:
    """Train, compare, print the table. Learnt policies are kept; a second call goes on from them."""
    asked = policies.split(",")
    if unknown := set(asked) - set(POLICIES):
        raise click.UsageError(f"--policies {min(unknown)}: expected some of never, random, rules, ppo")
    shown = tuple(name for name in POLICIES if name.split(",")[0] in asked)
    keep.mkdir(parents=True, exist_ok=True)
    console, started = Console(highlight=False), time.perf_counter()
    work = [Job(seed, settings, shown, compared_rounds, keep) for seed in range(seeds)]
    found: list[Mapping[str, Hosts]] = []
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        for job, hosts in zip(work, pool.map(compare, work), strict=True):
            found.append(hosts)
            means = "  ".join(f"{name} {statistics.fmean(of.accuracies):.4f}" for name, of in hosts.items())
            console.print(f"seed {job.seed}: {means}", soft_wrap=True)
    console.print(table(found))
    console.print(f"{len(found)} seeds, {time.perf_counter() - started:.0f} s, {jobs} at a time")


if __name__ == "__main__":
    main()
