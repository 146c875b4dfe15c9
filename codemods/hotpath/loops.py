"""Which loops are over environments, told by names."""

from __future__ import annotations

import ast
import fnmatch
import re
from collections.abc import Callable, Container, Iterable, Iterator

from codemods.hotpath.config import Config
from codemods.hotpath.tree import children
from codemods.hotpath.waits import is_fence

_WRAPPERS = frozenset(
    {
        "chain",
        "cycle",
        "enumerate",
        "islice",
        "iter",
        "len",
        "list",
        "product",
        "range",
        "reversed",
        "set",
        "sorted",
        "track",
        "tqdm",
        "trange",
        "tuple",
        "zip",
        "zip_longest",
    }
)
_COUNTS = frozenset({"len", "range", "trange"})
_BARS = frozenset({"progress", "progressbar", "progress_bar", "tqdm"})
_WORD = re.compile(r"\w+")
_COUNT = re.compile(r"(?:n|num|max|min)_|nenvs$")
_VIEWS = frozenset({"items", "keys", "values", "copy", "tolist"})
_MAPS = frozenset({"map", "imap", "imap_unordered", "starmap", "filter"})
_DEVICE_WORDS = re.compile(r"cuda|stream|device|gpu|is_available|accelerator", re.IGNORECASE)


class LoopRules:
    """The configured patterns, compiled."""

    def __init__(self, config: Config) -> None:
        self.variable = _matcher(config.loop_variables)
        self.iterable = _matcher(config.iterables)
        self.annotation = _matcher(config.annotations)
        self.excluded = _matcher(config.exclude_iterables)
        self._loads = _matcher(config.loaders)
        self.step_variable = _matcher(config.step_variables)
        self._step_iterable = _matcher(config.step_iterables)
        self._step_words = _matcher((*config.loaders, *config.step_variables, *config.step_iterables))
        words = (*config.loop_variables, *config.iterables, *config.annotations)
        self._word = _matcher(words)
        self._literal = re.compile("|".join(_literals(words)) or "(?!)")
        self._known: dict[str, bool] = {}

    def mentions(self, text: str) -> Iterator[int]:
        """Offsets of words in a file that may make a loop near them one over environments."""
        end = 0
        for match in self._literal.finditer(text):
            start = match.start()
            if start < end:
                continue
            while start and (text[start - 1] == "_" or text[start - 1].isalnum()):
                start -= 1
            found = _WORD.match(text, start)
            if found is None:
                continue
            end = found.end()
            word = found[0]
            if word not in self._known:
                self._known[word] = bool(self._word(word))
            if self._known[word]:
                yield start

    def over_envs(self, target: ast.expr, iterable: ast.expr) -> bool:
        """Tell whether ``for target in iterable`` goes through environments."""
        names = set(_sources(iterable))
        bound = [node.id for node in _targets(target) if isinstance(node, ast.Name)]
        if any(map(self.excluded, names)) or any(map(_COUNT.match, bound)):
            return False  # a number of environments is bound: a sweep over sizes
        return any(map(self.iterable, names)) or any(map(self.variable, bound))

    def loads(self, iterable: ast.expr, feeds: Container[str] = ()) -> bool:
        """Tell whether something that a loop goes through gives batches; so do the names among ``feeds``."""
        return any(name in feeds or self._loads(name) for name in _sources(iterable))

    def fed(self, iterable: ast.expr, feeds: Container[str] = ()) -> bool:
        """Tell whether what a loop goes through is made of something that gives batches:
        ``moved(loader)``.
        """
        match iterable:
            case ast.Call(ast.Name(name) | ast.Attribute(attr=name), arguments):
                asked = self.fed if _hands_on(name) else self.loads
                return any(asked(argument, feeds) for argument in arguments)
        return False

    def same_batches(self, value: ast.expr, feeds: Container[str]) -> bool:
        """Tell whether a value gives the batches of a loader: ``tqdm(loader)``, ``enumerate(loader)``."""
        match value:
            case ast.Call(ast.Name(name) | ast.Attribute(attr=name)) if (
                not _hands_on(name) or name in _COUNTS
            ):
                return False
            case ast.Call() | ast.Name() | ast.Attribute():
                return self.loads(value, feeds)
        return False

    def over_steps(self, target: ast.expr, iterable: ast.expr) -> bool:
        """Tell whether the names of ``for target in iterable`` say that it counts steps."""
        bound = [node.id for node in _targets(target) if isinstance(node, ast.Name)]
        return any(map(self.step_variable, bound)) or any(map(self._step_iterable, _sources(iterable)))

    def while_steps(self, test: ast.expr) -> bool:
        """The same of ``while test``."""
        return any(
            self.step_variable(name) or self._step_iterable(name)
            for node in ast.walk(test)
            for name in [str(getattr(node, "attr", None) or getattr(node, "id", ""))]
        )

    def steps_in(self, line: str) -> bool:
        """Tell whether a line of code has a word that may make a loop one over steps or batches."""
        return any(map(self._step_words, _WORD.findall(line)))

    def while_envs(self, test: ast.expr) -> bool:
        """Tell whether ``while test`` counts or empties environments."""
        if isinstance(test, ast.BoolOp):
            return any(map(self.while_envs, test.values))
        if isinstance(test, ast.UnaryOp):
            return self.while_envs(test.operand)
        operands = [test.left, *test.comparators] if isinstance(test, ast.Compare) else [test]
        compared = isinstance(test, ast.Compare)
        return any(
            (isinstance(operand, ast.Name) and compared and self.variable(operand.id))
            or (_plain(operand) and any(map(self.iterable, _sources(operand))))
            for operand in operands
        )

    def mapped(self, node: ast.Call) -> bool:
        """Tell whether a call applies a function to each environment (``map(f, envs)``)."""
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        return name in _MAPS and any(
            self.iterable(source) for argument in node.args[1:] for source in _sources(argument)
        )


