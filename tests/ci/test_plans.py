"""What is in the tree is what the shipped plans make of the monolith."""

from pathlib import Path

import pytest

from codemods.extract import main

PLANS = Path(__file__).resolve().parents[2] / "codemods" / "plans"


@pytest.mark.parametrize("plan", sorted(PLANS.glob("*.toml")), ids=lambda path: path.stem)
def test_the_tree_is_what_the_plan_makes(plan: Path) -> None:
    assert main(["--plan", str(plan), "--check", "--quiet"]) == 0
