"""The pytest plugin: ``pytest -p golden.plugin golden -n auto`` runs every run file as a test of its golden.

Nothing loads it unless it is asked for by name, and then it leaves the tests that are not run files alone.
"""

from __future__ import annotations

import importlib.util
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from esper_harness.extras import missing_extra

if TYPE_CHECKING:
    from golden.check.properties import Recordings
    from golden.record import Run

Record = Callable[[str, object], None]
_PROPERTY = "golden"

if importlib.util.find_spec("torch") is None:
    raise pytest.UsageError(
        missing_extra(ModuleNotFoundError(name="torch"), "golden.plugin", "pytest") or "torch"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the marks of runs known, for ``--strict-markers``."""
    config.addinivalue_line("markers", "cuda: needs a CUDA device")
    config.addinivalue_line("markers", "xdist_group(name): tests of a group run on one worker")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect a TOML file of a folder ``golden/runs`` as a run."""
    if file_path.suffix == ".toml" and file_path.parent.parts[-2:] == ("golden", "runs"):
        collector: pytest.Collector = RunFile.from_parent(parent, path=file_path)
        return collector
    return None


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say which numbers passed by a tolerance, and planned against spent."""
    reports = [report for kind in terminalreporter.stats.values() for report in kind]
    told = {
        report.nodeid: json.loads(text)
        for report in reports
        if getattr(report, "when", None) == "call"
        for name, text in report.user_properties
        if name == _PROPERTY
    }
    if not told:
        return
    terminalreporter.section("golden")
    planned = {run: budget for run, budget, _, _ in told.values()}
    for nodeid, (_, _, _, tolerated) in told.items():
        for line in tolerated:
            terminalreporter.line(f"{nodeid.rpartition('::')[2]}: {line}")
    spent = sum(seconds for _, _, seconds, _ in told.values())
    terminalreporter.line(f"{len(planned)} runs: {sum(planned.values()):.0f} s planned, {spent:.0f} s spent")


def _judged(name: str | None, recordings: Recordings) -> list[str]:
    """Fail unless a run equals its golden, or has the property ``name``; return what a tolerance let pass."""
    from golden.check.verify import Failed, judge_one
    from golden.report.verdicts import render_verdict, tolerances_of
    from golden.trace.errors import ExitCode

    verdict, run = judge_one(name, recordings), recordings.run
    if isinstance(verdict, Failed) and verdict.code is ExitCode.NOTHING_COMPARABLE and _lacks_device(run):
        pytest.skip(verdict.message)
    if verdict.code:
        pytest.fail(render_verdict(verdict), pytrace=False)
    return tolerances_of(verdict)


def _lacks_device(run: Run) -> bool:
    if not run.device.startswith("cuda"):
        return False
    import torch

    return not torch.cuda.is_available()


class RunFile(pytest.Module):
    """A run file."""

    def _getobj(self) -> Any:
        return object()

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the run of this file and its properties; a mistake in the file is an error in one line."""
        from golden.check.properties import Recordings
        from golden.record import load_run
        from golden.trace.errors import GoldenError

        try:
            run = load_run(self.path)
        except GoldenError as error:
            raise pytest.Collector.CollectError(str(error)) from None
        root = self.path.parent.parent.parent
        kept: list[Recordings] = []

        def test_of(name: str | None) -> Callable[..., None]:
            def test(tmp_path_factory: pytest.TempPathFactory, record_property: Record) -> None:
                if not kept:
                    out = tmp_path_factory.mktemp(f"golden-{run.name}")
                    kept.append(Recordings(run, root=root, out=out))
                begun = time.monotonic()
                tolerated: list[str] = []
                try:
                    tolerated = _judged(name, kept[0])
                finally:
                    spent = time.monotonic() - begun
                    record_property(_PROPERTY, json.dumps([run.name, run.budget, spent, tolerated]))

            return test

        yield self._item(run, run.name, test_of(None))
        for name in run.same:
            yield self._item(run, f"{run.name}[{name}]", test_of(name))

    def _item(self, run: Run, name: str, function: Callable[..., None]) -> pytest.Item:
        item: pytest.Function = pytest.Function.from_parent(self, name=name, callobj=function)
        # A run and what it is compared with belong on one worker.
        item.add_marker(pytest.mark.xdist_group(f"golden-{run.name}"))
        if run.device.startswith("cuda"):
            item.add_marker(pytest.mark.cuda)
        return item
