"""The command line in many processes, as torchrun starts it, forked from one that has torch already."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

import torch
from torch.distributed import TCPStore

from esper.scripts.train import main

SECONDS = 180.0
"""How long processes may take on a busy machine; what is quick ends at once."""

Prepare = Callable[[int], None]
"""What a process does first, given its rank: replaces what a test replaces."""

_context = multiprocessing.get_context("forkserver")
# With what many processes import only once they train; the compiler by a part of it, for it may be put off.
_LATE = ["torch.distributed.fsdp", "torch._dynamo.utils"]
_context.set_forkserver_preload([__name__, "esper.simic.training.vectorized", *_LATE])


@dataclass(frozen=True, slots=True)
class Ended:
    """Exit statuses by rank, and what each wrote to standard error."""

    statuses: tuple[int | None, ...]
    errors: tuple[str, ...]

    @property
    def lines(self) -> list[str]:
        """All that was written, whoever wrote it."""
        return [line for text in self.errors for line in text.splitlines()]


@dataclass(frozen=True, slots=True)
class Started:
    """Processes that run; `store` is where they find each other."""

    processes: tuple[BaseProcess, ...]
    folder: Path
    store: TCPStore

    def wait(self) -> Ended:
        """What became of them. AssertionError, with its stack, if one does not end in time."""
        for process in self.processes:
            process.join(SECONDS)
        late = [rank for rank, process in enumerate(self.processes) if process.is_alive()]
        for rank in late:
            os.kill(self.processes[rank].pid or 0, signal.SIGUSR1)
        if late:
            time.sleep(1.0)  # for their stacks
        for process in self.processes:
            process.kill()
            process.join()
        errors = tuple((self.folder / str(rank)).read_text() for rank in range(len(self.processes)))
        assert not late, f"ranks {late} did not end; {errors}"
        return Ended(tuple(process.exitcode for process in self.processes), errors)


def start(argv: Sequence[str], size: int, folder: Path, prepare: Prepare | None = None) -> Started:
    """Run the command line in so many processes."""
    folder.mkdir(parents=True)
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    processes = []
    for rank in range(size):
        environment = {
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(store.port),
            "RANK": str(rank),
            "WORLD_SIZE": str(size),
            "LOCAL_RANK": str(rank),
            "TORCHELASTIC_USE_AGENT_STORE": "True",
            "XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"],
        }
        arguments = ([*argv, "--engine", "distributed"], rank, environment, folder / str(rank), prepare)
        processes.append(_context.Process(target=_child, args=arguments))
        processes[-1].start()
    return Started(tuple(processes), folder, store)


def run(argv: Sequence[str], size: int, folder: Path, prepare: Prepare | None = None) -> Ended:
    """Run the command line in so many processes until they end."""
    return start(argv, size, folder, prepare).wait()


def _child(
    argv: Sequence[str], rank: int, environment: dict[str, str], errors: Path, prepare: Prepare | None
) -> None:
    os.environ.update(environment)
    torch.set_num_threads(1)
    sys.stderr = errors.open("w", buffering=1)
    faulthandler.register(signal.SIGUSR1, file=sys.stderr)
    # A shell has what it starts in the background ignore it, the tests and all that they start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    status = 70
    try:
        if prepare is not None:
            prepare(rank)
        status = main(argv)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)
