"""The specification's home of `PPOAgent`; it lives in `simic.agent.ppo`."""

from esper.simic.agent.ppo import PPOAgent as PPOAgent
