"""The pytest plugin: ``pytest -p golden.plugin golden -n auto`` runs every run file as a test of its golden.

Nothing loads it unless it is asked for by name, and then it leaves the tests that are not run files alone.
With pytest-xdist each worker runs them on its own device of the caller's ``CUDA_VISIBLE_DEVICES``.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from golden.extras import missing_extra

if TYPE_CHECKING:
    from golden.check.properties import Recordings
    from golden.record import Run

Record = Callable[[str, object], None]
_PROPERTY = "golden"
_VISIBLE = "CUDA_VISIBLE_DEVICES"

if importlib.util.find_spec("torch") is None:
    raise pytest.UsageError(
        missing_extra(ModuleNotFoundError(name="torch"), "golden.plugin", "pytest") or "torch"
    )


def device_of_worker(worker: str | None, visible: str | None) -> str | None:
    """The devices that an xdist worker may see: one of the caller's, by the worker's number."""
    devices = [name for name in (visible or "").split(",") if name.strip()]
    if worker is None or not devices:
        return visible
    number = int(worker.removeprefix("gw")) if worker.removeprefix("gw").isdigit() else 0
    return devices[number % len(devices)].strip()


@contextlib.contextmanager
def _on_own_device() -> Iterator[None]:
    """Programs that are started meanwhile see the device of this worker only.

    This process has no use for a device itself, so the tests beside the runs keep the caller's.
    """
    before = os.environ.get(_VISIBLE)
    own = device_of_worker(os.environ.get("PYTEST_XDIST_WORKER"), before)
    if before is None or own is None:
        yield
        return
    os.environ[_VISIBLE] = own
    try:
        yield
    finally:
        os.environ[_VISIBLE] = before


def pytest_configure(config: pytest.Config) -> None:
    """Make the marks of runs known, for ``--strict-markers``."""
    config.addinivalue_line("markers", "cuda: needs a CUDA device")
    config.addinivalue_line("markers", "xdist_group(name): tests of a group run on one worker")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Every TOML file of a folder ``golden/runs`` is a run."""
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


def _only_once(name: str, config: pytest.Config, factory: pytest.TempPathFactory) -> None:
    """Fail if a worker of pytest-xdist has begun this run before: it was killed, and would be again.

    With ``--dist loadgroup`` a killed worker's run is handed to the next worker.
    """
    # A pytest that a worker starts inherits its environment, but not this.
    if not hasattr(config, "workerinput"):
        return
    begun = factory.getbasetemp().parent / f"golden-{name}.begun"
    try:
        begun.touch(exist_ok=False)
    except FileExistsError:
        pytest.fail(f"{name}: the worker that ran it was killed; it is not run again", pytrace=False)


def _judged(run: Run, name: str | None, recordings: Recordings, root: Path) -> list[str]:
    """Fail unless a run equals its golden, or has the property called ``name``; what a tolerance let pass."""
    from golden.check.verify import Failed, judge_one
    from golden.report.verdicts import render_verdict, tolerances_of
    from golden.trace.errors import ExitCode

    verdict = judge_one(run, name, recordings, root)
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


class RunItem(pytest.Function):
    """One run, or one property of it, as a test."""

    golden_run: Run


class RunFile(pytest.Module):
    """A run file."""

    def _getobj(self) -> Any:
        return object()

    def collect(self) -> Iterator[pytest.Item]:
        """The run of this file and its properties; a mistake in it is an error of collection, in one line."""
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
            title = run.name if name is None else f"{run.name}[{name}]"

            def test(tmp_path_factory: pytest.TempPathFactory, record_property: Record) -> None:
                _only_once(title, self.config, tmp_path_factory)
                if not kept:
                    out = tmp_path_factory.mktemp(f"golden-{run.name}")
                    kept.append(Recordings(run, root=root, out=out))
                begun = time.monotonic()
                tolerated: list[str] = []
                try:
                    with _on_own_device():
                        tolerated = _judged(run, name, kept[0], root)
                finally:
                    spent = time.monotonic() - begun
                    record_property(_PROPERTY, json.dumps([run.name, run.budget, spent, tolerated]))

            return test

        yield self._item(run, run.name, test_of(None))
        for name in run.same:
            yield self._item(run, f"{run.name}[{name}]", test_of(name))

    def _item(self, run: Run, name: str, function: Callable[..., None]) -> pytest.Item:
        item: RunItem = RunItem.from_parent(self, name=name, callobj=function)
        item.golden_run = run
        # A run and what it is compared with belong on one worker.
        item.add_marker(pytest.mark.xdist_group(f"golden-{run.name}"))
        if run.device.startswith("cuda"):
            item.add_marker(pytest.mark.cuda)
        return item
