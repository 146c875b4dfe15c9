"""Every planted change of the trainer's corpus is left to read, and nothing beside it is."""

import pytest

from codemods.review.report import Same
from codemods.review.review import review
from codemods.review.trees import Tree, tree_at
from tests.golden.mutations.corpus import REPOSITORY, Mutation, load_corpus

# A statement may go on over some lines.
_LONGEST = 30


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
