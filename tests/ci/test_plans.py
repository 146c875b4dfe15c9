"""The shipped plans can still be carried out on the frozen monolith, whatever became of their files since."""

from pathlib import Path

import pytest

from codemods.plans.derive import run_afresh

PLANS = Path(__file__).resolve().parents[2] / "codemods" / "plans"


@pytest.mark.parametrize("plan", sorted(PLANS.glob("*.toml")), ids=lambda path: path.stem)
def test_the_plan_can_be_carried_out(plan: Path) -> None:
    report = run_afresh(plan, None)
    assert report.helpers
    assert not report.refused
