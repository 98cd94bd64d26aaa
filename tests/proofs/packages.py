"""Programs from the package registries, installed beside a proof; where a registry cannot be reached it is skipped."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SECONDS = 120
_UNREACHABLE = ("ECONN", "EAI_AGAIN", "ENOTFOUND", "ETIMEDOUT", "CERT", "ERR_SOCKET", "Could not fetch URL", "network")


def npm(place: Path, *packages: str) -> Path:
    """Install packages of npm; the directory of their commands."""
    place.mkdir(parents=True, exist_ok=True)
    bounds = ("--fetch-retries", "1", "--fetch-timeout", "60000")
    _run("npm", "install", "--no-audit", "--no-fund", *bounds, "--prefix", str(place), *packages)
    return place / "node_modules" / ".bin"


def pip(place: Path, *packages: str) -> Path:
    """Install packages of PyPI; the directory of their commands."""
    _run(sys.executable, "-m", "venv", str(place))
    _run(str(place / "bin" / "pip"), "install", "-q", *packages)
    return place / "bin"


def _run(*words: str) -> None:
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        pytest.skip(f"the registry of {words[0]} did not answer within {SECONDS} s")
    said = done.stdout[-2000:] + done.stderr[-2000:]
    if done.returncode != 0 and any(code in said for code in _UNREACHABLE):
        pytest.skip(f"the registry of {words[0]} cannot be reached: {said[-200:]}")
    assert done.returncode == 0, f"{words[:3]}: {said}"
