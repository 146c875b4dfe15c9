"""Everything that can be set for a run. One field is one flag, one key of a JSON file and one attribute."""

import difflib
import json
import tempfile
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from esper.leyline import DEFAULT_GOVERNOR_ABSOLUTE_THRESHOLD, SlotConfig
from esper.leyline.errors import InputError
from esper.leyline.task import Loading
from esper.simic.agent.config import PPOConfig


@dataclass(frozen=True, slots=True)
class Flag:
    """How a field appears on the command line, and of which sub-commands; `outcome` says whether it can
    change what is learnt.
    """

    help: str
    _: KW_ONLY
    outcome: bool = True
    commands: tuple[str, ...] = ("ppo", "heuristic")


# Bounds far above what a machine can hold, so that a slip of the keyboard is refused and not tried.
Count = Annotated[int, Field(ge=1, le=1_000_000)]
EnvCount = Annotated[int, Field(ge=1, le=1_024)]
EpisodeLength = Annotated[int, Field(ge=1, le=10_000)]
Names = Annotated[tuple[str, ...], Field(min_length=1)]
RewardModeName = Literal["shaped", "escrow", "simplified", "basic", "minimal", "sparse"]
Workers = Annotated[int, Field(ge=0, le=256)]
_PPO = ("ppo",)
_AGENT = PPOConfig()


