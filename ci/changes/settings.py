"""Tables of settings as items: lists that may grow, lists that may shrink; anything else may not change."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ci.changes.compare import Item


@dataclass(frozen=True, slots=True)
class Rules:
    """Patterns on the dotted names of settings.

    Attributes:
        grow: lists, switches and tables of tables of which more demands more.
        shrink: those of which less demands more.
        free: settings that decide nothing.
        whole: tables whose keys are somebody else's.
        tables: another table demands more.
    """

    grow: tuple[str, ...] = ()
    shrink: tuple[str, ...] = ()
    free: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    tables: bool = True


GATE = Rules(
    grow=(
        *("contracts", "imports", "imports.*.without", "plans", "carried_out", "seams", "seams.*.tests"),
        *("seams.*.names", "*.paths", "runs", "counts", "syncs"),
    ),
    shrink=("evidence.runs",),
    free=("tests.timeout",),
)
RUN = Rules(
    grow=(
        *("*.observe.steps", "*.outputs.files", "*.everywhere.events", "*.same.*.variants", "*.same.*.what"),
    ),
    shrink=(
        *("*.events.unstable", "*.observe.unstable_values", "*.outputs.ignore", "*.outputs.unstable"),
        *("*.outputs.mask", "*.tolerance"),
    ),
    free=(
        *("*.description", "*.budget", "*.timeout", "*.data.paths", "*.tolerance.*.reason", "*.same.*.says"),
    ),
    whole=("*.args", "*.environment"),
)
HOTPATH = Rules(
    grow=("*.loop_variables", "*.iterables", "*.annotations", "*.select"),
    shrink=("*.exclude_iterables", "*.exclude", "*.ignore", "*.per_path_ignores"),
)
LINTER = Rules(
    grow=("*.root_packages", "*.contracts", "*.source_modules", "*.forbidden_modules"),
    shrink=("*.ignore_imports",),
)
# Of pytest; which other keys loosen is for no list to say.
PYTEST = Rules(
    free=tuple(
        f"*.{table}{key}"
        for table in ("ini_options.", "pytest.", "tool:pytest.", "settings.pytest.toml.")
        for key in ("markers", "timeout", "minversion", "cache_dir")
    ),
    tables=False,
)
_IDENTITY = (("of", "field"), ("name",), ("module",), ("file",))


def settings(
    name: str, path: str, value: Any, rules: Rules, *, within: tuple[str, object] | None = None
) -> Iterator[Item]:
    """Yield a value and all that is in it as items."""
    if value is None or _among(name, rules.free):
        return
    may: Literal["come", "go", "neither"] = (
        "come" if _among(name, rules.grow) else "go" if _among(name, rules.shrink) else "neither"
    )
    if isinstance(value, Mapping) and not _among(name, rules.whole):
        if name and rules.tables:
            yield Item(name, path, may="come", within=within)
            within = name, ""
        for key, each in value.items():
            yield from settings(f"{name}.{key}" if name else key, path, each, rules, within=within)
    elif isinstance(value, Sequence) and value and isinstance(value[0], Mapping):
        for identity, each in _identified(value):
            inner = f"{name}.{identity}"
            yield Item(inner, path, may=may, within=within)
            for key, part in each.items():
                yield from settings(f"{inner}.{key}", path, part, rules, within=(inner, ""))
    elif may != "neither" and isinstance(value, list | tuple):
        for element in value:
            yield Item(name, path, str(element), shown=str(element), may=may, within=within, element=True)
    else:
        yield Item(name, path, content=value, shown=str(value), may=may, within=within)


def _among(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _identified(items: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield tables with what tells them apart; of two of a name each is compared with its like."""
    seen: set[str] = set()
    for item in items:
        keys = next((keys for keys in _IDENTITY if all(key in item for key in keys)), ())
        name = ".".join(str(item[key]) for key in keys)
        while name in seen:
            name += "+"
        seen.add(name)
        yield name, item
