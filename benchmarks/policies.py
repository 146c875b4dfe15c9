"""Does the learnt policy earn its place? PPO, fixed rules and no growth, judged on held-out images.

    python benchmarks/policies.py --data-dir DIR [--jobs N] [--seeds N] [--rounds R] [--output results.json]

CIFAR-10's test images are held out: neither training nor a decision sees them. Decisions are made on the last
fifth of every training file. With each seed PPO learns for R rounds; then all arms get the same fresh hosts,
which none of them has seen: initial weights, data order, augmentation, epochs and learning rates are equal.
The tuned rule is the best of a grid on hosts of other seeds, by the accuracy that decisions see. With
`--limit` R is as large as the time allows, by the speed that the grid showed.

The unit of the paired t-test is the seed: hosts of one seed share a policy. Results are written as they come.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import multiprocessing
import pickle
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import click
import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from esper.leyline import (
    ALPHA_TARGET_VALUES,
    BLUEPRINT_NAMES,
    FactoredAction,
    LifecycleOp,
    SeedStage,
    SlotConfig,
)
from esper.runtime import get_task_spec
from esper.simic.agent import PPOAgent, PPOUpdateResult
from esper.simic.training import run_state, vectorized
from esper.simic.training.config import TrainingConfig
from esper.tamiyo import HeuristicPolicy
from esper.tolaria.cifar import TEST_FILES, TRAIN_FILES
from esper.tolaria.data import SharedBatchIterator, load_data
from esper.tolaria.engine import VectorizedEngine
from esper.tolaria.runtime import keep_freed_memory

CPU = torch.device("cpu")
COMPARED, TUNED = 10_000, 20_000
"""Added to a seed: hosts that no training has seen, and those that the rule is tuned on."""
ARMS = ("never", "rules", "script", "tuned", "ppo")


@dataclass(frozen=True, slots=True)
class Rule:
    """Settings of a fixed rule: what it grows, from which epoch, in which order, when it moves seeds on."""

    blueprint: str = "conv_heavy"
    first_epoch: int = 1
    training_epochs: int = 1
    last_slot_first: bool = False
    min_contribution: float = -1.0


class Ruled(HeuristicPolicy):
    """Germinates where it can, advances seeds after some epochs, keeps those that contribute enough."""

    rule = Rule()

    def decide(self, signals: Any, reports: Any, masks: Any) -> FactoredAction:
        rule = self.rule
        slots = range(self._slots.num_slots)
        for slot in reversed(slots) if rule.last_slot_first else slots:
            if signals.epoch >= rule.first_epoch and self._legal(masks, LifecycleOp.GERMINATE, slot):
                return self._answer(LifecycleOp.GERMINATE, slot)
        for report in reports.values():
            slot = self._slots.index_of(report.slot_id)
            trained = report.stage is not SeedStage.TRAINING or report.epochs_in_stage >= rule.training_epochs
            if trained and self._legal(masks, LifecycleOp.ADVANCE, slot):
                return self._answer(LifecycleOp.ADVANCE, slot)
            enough = (report.contribution or 0.0) >= rule.min_contribution
            if enough and self._legal(masks, LifecycleOp.FOSSILIZE, slot):
                return self._answer(LifecycleOp.FOSSILIZE, slot)
        return self._answer(LifecycleOp.WAIT, 0)

    def _legal(self, masks: Any, op: LifecycleOp, slot: int) -> bool:
        return bool(masks.heads["op"][op] and masks.slot_by_op[op][slot])

    def _answer(self, op: LifecycleOp, slot: int) -> FactoredAction:
        blueprint, target = BLUEPRINT_NAMES.index(self.rule.blueprint), len(ALPHA_TARGET_VALUES) - 1
        return FactoredAction(slot, blueprint, 0, 0, target, 0, 0, int(op))


class Never(HeuristicPolicy):
    """Waits in every step."""

    def decide(self, signals: Any, reports: Any, masks: Any) -> FactoredAction:
        return FactoredAction(0, 0, 0, 0, 0, 0, 0, int(LifecycleOp.WAIT))


class Greedy(PPOAgent):
    """The policy of a checkpoint: takes the most likely choice and learns nothing."""

    checkpoint: Path

    def __init__(self, slot_config: SlotConfig, *arguments: Any, **options: Any) -> None:
        super().__init__(slot_config, *arguments, **options)
        trained, _ = PPOAgent.load(self.checkpoint)
        self.policy, self.observations = trained.policy, trained.observations

    def get_action(self, features: Any, masks: Any, hidden: Any, noise: Any = None) -> Any:
        return super().get_action(features, masks, hidden, None)

    def update(self, *arguments: Any, **options: Any) -> PPOUpdateResult:
        for parameter in self.policy.parameters():
            parameter.grad = torch.zeros_like(parameter)  # the report of a round reads gradients
        return PPOUpdateResult(skipped=None, epochs=0, stopped_early=False, metrics={})


class HeldOutEngine(VectorizedEngine):
    """Judges hosts on held-out images too, after the last epoch of an episode."""

    data: Any
    found: list[float]
    params: list[int]

    def validate(self, configurations: Any) -> list[list[float]]:
        totals = super().validate(configurations)
        if self._env_states[0].epoch == self._setup.episode_length:
            for env_state in self._env_states:
                self.found.append(self._accuracy(env_state.model))
                self.params.append(env_state.model.total_parameters)
        return totals

    @torch.inference_mode()
    def _accuracy(self, model: Any) -> float:
        batches = SharedBatchIterator(self.data, 250, [CPU])
        right = sum(int((model(inputs).argmax(1) == labels).sum()) for [(inputs, labels)] in batches)
        return right / self.data.val_size


@dataclass(frozen=True, slots=True)
class Hosts:
    """Of every host of an arm: accuracy on held-out images and on those of decisions, return, parameters."""

    held_out: tuple[float, ...]
    seen: tuple[float, ...]
    returns: tuple[float, ...]
    params: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Study:
    """Settings that all arms share, and where data and policies are."""

    settings: Mapping[str, Any]
    rounds: int
    compared_rounds: int
    data_dir: Path
    folder: Path

    def hosts(self, seed: int, policy: type[HeuristicPolicy] | type[PPOAgent]) -> Hosts:
        """Fresh hosts of a seed under a policy."""
        learnt = issubclass(policy, PPOAgent)
        config = TrainingConfig(
            **self.settings,
            data_dir=self.folder,
            rounds=self.compared_rounds,
            seed=seed,
            quiet=True,
            policy="ppo" if learnt else "heuristic",
        )
        task = get_task_spec(config.task)
        held_out = load_data(task, self.data_dir)
        engine = type("Engine", (HeldOutEngine,), {"data": held_out, "found": [], "params": []})
        with (
            patch.object(vectorized, "PPOAgent", policy if learnt else PPOAgent),
            patch.object(run_state, "HeuristicPolicy", HeuristicPolicy if learnt else policy),
            patch.object(vectorized, "find_engine", lambda name: engine),
        ):
            rounds = vectorized.train_ppo_vectorized(config, task).rounds
        return Hosts(
            tuple(engine.found),
            tuple(accuracy for done in rounds for accuracy in done.accuracies),
            tuple(value for done in rounds for value in done.returns),
            tuple(engine.params),
        )

    def learn(self, seed: int) -> Path:
        """Train PPO; its checkpoint."""
        path = self.folder / f"policy-{seed}.pt"
        config = TrainingConfig(
            **self.settings, data_dir=self.folder, rounds=self.rounds, seed=seed, quiet=True, save=path
        )
        vectorized.train_ppo_vectorized(config, get_task_spec(config.task))
        return path


@dataclass(frozen=True, slots=True)
class Job:
    """One arm with one seed."""

    arm: str
    seed: int
    rule: Rule = dataclasses.field(default_factory=Rule)

    def run(self, study: Study) -> tuple[Job, Hosts, float, float]:
        """The arm's hosts, and the seconds that they took, of processor time and by the clock."""
        torch.set_num_threads(1)
        warnings.simplefilter("ignore")
        keep_freed_memory()
        started, clock = time.process_time(), time.perf_counter()
        policy: type[Any]
        if self.arm == "ppo":
            policy = type("Agent", (Greedy,), {"checkpoint": study.learn(self.seed)})
        elif self.arm == "rules":
            policy = HeuristicPolicy
        elif self.arm == "never":
            policy = Never
        else:
            policy = type("Policy", (Ruled,), {"rule": self.rule})
        found = study.hosts((TUNED if self.arm == "grid" else COMPARED) + self.seed, policy)
        return self, found, time.process_time() - started, time.perf_counter() - clock


