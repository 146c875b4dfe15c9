"""The lift as a libcst command, for whoever runs codemods with ``python -m libcst.tool``.

    python -m libcst.tool codemod -x codemods.commands.LiftHelpers --no-format --function train src/

It rewrites one file in itself and proves the result before it returns it. A helper that is refused is a
warning, and stays as it is; a file with nothing to do is skipped.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import libcst as cst
from libcst.codemod import CodemodCommand, CodemodContext, SkipFile

from codemods.plans.single import extract_source
from codemods.program.lifting import Analysis
from codemods.program.source import Unusable, analysing, decode_source


class LiftHelpers(CodemodCommand):
    """Lift helpers out of functions, their captures made keyword-only parameters."""

    DESCRIPTION = "Lift helpers out of functions, their captures made keyword-only parameters."

    def __init__(
        self, context: CodemodContext, function: str | None = None, helper: Sequence[str] | None = None
    ) -> None:
        super().__init__(context)
        self.function = function and function.replace(".<locals>", "")
        self.helpers = tuple(name.replace(".<locals>", "") for name in helper or ())

    @staticmethod
    def add_args(arg_parser: argparse.ArgumentParser) -> None:
        """Add options for helpers: those of one function, some by name, or all of the file."""
        arg_parser.add_argument(
            "--function", metavar="QUALNAME", help="Only helpers defined directly in this function."
        )
        arg_parser.add_argument(
            "--helper", metavar="NAME", action="append", help="Only this helper; may be repeated."
        )

    def transform_module(self, tree: cst.Module) -> cst.Module:
        """Rewrite a module; no metadata is made, since none is needed."""
        return self.transform_module_impl(tree)

    def transform_module_impl(self, tree: cst.Module) -> cst.Module:
        """Rewrite a module.

        Raises:
            SkipFile: if there is nothing to do, or the file can't be used.
        """
        path, data = self.context.filename or "<stdin>", tree.bytes
        if Path(path).is_file() and Path(path).read_bytes() != data:
            raise SkipFile(
                f"{path}: libcst reads it differently, or another command changed it; run `codemods extract`"
            )
        try:
            with analysing():
                report = extract_source(Analysis(decode_source(data, path)), self.function, self.helpers)
        except Unusable as error:
            raise SkipFile(str(error)) from None
        for row in report.refused:
            assert row.refusal is not None
            refusal = row.refusal
            self.warn(
                f"{path}:{refusal.line}: {row.qualname} is refused: {refusal.code}: {refusal.reason}. "
                f"Way out: {refusal.way_out}"
            )
        changed = [change for change in report.files if change.changed]
        if not changed:
            if report.refused:
                return tree
            raise SkipFile("no helper to rewrite")
        made = cst.parse_module(changed[0].after)
        if made.bytes != changed[0].after:
            raise SkipFile(f"{path}: libcst would write it differently; run `codemods extract`")
        return made
