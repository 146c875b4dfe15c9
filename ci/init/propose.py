"""The files that a first configuration consists of."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ci.init.entry_points import EntryPoint

_SEED = ("--seed", "--random-seed", "--rng-seed")
_OUT = (
    *("--out", "--out-dir", "--output", "--output-dir", "--outdir", "--save-dir", "--log-dir", "--logdir"),
    *("--run-dir", "--results-dir", "--telemetry-dir", "--work-dir", "--workdir"),
)
_DEVICE = ("--device",)
_LENGTHS = (
    *("--epochs", "--num-epochs", "--rounds", "--steps", "--num-steps", "--max-steps", "--iterations"),
    *("--updates", "--episodes", "--total-timesteps", "--train-steps"),
)


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a repository besides its entry points.

    Attributes:
        contracts: whether import-linter is configured.
        tests: the folder of its pytest tests, if there is one.
        loops: per-env loops, as ``file:line header``.
        paths: folders or files for the hot-path check.
        baseline: where the hot-path baseline goes.
    """

    contracts: bool
    tests: str | None
    loops: tuple[str, ...]
    paths: tuple[str, ...]
    baseline: str


def read_facts(root: Path, loops: Sequence[str], baseline: str) -> Facts:
    """Look at what is there."""
    table = _pyproject(root)
    contracts = "importlinter" in table.get("tool", {}) or (root / ".importlinter").is_file()
    tests = next((name for name in ("tests", "test") if any((root / name).glob("**/test_*.py"))), None)
    return Facts(contracts, tests, tuple(loops), source_paths(root), baseline)


def source_paths(root: Path) -> tuple[str, ...]:
    """What the hot-path check reads."""
    return ("src",) if (root / "src").is_dir() else (".",)


def has_gate(root: Path) -> bool:
    """Whether the repository is configured already."""
    return "gate" in _pyproject(root).get("tool", {})


def _pyproject(root: Path) -> dict[str, dict[str, object]]:
    path = root / "pyproject.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def run_file(entry: EntryPoint) -> str:
    """The golden run of an entry point, as a run file."""
    command = ["python", *(("-m", entry.module) if entry.module else (entry.path,))]
    for options, value in ((_SEED, "{seed}"), (_OUT, "{out}"), (_DEVICE, "{device}")):
        option = entry.option(*options)
        command += [option, value] if option else []
    lengths = [option for option in _LENGTHS if option in entry.options]
    return (
        "\n".join(
            [
                f"description = {_text(f'What {entry.path} does with one seed')}",
                "# {seed}, {device} and {out}, a fresh folder, are filled in.",
                f"command = {_array(command)}",
                "# Keep a run short: what a minute shows, ten seconds mostly show too.",
                *[f"# Options that may shorten it: {', '.join(lengths)}" for _ in lengths[:1]],
                "budget = 30.0  # seconds on two cores",
                "timeout = 600",
                "seed = 1",
                '# Holds on other x86-64 machines; "exact" is faster and holds on machines like this one.',
                'profile = "portable"',
                "",
                "# Events that the program writes into {out}, a JSON object a line: which files, the field",
                "# that names the kind of event, and the fields that can't repeat, such as times and ids.",
                "# [events]",
                f"# files = {_text(entry.event_files[0] if entry.event_files else '*.jsonl')}",
                '# type = "type"',
                '# unstable = ["time"]',
            ]
        )
        + "\n"
    )


def gate_table(entry: EntryPoint, facts: Facts) -> str:
    """The tables ``[tool.gate]`` and ``[tool.codemods.hotpath]``, commented."""
    lines = [
        "# What `golden-gate run` checks. A key that is left out is a check that is not made.",
        "[tool.gate]",
        "# Golden runs of golden/runs: compared with golden/fixtures, or with a git ref under --base.",
        f"runs = {_array([entry.name])}",
        "# Runs whose event counts must be these on every machine (needs [events] in the run file).",
        f"# counts = {_array([entry.name])}",
        "# The contracts of import-linter.",
        "contracts = true" if facts.contracts else "# contracts = true",
        "# Plans of `codemods extract`: what is in the tree must be what they make.",
        '# plans = ["plans/*.toml"]',
        "# Plans whose files were changed by hand since: it must still be possible to carry them out.",
        '# carried_out = ["plans/*.toml"]',
        "",
        "# Calls that stall the device inside per-env loops, beyond those in the baseline.",
        *_unless(
            not facts.loops,
            ["[tool.gate.hotpath]", f"paths = {_array(facts.paths)}", f"baseline = {_text(facts.baseline)}"],
        ),
        "",
    ]
    if facts.tests:
        lines += [
            "[tool.gate.tests]",
            f'command = ["python", "-m", "pytest", "-q", {_text(facts.tests)}]',
            "",
            "# Names of a module that tests replace: each must go on being read through it.",
            "# [[tool.gate.seams]]",
            f"# file = {_text(entry.path)}",
            f"# tests = {_array([facts.tests])}",
            "",
        ]
    lines += [
        "# Time of a run against the base's, in turns; fails beyond the bound.",
        "# [tool.gate.throughput]",
        f"# run = {_text(entry.name)}",
        "# bound = 1.3",
        "",
        "# Which loops go over environments.",
        *([f"# Found: {loop}" for loop in facts.loops] or ["# Found none by the usual names."]),
        "# [tool.codemods.hotpath]",
        '# loop-variables = ["env_idx", "worker"]',
        '# iterables = ["envs", "workers"]',
    ]
    return "\n".join(lines) + "\n"


def _unless(commented: bool, lines: list[str]) -> list[str]:
    return [f"# {line}" for line in lines] if commented else lines


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _array(values: Sequence[str]) -> str:
    return "[" + ", ".join(map(_text, values)) + "]"
