"""Of a planted change of the trainer it is left to read, and nothing beside it; of our own plans nothing."""

import pytest

from codemods.api import run_plan
from codemods.review.report import Lifted, Renamed, Same
from codemods.review.review import review
from codemods.review.trees import Tree, tree_at
from tests.golden.mutations.corpus import REPOSITORY, Mutation, load_corpus

pytestmark = [pytest.mark.xdist_group("planted"), pytest.mark.slow]

# A statement may go on over some lines.
_LONGEST = 30
PLAN = REPOSITORY / "codemods" / "plans" / "03_engine.toml"
MONOLITH = REPOSITORY / "examples" / "monolith" / "vectorized.py"


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


def test_of_our_own_plans_nothing_is_left_to_read(base: Tree) -> None:
    root = REPOSITORY / "src"
    files = run_plan(PLAN, REPOSITORY, afresh=True).files
    made = {change.path.relative_to(root).as_posix(): change.after for change in files}
    [rest] = [path for path in made if path.endswith("training/vectorized.py")]
    others = {path: blob for path, blob in base.identities.items() if path not in made}
    single = MONOLITH.read_bytes()
    before = Tree({**others, rest: "before"}, lambda path: single if path == rest else base.read(path))
    after = Tree({**others, **dict.fromkeys(made, "after")}, lambda path: made.get(path) or base.read(path))
    found = review(before, after)
    assert len(found.outcomes) == len(found.of(Same, Renamed, Lifted)) > 70
    assert found.clean
