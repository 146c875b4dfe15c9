"""Every file and comment from which a check reads what it demands, and which way each is stricter."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ci.config import GateConfig
from ci.policy import readings, suite
from ci.policy.compare import Node, may_come, may_go, more, run_as_often, unchanged
from ci.policy.contracts import contracts
from ci.policy.place import Found, Side
from ci.policy.rules import GATE, HOTPATH, LINTER, PYTEST, RUN
from ci.policy.shadows import shadows


@dataclass(frozen=True, slots=True)
class Source:
    """One kind of place.

    Attributes:
        told: where it is, in words.
        read: all that a tree says there.
        rule: what a change may do to it.
        wanted: whether a configuration asks for a check that reads it.
    """

    told: str
    read: Callable[[Side], Iterable[Found]]
    rule: Node
    wanted: Callable[[GateConfig], object]


def _always(config: GateConfig) -> bool:
    del config
    return True


def _runs(config: GateConfig) -> object:
    return readings.run_names(config)


SOURCES = (
    Source("[tool.gate] in pyproject.toml", readings.gate, GATE, _always),
    Source("run files", readings.runs, RUN, _runs),
    Source("goldens", readings.goldens, may_come, _runs),
    Source("[tool.codemods.hotpath] in pyproject.toml", readings.hotpath, HOTPATH, lambda c: c.hotpath),
    Source("the hot-path baseline", readings.baseline, more, lambda c: c.hotpath),
    Source("`# hotpath: allow` and `cold` comments", readings.quiet_comments, may_go, lambda c: c.hotpath),
    Source("`# hotpath: loop` comments", readings.loop_comments, unchanged, lambda c: c.hotpath),
    Source("contracts of import-linter", contracts, LINTER, lambda c: c.contracts),
    Source("the file of accepted changes", readings.accepted, may_go, lambda c: c.evidence),
    Source("plans", readings.plans, may_come, lambda c: (*c.plans, *c.carried_out)),
    Source("assumptions of plans", readings.assumptions, may_go, lambda c: (*c.plans, *c.carried_out)),
    Source("names that tests replace", readings.seams, may_come, lambda c: c.seams),
    Source("settings of pytest and coverage", suite.settings, PYTEST, lambda c: c.tests),
    Source("conftest.py and plugins of pytest", suite.plugins, unchanged, lambda c: c.tests),
    Source("files that the test command names or reads", suite.runners, unchanged, lambda c: c.tests),
    Source("tests, and by what they may be skipped", suite.cases, run_as_often, lambda c: c.tests),
    Source("helpers by which tests may be skipped", suite.skips, may_go, lambda c: c.tests),
    Source("workflows that call the gate", readings.workflows, may_come, _always),
    Source("modules that hide those of a tool", shadows, may_go, _always),
)
