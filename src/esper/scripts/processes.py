"""The command line as one of several processes: join the others, and let one of them say how it ended."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from esper.leyline.errors import InputError, LostRankError
from esper.simic.training.config import TrainingConfig

if TYPE_CHECKING:
    from torch.distributed import Store

T = TypeVar("T")

ONE_PROCESS = ("vectorized", "plain")
"""The engines that know of no other process."""


_BROKEN = ("Connection closed by peer", "Connection reset by peer", "Broken pipe", "imed out waiting")
"""What gloo says where another process is gone or silent."""

_WORD_S = 3.0
"""How long a process whose connection to rank 0 broke lets it say why."""


class Terminated(BaseException):
    """SIGTERM came: by hand, or because torchrun saw another process end."""


def group_backend(devices: Sequence[str]) -> str:
    """The backend of a process group: NCCL for tensors on CUDA devices, gloo for those of the host."""
    return "cpu:gloo,cuda:nccl" if any(name.startswith("cuda") for name in devices) else "gloo"


class Processes:
    """This process among those of its run, as torchrun tells in the environment: RANK, WORLD_SIZE and so on.

    However many end for one reason, one line tells it: the first that claims to in the store that all share,
    and before there is one, the first process of every machine.
    """

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._rank = int(environment.get("RANK", 0))
        self._started = "RANK" in environment
        self._size = int(environment.get("WORLD_SIZE", 1)) if self._started else 1
        self._first_here = environment.get("LOCAL_RANK", "0") == "0"
        self._restarts = int(environment.get("TORCHELASTIC_RESTART_COUNT", 0))
        self._one_machine = environment.get("LOCAL_WORLD_SIZE") == environment.get("WORLD_SIZE")
        self._store: Store | None = None
        self._tells: bool | None = None

    @property
    def name(self) -> str:
        """Start of this process's errors: files may be there for one process and not for another."""
        return "" if self.leads else f"rank {self._rank}: "

    @property
    def leads(self) -> bool:
        """True if this process writes and shows the results of the run."""
        return self._rank == 0

    @contextmanager
    def together(self, config: TrainingConfig) -> Iterator[TrainingConfig]:
        """Be in a process group inside the block, if the engine wants one. Gives the configuration: it goes
        on from the run's own checkpoint where torchrun has started it again.

        InputError where an engine of one process was started many times, or the processes don't find each
        other.
        """
        if config.engine in ONE_PROCESS and self._size > 1:
            raise InputError(
                f"--engine {config.engine}: trains in one process, and {self._size} were started; pass "
                f"--engine distributed, or start one"
            )
        if config.engine in ONE_PROCESS or not self._started:
            yield config
            return
        if config.download:
            raise InputError("--download: with many processes, fetch the data by a run of one process first")
        import torch.distributed as dist

        try:
            again = self._join(config, timedelta(seconds=config.rank_timeout))
        except (RuntimeError, ValueError) as error:
            problem = str(error).splitlines()[0]
            raise InputError(
                f"--engine {config.engine}: the processes did not find each other ({problem})"
            ) from error
        before = signal.signal(signal.SIGTERM, _terminate)
        try:
            yield _gone_on(config) if again else config
            signal.signal(signal.SIGTERM, before)
        except BaseException as ended:
            if isinstance(ended, LostRankError) and ended.who == "rank 0":
                self._await_word()
            self.tells()  # settled before others see that this process is gone
            raise
        finally:
            dist.destroy_process_group()

    def _join(self, config: TrainingConfig, timeout: timedelta) -> bool:
        """Make the process group; whether torchrun has started any of its processes again."""
        import torch
        import torch.distributed as dist
        import torch.distributed.nn  # loaded later, it would hold the group until the interpreter is gone

        if not self.leads:
            # All wait for rank 0 while it waits for one of them, which it is to name before they name rank 0.
            timeout *= 2
        store, _, _ = next(dist.rendezvous("env://", timeout=timeout))
        if self._one_machine:
            # The store of torchrun --standalone still has what processes told that are gone.
            store = dist.PrefixStore(f"start-{self._restarts}", store)
        backend = group_backend([config.device, *(config.devices or ())])
        dist.init_process_group(backend, store=store, rank=self._rank, world_size=self._size, timeout=timeout)
        store.set(f"process/{self._rank}", f"{socket.gethostname()}/{os.getpid()}")
        self._store = store
        restarts = torch.tensor(
            self._restarts
        )  # of this machine's; another one's may have been started again
        dist.all_reduce(restarts, dist.ReduceOp.MAX)
        return bool(restarts > 0)

    def watch(self, act: Callable[[], T]) -> T:
        """Call `act`, and return what it returns. Where SIGTERM or a broken connection ends it, look whether
        another process is gone: LostRankError.
        """
        try:
            # SIGTERM may come at any moment until it is ignored, also while another error is handled here.
            try:
                return act()
            except (RuntimeError, LostRankError):
                signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it ends already, and is to say why
                raise
        except (RuntimeError, Terminated) as ended:
            if self._store is None:
                raise
            # Torch names no rank where a collective fails. A killed one is there until its parent looks.
            broken = any(text in str(ended) for text in _BROKEN)
            lost = self._gone_here(seconds=3.0 if broken else 0.0)
            if lost is None and broken:
                lost = LostRankError("a process of another machine")
            if lost is None:
                raise
            raise lost from ended

    def tells(self) -> bool:
        """True if this process is the one that says why the run ends."""
        if self._store is None:
            return self._first_here
        if self._tells is None:
            try:
                self._tells = self._store.add("told", 1) == 1
            except RuntimeError:  # the process that kept the store is gone: nobody can agree any more
                self._tells = True
        return self._tells

    def _await_word(self) -> None:
        """Let rank 0 say why it ends, if it does: its connections to all break when another's time is up."""
        assert self._store is not None
        until = time.monotonic() + _WORD_S
        with suppress(RuntimeError):  # the store is gone, too
            while not self._store.check(["told"]) and time.monotonic() < until:
                if self._first_gone() is not None:
                    return
                time.sleep(0.05)

    def _gone_here(self, seconds: float) -> LostRankError | None:
        """The first process of this machine that is gone, or goes in so many seconds."""
        until = time.monotonic() + seconds
        while (lost := self._first_gone()) is None and time.monotonic() < until:
            time.sleep(0.1)
        return lost

    def _first_gone(self) -> LostRankError | None:
        assert self._store is not None
        host = socket.gethostname()
        for rank in range(self._size):
            key = f"process/{rank}"
            try:
                if not self._store.check([key]):
                    continue
                name, _, pid = self._store.get(key).decode().rpartition("/")
            except RuntimeError:
                return None
            if name == host and not _runs(int(pid)):
                return LostRankError(f"rank {rank}")
        return None


def _gone_on(config: TrainingConfig) -> TrainingConfig:
    if config.resume or config.dual_ab or config.save is None or not config.save.exists():
        return config
    return config.replaced({"resume": config.save})


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _terminate(*_: Any) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Terminated
