"""Projects to check: folders with files, and git repositories."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest

from codemods.hotpath import main
from tests import trees


@dataclass(frozen=True, slots=True)
class Project:
    """A folder with a `pyproject.toml`, and the command run in it."""

    root: Path

    def write(self, **files: str) -> None:
        """Write modules by name; two underscores are a slash."""
        texts = {f"{name.replace('__', '/')}.py": dedent(text).lstrip("\n") for name, text in files.items()}
        trees.write(self.root, texts)

    def configure(self, text: str) -> None:
        """Write the configuration's table."""
        (self.root / "pyproject.toml").write_text(f"[tool.codemods.hotpath]\n{dedent(text)}")

    def run(self, *arguments: str) -> int:
        """The command's exit status."""
        return main([str(self.root), *arguments])

    def commit(self) -> None:
        """Commit everything."""
        trees.commit(self.root)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root = tmp_path / "project"
    root.mkdir()
    (root / "pyproject.toml").write_text("")
    return Project(root)


@pytest.fixture
def repository(project: Project) -> Project:
    """The same as a git repository with a trainer: a loop over envs, a helper, one known stall."""
    project.write(
        train="""
        import torch


        def step(env_state, loss: torch.Tensor):
            env_state.losses.append(loss.detach())


        def train(env_states, losses: torch.Tensor):
            for env_idx, env_state in enumerate(env_states):
                step(env_state, losses[env_idx])
                print(losses[env_idx].item())
        """
    )
    project.commit()
    return project
