"""Reinforcement learning: rewards, the PPO agent, its rollout buffer and the training loop."""
