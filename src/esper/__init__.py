"""A vectorised recurrent-PPO trainer that grows modules inside image classifiers while they train."""
