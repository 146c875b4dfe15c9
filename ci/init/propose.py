"""The files that a first configuration consists of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ci.init.entry_points import EntryPoint
from ci.init.sightings import Sightings
from ci.init.values import SEED, Arguments, choose
from codemods.program import read_tools
from golden.record import Run

_SEED = 1
_LAUNCH = ("torch.distributed.run", "--standalone", "--nproc-per-node", "2")
_LEAST_BUDGET = 5.0
_LOCAL = {"WANDB_MODE": "disabled"}


@dataclass(frozen=True, slots=True)
class Proposal:
    """A golden run that may work.

    Attributes:
        entry: the script.
        more: further words of its command line.
        scale: how much longer than usual it is.
        without: options that are left out.
        inside: whether it is started in the script's own folder.
        launched: whether a launcher starts it as several processes.
        deterministic: what torch does about operations without a deterministic implementation.
        budget: seconds that it takes, where that is known.
    """

    entry: EntryPoint
    more: tuple[str, ...] = ()
    scale: float = 1.0
    without: tuple[str, ...] = ()
    inside: bool = False
    launched: bool = False
    deterministic: Literal["error", "warn"] = "error"
    budget: float | None = None

    @property
    def arguments(self) -> Arguments:
        """What its options are given."""
        command = self.entry.command
        options = [o for o in self.entry.options if o.command in (None, command)]
        given = {word.partition("=")[0] for word in self.more}
        return choose(options, scale=self.scale, without=(*self.without, *given))

    @property
    def seeded(self) -> bool:
        """Whether a word of its command line is the seed, or what it is by the user's wish."""
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
        before = choose(first, scale=self.scale, without=self.without).words
        inner = (self.entry.command,) if self.entry.command else ()
        words = self.arguments.words[len(before) :] if inner else self.arguments.words
        return ("python", *launch, *program, *before, *inner, *words, *self.more)

    @property
    def folder(self) -> str:
        """The folder that it is started in."""
        return Path(self.entry.path).parent.as_posix() if self.inside else "."

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables that it needs to stay on this machine."""
        return _LOCAL if "wandb" in self.entry.packages else {}

    def run(self, *, timeout: float) -> Run:
        """The run by itself, to be tried."""
        return Run(
            name=self.entry.name,
            command=self.command,
            seed=_SEED,
            profile="portable",
            deterministic=self.deterministic,
            timeout=timeout,
            budget=self.budget or timeout,
            folder=self.folder,
            environment=self.environment,
        )


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a repository besides its entry points.

    Attributes:
        contracts: whether import-linter is configured.
        tests: the folder of its pytest tests, if there is one.
        uncollected: why pytest collects none from it, where that was tried.
        loops: hot loops that the run may reach, as ``file:line header``.
        elsewhere: how many others there are, in words; None without any.
        paths: folders or files for the hot-path check.
        baseline: where the hot-path baseline goes.
        hotpath: whether the hot-path check has settings of its own already.
    """

    contracts: bool
    tests: str | None
    loops: tuple[str, ...]
    elsewhere: str | None
    paths: tuple[str, ...]
    baseline: str
    hotpath: bool
    uncollected: str | None = None

    @property
    def found(self) -> tuple[str, ...]:
        """What there is of hot loops, a line each."""
        return self.loops if self.elsewhere is None else (*self.loops, self.elsewhere)


def read_facts(root: Path, loops: Sequence[str], elsewhere: str | None, baseline: str) -> Facts:
    """Look at what is there."""
    tools = read_tools(root / "pyproject.toml") or {}
    contracts = "importlinter" in tools or (root / ".importlinter").is_file()
    tests = next((name for name in ("tests", "test") if any((root / name).glob("**/test_*.py"))), None)
    hotpath = "hotpath" in tools.get("codemods", {})
    return Facts(contracts, tests, tuple(loops), elsewhere, source_paths(root), baseline, hotpath)


def source_paths(root: Path) -> tuple[str, ...]:
    """What the hot-path check reads."""
    return ("src",) if (root / "src").is_dir() else (".",)