GRID = tuple(
    Rule(first_epoch=first, training_epochs=epochs, min_contribution=least)
    for first, epochs, least in itertools.product((1, 2), (1, 2), (-1.0, 0.0, 0.01))
)


def split(data_dir: Path, folder: Path) -> None:
    """Write training files without their last fifth, and a test file that holds these fifths."""
    source, target = data_dir / "cifar-10-batches-py", folder / "cifar-10-batches-py"
    target.mkdir(parents=True, exist_ok=True)
    kept: list[dict[str, Any]] = []
    for name in TRAIN_FILES:
        entry = pickle.loads((source / name).read_bytes(), encoding="latin1")
        first = len(entry["labels"]) * 4 // 5
        parts = [
            {"data": entry["data"][rows], "labels": entry["labels"][rows]}
            for rows in (slice(first), slice(first, None))
        ]
        (target / name).write_bytes(pickle.dumps(parts[0]))
        kept.append(parts[1])
    entry = {
        "data": np.concatenate([part["data"] for part in kept]),
        "labels": [label for part in kept for label in part["labels"]],
    }
    (target / TEST_FILES[0]).write_bytes(pickle.dumps(entry))


def t_test(differences: Sequence[float]) -> tuple[float, float, float, float]:
    """Mean, standard error, t and two-sided p of paired differences."""
    count = len(differences)
    mean = statistics.fmean(differences)
    error = statistics.stdev(differences) / math.sqrt(count) if count > 1 else math.nan
    t = mean / error if error else math.nan
    return mean, error, t, two_sided(t, count - 1)


