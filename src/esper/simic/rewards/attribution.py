"""What of a seed's measured contribution is the seed's own merit."""

from __future__ import annotations

from esper.leyline import SeedStateReport


def attributed(report: SeedStateReport, val_accuracy: float) -> float:
    """The part of a seed's contribution that counts: no more than accuracy has risen since it germinated.

    A host adapts to its seed, so that losing the seed costs far more accuracy than having it has gained.
    """
    if report.contribution is None:
        return 0.0
    gained = max(0.0, val_accuracy - report.accuracy_at_germination)
    return min(report.contribution, gained)
