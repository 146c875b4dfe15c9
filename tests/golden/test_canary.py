"""The canary: equal where the bits are comparable, different where kernels are."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from golden.record.process import profile_variables
from golden.record.run import Profile

pytestmark = pytest.mark.slow

SCRIPT = """
from golden.trace.fingerprint import canary
print(canary("cpu"))
"""


def canary(profile: Profile, *, emulator: tuple[str, ...] = (), **changes: str) -> str:
    variables = dict(os.environ)
    for name, value in profile_variables(profile, seed=0).items():
        variables.pop(name, None)
        if value is not None:
            variables[name] = value
    variables.update(changes)
    # A virtual environment's python is found by its own path: the emulator needs the real one's.
    variables["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    command = [*emulator, os.path.realpath(sys.executable) if emulator else sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_canary_repeats_and_sees_other_kernels() -> None:
    portable = canary("portable")
    assert canary("portable") == portable
    assert canary("portable", ATEN_CPU_CAPABILITY="default") != portable


@pytest.mark.timeout(3600)
def test_portable_profile_gives_two_emulated_cpus_the_same_bits() -> None:
    """Not those of this machine: an emulated CPU may round an LSTM or a square root otherwise."""
    emulator = shutil.which("qemu-x86_64")
    if emulator is None:
        pytest.skip("qemu-user is not installed, so no other CPU can be emulated")
    haswell, epyc = (canary("portable", emulator=(emulator, "-cpu", cpu)) for cpu in ("Haswell", "EPYC"))
    assert haswell == epyc