class TrainingConfig(BaseModel):
    """A run's settings. Construct with `parse_config` for one-line errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    task: Annotated[str, Flag("what the hosts learn")] = "cifar_baseline"
    rounds: Annotated[Count, Flag("rounds of fresh hosts, each followed by a policy update")] = 20
    envs: Annotated[EnvCount, Flag("hosts trained side by side")] = 4
    episode_length: Annotated[EpisodeLength, Flag("epochs of host training, and decisions, per round")] = 25
    policy: Annotated[Literal["ppo", "heuristic"], Flag("who acts; the sub-command says it", commands=())] = (
        "ppo"
    )
    learning_rate: Annotated[float, Field(gt=0), Flag("step size of the policy's Adam", commands=_PPO)] = (
        _AGENT.learning_rate
    )
    clip: Annotated[
        float, Field(gt=0), Flag("how far an update may move the odds of a choice", commands=_PPO)
    ] = _AGENT.clip
    discount: Annotated[
        float, Field(gt=0, le=1), Flag("weight of a reward one step later, gamma", commands=_PPO)
    ] = _AGENT.discount
    gae_lambda: Annotated[
        float, Field(ge=0, le=1), Flag("decay of advantage estimates, lambda", commands=_PPO)
    ] = _AGENT.gae_lambda
    target_kl: Annotated[
        float, Field(gt=0), Flag("KL divergence at which an update stops early", commands=_PPO)
    ] = _AGENT.target_kl
    hidden_size: Annotated[int, Field(ge=2, le=8_192), Flag("units of the policy's LSTM", commands=_PPO)] = (
        _AGENT.hidden_size
    )
    max_grad_norm: Annotated[
        float, Field(gt=0), Flag("norm that the policy's gradients are clipped to", commands=_PPO)
    ] = _AGENT.max_grad_norm
    ppo_epochs: Annotated[Count, Flag("passes over the rollout per policy update", commands=_PPO)] = (
        _AGENT.epochs
    )
    minibatches: Annotated[
        Count, Flag("groups of hosts per pass, with one optimizer step each", commands=_PPO)
    ] = _AGENT.minibatches
    value_coef: Annotated[float, Field(ge=0), Flag("weight of the value loss", commands=_PPO)] = (
        _AGENT.value_coef
    )
    entropy_start: Annotated[float, Field(ge=0), Flag("entropy bonus in the first round", commands=_PPO)] = (
        _AGENT.entropy_coef
    )
    entropy_end: Annotated[float, Field(ge=0), Flag("entropy bonus after annealing", commands=_PPO)] = 0.01
    entropy_anneal_episodes: Annotated[
        int,
        Field(ge=0),
        Flag("episodes, of all hosts together, over which the bonus falls; 0 keeps it", commands=_PPO),
    ] = 0
    seed: Annotated[int, Field(ge=0, lt=2**32), Flag("what every random number follows from")] = 0
    device: Annotated[str, Flag("where hosts and policy run: cpu, cuda, cuda:1, ...")] = "cpu"
    devices: Annotated[
        Names | None, Flag("devices that hosts are spread over, with commas; default: --device")
    ] = None
    amp: Annotated[bool, Flag("compute hosts in a lower precision where that is safe")] = False
    amp_dtype: Annotated[
        Literal["bfloat16", "float16"],
        Flag("the precision of --amp; float16 scales losses, a scaler per host"),
    ] = "bfloat16"
    compile_mode: Annotated[
        Literal["off", "default", "reduce-overhead", "max-autotune"],
        Flag("compile policy and loss with torch.compile in this mode", commands=_PPO),
    ] = "off"
    slots: Annotated[Names | None, Flag("slots that seeds may grow in; default: all of the task's")] = None
    max_seeds: Annotated[Count | None, Flag("most seeds of one host at one time; default: one a slot")] = None
    gates: Annotated[
        Literal["permissive", "strict"], Flag("whether seeds need evidence to move on, or only time")
    ] = "permissive"
    auto_forward: Annotated[
        Literal["none", "timed", "all"],
        Flag("stages that seeds enter by themselves: none, those that only time decides, or all"),
    ] = "timed"
    governor_threshold: Annotated[
        float, Field(gt=0), Flag("validation loss at which a host counts as broken")
    ] = DEFAULT_GOVERNOR_ABSOLUTE_THRESHOLD
    reward_family: Annotated[
        Literal["contribution", "loss"], Flag("reward what seeds contribute, or a falling loss")
    ] = "contribution"
    reward_mode: Annotated[RewardModeName, Flag("which parts the contribution reward has")] = "shaped"
    dual_ab: Annotated[
        RewardModeName | None,
        Flag(
            "train a second time with this reward mode, from the same seed, and compare",
            outcome=False,
            commands=_PPO,
        ),
    ] = None
    data_dir: Annotated[
        Path | None,
        Flag("folder with CIFAR-10 in its python format; default: synthetic images", outcome=False),
    ] = None
    download: Annotated[bool, Flag("fetch CIFAR-10 into --data-dir first", outcome=False)] = False
    train_images: Annotated[
        Count | None, Flag("use only the first so many training images, or sequences of a text")
    ] = None
    val_images: Annotated[
        Count | None, Flag("use only the first so many validation images, or sequences of a text")
    ] = None
    num_workers: Annotated[
        Workers, Flag("threads that make batches ahead; any number gives the same bits", outcome=False)
    ] = 0
    gpu_preload: Annotated[
        bool, Flag("keep the data on the hosts' devices, as it is: no crops and flips")
    ] = False
    gpu_preload_augment: Annotated[bool, Flag("crop and flip preloaded data, on the device")] = False
    engine: Annotated[
        str,
        Flag(
            "what trains hosts: vectorized side by side, plain one after the other, distributed on the "
            "processes that torchrun starts; the same bits",
            outcome=False,
        ),
    ] = "vectorized"
    host_parallel: Annotated[
        Annotated[str, Field(pattern="^(ddp|fsdp):[1-9][0-9]{0,3}$")] | None,
        Flag(
            "ddp:N or fsdp:N, how many processes of --engine distributed train one host together, each with "
            "all of its weights or a part of them; other roundings, by ulps",
            outcome=False,
        ),
    ] = None
    rank_timeout: Annotated[
        Count, Flag("seconds that a process of --engine distributed waits for another", outcome=False)
    ] = 1800
    telemetry_dir: Annotated[Path | None, Flag("folder to write events.jsonl to", outcome=False)] = None
    telemetry_outputs: Annotated[
        Names | None,
        Flag("further outputs into that folder: tensorboard, or those of other packages", outcome=False),
    ] = None
    telemetry_level: Annotated[
        Literal["minimal", "normal", "debug"], Flag("how much telemetry to emit", outcome=False)
    ] = "normal"
    gradient_stride: Annotated[
        Count, Flag("measure hosts' gradients every so many batches, at level debug", outcome=False)
    ] = 10
    save: Annotated[
        Path | None,
        Flag("checkpoint to write before and after every round", outcome=False, commands=_PPO),
    ] = None
    resume: Annotated[
        Path | None, Flag("checkpoint to go on from, up to --rounds", outcome=False, commands=_PPO)
    ] = None
    no_progress: Annotated[bool, Flag("no progress bar", outcome=False)] = False
    quiet: Annotated[bool, Flag("print nothing but warnings and errors", outcome=False)] = False

    def ppo_config(self) -> PPOConfig:
        """The agent's part of the settings."""
        return PPOConfig(
            hidden_size=self.hidden_size,
            learning_rate=self.learning_rate,
            clip=self.clip,
            value_coef=self.value_coef,
            entropy_coef=self.entropy_start,
            discount=self.discount,
            gae_lambda=self.gae_lambda,
            epochs=self.ppo_epochs,
            minibatches=self.minibatches,
            target_kl=self.target_kl,
            max_grad_norm=self.max_grad_norm,
        )

    def outcome_settings(self) -> dict[str, Any]:
        """The fields that can change what is learnt, as JSON values."""
        plain = self.model_dump(mode="json")
        return {name: plain[name] for name, flag in flags().items() if flag.outcome}

    @model_validator(mode="after")
    def _check_dual_ab(self) -> Self:
        if self.dual_ab is None:
            return self
        if self.reward_family != "contribution":
            raise ValueError("--dual-ab: compares modes of --reward-family contribution")
        if self.dual_ab == self.reward_mode:
            raise ValueError(f"--dual-ab {self.dual_ab}: is the --reward-mode; name another")
        if self.resume is not None:
            raise ValueError("--dual-ab: trains from the start; leave out --resume")
        return self

    @model_validator(mode="after")
    def _check_reward(self) -> Self:
        default = type(self).model_fields["reward_mode"].default
        if self.reward_family == "loss" and self.reward_mode != default:
            raise ValueError(_modeless(self.reward_mode))
        return self

    @model_validator(mode="after")
    def _check_heuristic(self) -> Self:
        if self.policy == "heuristic":
            for name, flag in flags().items():
                default = TrainingConfig.model_fields[name].default
                if flag.commands == _PPO and getattr(self, name) != default:
                    raise ValueError(f"{flag_name(name)}: a rule-based policy has no use for it")
        return self

    def replaced(self, changes: dict[str, Any]) -> Self:
        """A copy with some fields changed, validated again."""
        return type(self).model_validate(self.model_dump() | changes)


