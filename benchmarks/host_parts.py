"""The memory of each process that trains a large host together with others.

    python benchmarks/host_parts.py [--width 1024] [--kinds ddp:2,fsdp:2] [--sequences 64]

One transformer of three blocks, an epoch of training and a validation pass: alone, and by the processes of
torchrun. Printed for each process: numbers of the host and its optimizer that lie on it, and by how much its
resident memory grew at most, from before the host was made.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
from dataclasses import replace
from typing import Any

from esper.runtime import get_task_spec
from esper.scripts.train import main as train
from esper.simic.training.vectorized import train_ppo_vectorized
from esper.tolaria import engine, setup

WIDTH = "ESPER_BENCHMARK_WIDTH"


def one_process(width: int) -> int:
    """Train, and print what lay here."""
    create, act = setup.create_host_state, engine.execute_actions
    before = [0]

    def peak() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

    def create_host_state(*given: Any) -> Any:
        before[0] = peak()
        return create(*given)

    def execute_actions(env_states: Any, *given: Any, **named: Any) -> Any:
        rank = os.environ.get("RANK", "0")
        for state in env_states:
            kept = list(state.model.parameters())
            kept += [v for o in state.optimizers for s in o.state.values() for v in s.values() if v.dim()]
            here = sum(getattr(tensor, "_local_tensor", tensor).numel() for tensor in kept)
            print(
                f"rank {rank}: host of {state.model.total_parameters:,} parameters; {here:,} numbers of host "
                f"and optimizer here; {peak() - before[0]:,} MiB more at most",
                flush=True,
            )
        return act(env_states, *given, **named)

    setup.create_host_state = create_host_state
    engine.execute_actions = execute_actions
    return train(
        sys.argv[1:],
        train=lambda config, spec: train_ppo_vectorized(config, replace(spec, widths=(width,) * 3)),
    )


def main() -> int:
    """Run each kind in turn."""
    if WIDTH in os.environ:
        return one_process(int(os.environ[WIDTH]))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--kinds", default="ddp:2,fsdp:2")
    parser.add_argument("--sequences", type=int, default=64)
    options = parser.parse_args()
    task = get_task_spec("char_lm").name
    argv = ["heuristic", "--task", task, "--rounds", "1", "--envs", "1", "--episode-length", "1", "--quiet"]
    argv += ["--train-images", str(options.sequences), "--val-images", "32"]
    environment = os.environ | {WIDTH: str(options.width), "OMP_NUM_THREADS": "1"}
    print("alone", flush=True)
    subprocess.run([sys.executable, __file__, *argv], env=environment, check=True)
    for kind in options.kinds.split(","):
        print(kind, flush=True)
        start = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node"]
        spread = ["--engine", "distributed", "--host-parallel", kind]
        subprocess.run(
            [*start, kind.partition(":")[2], __file__, *argv, *spread], env=environment, check=True
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
