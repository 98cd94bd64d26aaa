"""An environment in which a library is not installed, for programs that say how to get it."""

from __future__ import annotations

import os
from pathlib import Path


def without(directory: Path, library: str) -> dict[str, str]:
    """The environment of a program that cannot import a library; what stands in its place is in `directory`."""
    path = directory / f"without-{library}"
    path.mkdir(parents=True)
    (path / f"{library}.py").write_text(f'raise ModuleNotFoundError("No module named {library!r}")\n')
    before = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (str(path), before)))}
