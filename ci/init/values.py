"""What to give a program's options so that it runs briefly, on the CPU, with one seed, into one folder."""

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
    "no-cuda",
    "disable-cuda",
    "no-gpu",
    "no-wandb",
    "no-compile",
    "cpu",
    "force-cpu",
    "use-cpu",
    "offline",
)
_FIXED = {
    **dict.fromkeys(("num-workers", "workers", "n-workers", "loader-workers", "dataloader-workers"), "0"),
    **dict.fromkeys(("accelerator",), "cpu"),
    **dict.fromkeys(("backend", "dist-backend", "distributed-backend"), "gloo"),
    **dict.fromkeys(("wandb-mode",), "disabled"),
}
_TOTALS = (
    *("total-timesteps", "total-steps", "total-env-steps", "num-timesteps", "num-frames", "frames"),
    *("max-timesteps", "timesteps", "max-frames", "total-frames", "num-env-steps", "t-max"),
)
# Steps with random actions before the first update, counted as the totals are.
_STARTS = (
    *("start-timesteps", "start-steps", "learning-starts", "learning-start", "learn-start", "seed-steps"),
    *("num-seed-steps", "warmup-timesteps", "random-steps", "exploration-timesteps", "initial-steps"),
)
# How often something is done, counted as the totals are.
_EVERY = (
    *("eval-freq", "eval-frequency", "eval-interval", "eval-every", "evaluate-every", "evaluation-interval"),
    *("save-freq", "save-interval", "save-every", "checkpoint-interval", "checkpoint-every"),
)
_STEPS = ("num-steps", "max-steps", "num-train-steps", "train-steps", "steps")
_EVAL_EPISODES = ("eval-episodes", "num-eval-episodes", "evaluation-episodes")
_SHORT = {
    **dict.fromkeys(
        ("epochs", "num-epochs", "n-epochs", "nepochs", "max-epochs", "train-epochs", "num-train-epochs"), 2
    ),
    **dict.fromkeys(("rounds", "num-rounds", "episodes", "num-episodes", "n-episodes", "max-episodes"), 2),
    **dict.fromkeys(("iterations", "iters", "max-iters", "num-iterations", "n-iters", "updates"), 12),
    **dict.fromkeys(("niters", "niter", "nsteps", "num-batches", "n-batches", "max-batches"), 12),
    **dict.fromkeys(("max-iter", "num-iter", "num-iters", "n-iter", "max-iter-num", "max-iterations"), 12),
    **dict.fromkeys(("num-updates", "steps", "max-steps", "train-steps", "num-train-steps", "num-steps"), 12),
    **dict.fromkeys(("num-train", "n-train", "train-size", "num-train-samples", "max-train-samples"), 256),
    **dict.fromkeys(("num-val", "n-val", "val-size", "num-val-samples", "max-val-samples"), 64),
    **dict.fromkeys(("eval-iters", "eval-steps", "warmup-iters", *_EVAL_EPISODES), 2),
}
_TOTAL, _UPDATES = 2048, 3
# More than a batch of usual size; and then so many updates.
_START, _AFTER = 300, 100


@dataclass(frozen=True, slots=True)
class Arguments:
    """What follows a program on its command line.

    ``given`` names the options in it, ``shortened`` those that make the program brief.
    """

    words: tuple[str, ...]
    given: tuple[str, ...]
    shortened: tuple[str, ...]
    missing: tuple[str, ...]
    seeded: bool


def choose(options: Sequence[Option], *, scale: float = 1.0, without: Sequence[str] = ()) -> Arguments:
    """Arguments for the options, ``without`` some of them; ``scale`` lengthens or shortens."""
    words: list[str] = []
    given: list[str] = []
    shortened: list[str] = []
    missing: list[str] = []
    seeded = False
    roles = {option.role: option for option in options}
    for role, option in roles.items():
        if option.name in without:
            continue
        before = len(words)
        if role in SEED:
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
        elif (length := _length(option, roles, scale)) is not None:
            shortened.append(option.name)
            words += _written(option, str(length))
        elif option.required:
            missing.append(option.name)
        given += [option.name] * (len(words) > before)
    return Arguments(tuple(words), tuple(given), tuple(shortened), tuple(missing), seeded)


def _length(option: Option, roles: dict[str, Option], scale: float) -> int | None:
    """How long, where it is a length that is not short enough already."""
    totalled = any(total in roles for total in _TOTALS)
    started = next((roles[name].default for name in _STARTS if name in roles), None)
    if isinstance(started, int | float) and started > 0:
        length = _after_a_start(option.role, totalled=totalled, scale=scale)
    else:
        length = _from_the_start(option.role, roles, totalled=totalled, scale=scale)
    default = option.default
    if length is None or isinstance(default, bool) or not isinstance(default, int | float):
        return length
    # Less than none says that there is no end.
    return length if default > length or default < 0 else None


def _from_the_start(role: str, roles: dict[str, Option], *, totalled: bool, scale: float) -> int | None:
    """How long, where every step trains."""
    if totalled and role in (*_TOTALS, *_EVERY):
        short = (_UPDATES * _batch(roles) if _batch(roles) else _TOTAL) // (1 if role in _TOTALS else 2)
    elif role in _SHORT and not (totalled and role == "num-steps"):
        short = _SHORT[role]
    else:
        return None
    return max(1, round(short * scale))


def _after_a_start(role: str, *, totalled: bool, scale: float) -> int | None:
    """How long, where the first update comes after so many steps."""
    total = _START + max(1, round(_AFTER * scale))
    if role in _STARTS:
        return _START
    if role in _TOTALS or (not totalled and role in _STEPS):
        return total
    if role in _EVERY:
        return total // 2
    return _SHORT[role] if role in _EVAL_EPISODES else None


def _batch(roles: dict[str, Option]) -> int:
    """How many steps of environments an update takes, where that can be seen."""
    counts = [roles[name].default for name in ("num-steps", "num-envs") if name in roles]
    product = 1
    for count in counts:
        if not isinstance(count, int):
            return 0
        product *= count
    return product if "num-steps" in roles else 0


def _written(option: Option, value: str) -> Iterator[str]:
    if option.form == "words":
        yield from (option.name, value)
    else:
        yield f"{option.name}={value}"


def _switched_off(option: Option) -> Iterator[str]:
    if option.default is True and option.switch:
        yield option.switch if option.form == "words" else f"{option.name}={option.switch}"
