"""`python -m esper.scripts.train ppo …`: train the policy, and the hosts that it grows."""

import atexit
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, NoReturn, get_args

import click
from rich.console import Console
from rich.table import Table

from esper.leyline.errors import InputError, LostRankError, OutputError
from esper.leyline.task import TaskSpec
from esper.nissa import JsonLinesOutput, TelemetryOutput, get_hub, make_output
from esper.nissa.console import ConsoleOutput
from esper.scripts.processes import Processes, Terminated
from esper.simic.training.config import (
    TrainingConfig,
    check_writable,
    flag_name,
    flags,
    parse_config,
    read_config_file,
)

if TYPE_CHECKING:  # it loads torch, which `--help` and a wrong flag need not wait for
    from esper.simic.training.dual_ab import DualABResult
    from esper.simic.training.result import TrainingResult

EXIT_OK = 0
EXIT_OUTPUT_FAILED = 1
EXIT_UNUSABLE_INPUT = 2
EXIT_RANK_LOST = 3
EXIT_INTERRUPTED = 130
EXIT_TERMINATED = 143


class Interrupted(Exception):
    """The user stopped a run that can go on; the message says how."""


Train = Callable[[TrainingConfig, TaskSpec], "TrainingResult"]


def main(argv: Sequence[str] | None = None, *, train: Train | None = None) -> int:
    """Run the command line with a training function; the exit status.

    0 done; 1 the run ended because what it keeps could not be written any more; 2 unusable input; 3 another
    process of the run is gone; 130 interrupted. All but the first are told in one line, by one process.
    """
    processes = Processes()

    def tell(line: str) -> None:
        if processes.tells():
            errors.print(line)

    errors = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: processes.leads and errors.print(f"warning: {message}")
        try:
            command = _command(train or _default_train(), processes)
            return int(
                command.main(args=argv, prog_name="python -m esper.scripts.train", standalone_mode=False)
                or EXIT_OK
            )
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message(), err=True)
            return EXIT_UNUSABLE_INPUT
        except click.ClickException as error:
            tell(f"error: {error.format_message().replace(chr(10), ' ')}")
            return EXIT_UNUSABLE_INPUT
        except InputError as error:
            tell(f"error: {processes.name}{error}")
            return EXIT_UNUSABLE_INPUT
        except OutputError as error:
            _let_go_of_stdout()
            tell(f"error: {processes.name}{error}")
            return EXIT_OUTPUT_FAILED
        except LostRankError as error:
            tell(f"error: {error}")
            return EXIT_RANK_LOST
        except Interrupted as interrupted:
            tell(f"interrupted{interrupted}")
            return EXIT_INTERRUPTED
        except (click.exceptions.Abort, KeyboardInterrupt):  # click makes the one of the other
            tell("interrupted")
            return EXIT_INTERRUPTED
        except Terminated:
            return EXIT_TERMINATED