def _literals(patterns: Iterable[str]) -> list[str]:
    """Strings, one of which is in every word that a pattern matches: the search for them is fast."""
    longest = {max(re.split(r"\*|\?|\[[^]]*\]", pattern), key=len) for pattern in patterns}
    if "" in longest:
        return [r"\w"]  # a pattern without a letter: every word may be meant
    return [re.escape(text) for text in longest if not any(o != text and o in text for o in longest)]


def _word(pattern: str) -> str:
    """A glob as part of a regular expression over a file's text."""
    return (
        fnmatch.translate(pattern)
        .removeprefix("(?s:")
        .removesuffix(r")\Z")
        .removesuffix(r")\z")
        .replace(".*", r"\w*")
    )


def _matcher(patterns: Iterable[str]) -> Callable[[str], object]:
    return re.compile("|".join(f"(?:{_word(pattern)})" for pattern in patterns) or "(?!)").fullmatch


def _targets(target: ast.expr) -> Iterator[ast.expr]:
    if isinstance(target, (ast.Tuple, ast.List)):
        for part in target.elts:
            yield from _targets(part)
    else:
        yield target.value if isinstance(target, ast.Starred) else target


def _plain(node: ast.expr) -> bool:
    """A name, or the length of one."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "len"
    return isinstance(node, (ast.Name, ast.Attribute))


def _hands_on(name: str) -> bool:
    """Tell whether a function gives what it is given, or counts it; `TQDM` is what others call `tqdm`."""
    return name in _WRAPPERS or name.lower() in _BARS


def _sources(node: ast.expr) -> Iterator[str]:
    """Names of what an expression goes through or counts to; of dotted ones the last part."""
    match node:
        case ast.Name(name) | ast.Attribute(attr=name):
            yield name
        case ast.Subscript(value, ast.Slice()) | ast.Starred(value):
            yield from _sources(value)
        case ast.BinOp(left, _, right):
            yield from _sources(left)
            yield from _sources(right)
        case ast.BoolOp(values=values):
            for value in values:
                yield from _sources(value)
        case ast.Call(ast.Attribute(value, name), []) if name in _VIEWS:
            yield from _sources(value)
        case ast.Call(ast.Name(name) | ast.Attribute(attr=name), arguments):
            if _hands_on(name):
                for argument in arguments:
                    yield from _sources(argument)
            else:
                yield name


def only_fences(statements: list[ast.stmt]) -> bool:
    """Tell whether a block does nothing but wait: for each stream, perhaps only where there is one."""
    waits = False
    for statement in statements:
        match statement:
            case ast.Expr(ast.Call(ast.Name(name) | ast.Attribute(attr=name))) if is_fence(name):
                waits = True
            case ast.If(body=body, orelse=[]) | ast.For(body=body, orelse=[]) | ast.With(body=body):
                if not only_fences(body):
                    return False
                waits = True
            case ast.Pass() | ast.Continue() | ast.Expr(ast.Constant()):
                pass
            case _:
                return False
    return waits


def runs_once(node: ast.AST) -> bool:
    """Tell whether a loop's first round is its last: its body leaves it, and no ``continue`` skips that."""
    return (
        isinstance(node, (ast.For, ast.AsyncFor, ast.While))
        and _leaves(node.body[-1])
        and not any(map(_continues, node.body))
    )


def _leaves(node: ast.stmt) -> bool:
    match node:
        case ast.Return() | ast.Break() | ast.Raise():
            return True
        case ast.If(body=[*_, first], orelse=[*_, second]):
            return _leaves(first) and _leaves(second)
        case ast.With(body=[*_, last]):
            return _leaves(last)
    return False


def _continues(node: ast.AST) -> bool:
    """Tell whether a ``continue`` in a statement is one of the loop around it."""
    if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
        return any(map(_continues, node.orelse))
    return isinstance(node, ast.Continue) or any(
        _continues(part) for part in children(node) if not isinstance(part, ast.expr)
    )


def asks_for_device(test: ast.expr) -> bool:
    """Tell whether a condition asks if there is a device at all, without which nothing can stall."""
    return any(
        _DEVICE_WORDS.search(name)
        for node in ast.walk(test)
        for name in (getattr(node, "id", ""), getattr(node, "attr", ""))
        if name
    )


def header(node: ast.For | ast.AsyncFor | ast.While | ast.comprehension | ast.Call) -> str:
    """A loop's head, the same whether its names are variables or fields of ``self``."""
    if isinstance(node, ast.While):
        return normalise(f"while {ast.unparse(node.test)}")
    if isinstance(node, ast.Call):
        return normalise(ast.unparse(node))
    return normalise(f"for {ast.unparse(node.target)} in {ast.unparse(node.iter)}")


def normalise(text: str) -> str:
    """Code on one line, without ``self.``."""
    return re.sub(r"\bself\.", "", " ".join(text.split()))
