"""The whole suite: one thread a process, and parts of torch are not loaded before they are used."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

QUICK_START = str(Path(__file__).parent / "quick_start")


def pytest_configure(config: pytest.Config) -> None:
    # Workers share the cores: with a thread for each core in each of them, most time goes into waiting.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    # Every process of a test would compile this repository again where PYTHONDONTWRITEBYTECODE is set.
    sys.dont_write_bytecode = False
    # The same tests on a desk and in CI: one that is about CI sets it itself.
    os.environ["CI"] = ""
    for who in ("AUTHOR", "COMMITTER"):
        os.environ |= {f"GIT_{who}_NAME": "somebody", f"GIT_{who}_EMAIL": "somebody@example.invalid"}
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if QUICK_START not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([*filter(None, paths), QUICK_START])
    # The same examples each time, however long one takes: that depends on what else the machine does.
    settings.load_profile("ci")


def pytest_report_header(config: pytest.Config) -> str:
    return f"parts of torch in processes of tests: {os.environ.get('TORCH_COMPILER', 'loaded when used')}"
