"""The commands: from a tree to a source, to a report, to a tree."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import libcst as cst
from libcst.codemod import CodemodCommand, CodemodContext, SkipFile

from codemods.facts.source import Source, SourceError, decode_source, room_for_nesting
from codemods.plans.run import RequestError, extract_source


class HelperCommand(CodemodCommand):
    """Rewrites helpers of one file: lifts them, ``rewritten`` first as `extract_source` says."""

    rewritten: Literal["box", "context", "residual"] | None = None

    def __init_subclass__(cls) -> None:
        """What a command says of itself is what it is documented by."""
        super().__init_subclass__()
        cls.DESCRIPTION = cls.__doc__ or ""

    def __init__(
        self, context: CodemodContext, function: str | None = None, helper: Sequence[str] | None = None
    ) -> None:
        super().__init__(context)
        self.function = function
        self.helpers = tuple(helper or ())

    @staticmethod
    def add_args(arg_parser: argparse.ArgumentParser) -> None:
        """Which helpers: those of one function, some by name, or all of the file."""
        arg_parser.add_argument(
            "--function", metavar="QUALNAME", help="Only helpers defined directly in this function."
        )
        arg_parser.add_argument(
            "--helper", metavar="NAME", action="append", help="Only this helper; may be repeated."
        )

    def transform_module(self, tree: cst.Module) -> cst.Module:
        """Rewrite a module; no metadata is made, since none is needed.

        Raises:
            SkipFile: if there is nothing to do. SourceError: if the file can't be used.
        """
        return self.transform_module_impl(tree)

    def transform_module_impl(self, tree: cst.Module) -> cst.Module:
        """As `transform_module`."""
        path = self.context.filename or "<stdin>"
        data = _on_disk(path, tree)
        with room_for_nesting():
            source = decode_source(data, path)
            names = self._chosen(source)
            try:
                report = extract_source(
                    source,
                    self.function,
                    names=names,
                    residual=names if self.rewritten == "residual" else (),
                    captures="context" if self.rewritten == "context" else "params",
                    box=names if self.rewritten == "box" else (),
                )
            except RequestError as error:
                raise SkipFile(str(error)) from None
        for row in report.refused:
            assert row.refusal is not None
            refusal = row.refusal
            self.warn(
                f"{path}:{refusal.line}: {row.qualname} is refused: {refusal.code}: {refusal.reason}. "
                f"Way out: {refusal.way_out}"
            )
        changed = [change for change in report.files if change.changed]
        if not changed and not report.refused:
            raise SkipFile("no helper to rewrite")
        if not changed:
            return tree
        made = cst.parse_module(changed[0].after)
        if made.bytes != changed[0].after:
            raise SourceError(f"{path}: libcst would not write this file as it is; use codemods extract")
        return made

    def _chosen(self, source: Source) -> list[str]:
        """Qualified names of the helpers that are asked for."""
        from codemods.facts.lifting import Analysis

        scope = [h for h in Analysis(source).helpers if self.function in (None, h.outer.qualname)]
        named = [h for h in scope if not self.helpers or {h.name, h.qualname} & set(self.helpers)]
        if not named:
            raise SkipFile("no such helper")
        return list(dict.fromkeys(helper.qualname for helper in named))


def _on_disk(path: str, tree: cst.Module) -> bytes:
    """A file's bytes: those that were read, with a byte order mark that libcst leaves out.

    Raises:
        SourceError: if libcst would write it differently.
    """
    data = tree.bytes
    if Path(path).is_file():
        there = Path(path).read_bytes()
        if there != data:
            raise SourceError(f"{path}: libcst would not write this file as it is; use codemods extract")
    return data


class LiftHelpers(HelperCommand):
    """Lift helpers out of functions, their captures made keyword-only parameters."""


class SplitResidual(HelperCommand):
    """Split helpers that are used as values: a lifted function, and a closure that forwards to it."""

    rewritten = "residual"


class BoxVariables(HelperCommand):
    """Keep variables that helpers share and rebind in an object, and lift the helpers."""

    rewritten = "box"


class CollectCaptures(HelperCommand):
    """Lift helpers that read their captures from one frozen dataclass."""

    rewritten = "context"
