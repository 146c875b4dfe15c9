"""The recurrent PPO agent: acting, remembering a rollout, learning from it, saving."""

from esper.simic.agent.actions import ActionBatch, HostActions
from esper.simic.agent.agent import PPOAgent
from esper.simic.agent.buffer import RolloutBuffer
from esper.simic.agent.config import PPOConfig
from esper.simic.agent.update import PPOUpdateResult

__all__ = ["ActionBatch", "HostActions", "PPOAgent", "PPOConfig", "PPOUpdateResult", "RolloutBuffer"]
