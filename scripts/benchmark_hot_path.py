"""Run `benchmarks/hot_path.py` by the path that the specification names."""

import runpy
from pathlib import Path

if __name__ == "__main__":
    runpy.run_path(
        str(Path(__file__).resolve().parents[1] / "benchmarks" / "hot_path.py"), run_name="__main__"
    )
