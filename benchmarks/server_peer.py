# mypy: disable-error-code="import-not-found, misc"
"""The reference's server, for `bench_server` and `bench_work`; runs under its interpreter:

    python - PORT [FILES] < server_peer.py

It prints the path of its workspace, which has so many files.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile

LIFE = 600
"""Seconds after which the process ends itself."""

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # no network while it is imported
os.environ["OPENHANDS_SUPPRESS_BANNER"] = "1"
os.environ["LOG_LEVEL"] = "ERROR"


def fill(workspace: str, files: int) -> None:
    """Make the same files as `users.repository`, where this process sees them."""
    os.makedirs(workspace)
    for number in range(files):
        package = os.path.join(workspace, f"package{number // 50}")
        os.makedirs(package, exist_ok=True)
        with open(os.path.join(package, f"module{number}.py"), "w") as file:
            file.write(f"def function{number}():\n    return {number}\n" * 10)


def main(port: str, files: str = "0") -> None:
    """Serve until killed; a directory of its own takes all that it stores."""
    signal.alarm(LIFE)
    directory = tempfile.mkdtemp(prefix="bench-peer-")
    os.chdir(directory)
    os.environ["HOME"] = directory
    os.environ["OH_CONVERSATIONS_PATH"] = os.path.join(directory, "conversations")
    os.environ["OH_WORKSPACE_PATH"] = workspace = os.path.join(directory, "workspace")
    fill(workspace, int(files))
    print(workspace, flush=True)
    os.environ["OH_ENABLE_VSCODE"] = "false"
    os.environ["OH_ENABLE_VNC"] = "false"
    from openhands.agent_server.__main__ import main as serve

    sys.argv = ["agent-server", "--host", "127.0.0.1", "--port", port]
    serve()


if __name__ == "__main__":
    main(*sys.argv[1:])
