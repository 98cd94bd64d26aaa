"""The conformance suite of the Model Context Protocol, against our server and our client.

What fails is named with its reason; a scenario that passes and is named fails the proof, too.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import anyio.to_thread
import pytest

from agentrt import LLM, Agent
from agentrt.server import ServerSettings
from agentrt.server.services import open_access
from agentrt.testing import ScriptedLLM, finish
from tests.server.served import served

from .packages import npm

pytestmark = pytest.mark.long
ROOT = Path(__file__).parent.parent.parent

FIXTURES = "asks for a tool, a resource or a prompt of the suite's own, with a fixed name"
SERVER: Mapping[str, str] = {
    "logging-set-level": "we offer no logging: it is deprecated, and what happens is told as progress",
    "completion-complete": "we offer no completions",
    "prompts-list": "we offer no prompts",
    **dict.fromkeys(
        (
            "tools-call-image",
            "tools-call-audio",
            "tools-call-embedded-resource",
            "tools-call-mixed-content",
            "tools-call-with-logging",
            "tools-call-with-progress",
            "tools-call-sampling",
            "tools-call-elicitation",
            "elicitation-sep1034-defaults",
            "elicitation-sep1330-enums",
            "resources-read-text",
            "resources-read-binary",
            "resources-templates-read",
            "resources-subscribe",
            "resources-unsubscribe",
            "prompts-get-simple",
            "prompts-get-with-args",
            "prompts-get-embedded-resource",
            "prompts-get-with-image",
        ),
        FIXTURES,
    ),
}
"""Scenarios of the server that fail, and why."""

NO_PERSON = "an extension for programs without a person: our logins have one"
CLIENT: Mapping[str, str] = {
    "auth/2025-03-26-oauth-metadata-backcompat": "its issuer is not where its metadata is: RFC 8414 refuses that",
    "auth/client-credentials-jwt": NO_PERSON,
    "auth/client-credentials-basic": NO_PERSON,
    "auth/cross-app-access-complete-flow": NO_PERSON,
}
"""Scenarios of the client that fail, and why."""


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The suite, with the Node that it needs, from npm."""
    return npm(tmp_path_factory.mktemp("suite"), "node@22", "@modelcontextprotocol/conformance@0.1.16")


def ran(suite: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": f"{suite}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1"}
    command = [str(suite / "conformance"), *words]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)


async def test_our_server_conforms(tmp_path: Path, suite: Path) -> None:
    expected = tmp_path / "expected.yml"
    expected.write_text("server:\n" + "".join(f"  - {name}  # {why}\n" for name, why in SERVER.items()))
    settings = ServerSettings(
        port=0, workspaces=(tmp_path / "workspaces",), agent=Agent(llm=LLM(model="scripted")), rate=None
    )
    async with served(tmp_path, ScriptedLLM([finish("ok")] * 50), settings, authenticate=open_access) as at:
        words = ("server", "--url", f"{at.url}/mcp", "-o", str(tmp_path / "out"), "--expected-failures", str(expected))
        done = await anyio.to_thread.run_sync(ran, suite, *words)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert "server-initialize: 1 passed" in done.stdout


def test_our_client_conforms(tmp_path: Path, suite: Path) -> None:
    command = f"{sys.executable} -m tests.proofs.mcp_client"
    scenarios = re.findall(r"^  - (\S+) \[", ran(suite, "list", "--client").stdout, re.MULTILINE)
    assert len(scenarios) > 20
    assert CLIENT.keys() <= set(scenarios)
    for scenario in scenarios:
        done = ran(suite, "client", "--command", command, "--scenario", scenario, "-o", str(tmp_path / "out"))
        assert (done.returncode != 0) is (scenario in CLIENT), scenario + done.stdout[-5000:] + done.stderr[-2000:]