def two_sided(t: float, degrees: int) -> float:
    """The p value of Student's t, by Simpson's rule over the density."""
    if not math.isfinite(t):
        return math.nan
    scale = math.exp(math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)) / math.sqrt(degrees * math.pi)
    steps = 2_000
    width = abs(t) / steps
    values = [scale * (1 + (i * width) ** 2 / degrees) ** (-(degrees + 1) / 2) for i in range(steps + 1)]
    area = width / 3 * (values[0] + values[-1] + 4 * sum(values[1::2]) + 2 * sum(values[2:-1:2]))
    return max(0.0, 1.0 - 2.0 * area)


def table(found: Mapping[str, Mapping[int, Hosts]]) -> Table:
    """Means over seeds with standard errors, and each arm's paired difference to the others' best rule."""
    arms = [arm for arm in ARMS if found.get(arm)]
    shown = Table("arm", box=None, padding=(0, 2, 0, 0))
    for title in ("held-out accuracy", "decision accuracy", "return", "parameters", "ppo minus it", "t", "p"):
        shown.add_column(title, justify="right")
    for arm in arms:
        hosts = found[arm]
        row = [
            _mean([statistics.fmean(of.held_out) for of in hosts.values()], ".4f"),
            _mean([statistics.fmean(of.seen) for of in hosts.values()], ".4f"),
            _mean([statistics.fmean(of.returns) for of in hosts.values()], "+.2f"),
            f"{statistics.fmean(count for of in hosts.values() for count in of.params):,.0f}",
        ]
        seeds = sorted(set(hosts) & set(found.get("ppo", {})))
        if arm != "ppo" and len(seeds) > 1:
            mean, error, t, p = t_test(
                [
                    statistics.fmean(found["ppo"][seed].held_out) - statistics.fmean(hosts[seed].held_out)
                    for seed in seeds
                ]
            )
            row += [f"{mean:+.4f} +- {error:.4f}", f"{t:+.2f}", f"{p:.3f}"]
        shown.add_row(arm, *row)
    return shown


def _mean(values: Sequence[float], form: str) -> str:
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return f"{statistics.fmean(values):{form}} +- {error:{form.lstrip('+')}}"


@contextmanager
def pool(study: Study, jobs: int) -> Iterator[Callable[[Sequence[Job]], Iterator[Any]]]:
    """Run jobs in processes; results come as they are done."""
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as workers:

        def run(work: Sequence[Job]) -> Iterator[Any]:
            futures: list[Future[Any]] = [workers.submit(job.run, study) for job in work]
            for future in as_completed(futures):
                yield future.result()

        yield run


