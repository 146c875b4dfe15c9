"""The rewrites as libcst commands, for whoever runs codemods with ``python -m libcst.tool``.

    python -m libcst.tool codemod -x codemods.commands.LiftHelpers --no-format --function train src/

Each rewrites one file in itself and proves the result before it returns it. A helper that is refused is a
warning, and stays as it is; a file with nothing to do is skipped.
"""

from codemods.commands.command import BoxVariables, CollectCaptures, LiftHelpers, SplitResidual

__all__ = ["BoxVariables", "CollectCaptures", "LiftHelpers", "SplitResidual"]
