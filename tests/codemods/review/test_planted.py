"""Every planted change of the trainer's corpus is left to read, and nothing beside it is.

In the trainer as it is, and in what the plans make of the single-file one; there `REVIEW_PLANTED` sets how
many are tried.
"""

import os
import random
from collections.abc import Mapping

import pytest

from codemods.plans import run_plan
from codemods.review.report import Lifted, Renamed, Same
from codemods.review.review import review
from codemods.review.trees import Tree, tree_at
from tests.golden.mutations.corpus import REPOSITORY, Mutation, load_corpus

pytestmark = [pytest.mark.xdist_group("planted"), pytest.mark.slow]

# A statement may go on over some lines.
_LONGEST = 30
PLAN = REPOSITORY / "codemods" / "plans" / "03_engine.toml"
MONOLITH = REPOSITORY / "examples" / "monolith" / "vectorized.py"
COUNT = int(os.environ.get("REVIEW_PLANTED", "4"))
# More is left than the statement: what reads a changed constant, a function with another name, what
# calls the change out of a file that the single-file trainer never had.
_MORE = frozenset(
    [
        *("actions-reordered", "dead-seeds-optimizer-kept", "degradation-in-percent", "episodes-in-reverse"),
        *("reward-statistics-at-once", "rewards-of-the-wrong-env", "rollback-event-dropped"),
        "slot-of-the-enabled-ones",
    ]
)
# The trainer was changed by hand since: the plans' tree has these lines otherwise.
_OTHERWISE = 5


@pytest.fixture(scope="module")
def base() -> Tree:
    return tree_at(str(REPOSITORY / "src"), REPOSITORY)


@pytest.mark.parametrize("mutation", load_corpus(), ids=lambda mutation: mutation.name)
def test_it_is_left_to_read(mutation: Mutation, base: Tree) -> None:
    place = mutation.place(REPOSITORY)
    path, text = place.relative_to(REPOSITORY / "src").as_posix(), place.read_text("utf-8")
    changed = text.replace(mutation.before, mutation.after).encode()
    head = Tree({**base.identities, path: "changed"}, lambda p: changed if p == path else base.read(p))
    found = review(base, head)
    outcomes = [outcome for outcome in found.outcomes if not isinstance(outcome, Same)]
    left = {
        line
        for outcome in outcomes
        for side in ("gone", "new", "left")
        for part in getattr(outcome, side, ())
        for line in range(part.first, part.last + 1)
    }
    first = text[: text.index(mutation.before)].count("\n") + 1
    last = first + mutation.before.count("\n")
    assert left & set(range(first, last + 1))
    assert left <= set(range(first - _LONGEST, last + _LONGEST))
    assert not found.clean


class Derived:
    """The single-file trainer, and what the plans make of it, each with the rest of the trainer."""

    def __init__(self) -> None:
        root = REPOSITORY / "src"
        shipped = tree_at(str(root), root)
        files = run_plan(PLAN, REPOSITORY, afresh=True).files
        self.made = {change.path.relative_to(root).as_posix(): change.after for change in files}
        others = {path: blob for path, blob in shipped.identities.items() if path not in self.made}
        [rest] = [path for path in self.made if path.endswith("training/vectorized.py")]
        self._read, self._others = shipped.read, others
        self.base = self._tree({rest: MONOLITH.read_bytes()}, "before")

    def _tree(self, files: Mapping[str, bytes], side: str) -> Tree:
        identities = {**self._others, **dict.fromkeys(files, side)}
        return Tree(identities, lambda path: files[path] if path in files else self._read(path))

    def read(self, path: str) -> str:
        return (self.made[path] if path in self.made else self._read(path)).decode()

    def head(self) -> Tree:
        return self._tree(self.made, "after")

    def with_change(self, path: str, text: str) -> Tree:
        return self._tree({**self.made, path: text.encode()}, "after")

    def place(self, mutation: Mutation) -> str | None:
        """The file that has the text; of two such files the first."""
        below = mutation.file.removeprefix("src/")
        paths = sorted({*self.made, *self._others})
        inside = (path for path in paths if path == below or path.startswith(f"{below.rstrip('/')}/"))
        return next(
            (path for path in inside if path.endswith(".py") and mutation.before in self.read(path)), None
        )


@pytest.fixture(scope="module")
def derived() -> Derived:
    return Derived()


def test_of_our_own_plans_nothing_is_left_to_read(derived: Derived) -> None:
    found = review(derived.base, derived.head())
    assert len(found.outcomes) == len(found.of(Same, Renamed, Lifted)) > 70
    assert found.clean


def test_the_plans_tree_holds_nearly_all(derived: Derived) -> None:
    assert sum(derived.place(mutation) is None for mutation in load_corpus()) <= _OTHERWISE


@pytest.mark.parametrize(
    "mutation",
    random.Random(15).sample(load_corpus(), min(COUNT, len(load_corpus()))),
    ids=lambda mutation: mutation.name,
)
def test_in_what_the_plans_make_it_is_all_that_is_left(mutation: Mutation, derived: Derived) -> None:
    path = derived.place(mutation)
    if path is None:
        pytest.skip("the plans' tree has this line otherwise")
    text = derived.read(path)
    found = review(derived.base, derived.with_change(path, text.replace(mutation.before, mutation.after, 1)))
    first = text[: text.index(mutation.before)].count("\n") + 1
    last = first + mutation.before.count("\n")
    outcomes = [o for o in found.outcomes if not isinstance(o, Same | Renamed | Lifted)]
    here = {
        (part.path, line)
        for outcome in outcomes
        for side in ("new", "left")
        for part in getattr(outcome, side, ())
        for line in range(part.first, part.last + 1)
    }
    gone = [part for outcome in outcomes for part in getattr(outcome, "gone", ())]
    assert not found.clean
    assert here & {(path, line) for line in range(first, last + 1)} or gone
    if mutation.name in _MORE:
        return
    assert here <= {(path, line) for line in range(first - _LONGEST, last + _LONGEST)}
    assert sum(part.last - part.first + 1 for part in gone) <= _LONGEST + mutation.before.count("\n")
