"""The recurrent PPO agent: acting, remembering a rollout, learning from it, saving."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from esper.simic.agent.config import PPOConfig

if TYPE_CHECKING:
    from esper.simic.agent.ppo import PPOAgent, PPOUpdateResult
    from esper.simic.agent.rollout import ActionBatch, HostActions, RolloutBuffer

__all__ = ["ActionBatch", "HostActions", "PPOAgent", "PPOConfig", "PPOUpdateResult", "RolloutBuffer"]

_HOMES = {
    **dict.fromkeys(("PPOAgent", "PPOUpdateResult"), "esper.simic.agent.ppo"),
    **dict.fromkeys(("ActionBatch", "HostActions", "RolloutBuffer"), "esper.simic.agent.rollout"),
}


def __getattr__(name: str) -> Any:
    """Import where a name lives when it is first asked for: the settings beside here must load no torch."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
