"""The commands: from a tree to a source, to a report, to a tree."""

from __future__ import annotations

import argparse
import ast
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal

import libcst as cst
from libcst.codemod import CodemodCommand, CodemodContext, SkipFile

from codemods.plans.lift import RequestError, extract_source
from codemods.program.helpers import Helper
from codemods.program.lifting import Analysis
from codemods.program.source import Source, SourceError, decode_source, no_collection, room_for_nesting


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
        self.function = function and function.replace(".<locals>", "")
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
            SkipFile: if there is nothing to do, or the file can't be used.
        """
        return self.transform_module_impl(tree)

    def transform_module_impl(self, tree: cst.Module) -> cst.Module:
        """As `transform_module`."""
        path = self.context.filename or "<stdin>"
        try:
            with no_collection(), room_for_nesting():
                return self._rewritten(path, tree)
        except (RequestError, SourceError) as error:
            raise SkipFile(str(error)) from None

    def _rewritten(self, path: str, tree: cst.Module) -> cst.Module:
        source, data = _source_of(path, tree)
        analysis = Analysis(source)
        names = self._chosen(analysis)
        report = extract_source(
            analysis,
            self.function,
            names=names,
            residual=names if self.rewritten == "residual" else (),
            captures="context" if self.rewritten == "context" else "params",
            box=names if self.rewritten == "box" else (),
        )
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
            return _written(tree, data)
        return _written(cst.parse_module(changed[0].after), changed[0].after)

    def _chosen(self, analysis: Analysis) -> list[str]:
        """Qualified names of the helpers that are asked for."""
        scope = [h for h in analysis.helpers if self.function in (None, h.outer.qualname)]
        wanted = {name.replace(".<locals>", "") for name in self.helpers}
        named = [h for h in scope if not wanted or {h.name, h.qualname} & wanted]
        if not named:
            raise SkipFile("no such helper")
        if self.rewritten == "residual":
            named = [helper for helper in named if not _forwards(analysis.source, helper)]
        if not named:
            raise SkipFile("no helper to rewrite")
        return list(dict.fromkeys(helper.qualname for helper in named))


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


@dataclass(frozen=True)
class Written(cst.Module):
    """A module that is written as it was proven, where libcst would write some of it differently."""

    written: bytes = b""

    @property
    def bytes(self) -> bytes:
        return self.written


def _written(tree: cst.Module, data: bytes) -> cst.Module:
    """A module that is written as these bytes."""
    return Written(**{field.name: getattr(tree, field.name) for field in fields(cst.Module)}, written=data)


def _source_of(path: str, tree: cst.Module) -> tuple[Source, bytes]:
    """A file as it is on the disk, which libcst may not keep in full; without a file, the text of the tree.

    Raises:
        SourceError: if the tree is of another text.
    """
    if not Path(path).is_file():
        source = decode_source(tree.bytes, path)
        if source.text != tree.code:
            raise SourceError(f"{path}: its first lines name another encoding than the text has; name a file")
        return source, tree.bytes
    data = Path(path).read_bytes()
    source = decode_source(data, path)
    if tree.bytes != data and not tree.deep_equals(cst.parse_module(data)):
        raise SourceError(
            f"{path}: is not what the file holds; run this command before others that change it"
        )
    return source, data


def _forwards(source: Source, helper: Helper) -> bool:
    """Whether a helper does nothing but hand what it is given to a function of the module."""
    body = helper.node.body[1:] if ast.get_docstring(helper.node) is not None else helper.node.body
    match body:
        case [ast.Return(value) | ast.Expr(ast.YieldFrom() as value)]:
            call = value.value if isinstance(value, (ast.Await, ast.YieldFrom)) else value
        case _:
            return False
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        return False
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    plain = all(isinstance(g.value if isinstance(g, ast.Starred) else g, ast.Name) for g in given)
    return plain and call.func.id in {
        made.name for made in source.tree.body if isinstance(made, (ast.FunctionDef, ast.AsyncFunctionDef))
    }
