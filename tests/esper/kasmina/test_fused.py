"""Several inputs in one call only where the bits are those of separate calls."""

import torch

from esper.kasmina.blending import run_together

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


def test_a_single_part_needs_no_proof() -> None:
    assert torch.equal(run_together(lambda x: x + len(x), "test: single", STACKED, 1), STACKED + 6)
