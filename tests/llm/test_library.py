"""What loading litellm leaves in a process: nothing where the program uses it itself, and no variable anywhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agentrt.llm import library

pytestmark = pytest.mark.long

HOST = """
import gc, logging, os
import litellm

litellm.suppress_debug_info, litellm.modify_params, litellm.drop_params = False, True, False
logging.getLogger("LiteLLM").setLevel(logging.INFO)

import anyio
from agentrt.llm import library

def seen():
    own = litellm.suppress_debug_info, litellm.modify_params, litellm.drop_params
    return own, logging.getLogger("LiteLLM").level, gc.get_freeze_count(), dict(os.environ)

async def main():
    before = seen()
    assert await library.acquire() is litellm
    assert seen() == before, (seen(), before)
    await library.release(litellm)

anyio.run(main)
"""


def test_a_program_that_uses_litellm_itself_keeps_its_settings() -> None:
    environment = os.environ | {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}  # as its import has no network here
    done = subprocess.run([sys.executable, "-c", HOST], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr


READER = """
import anyio
from agentrt.llm import library

anyio.run(library.acquire)

import os
print(os.environ.get("COHERE_API_BASE"), os.environ.get("LITELLM_MODE"))
"""


@pytest.mark.parametrize("mode", [None, "DEV"])
def test_a_projects_env_file_is_not_read(tmp_path: Path, mode: str | None) -> None:
    """It could send the key to another host."""
    (tmp_path / ".env").write_text("COHERE_API_BASE=http://127.0.0.1:1/\n")
    environment = os.environ | ({"LITELLM_MODE": mode} if mode else {})
    command = [sys.executable, "-c", READER]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)
    assert done.stdout == f"None {mode}\n", done.stderr


@pytest.mark.simulated
async def test_no_variable_is_left_for_what_the_process_starts() -> None:
    before = dict(os.environ)
    litellm = await library.acquire()
    assert dict(os.environ) == before
    assert (litellm.suppress_debug_info, litellm.modify_params) == (True, False)
    await library.release(litellm)
