"""Importing torchvision beside any build of torch: in fresh processes, where nothing is declared yet."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

LOAD = "from esper.tolaria.torchvision_loader import load_datasets\n"
DECLARE = "import torch\nlibrary = torch.library.Library('torchvision', 'DEF')\n"
NMS = "library.define('nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor')\n"
NO_NMS = "raise RuntimeError('operator torchvision::nms does not exist')\n"


def python(program: str, *paths: Path) -> subprocess.CompletedProcess[str]:
    """A fresh process that finds packages in these folders first."""
    search = [str(path) for path in (*paths, Path("src").resolve())]
    return subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {search!r}\n{program}"],
        capture_output=True,
        text=True,
        timeout=300,
    )


def stand_in(folder: Path, content: str) -> Path:
    """A package called torchvision that does this when it is imported."""
    package = folder / "torchvision"
    package.mkdir()
    (package / "__init__.py").write_text(content)
    (package / "datasets.py").write_text("CIFAR10 = 'read'\n")
    return folder


def test_torchvision_loads_beside_the_torch_that_is_installed() -> None:
    done = python(LOAD + "print(load_datasets().CIFAR10.base_folder)")
    assert (done.returncode, done.stdout.strip()) == (0, "cifar-10-batches-py"), done.stderr


def test_nothing_is_declared_before_a_library_that_declares_its_own(tmp_path: Path) -> None:
    done = python(LOAD + "print(load_datasets().CIFAR10)", stand_in(tmp_path, DECLARE + NMS))
    assert (done.returncode, done.stdout.strip()) == (0, "read"), done.stderr


def test_after_a_failed_import_of_the_users_it_loads(tmp_path: Path) -> None:
    content = "import torch\nif not hasattr(torch.ops.torchvision, 'nms'):\n    " + NO_NMS
    user = "try:\n    import torchvision\nexcept RuntimeError:\n    pass\n"
    done = python(user + LOAD + "print(load_datasets().CIFAR10)", stand_in(tmp_path, content))
    assert (done.returncode, done.stdout.strip()) == (0, "read"), done.stderr


@pytest.mark.parametrize(
    "content",
    [
        "raise RuntimeError('built for another torch')\n",
        "raise ImportError('no such library')\n",
        DECLARE + NMS + NMS.replace("nms", "qnms") + NO_NMS,
    ],
    ids=["another-error", "import-error", "operators-are-there"],
)
def test_another_failure_is_told_as_it_is(tmp_path: Path, content: str) -> None:
    done = python(LOAD + "load_datasets()", stand_in(tmp_path, content))
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].split(": ", 1)[1] in content
