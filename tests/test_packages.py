"""The packages load in a fresh interpreter, and the static half loads without torch."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("package", ["codemods", "golden", "ci", "esper"])
def test_every_package_imports_in_a_fresh_interpreter(package: str) -> None:
    program = f"import sys, {package}; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
