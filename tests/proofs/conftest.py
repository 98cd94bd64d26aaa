"""What several proofs share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agentrt import DockerWorkspace

from .engines import IMAGE, NoEngine, engine


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an engine."""
    try:
        with engine(tmp_path_factory.mktemp("engine") / "own") as address:
            yield address
    except NoEngine as error:
        pytest.skip(str(error))


@pytest.fixture
def workspace(tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch) -> DockerWorkspace:
    """A workspace in a container."""
    if address:
        monkeypatch.setenv("DOCKER_HOST", address)
    (tmp_path / "work").mkdir()
    return DockerWorkspace(str(tmp_path / "work"), IMAGE)
