"""Checks that run programs and compare their traces."""

from golden.check.ab import AbResult, Side, ab, doctor
from golden.check.properties import Property
from golden.check.verify import (
    Failed,
    Judged,
    NoGolden,
    Updated,
    Verdict,
    refuse_under_ci,
    unused,
    update,
    verify,
)

__all__ = [
    "AbResult",
    "Failed",
    "Judged",
    "NoGolden",
    "Property",
    "Side",
    "Updated",
    "Verdict",
    "ab",
    "doctor",
    "refuse_under_ci",
    "unused",
    "update",
    "verify",
]
