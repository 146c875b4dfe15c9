"""The shipped plans can still be carried out on the frozen monolith, whatever became of their files since;
what they make needs a formatter, and no mending by hand.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from ci.demo import derive
from codemods.api import run_plan

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
PLANS = ROOT / "codemods" / "plans"


@pytest.mark.parametrize("plan", sorted(PLANS.glob("*.toml")), ids=lambda path: path.stem)
def test_the_plan_can_be_carried_out(plan: Path) -> None:
    report = run_plan(plan, None, afresh=True)
    assert report.helpers
    assert not report.refused


def test_what_the_plans_make_passes_the_linter_but_for_what_a_formatter_does(tmp_path: Path) -> None:
    tree = tmp_path / "derived"
    report = derive(ROOT, PLANS / "03_engine.toml", tree)
    made = [change.shown for change in report.files if change.path.is_relative_to(ROOT / "src")]
    assert len(made) > 10
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--ignore", "I001,E501", *made]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
