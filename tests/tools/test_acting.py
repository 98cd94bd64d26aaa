"""Every tool on this machine; `tests/proofs/test_places.py` has the same in a container."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from .acting import ACTS, Act
from .context import FakeContext

pytestmark = pytest.mark.real


@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.__name__)
async def test_here(act: Act, tmp_path: Path) -> None:
    async with anyio.create_task_group() as tasks:
        context = FakeContext(tmp_path)
        context.tasks = tasks
        with anyio.fail_after(60):
            await act(context)
        await context.place.close()
