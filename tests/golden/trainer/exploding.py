"""The trainer's command line on a task whose hosts learn so fast that some of them break.

The first argument says which trainer: the modular one, or the single file that it was made of.
"""

import dataclasses
import importlib
import sys

from esper.leyline.task import TaskSpec
from esper.scripts.train import main
from esper.simic.training.config import TrainingConfig

TRAINERS = {"modular": "esper.simic.training.vectorized", "single-file": "examples.monolith.vectorized"}
HOST_LR = 1.0
SEED_LR = 0.5


def train(config: TrainingConfig, task_spec: TaskSpec) -> object:
    module = importlib.import_module(TRAINERS[trainer])
    return module.train_ppo_vectorized(
        config, dataclasses.replace(task_spec, host_lr=HOST_LR, seed_lr=SEED_LR)
    )


if __name__ == "__main__":
    trainer = sys.argv.pop(1)
    sys.exit(main(train=train))
