"""What a change does to its own gate: the policy of the base beside that of the head."""

from ci.policy.compare import Weakening, accepts
from ci.policy.weakened import weakened

__all__ = ["Weakening", "accepts", "weakened"]
