"""`python -m esper.scripts.train ppo …`: train the policy, and the hosts that it grows."""

import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, get_args

import click
from rich.console import Console

from esper.leyline.errors import InputError
from esper.leyline.task import TaskSpec
from esper.nissa import JsonLinesOutput, TelemetryOutput, get_hub
from esper.nissa.console import ConsoleOutput
from esper.simic.training.config import (
    TrainingConfig,
    check_writable,
    flag_name,
    flags,
    parse_config,
    read_config_file,
)

if TYPE_CHECKING:  # it loads torch, which `--help` and a wrong flag need not wait for
    from esper.simic.training.result import TrainingResult

EXIT_OK = 0
EXIT_UNUSABLE_INPUT = 2
EXIT_INTERRUPTED = 130

Train = Callable[[TrainingConfig, TaskSpec], "TrainingResult"]


def main(argv: Sequence[str] | None = None, *, train: Train | None = None) -> int:
    """Run the command line with a training function; the exit status.

    0 done; 2 unusable input, said in one line; 130 interrupted.
    """
    errors = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: errors.print(f"warning: {message}")
        try:
            command = _command(train or _default_train())
            return int(command.main(args=argv, prog_name="train", standalone_mode=False) or EXIT_OK)
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message(), err=True)
            return EXIT_UNUSABLE_INPUT
        except click.ClickException as error:
            errors.print(f"error: {error.format_message().replace(chr(10), ' ')}")
            return EXIT_UNUSABLE_INPUT
        except InputError as error:
            errors.print(f"error: {error}")
            return EXIT_UNUSABLE_INPUT
        except (click.exceptions.Abort, KeyboardInterrupt):  # click makes the one of the other
            errors.print("interrupted")
            return EXIT_INTERRUPTED


def _default_train() -> Train:
    def train(config: TrainingConfig, task_spec: TaskSpec) -> "TrainingResult":
        from esper.simic.training.vectorized import train_ppo_vectorized

        return train_ppo_vectorized(config, task_spec)

    return train


def _command(train: Train) -> click.Group:
    group = click.Group(help="Train a policy that grows modules inside image classifiers while they train.")

    for policy, text in _COMMANDS.items():

        def run(preset: str | None, config_json: Path | None, *, policy: str = policy, **given: Any) -> int:
            _run(_configuration(policy, preset, config_json, given), train)
            return EXIT_OK

        options: list[click.Parameter] = [
            click.Option(["--preset"], help="start from named settings"),
            click.Option(
                ["--config-json"], type=click.Path(path_type=Path), help="settings from a JSON object"
            ),
        ]
        options += [_option(name) for name, flag in flags().items() if policy in flag.commands]
        group.add_command(click.Command(policy, params=options, callback=run, help=text))
    return group


_COMMANDS = {
    "ppo": "Train hosts, and a policy that grows them, with recurrent PPO.",
    "heuristic": "Train hosts that fixed rules grow: the baseline that a policy must beat.",
}


def _option(name: str) -> click.Option:
    """The click option of one configuration field. Values are checked by the configuration, not here."""
    field, flag = TrainingConfig.model_fields[name], flags()[name]
    default = "" if field.default in (None, False) else f" [default: {field.default}]"
    text = flag.help + default
    if field.annotation is bool:
        return click.Option([flag_name(name), name], is_flag=True, default=None, help=text)
    kinds = [kind for kind in (get_args(field.annotation) or (field.annotation,)) if kind is not NoneType]
    return click.Option([flag_name(name), name], type=_VALUES.get(_base(kinds[0]), str), help=text)


_VALUES: dict[Any, Any] = {int: int, float: float, Path: click.Path(path_type=Path)}


def _base(kind: Any) -> Any:
    """The type under an `Annotated[...]`."""
    return getattr(kind, "__origin__", kind)


def _configuration(
    policy: str, preset: str | None, config_json: Path | None, given: dict[str, Any]
) -> TrainingConfig:
    from esper.runtime import preset_settings

    config = TrainingConfig()
    if preset is not None:
        config = parse_config(config, preset_settings(preset))
    if config_json is not None:
        config = read_config_file(config, config_json)
    changes = {name: value for name, value in given.items() if value is not None}
    for name in ("slots", "devices"):
        if name in changes:
            changes[name] = tuple(part.strip() for part in changes[name].split(","))
    return parse_config(config, changes | {"policy": policy})


def _run(config: TrainingConfig, train: Train) -> None:
    from esper.runtime import get_task_spec

    task_spec = get_task_spec(config.task)
    if config.save is not None:
        check_writable(config.save)
    hub = get_hub()
    with ExitStack() as stack:
        outputs: list[TelemetryOutput] = []
        if config.telemetry_dir is not None:
            outputs.append(JsonLinesOutput(config.telemetry_dir))
        if not config.quiet:
            console = Console()
            outputs.append(ConsoleOutput(console, progress=not config.no_progress and console.is_terminal))
        stack.enter_context(hub.attached(*outputs))
        train(config, task_spec)


if __name__ == "__main__":
    sys.exit(main())
