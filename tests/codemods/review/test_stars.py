"""Names that come by star imports of the tree's own modules, and modules that their own package imports."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from codemods.review.cli import main
from tests.codemods.review.conftest import Reviewed
from tests.trees import write

Files = Mapping[str, str]
USE = "from pkg import make\n\n\ndef f(x):\n    y = make(x)\n    return y + 1\n"
MAKE = "def make(x):\n    return x\n"
STARS = {"pkg/__init__.py": "from .acts import *\nfrom .conv import make\n", "pkg/conv.py": MAKE}
LISTED = '__all__ = ["relu"]\n\n\ndef relu(x):\n    return max(x, 0)\n'
PUBLIC = "import math\n\n\ndef relu(x):\n    return max(x, 0)\n\n\ndef _make(x):\n    return x\n"
MADE = PUBLIC.replace("_make", "make")


@pytest.mark.parametrize("acts", [LISTED, PUBLIC])
def test_a_star_import_that_does_not_bring_a_name_leaves_it_proven(
    acts: str, compare: Callable[[Files, Files], Reviewed]
) -> None:
    after = acts.replace("max(x, 0)", "x if x > 0 else 0")
    before = {**STARS, "pkg/acts.py": acts, "use.py": USE}
    reviewed = compare(before, {**STARS, "pkg/acts.py": after, "using.py": USE})
    assert reviewed.classes()["f"] == "same"
    assert reviewed.classes()["relu"] == "changed"
    assert not reviewed.document["lost"]


def test_a_name_is_followed_through_a_star_import(compare: Callable[[Files, Files], Reviewed]) -> None:
    initial = "from .acts import *\nfrom .conv import *\n"
    before = {"pkg/__init__.py": initial, "pkg/acts.py": LISTED, "pkg/conv.py": MAKE, "use.py": USE}
    after = {**before, "pkg/acts.py": LISTED.replace("0", "1"), "using.py": USE}
    del after["use.py"]
    assert compare(before, after).classes()["f"] == "same"


def test_a_definition_that_moves_between_star_imports_is_not_lost(
    compare: Callable[[Files, Files], Reviewed],
) -> None:
    files = {
        "t/__init__.py": "from .models import make\n",
        "t/models/factory.py": MAKE,
        "t/data/__init__.py": "MEAN = 1\n",
    }
    net = "from t.data import MEAN\n\n\nclass Net:\n    def run(self):\n        return MEAN\n"
    other = "\n\ndef other():\n    return Net()\n"
    stars = "from .net import *\nfrom .factory import make\n"
    reviewed = compare(
        {**files, "t/models/__init__.py": stars, "t/models/net.py": net + other},
        {
            **files,
            "t/models/__init__.py": stars.replace("*\n", "*\nfrom .others import *\n", 1),
            "t/models/net.py": net,
            "t/models/others.py": f"from t.models.net import Net\n{other}",
        },
    )
    assert reviewed.status == 0, reviewed.document


def test_a_module_that_its_own_package_imports_is_that_module(
    compare: Callable[[Files, Files], Reviewed],
) -> None:
    use = "from pkg import utils\n\n\ndef f(x):\n    y = utils.g(x)\n    return y + 1\n"
    package = {"pkg/__init__.py": "from pkg import utils\n", "pkg/utils.py": MAKE.replace("make", "g")}
    assert compare({**package, "use.py": use}, {**package, "using.py": use}).status == 0


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"pkg/acts.py": PUBLIC}, {"pkg/acts.py": MADE}),
        ({"pkg/acts.py": LISTED}, {"pkg/acts.py": LISTED.replace('"relu"', '"relu", "make"') + MAKE}),
        ({"pkg/acts.py": PUBLIC}, {"pkg/acts.py": PUBLIC + "globals()['ma' + 'ke'] = print\n"}),
        (
            {"pkg/acts.py": PUBLIC},
            {"pkg/acts.py": PUBLIC + "\n\ndef g():\n    global make\n    make = print\n"},
        ),
        ({"pkg/acts.py": PUBLIC}, {"pkg/acts.py": PUBLIC + "from .rest import *\n", "pkg/rest.py": MADE}),
        ({"pkg/acts.py": PUBLIC}, {"pkg/acts.py": PUBLIC, "pkg/__init__.py": "from .acts import *\n" * 2}),
    ],
)
@pytest.mark.parametrize("initial", ["from .conv import *\nfrom .acts import *\n", STARS["pkg/__init__.py"]])
def test_a_star_import_that_may_bring_another_thing_leaves_something_to_read(
    initial: str, before: Files, after: Files, compare: Callable[[Files, Files], Reviewed]
) -> None:
    files = {**STARS, "pkg/__init__.py": initial}
    reviewed = compare({**files, **before, "use.py": USE}, {**files, **after, "use.py": USE})
    assert reviewed.status == 1


def test_what_a_star_import_leaves_open_is_told_as_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # A submodule and a variable of one name.
    files = {
        "data/__init__.py": "from .coco import ROOT\nfrom .config import *\n",
        "data/coco.py": "ROOT = 1\n",
        "data/config.py": "coco = {}\n",
    }
    used = "from data import *\n\n\ndef train():\n    return f(coco)\n"
    write(tmp_path / "before", {**files, "train.py": f"{used}\n\ndef f(x):\n    return x\n"})
    parts = {"parts.py": "def f(x):\n    return x\n"}
    write(tmp_path / "after", {**files, **parts, "train.py": f"from parts import f\n{used}"})
    assert main(["--base", str(tmp_path / "before"), "--head", str(tmp_path / "after")]) == 1
    said = capsys.readouterr().out
    assert "what coco means can't be known: train.py has a star import, which may bind coco" in said
