"""Every Python snippet of the documentation runs."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import anyio
import pytest

from agentrt.testing import ScriptedProvider, say
from tests import demo_picture, event_page, man_page, programs

pytestmark = pytest.mark.simulated

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SNIPPETS = [
    pytest.param(code, id=f"{page.stem}-{number}")
    for page in PAGES
    if page.stem != "first-hour"  # whose programs use one another: tests/test_first_hour.py
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL), 1)
]


USE = """
import anyio
from agentrt import Conversation, RemoteWorkspace
from agentrt.server.running import serving


async def use():
    async with serving(app, ServerSettings(port=0)) as url:
        place = RemoteWorkspace(agents.state.access.address(f"{url}/agents"))
        async with Conversation(agent, place) as conversation:
            assert await conversation.prompt("Say hello.") == "Hello."


anyio.run(use)
"""
"""What is done with a server that a snippet only defines, as `app` with `agents` below a path."""


@pytest.mark.real
@pytest.mark.parametrize("code", SNIPPETS)
async def test_a_snippet_runs(code: str, tmp_path: Path) -> None:
    """As it stands, but for the model: a scripted provider answers in the real one's place."""
    if "create_app(" in code and "serving(" not in code:
        code += USE
    async with ScriptedProvider(lambda body: say('["Hello."]' if _wants_json(body) else "Hello.")) as provider:
        scripted = f'LLM("openai/scripted", base_url="{provider.base_url}")'
        program = re.sub(r'LLM\("anthropic/[^"]+"\)', scripted, code)
        ran = await anyio.to_thread.run_sync(
            lambda: programs.run(
                "-c", program, directory=tmp_path, environment=os.environ | {"AGENTRT_HOME": str(tmp_path / "home")}
            )
        )
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    if re.search(r"print\(await conversation\.prompt\(", code):
        assert "Hello." in ran.stdout


def _wants_json(request: dict[str, Any]) -> bool:
    return "JSON" in str(request.get("messages", [""])[-1])


def test_the_first_program_of_the_readme_prints_the_answer() -> None:
    first = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[0]
    assert "print(await conversation.prompt(" in first, "the snippet's run looks at what it prints"


def test_no_program_beside_those_of_other_libraries_is_longer() -> None:
    page = (ROOT / "docs" / "embedding.md").read_text()
    programs = page.partition("## Beside other libraries")[2].partition("\n## ")[0].split("### ")[1:]
    assert len(programs) == 5
    for program in programs:
        blocks = re.findall(r"```(python|py)\n(.*?)```", program, re.DOTALL)
        assert [kind for kind, _ in blocks] == ["python", "py", "py"]
        own, *others = (
            sum(bool(line.strip()) and not line.startswith("#") for line in code.splitlines()) for _, code in blocks
        )
        assert own <= min(others), program


def test_links_between_pages_lead_somewhere() -> None:
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_paths_that_pages_name_exist() -> None:
    for page in PAGES:
        for path in re.findall(r"`((?:tests|src|docs|examples|benchmarks)/[\w/.-]+)`", page.read_text()):
            assert (ROOT / path).exists(), f"{page.name}: {path}"


@pytest.mark.real
async def test_the_picture_of_the_demo_is_of_this_version() -> None:
    """`python -m tests.demo_picture > docs/demo.svg` draws it anew."""
    now = demo_picture.picture(await demo_picture.recorded())
    assert demo_picture.words((ROOT / "docs" / "demo.svg").read_text()) == demo_picture.words(now)


def test_the_page_of_events_is_that_of_the_types() -> None:
    """`python -m tests.event_page > docs/events.md` makes it anew."""
    assert (ROOT / "docs" / "events.md").read_text() == event_page.page()
    assert event_page.missing() == set()


def test_the_manual_page_is_that_of_the_commands() -> None:
    """`python -m tests.man_page > docs/agentrt.1` makes it anew."""
    assert (ROOT / "docs" / "agentrt.1").read_text() == man_page.page()


@pytest.mark.real
@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_the_manual_page_is_sound() -> None:
    words = ["groff", "-man", "-Tutf8", "-ww", str(ROOT / "docs" / "agentrt.1")]
    checked = subprocess.run(words, capture_output=True, text=True, check=True)
    assert checked.stderr == ""
    assert "agentrt serve" in checked.stdout


def test_the_messages_of_the_page_on_troubleshooting_are_those_of_the_code() -> None:
    """Each heading in code, piece by piece between what differs."""
    said = {
        node.value
        for path in (ROOT / "src" / "agentrt").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    headings = re.findall(r"^### `(.*)`$", (ROOT / "docs" / "troubleshooting.md").read_text(), re.MULTILINE)
    assert len(headings) > 30
    for heading in headings:
        for piece in filter(None, (part.strip(" '") for part in heading.split("…"))):
            assert any(piece in text for text in said), f"no message has {piece!r}"