def run_file(proposal: Proposal, seen: Sightings, data: Sequence[str] = ()) -> str:
    """The golden run of a proposal, as a run file; ``data`` is what git ignores and the program names."""
    entry, arguments = proposal.entry, proposal.arguments
    budget = max(_LEAST_BUDGET, round(proposal.budget)) if proposal.budget else 30.0
    lines = [
        f"description = {_text(f'What {entry.path} does with one seed')}",
        "# {seed}, {device} and {out}, a fresh folder, are filled in.",
        f"command = {_array(proposal.command)}",
    ]
    if proposal.inside:
        lines += ["# It names files as they are seen from there.", f"folder = {_text(proposal.folder)}"]
    if arguments.shortened:
        lines.append(
            f"# Kept short by {', '.join(arguments.shortened)}: what a minute shows, ten seconds mostly show."
        )
    lines += [
        f"budget = {budget:.1f}  # seconds on two cores",
        "timeout = 600",
        f"seed = {_SEED}",
        '# Holds on other x86-64 machines; "exact" is faster and holds on machines like this one.',
        'profile = "portable"',
    ]
    if proposal.deterministic != "error":
        lines += [
            "# An operation of it has no deterministic implementation.",
            f"deterministic = {_text(proposal.deterministic)}",
        ]
    lines += [*_events(seen), *_outputs(seen)]
    if data:
        why = "# What git ignores and the run needs: trees of other versions are given links to it."
        lines += ["", why, "[data]", f"paths = {_array(data)}"]
    if proposal.environment:
        lines += ["", "# Nothing is sent anywhere.", "[environment]"]
        lines += [f"{name} = {_text(value)}" for name, value in proposal.environment.items()]
    return "\n".join(lines) + "\n"


def _events(seen: Sightings) -> list[str]:
    if not seen.events:
        return []
    lines = [
        "",
        "# Events that the program writes into {out}, a JSON object a line: which files, the field",
        "# that names the kind of event, and the fields that can't repeat, such as times and ids.",
        "[events]",
        f"files = {_text(seen.events)}",
        f"type = {_text(seen.type)}",
        f"unstable = {_array(seen.unstable)}",
    ]
    return [*lines, *(["", "[env]", f"field = {_text(seen.env)}"] if seen.env else [])]


def _outputs(seen: Sightings) -> list[str]:
    """What a run prints and leaves in {out} is compared anyway."""
    if not seen.files:
        return []
    head = "# Metrics and checkpoints that it writes elsewhere in the repository, compared by value."
    return ["", head, "[outputs]", f"files = {_array(seen.files)}"]


def gate_table(entry: EntryPoint, facts: Facts, *, events: bool = False) -> str:
    """The tables ``[tool.gate]`` and ``[tool.codemods.hotpath]``, commented."""
    lines = [
        "# What `golden-gate run` checks. A key that is left out is a check that is not made.",
        "[tool.gate]",
        "# Golden runs of golden/runs: compared with golden/fixtures, or with a git ref under --base.",
        f"runs = {_array([entry.name])}",
    ]
    if events:
        lines += [
            "# Runs whose event counts must be these on every machine.",
            f"counts = {_array([entry.name])}",
        ]
    if facts.contracts:
        lines += ["# The contracts of import-linter.", "contracts = true"]
    if facts.found:
        lines += [
            "",
            "# Calls that stall the device in hot loops, beyond those in the baseline.",
            *(f"# Found: {loop}" for loop in facts.found),
            "[tool.gate.hotpath]",
            f"paths = {_array(facts.paths)}",
            f"baseline = {_text(facts.baseline)}",
        ]
    if facts.tests and facts.uncollected is not None:
        lines += ["", f"# Tests are not run, for pytest collects none: {facts.uncollected}"]
    elif facts.tests:
        command = f'command = ["python", "-m", "pytest", "-q", {_text(facts.tests)}]'
        lines += ["", "[tool.gate.tests]", command]
    if facts.found and not facts.hotpath:
        why = "# for `codemods hotpath`, whoever calls it"
        lines += ["", "[tool.codemods.hotpath]", f"baseline = {_text(facts.baseline)}  {why}"]
    return "\n".join(lines) + "\n"


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _array(values: Sequence[str]) -> str:
    return "[" + ", ".join(map(_text, values)) + "]"
