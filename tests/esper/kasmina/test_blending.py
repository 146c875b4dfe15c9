"""Alpha's way to its target; several inputs in one call only where the bits are those of separate calls."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from esper.kasmina import AlphaSchedule
from esper.kasmina.blending import curve_value, run_together
from esper.leyline import AlphaCurve, AlphaMode

fractions = st.floats(0.0, 1.0)


def alphas(schedule: AlphaSchedule) -> list[float]:
    values = [schedule.alpha]
    while not schedule.done:
        schedule.tick()
        values.append(schedule.alpha)
    return values


@given(fractions, fractions, st.integers(0, 9), st.sampled_from(AlphaCurve), st.floats(1.0, 30.0))
def test_every_schedule_moves_one_way_and_ends_at_exactly_the_target(
    start: float, target: float, steps: int, curve: AlphaCurve, steepness: float
) -> None:
    values = alphas(AlphaSchedule(start, target, steps, curve, steepness))
    assert len(values) == steps + 1
    assert values[-1] == target
    if steps:
        assert values[0] == start
    rising = target >= start
    assert all((b >= a - 1e-12) if rising else (b <= a + 1e-12) for a, b in pairwise(values))


def test_steeper_sigmoid_stays_low_for_longer() -> None:
    assert curve_value(AlphaCurve.SIGMOID, 0.25, 24.0) < curve_value(AlphaCurve.SIGMOID, 0.25, 6.0)
    assert curve_value(AlphaCurve.SIGMOID, 0.5, 12.0) == pytest.approx(0.5)


def test_mode_tells_the_direction_and_holds_at_the_target() -> None:
    assert AlphaSchedule(0.0, 1.0, 2).mode is AlphaMode.UP
    assert AlphaSchedule(1.0, 0.0, 2).mode is AlphaMode.DOWN
    assert AlphaSchedule(0.0, 1.0, 0).mode is AlphaMode.HOLD


@pytest.mark.parametrize(("start", "target", "steps"), [(-0.1, 1.0, 3), (0.0, 1.1, 3), (0.0, 1.0, -1)])
def test_impossible_schedules_are_refused(start: float, target: float, steps: int) -> None:
    with pytest.raises(ValueError, match=r"alpha goes from 0 to 1|can't have -1 steps"):
        AlphaSchedule(start, target, steps)


STACKED = torch.arange(12.0).reshape(6, 2)


def test_one_call_is_made_once_it_is_known_to_give_the_same_bits() -> None:
    rows: list[int] = []

    def double(x: torch.Tensor) -> torch.Tensor:
        rows.append(len(x))
        return 2 * x

    for _ in range(3):
        assert torch.equal(run_together(double, "test: double", STACKED, 3), 2 * STACKED)
    assert rows == [2, 2, 2, 6, 6, 6]


def test_what_depends_on_the_size_of_the_batch_is_computed_part_by_part() -> None:
    rows: list[int] = []

    def uneven(x: torch.Tensor) -> torch.Tensor:
        rows.append(len(x))
        return x + len(x)

    for _ in range(3):
        assert torch.equal(run_together(uneven, "test: uneven", STACKED, 3), STACKED + 2)
    assert rows == [2, 2, 2, 6, 2, 2, 2, 2, 2, 2]
