"""Generated programs do the same after lifting as before.

They are always the same 80; with `CODEMODS_FUZZ` as many as it says are drawn anew. hypothesis makes a
failure as small as it can.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from codemods.extract import main as extract
from tests.codemods.fuzz import naive
from tests.codemods.fuzz.check import difference, run
from tests.codemods.fuzz.flows import flows
from tests.codemods.fuzz.modes import MODES, Mode
from tests.codemods.fuzz.programs import from_seed, programs

pytestmark = pytest.mark.slow

PROGRAMS = int(os.environ.get("CODEMODS_FUZZ", "80"))


def test_programs_are_deterministic_and_nearly_all_usable() -> None:
    usable = 0
    for seed in range(100):
        files = {"program.py": from_seed(seed)}
        try:
            first = run(files)
        except (SyntaxError, TimeoutError):
            continue
        usable += 1
        assert run(files) == first
        assert first
    assert usable >= 95


def test_a_naive_lifter_is_found_out() -> None:
    found = [difference(from_seed(seed), naive.main) for seed in range(100)]
    assert sum(map(bool, found)) >= 10


@settings(
    max_examples=PROGRAMS,
    derandomize="CODEMODS_FUZZ" not in os.environ,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
@given(programs() | flows(), st.sampled_from(MODES))
def test_programs_keep_what_they_do(program: str, mode: Mode) -> None:
    found = difference(program, extract, mode)
    assert found is None, found
