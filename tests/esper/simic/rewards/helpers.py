"""Env-steps to reward."""

from typing import Any

from esper.leyline import LifecycleOp
from esper.simic.rewards import RentAndShock, RewardInputs
from tests.esper.tamiyo.helpers import signals

NO_RENT = RentAndShock(0.0, 0.0)


def inputs(op: LifecycleOp = LifecycleOp.WAIT, **changes: Any) -> RewardInputs:
    """A step of ten, the second, on slot r0c1."""
    values: dict[str, Any] = {
        "op": op,
        "success": True,
        "slot_id": "r0c1",
        "before": {},
        "after": {},
        "signals": signals(0.3, 0.4),
        "host_params": 6000,
        "rent": NO_RENT,
    }
    return RewardInputs(**values | changes)
