"""Devices, streams, precision, timing, random generators; on a CPU the same calls do the plain thing."""

import ctypes
import hashlib
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from esper.leyline.errors import InputError

# Parameters of mallopt(3).
_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3


def resolve_device(name: str, flag: str = "--device") -> torch.device:
    """The device of a name. Raises InputError, naming the flag, if there is no such device here."""
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise InputError(f"{flag} {name}: not a device; use cpu, cuda or cuda:N") from error
    if device.type not in ("cpu", "cuda") or (device.type == "cpu" and device.index):
        raise InputError(f"{flag} {name}: not supported; use cpu, cuda or cuda:N")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise InputError(f"{flag} {name}: this machine has {torch.cuda.device_count()} CUDA device(s)")
    return device


def resolve_env_devices(
    names: tuple[str, ...] | None, policy_device: torch.device, envs: int
) -> tuple[torch.device, ...]:
    """The device of each env: the named ones in turn, or the policy's. Raises InputError for one that is
    not here.
    """
    devices = [policy_device] if names is None else [resolve_device(name, "--devices") for name in names]
    return tuple(devices[env_idx % len(devices)] for env_idx in range(envs))


def keep_bits(policy_device: torch.device, devices: Sequence[torch.device]) -> None:
    """Set what the same bits need on CUDA, before its first operation, and the policy's device as the current
    one; does nothing where all devices are CPUs.

    Products in float32 stay in float32, libraries choose their algorithms by no measurement, and cuBLAS gets
    the workspace that its repeatable algorithms ask for.
    """
    if policy_device.type == "cuda" and policy_device.index is not None:
        torch.cuda.set_device(policy_device)
    if all(device.type != "cuda" for device in (policy_device, *devices)):
        return
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False
    # The backward pass of max pooling has no variant that torch calls deterministic; windows that don't
    # overlap add nothing up, so that it repeats. Hence a warning where an error would end the run.
    torch.use_deterministic_algorithms(True, warn_only=True)


def resolve_amp_dtype(enabled: bool, name: str, devices: Sequence[torch.device]) -> torch.dtype | None:
    """The lower precision to train in, or None for float32. Raises InputError if a device lacks it."""
    if not enabled:
        return None
    dtype: torch.dtype = getattr(torch, name)
    for device in devices:
        if dtype is torch.bfloat16 and device.type == "cuda" and not torch.cuda.is_bf16_supported():
            raise InputError(
                f"--amp: {torch.cuda.get_device_name(device)} has no bfloat16; use --amp-dtype float16"
            )
    return dtype


def make_scaler(amp_dtype: torch.dtype | None, device: torch.device) -> torch.amp.GradScaler | None:
    """Keeps small gradients from vanishing in float16; None where the exponent range is that of float32."""
    return torch.amp.GradScaler(device.type) if amp_dtype is torch.float16 else None


def to_host(totals: Sequence[Tensor], device: torch.device) -> list[list[float]]:
    """Vectors of equal length, gathered on a device and read in one transfer."""
    if not totals:
        return []
    numbers: list[list[float]] = torch.stack([total.to(device) for total in totals]).tolist()
    return numbers


@contextmanager
def timed(seconds: dict[str, float], phase: str) -> Iterator[None]:
    """Add the wall time of a block to a phase: as the frozen monolith counts it."""
    started = time.perf_counter()
    yield
    seconds[phase] += time.perf_counter() - started


def keep_freed_memory() -> None:
    """Have glibc reuse freed memory instead of giving it back; changes no result.

    A host's activations are just large enough that glibc maps them afresh for every operation, and the kernel
    then clears every page: a quarter of a training step. Does nothing with other C libraries.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, 32 << 20)
        mallopt(_M_TRIM_THRESHOLD, 512 << 20)
        mallopt(_M_TOP_PAD, 64 << 20)


def make_stream(device: torch.device) -> torch.cuda.Stream | None:
    """A stream of its own for one env, or None on a CPU."""
    return torch.cuda.Stream(device) if device.type == "cuda" else None


@contextmanager
def on_stream(stream: torch.cuda.Stream | None, *consumed: Tensor) -> Iterator[None]:
    """Run the block on a stream, after the transfers that were queued on the current one.

    The tensors that it consumes are kept from being reused before the stream is done with them.
    """
    if stream is None:
        yield
        return
    stream.wait_stream(torch.cuda.current_stream(stream.device))
    with torch.cuda.stream(stream):
        for tensor in consumed:
            tensor.record_stream(stream)
        yield


def synchronise(streams: list[torch.cuda.Stream | None]) -> None:
    """Wait for every stream; nothing to do on a CPU."""
    for stream in streams:
        if stream is not None:
            stream.synchronize()


class CUDATimer:
    """Seconds between `start` and `stop`: device time by events on CUDA, wall time on a CPU.

    `elapsed` waits for the device, so read it after a synchronisation.
    """

    def __init__(self, device: torch.device) -> None:
        self._on_cuda = device.type == "cuda"
        self._started = self._stopped = 0.0
        if self._on_cuda:
            self._events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]

    def start(self) -> None:
        """Begin to measure."""
        if self._on_cuda:
            self._events[0].record()
        self._started = time.perf_counter()

    def stop(self) -> None:
        """End the measurement."""
        if self._on_cuda:
            self._events[1].record()
        self._stopped = time.perf_counter()

    def elapsed(self) -> float:
        """Seconds measured."""
        if self._on_cuda:
            self._events[1].synchronize()
            return self._events[0].elapsed_time(self._events[1]) / 1000
        return self._stopped - self._started


class PhaseTimer:
    """Seconds by phase, on one device; each turn of a phase has a `CUDATimer` of its own.

    Nothing waits for the device before `seconds` is asked for.
    """

    def __init__(self, device: torch.device, phases: Sequence[str]) -> None:
        self._device = device
        self._turns: dict[str, list[CUDATimer]] = {phase: [] for phase in phases}

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        """Count the block to a phase."""
        timer = CUDATimer(self._device)
        timer.start()
        yield
        timer.stop()
        self._turns[phase].append(timer)

    def seconds(self) -> dict[str, float]:
        """Seconds of each phase, all its turns together."""
        return {phase: sum(timer.elapsed() for timer in turns) for phase, turns in self._turns.items()}


_MASK = 2**63 - 1


def derive_seed(seed: int, *place: int | str) -> int:
    """A seed in [0, 2**63) for a place in a run; different places get unrelated ones."""
    text = "/".join(str(part) for part in (seed, *place))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") & _MASK


def derive_generator(seed: int, *place: int | str) -> torch.Generator:
    """A CPU generator for a place in a run."""
    return torch.Generator().manual_seed(derive_seed(seed, *place))
