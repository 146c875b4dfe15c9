"""The files that a first configuration consists of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ci.init.entry_points import EntryPoint
from ci.init.values import SEED, Arguments, choose
from codemods.api import read_tools
from golden.record import Run

_SEED = 1
MAX_STEPS = 200
_LAUNCH = ("torch.distributed.run", "--standalone", "--nproc-per-node", "2")
_LEAST_BUDGET = 5.0
_LOCAL = {"WANDB_MODE": "disabled"}


@dataclass(frozen=True, slots=True)
class Proposal:
    """A golden run that may work.

    Attributes:
        entry: the script.
        more: further words of its command line.
        without: options that are left out.
        max_steps: the optimizer steps after which it ends; None for all.
        inside: it is started in the script's own folder.
        launched: a launcher starts it as several processes.
        warn: an operation without a deterministic implementation is no error.
        budget: seconds that it takes, where that is known.
    """

    entry: EntryPoint
    more: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    max_steps: int | None = None
    inside: bool = False
    launched: bool = False
    warn: bool = False
    budget: float | None = None

    @property
    def arguments(self) -> Arguments:
        """The values of its options."""
        command = self.entry.command
        options = [o for o in self.entry.options if o.command in (None, command)]
        given = {word.partition("=")[0] for word in self.more}
        return choose(options, without=(*self.without, *given))

    @property
    def missing(self) -> list[str]:
        """The arguments that it needs and the user did not give."""
        plain = any(not word.startswith("-") for word in self.more)
        return [name for name in self.arguments.missing if name.startswith("-") or not plain]

    @property
    def seeded(self) -> bool:
        """A word of its command line is the seed, or what it is by the user's wish."""
        given = {word.partition("=")[0] for word in self.more}
        named = any(o.name in given and o.role in SEED for o in self.entry.options)
        return self.arguments.seeded or named or any("{seed}" in word for word in self.more)

    @property
    def command(self) -> tuple[str, ...]:
        """The command line, with its placeholders."""
        program = ("-m", self.entry.module) if self.entry.module else (self.entry.path,)
        if self.inside:
            program = (Path(self.entry.path).name,)
        launch = ("-m", *_LAUNCH) if self.launched else ()
        first = [o for o in self.entry.options if o.command is None and self.entry.command]
        before = choose(first, without=self.without).words
        inner = (self.entry.command,) if self.entry.command else ()
        words = self.arguments.words[len(before) :] if inner else self.arguments.words
        return ("python", *launch, *program, *before, *inner, *words, *self.more)

    def run(self, *, timeout: float) -> Run:
        """Return the run by itself, to be tried."""
        return Run(
            name=self.entry.name,
            command=self.command,
            seed=_SEED,
            profile="portable",
            deterministic="warn" if self.warn else "error",
            timeout=timeout,
            max_steps=self.max_steps,
            budget=self.budget or timeout,
            folder=Path(self.entry.path).parent.as_posix() if self.inside else ".",
            environment=_LOCAL if "wandb" in self.entry.packages else {},
        )


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of a repository besides its entry points.

    Attributes:
        contracts: import-linter is configured.
        tests: the folder of its pytest tests, if there is one.
        uncollected: why pytest collects none from it, where that was tried.
        loops: hot loops that the run may reach, as ``file:line header``; and how many others there are.
        hotpath: the hot-path check has settings of its own already.
    """

    contracts: bool
    tests: str | None
    loops: tuple[str, ...]
    hotpath: bool
    uncollected: str | None = None


def read_facts(root: Path, loops: Sequence[str]) -> Facts:
    """Look at what is there."""
    tools = read_tools(root / "pyproject.toml") or {}
    contracts = "importlinter" in tools or (root / ".importlinter").is_file()
    tests = next((name for name in ("tests", "test") if any((root / name).glob("**/test_*.py"))), None)
    return Facts(contracts, tests, tuple(loops), "hotpath" in tools.get("codemods", {}))


def source_paths(root: Path) -> tuple[str, ...]:
    """Return what the hot-path check reads."""
    return ("src",) if (root / "src").is_dir() else (".",)


def run_file(proposal: Proposal, files: Sequence[str], data: Sequence[str]) -> str:
    """Return the run file of a proposal.

    ``files`` are what it writes into the repository, ``data`` is what git ignores and the program names.
    """
    entry, run = proposal.entry, proposal.run(timeout=600)
    budget = max(_LEAST_BUDGET, round(proposal.budget)) if proposal.budget else 30.0
    lines = [
        f"description = {_text(f'{entry.path} with one seed')}",
        "# {seed}, {device} and {out}, a fresh folder, are filled in.",
        f"command = {_array(proposal.command)}",
    ]
    if proposal.inside:
        lines += ["# It names files as they are seen from there.", f"folder = {_text(run.folder)}"]
    if proposal.max_steps is not None:
        lines += ["# No option makes it short enough.", f"max_steps = {proposal.max_steps}"]
    elif shortened := proposal.arguments.shortened:
        lines.append(f"# Kept short by {', '.join(shortened)}: ten seconds mostly show what a minute shows.")
    lines += [
        f"budget = {budget:.1f}  # seconds on two cores",
        f"timeout = {run.timeout:.0f}",
        f"seed = {run.seed}",
        '# Holds on other x86-64 machines; "exact" is faster and holds on machines like this one.',
        f"profile = {_text(run.profile)}",
    ]
    if proposal.warn:
        lines += ["# An operation of it has no deterministic implementation.", 'deterministic = "warn"']
    if files:
        head = "# Metrics and checkpoints that it writes into the repository, compared by value."
        lines += ["", head, "[outputs]", f"files = {_array(files)}"]
    if data:
        why = "# git ignores it and the run needs it: trees of other versions are given links to it."
        lines += ["", why, "[data]", f"paths = {_array(data)}"]
    if run.environment:
        lines += ["", "# Nothing is sent anywhere.", "[environment]"]
        lines += [f"{name} = {_text(value)}" for name, value in run.environment.items()]
    return "\n".join(lines) + "\n"


def gate_table(entry: EntryPoint, facts: Facts, paths: Sequence[str], baseline: str) -> str:
    """Return the tables ``[tool.gate]`` and ``[tool.codemods.hotpath]``, commented."""
    lines = [
        "# The checks of `golden-gate run`. A key that is left out is a check that is not made.",
        "[tool.gate]",
        "# Golden runs of golden/runs: compared with golden/fixtures, or with a git ref under --base.",
        f"runs = {_array([entry.name])}",
    ]
    if facts.contracts:
        lines += ["# The contracts of import-linter.", "contracts = true"]
    if facts.loops:
        lines += [
            "",
            "# Syncs in hot loops, beyond those in the baseline.",
            *(f"# Found: {loop}" for loop in facts.loops),
            "[tool.gate.hotpath]",
            f"paths = {_array(paths)}",
            f"baseline = {_text(baseline)}",
        ]
    if facts.tests and facts.uncollected is not None:
        lines += ["", f"# Tests are not run, for pytest collects none: {facts.uncollected}"]
    elif facts.tests:
        command = f'command = ["python", "-m", "pytest", "-q", {_text(facts.tests)}]'
        lines += ["", "[tool.gate.tests]", command]
    if facts.loops and not facts.hotpath:
        why = "# for `codemods hotpath`, whoever calls it"
        lines += ["", "[tool.codemods.hotpath]", f"baseline = {_text(baseline)}  {why}"]
    return "\n".join(lines) + "\n"


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _array(values: Sequence[str]) -> str:
    return "[" + ", ".join(map(_text, values)) + "]"