def flags() -> dict[str, Flag]:
    """The table: every field with its flag, in order."""
    return {
        name: next(item for item in field.metadata if isinstance(item, Flag))
        for name, field in TrainingConfig.model_fields.items()
    }


def flag_name(field: str) -> str:
    """The flag of a field: `--episode-length` for `episode_length`."""
    return "--" + field.replace("_", "-")


def parse_config(base: TrainingConfig, changes: dict[str, Any]) -> TrainingConfig:
    """A configuration with some fields set. Raises InputError, naming flag and value, in one line."""
    try:
        config = base.replaced(changes)
    except ValidationError as error:
        raise InputError(_first_problem(error)) from error
    if config.reward_family == "loss" and "reward_mode" in changes:  # the default was asked for by name
        raise InputError(_modeless(config.reward_mode))
    return config


def _modeless(mode: str) -> str:
    return f"--reward-mode {mode}: --reward-family loss has no modes; leave one of them out"


def read_config_file(base: TrainingConfig, path: Path) -> TrainingConfig:
    """A configuration with the fields that a JSON object in a file sets. Raises InputError, also for
    unknown keys and for another policy than that of `base`, which the sub-command has said.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_without_repeats)
    except OSError as error:
        raise InputError(f"--config-json {path}: cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"--config-json {path}: not JSON ({error})") from error
    if not isinstance(content, dict):
        raise InputError(f"--config-json {path}: must hold one object, not a {type(content).__name__}")
    try:
        # JSON has neither tuples nor paths; lax parsing of JSON gives them, and still no number for a string.
        merged = base.model_dump(mode="json") | content
        config = TrainingConfig.model_validate_json(json.dumps(merged))
    except ValidationError as error:
        raise InputError(f"--config-json {path}: {_first_problem(error)}") from error
    if config.policy != base.policy:
        raise InputError(
            f"--config-json {path}: policy {config.policy} contradicts the sub-command {base.policy}; leave "
            f"it out, or use the sub-command {config.policy}"
        )
    if config.reward_family == "loss" and "reward_mode" in content:
        raise InputError(f"--config-json {path}: {_modeless(config.reward_mode)}")
    return config


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} is there twice")
    return content


def resolve_slots(config: TrainingConfig, slot_config: SlotConfig) -> tuple[str, ...]:
    """The slots that seeds may grow in, in the host's order. Raises InputError for one that the host
    lacks or that repeats, and for more seeds than these slots can hold.
    """
    try:
        slots = slot_config.require(config.slots or slot_config.slot_ids)
    except ValueError as error:
        raise InputError(f"--slots: {error}") from error
    if config.max_seeds is not None and config.max_seeds > len(slots):
        raise InputError(
            f"--max-seeds {config.max_seeds}: a slot holds one seed, and seeds may grow in "
            f"{len(slots)} ({', '.join(slots)}); give at most {len(slots)}"
        )
    return slots


def resolve_loading(config: TrainingConfig) -> Loading:
    """How batches are made. Raises InputError where augmentation of preloaded data is asked for without
    preloading.
    """
    if config.gpu_preload_augment and not config.gpu_preload:
        raise InputError("--gpu-preload-augment: needs --gpu-preload")
    augment = config.gpu_preload_augment or not config.gpu_preload
    return Loading(preload=config.gpu_preload, augment=augment, workers=config.num_workers)


def resolve_host_parallel(config: TrainingConfig) -> tuple[Literal["ddp", "fsdp"], int] | None:
    """How hosts are spread over processes, and over how many of them; None where each is on one. Raises
    InputError for an engine that can't.
    """
    if config.host_parallel is None:
        return None
    if config.engine != "distributed":
        raise InputError(f"--host-parallel {config.host_parallel}: needs --engine distributed")
    if config.amp and config.amp_dtype == "float16":
        raise InputError(
            f"--host-parallel {config.host_parallel}: --amp-dtype float16 scales losses by the gradients of "
            f"one process; take bfloat16"
        )
    kind, _, count = config.host_parallel.partition(":")
    return ("fsdp" if kind == "fsdp" else "ddp"), int(count)


def check_writable(path: Path) -> None:
    """Raise InputError now if a checkpoint could not be written to a path later."""
    if path.is_dir():
        raise InputError(f"--save {path}: is a folder; name a file")
    if not path.parent.is_dir():
        raise InputError(f"--save {path}: no folder {path.parent}; make it first")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise InputError(f"--save {path}: cannot be written ({error.strerror})") from error


def _first_problem(error: ValidationError) -> str:
    first = error.errors()[0]
    if not first["loc"]:
        return str(first["msg"]).removeprefix("Value error, ")
    name = str(first["loc"][0])
    if first["type"] == "extra_forbidden":
        close = difflib.get_close_matches(name, TrainingConfig.model_fields, n=1)
        known = (
            f"did you mean {close[0]}?" if close else f"known are {', '.join(TrainingConfig.model_fields)}"
        )
        return f"unknown setting {name!r}; {known}"
    return f"{flag_name(name)} {first['input']}: {first['msg'].lower()}"
