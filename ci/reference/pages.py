"""The pages: each a function that makes its text of the code."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

from ci.config import Evidence, GateConfig, HotPath, Isolation, Power, Tests, Throughput
from ci.config import Seams as GateSeams
from ci.reference.commands import commands, described
from ci.reference.tables import keys, summary, table
from codemods.api import Accept, Loop, Move, Plan, SeamReaders, Seams, all_rules, seams_of
from codemods.hotpath.codes import CODES
from codemods.hotpath.config import Config
from golden.record.run import Data, Env, EnvChange, Events, Everywhere, Observe, Run, Variant
from golden.trace.same import Same
from golden.trace.tolerance import Tolerance

_ROOT = Path(__file__).resolve().parents[2]
_PYTHON = Path(__file__).with_name("python.md")
_MADE = "<!-- Made by `python -m ci.reference`; change the code, not this page. -->\n"


def _tables(title: str, intro: str, models: dict[str, type]) -> str:
    parts = [_MADE, f"# {title}\n", intro]
    for header, model in models.items():
        parts += [f"## `{header}`\n", summary(model) + "\n", table(keys(model))]
    return "\n".join(parts)


def command_line() -> str:
    """Commands and options."""
    parts = [_MADE, "# Commands\n", "Every command takes `--help` and `--version`.\n"]
    return "\n".join([*parts, *(described(name, command) for name, command in commands())])


def plans() -> str:
    """Plan files."""
    intro = (
        "A plan says what of one module goes where. `codemods extract --plan PLAN.toml` shows what would\n"
        "change, `--write` does it, `--check` says whether the tree is what the plan makes.\n"
        "Unknown keys are errors.\n"
    )
    tables = {"[[move]]": Move, "[loop]": Loop, "[seams]": Seams, "[[accept]]": Accept}
    return _tables("Plans", intro, {"PLAN.toml": Plan, **tables})


def runs() -> str:
    """Run files."""
    intro = (
        "`golden/runs/NAME.toml` says what the golden run NAME is. In `command` and `args`, `{out}` is a\n"
        "fresh folder, `{seed}` and `{device}` are the run's. Unknown keys are errors.\n"
    )
    models = {"NAME.toml": Run, "[events]": Events, "[env]": Env, "[data]": Data, "[observe]": Observe}
    more = {"[everywhere]": Everywhere, "[variants.NAME]": Variant, "[variants.NAME.env]": EnvChange}
    more |= {"[[tolerance]]": Tolerance, "[same.NAME]": Same}
    return _tables("Golden runs", intro, {**models, **more})


def gate() -> str:
    """``[tool.gate]``."""
    intro = "In `pyproject.toml`; `golden-gate init` writes a first one. Unknown keys are errors.\n"
    return _tables(
        "The gate's configuration",
        intro,
        {
            "[tool.gate]": GateConfig,
            "[[tool.gate.imports]]": Isolation,
            "[[tool.gate.seams]]": GateSeams,
            "[tool.gate.hotpath]": HotPath,
            "[tool.gate.evidence]": Evidence,
            "[tool.gate.power]": Power,
            "[tool.gate.throughput]": Throughput,
            "[tool.gate.tests]": Tests,
        },
    )


def checker() -> str:
    """``[tool.codemods]``."""
    intro = (
        "In `pyproject.toml`. Which loops are hot, which go over environments, and what is reported,\n"
        "by `codemods hotpath` and by the gate. Patterns are globs on whole names. Unknown keys are errors.\n"
    )
    return _tables("The configuration of codemods", intro, {"[tool.codemods.hotpath]": Config})


def codes() -> str:
    """Codes of the hot-path checker, and refusals to lift."""
    parts = [
        _MADE,
        "# Codes\n",
        "`codemods hotpath --explain CODE` and `codemods extract --explain CODE` say it, too.\n",
    ]
    parts.append("## Syncs in hot loops\n")
    for code in CODES.values():
        off = "" if code.default else "\n\nOff unless `select` names it."
        parts.append(f"### `{code.code}`\n\n{code.title}. {code.why}\n\nInstead: {code.ways_out}{off}\n")
        parts += [_example("Flagged", code.flagged), _example("Not flagged", code.fine)]
    parts.append("## Refusals to lift\n")
    for name, rule in sorted(all_rules().items()):
        kind = "An assumption: " if rule.assumption else ""
        parts.append(f"### `{name}`\n\n{kind}{rule.summary}\n\nWay out: {rule.help()}\n")
        for refused, lifted in rule.pairs:
            parts += [_example("Refused", refused), _example("Lifted", lifted)]
    return "\n".join(parts)


def _example(title: str, program: str) -> str:
    return f"{title}:\n\n```python\n{program.rstrip()}\n```\n"


def python() -> str:
    """The Python API."""
    about = inspect.getdoc(inspect.getmodule(seams_of)) or ""
    parts = [_MADE, _PYTHON.read_text(encoding="utf-8"), "## `codemods.api`\n", about + "\n"]
    signature = str(inspect.signature(seams_of)).replace("'", "")
    parts.append(f"### `seams_of`\n\n`seams_of{signature}`\n\n{_text(inspect.getdoc(seams_of) or '')}\n")
    rows = "".join(f"| `{key.name.replace('-', '_')}` | {key.meaning} |\n" for key in keys(SeamReaders))
    head = f"### `SeamReaders`\n\n{summary(SeamReaders)}\n\n| attribute | meaning |\n|---|---|\n"
    parts.append(head + rows)
    return "\n".join(parts)


def _text(docstring: str) -> str:
    """A docstring as Markdown: errors as a line of their own."""
    return docstring.replace("Raises:\n    ", "Raises: ").replace("\n        ", "\n")


PAGES: dict[str, Callable[[], str]] = {
    "commands.md": command_line,
    "plans.md": plans,
    "runs.md": runs,
    "gate.md": gate,
    "codemods.md": checker,
    "codes.md": codes,
    "python.md": python,
}
