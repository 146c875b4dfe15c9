"""Determinism settings as environment variables, made before torch is imported."""

from __future__ import annotations

from typing import Literal

Profile = Literal["exact", "portable"]

_THREAD_COUNTS = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
_ALWAYS = {
    "OMP_DYNAMIC": "FALSE",
    "MKL_DYNAMIC": "FALSE",
    "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
    "PYTHONUNBUFFERED": "1",
}
# Each of the three was measured to matter: they pin ATen, oneDNN and MKL to one instruction set.
_PORTABLE = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "MKL_CBWR": "COMPATIBLE",
}


def profile_variables(profile: Profile, *, seed: int) -> dict[str, str | None]:
    """Return environment variables of a profile; None means that a variable must not be set."""
    variables: dict[str, str | None] = {**_ALWAYS, "PYTHONHASHSEED": str(seed % 2**32)}
    variables.update(dict.fromkeys(_THREAD_COUNTS, "1"))
    variables.update(_PORTABLE if profile == "portable" else dict.fromkeys(_PORTABLE))
    return variables