@click.command()
@click.option("--data-dir", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--task", default="cifar_impaired", show_default=True)
@click.option("--seeds", default=16, show_default=True)
@click.option("--first-seed", default=0, show_default=True)
@click.option("--rounds", default=40, show_default=True, help="That PPO learns in.")
@click.option("--limit", type=float, help="Seconds; fewer rounds than --rounds if they would take longer.")
@click.option("--compared-rounds", default=2, show_default=True, help="Of fresh hosts, for every arm.")
@click.option("--grid", default=len(GRID), show_default=True, help="Rules to tune over.")
@click.option("--envs", default=8, show_default=True)
@click.option("--episode-length", default=16, show_default=True)
@click.option("--train-images", default=512, show_default=True)
@click.option("--val-images", default=256, show_default=True)
@click.option("--jobs", default=1, show_default=True, help="Processes side by side, a thread each.")
@click.option("--output", type=click.Path(path_type=Path), default=Path("policies.json"), show_default=True)
def main(
    data_dir: Path,
    seeds: int,
    first_seed: int,
    rounds: int,
    limit: float | None,
    compared_rounds: int,
    grid: int,
    jobs: int,
    output: Path,
    **settings: Any,
) -> None:
    """Tune, train, compare, print the table."""
    console, started = Console(highlight=False, width=140), time.perf_counter()
    found: dict[str, dict[int, Hosts]] = {}
    tuning: dict[Rule, list[float]] = {}
    seconds: dict[str, float] = {}
    rule, slowest = Rule(), 0.0
    wanted = range(first_seed, first_seed + seeds)

    def write() -> None:
        content = {
            "settings": {
                **settings,
                "rounds": rounds,
                "compared_rounds": compared_rounds,
                "seeds": [*wanted],
            },
            "tuned_rule": dataclasses.asdict(rule),
            "tuning": [[dataclasses.asdict(key), values] for key, values in tuning.items()],
            "processor_seconds": seconds,
            "wall_seconds": time.perf_counter() - started,
            "arms": {
                arm: {seed: dataclasses.asdict(hosts) for seed, hosts in sorted(of_arm.items())}
                for arm, of_arm in found.items()
            },
        }
        output.write_text(json.dumps(content, indent=1) + "\n")

    def take(results: Iterator[Any]) -> None:
        nonlocal slowest
        for job, hosts, spent, clock in results:
            slowest = max(slowest, clock / compared_rounds)
            seconds[job.arm] = seconds.get(job.arm, 0.0) + spent
            if job.arm == "grid":
                tuning.setdefault(job.rule, []).extend(hosts.seen)
            else:
                found.setdefault(job.arm, {})[job.seed] = hosts
                console.print(
                    f"{time.perf_counter() - started:5.0f} s  {job.arm} {job.seed}: "
                    f"held out {statistics.fmean(hosts.held_out):.4f}, {spent:.0f} s of processor time",
                    soft_wrap=True,
                )
            write()

    with tempfile.TemporaryDirectory() as folder:
        split(data_dir, Path(folder))
        study = Study(settings, rounds, compared_rounds, data_dir, Path(folder))
        with pool(study, jobs) as run:
            take(run([Job("grid", 0, candidate) for candidate in GRID[:grid]]))
            rule = max(tuning, key=lambda candidate: statistics.fmean(tuning[candidate]))
            if limit is not None:
                waves = math.ceil(seeds / jobs)
                left = (limit - (time.perf_counter() - started)) / slowest
                rounds = max(1, min(rounds, int(left / waves) - 5 * compared_rounds))
                study = dataclasses.replace(study, rounds=rounds)
            console.print(f"tuned rule: {rule}; PPO learns for {rounds} rounds", soft_wrap=True)
            # By seed, so that a study that is cut short has whole pairs.
            take(run([Job(arm, seed, rule if arm == "tuned" else Rule()) for seed in wanted for arm in ARMS]))
    console.print(table(found))
    console.print(f"{seeds} seeds, {time.perf_counter() - started:.0f} s, {jobs} at a time")


if __name__ == "__main__":
    main()