def _let_go_of_stdout() -> None:
    """Drop what a broken stdout still holds: it would fail once more at exit, with a trace."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _default_train() -> Train:
    def train(config: TrainingConfig, task_spec: TaskSpec) -> "TrainingResult":
        from esper.simic.training.vectorized import train_ppo_vectorized

        return train_ppo_vectorized(config, task_spec)

    return train


def _command(train: Train, processes: Processes) -> click.Group:
    group = click.Group(help="Train a policy that grows modules inside image classifiers while they train.")

    for policy, text in _COMMANDS.items():

        def run(preset: str | None, config_json: Path | None, *, policy: str = policy, **given: Any) -> int:
            _run(_configuration(policy, preset, config_json, given), train, processes)
            return EXIT_OK

        options: list[click.Parameter] = [
            click.Option(["--preset"], help="start from named settings"),
            click.Option(
                ["--config-json"], type=click.Path(path_type=Path), help="settings from a JSON object"
            ),
        ]
        options += [_option(name) for name, flag in flags().items() if policy in flag.commands]
        group.add_command(_version(click.Command(policy, params=options, callback=run, help=text)))
    return _version(group)


_version = click.version_option(package_name="esper-trainer", message="%(prog)s %(version)s")


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

    config = parse_config(TrainingConfig(), {"policy": policy})
    if preset is not None:
        config = parse_config(config, preset_settings(preset))
    if config_json is not None:
        config = read_config_file(config, config_json)
    changes = {name: value for name, value in given.items() if value is not None}
    for name in ("slots", "devices", "telemetry_outputs"):
        if name in changes:
            changes[name] = tuple(part.strip() for part in changes[name].split(","))
    return parse_config(config, changes)


def _run(config: TrainingConfig, train: Train, processes: Processes) -> None:
    from esper.runtime import get_task_spec

    task_spec = get_task_spec(config.task)
    with processes.together(config) as config:
        if config.dual_ab is None:
            _train_once(config, task_spec, train, processes)
        else:
            _train_twice(config, task_spec, train, processes)


def _train_twice(config: TrainingConfig, task_spec: TaskSpec, train: Train, processes: Processes) -> None:
    from esper.simic.training.dual_ab import arm_configs, run_dual_ab, write_dual_ab

    if processes.leads:
        for arm in arm_configs(config):
            _check_outputs(arm)
    result = run_dual_ab(config, lambda arm: _train_once(arm, task_spec, train, processes))
    if not processes.leads:
        return
    if config.telemetry_dir is not None:
        write_dual_ab(result, config.telemetry_dir)
    if not config.quiet:
        _show_dual_ab(result, Console())


def _check_outputs(config: TrainingConfig) -> None:
    if config.save is not None:
        check_writable(config.save)
    if config.telemetry_dir is not None:
        JsonLinesOutput(config.telemetry_dir, append=config.resume is not None)


def _train_once(
    config: TrainingConfig, task_spec: TaskSpec, train: Train, processes: Processes
) -> "TrainingResult":
    from esper.tolaria.runtime import keep_freed_memory

    keep_freed_memory()
    if processes.leads:
        _check_outputs(config)
    with get_hub().attached(*(_outputs(config) if processes.leads else ())):
        try:
            return processes.watch(lambda: train(config, task_spec))
        except KeyboardInterrupt:
            if way_out := _way_out(config):
                raise Interrupted(way_out) from None
            raise
        except LostRankError as error:
            raise LostRankError(error.who, error.what, _way_out(config)) from error


def _way_out(config: TrainingConfig) -> str:
    if config.save is None or not config.save.exists():
        return ""
    return f"; --resume {config.save} goes on from the last finished round"


def _show_dual_ab(result: "DualABResult", console: Console) -> None:
    from esper.simic.training.dual_ab import comparison_rows

    table = Table(title=f"Two reward modes from seed {result.seed}")
    for name in ("", result.first.reward_mode, result.second.reward_mode):
        table.add_column(name, justify="right" if name else "left")
    for row in comparison_rows(result):
        table.add_row(*row)
    console.print(table)
    error = "" if result.standard_error is None else f" (standard error {result.standard_error:.3f})"
    console.print(
        f"{result.second.reward_mode} minus {result.first.reward_mode}, host by host: "
        f"{result.mean_difference:+.3f}{error} over {len(result.differences)} pair(s)",
        soft_wrap=True,
        highlight=False,
    )


def _outputs(config: TrainingConfig) -> list[TelemetryOutput]:
    outputs: list[TelemetryOutput] = []
    if config.telemetry_dir is not None:
        outputs.append(JsonLinesOutput(config.telemetry_dir, append=config.resume is not None))
    for name in config.telemetry_outputs or ():
        if config.telemetry_dir is None:
            raise InputError(f"--telemetry-outputs {name}: needs a folder to write to; pass --telemetry-dir")
        outputs.append(make_output(name, config.telemetry_dir))
    if not config.quiet:
        console = Console()
        outputs.append(ConsoleOutput(console, progress=not config.no_progress and console.is_terminal))
    return outputs


def _leave(status: int) -> NoReturn:
    """End the process. Whoever pressed Ctrl-C, or waits for what is left of many processes, need not wait
    while the interpreter takes torch apart: all is closed and told by then.
    """
    if status in (EXIT_INTERRUPTED, EXIT_RANK_LOST, EXIT_TERMINATED):
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)


if __name__ == "__main__":
    _leave(main())
