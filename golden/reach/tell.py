"""How much of a change the runs executed, in words."""

from __future__ import annotations

from collections.abc import Sequence

from golden.reach.changed import Changed
from golden.reach.reached import Reached, together

_MOST = 40


def tell(
    changed: tuple[Changed, Changed], reached: Sequence[tuple[Reached, Reached]], runs: int
) -> list[str]:
    """Lines of text: how many changed lines ran in at least one of some runs, then those that did not.

    ``changed`` and each of ``reached`` are of the base's side and the head's.
    """
    total = changed[0].count + changed[1].count
    if not total:
        return ["reached: no changed line of Python can run"]
    if not reached:
        return [f"reached: nothing is known of {total} changed lines: no run came to its end"]
    both = [together(pair[side] for pair in reached) for side in (0, 1)]
    if problem := both[0].problem or both[1].problem:
        return [f"reached: not measured: {problem}"]
    ran = [side.ran(lines).count for side, lines in zip(changed, both, strict=True)]
    lost = runs - len(reached)
    where = f"in at least one of {len(reached)} runs" if runs > 1 else "in this run"
    found = [
        f"reached: of {total} changed lines that can run, {sum(ran)} ran {where} "
        f"({ran[0]} of {changed[0].count} before, {ran[1]} of {changed[1].count} after)"
        + (f"; nothing is known of {lost} runs" if lost else "")
    ]
    for title, side, lines in zip(("before", "after"), changed, both, strict=True):
        missed = list(side.missed(lines))
        found += [
            f"  did not run, {title}: {path}:{first}" + (f"-{last}" if last > first else "")
            for path, first, last in missed[:_MOST]
        ]
        if len(missed) > _MOST:
            found.append(f"  did not run, {title}: {len(missed) - _MOST} more places")
    return found
