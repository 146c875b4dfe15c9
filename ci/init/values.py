"""Values for a program's options: brief, on the CPU, with one seed, into one folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ci.init.options import Option

SEED = ("seed", "random-seed", "rng-seed", "manual-seed", "global-seed")
_OUT = (
    *("out", "out-dir", "output", "output-dir", "output-path", "outdir", "save-dir", "save-path", "log-dir"),
    *("logdir", "run-dir", "runs-dir", "results-dir", "telemetry-dir", "work-dir", "workdir", "dir"),
    *("checkpoint-dir", "ckpt-dir", "default-root-dir", "exp-dir", "experiment-dir"),
)
_OFF = (
    *("compile", "torch-compile", "compile-model", "use-compile", "wandb", "wandb-log", "use-wandb", "track"),
    *("log-wandb", "mlflow", "use-mlflow", "capture-video", "cuda", "use-cuda", "gpu", "use-gpu", "amp"),
    *("save-video", "upload", "upload-model", "push-to-hub"),
)
_ON = (
    *("no-cuda", "disable-cuda", "no-gpu", "no-wandb", "no-compile", "cpu", "force-cpu", "use-cpu"),
    "offline",
)
_FIXED = {
    **dict.fromkeys(("num-workers", "workers", "n-workers", "loader-workers", "dataloader-workers"), "0"),
    **dict.fromkeys(("accelerator",), "cpu"),
    **dict.fromkeys(("backend", "dist-backend", "distributed-backend"), "gloo"),
    **dict.fromkeys(("wandb-mode",), "disabled"),
}
# Lengths of a whole training. One that is none of these ends after so many optimizer steps.
_SHORT = {
    **dict.fromkeys(
        ("epoch", "epochs", "num-epochs", "n-epochs", "nepochs", "max-epochs", "train-epochs"), 2
    ),
    **dict.fromkeys(
        ("num-train-epochs", "rounds", "num-rounds", "episodes", "num-episodes", "n-episodes"), 2
    ),
    **dict.fromkeys(("max-episodes", "eval-iters", "eval-steps", "warmup-iters", "eval-episodes"), 2),
    **dict.fromkeys(("iterations", "iters", "max-iters", "num-iterations", "n-iters", "niters", "niter"), 12),
    **dict.fromkeys(("nsteps", "num-batches", "n-batches", "max-batches", "max-iter", "num-iter"), 12),
    **dict.fromkeys(("num-iters", "n-iter", "max-iter-num", "max-iterations", "num-updates", "updates"), 12),
    **dict.fromkeys(("steps", "max-steps", "train-steps", "num-train-steps"), 12),
    **dict.fromkeys(("num-train", "n-train", "train-size", "num-train-samples", "max-train-samples"), 256),
    **dict.fromkeys(("num-val", "n-val", "val-size", "num-val-samples", "max-val-samples"), 64),
}


@dataclass(frozen=True, slots=True)
class Arguments:
    """The words that follow a program on its command line.

    ``given`` names the options in it, ``shortened`` those that make the program brief.
    """

    words: tuple[str, ...]
    given: tuple[str, ...]
    shortened: tuple[str, ...]
    missing: tuple[str, ...]
    seeded: bool


def choose(options: Sequence[Option], *, without: Sequence[str] = ()) -> Arguments:
    """Return arguments for the options, ``without`` some of them."""
    words: list[str] = []
    given: list[str] = []
    shortened: list[str] = []
    missing: list[str] = []
    seeded = False
    for option in {option.role: option for option in options}.values():
        role = option.role
        if option.name in without:
            continue
        before = len(words)
        if not option.name.startswith("-"):
            missing += [option.name] * option.required
        elif role in SEED:
            seeded = True
            words += _written(option, "{seed}")
        elif role in _OUT and option.switch is None:
            words += _written(option, "{out}")
        elif role == "device":
            words += _written(option, "{device}")
        elif role in _OFF and option.switch is not None:
            words += _switched_off(option)
        elif role in _ON and option.switch == "":
            words.append(option.name)
        elif role in _FIXED and option.switch is None and str(option.default) != _FIXED[role]:
            words += _written(option, _FIXED[role])
        elif role in _SHORT and _is_long(option):
            shortened.append(option.name)
            words += _written(option, str(_SHORT[role]))
        elif option.required:
            missing.append(option.name)
        given += [option.name] * (len(words) > before)
    return Arguments(tuple(words), tuple(given), tuple(shortened), tuple(missing), seeded)


def _is_long(option: Option) -> bool:
    """Return whether a length is longer than needed; a negative one has no end."""
    default = option.default
    if isinstance(default, bool) or not isinstance(default, int | float):
        return True
    return default > _SHORT[option.role] or default < 0


def _written(option: Option, value: str) -> Iterator[str]:
    if option.joined:
        yield f"{option.name}={value}"
    else:
        yield from (option.name, value)


def _switched_off(option: Option) -> Iterator[str]:
    if option.default is True and option.switch:
        yield f"{option.name}={option.switch}" if option.joined else option.switch
