"""`python -m examples.monolith.train ppo …`: the trainer's command line, run by the single-file trainer."""

import sys

from esper.scripts.train import main
from examples.monolith.vectorized import train_ppo_vectorized

if __name__ == "__main__":
    sys.exit(main(train=train_ppo_vectorized))
