"""Programs from the package registries, installed beside a proof."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SECONDS = 300


def npm(place: Path, *packages: str) -> Path:
    """Install packages of npm; the directory of their commands."""
    place.mkdir(parents=True, exist_ok=True)
    _run("npm", "install", "--no-audit", "--no-fund", "--prefix", str(place), *packages)
    return place / "node_modules" / ".bin"


def pip(place: Path, *packages: str) -> Path:
    """Install packages of PyPI; the directory of their commands."""
    _run(sys.executable, "-m", "venv", str(place))
    _run(str(place / "bin" / "pip"), "install", "-q", *packages)
    return place / "bin"


def _run(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, f"{words[:3]}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
