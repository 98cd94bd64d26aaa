"""`--tools`: tools of one's own, from a file of the directory and from an installed package."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import aiohttp
import anyio
import pytest

from agentrt.cli.own_tools import offered_tools, own_tools
from agentrt.errors import ConfigurationError
from agentrt.testing import ScriptedProvider, call, finish
from tests import programs
from tests.proofs.waiting import eventually

from .test_main import environment
from .test_serve import agentrt_serve, ready

pytestmark = pytest.mark.simulated

WEATHER = '''
from agentrt import tool

def forecast(city: str) -> str:
    """The weather of a city."""
    return f"It rains in {city}."

@tool
async def celsius(fahrenheit: float) -> float:
    """Convert a temperature to Celsius."""
    return (fahrenheit - 32) * 5 / 9

both = [forecast, celsius]
number = 5
'''


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a module in the present directory."""
    name = f"weather_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(WEATHER)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


def test_a_function_a_tool_and_a_list_are_loaded(module: str) -> None:
    assert [kind.name for kind in own_tools([f"{module}:forecast", f"{module}:celsius"])] == ["forecast", "celsius"]
    assert [kind.name for kind in own_tools([f"{module}:both"])] == ["forecast", "celsius"]


def test_a_file_beside_a_tool_is_not_imported_in_place_of_a_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The directory may be a workspace, and an agent may write `litellm.py` there."""
    monkeypatch.chdir(tmp_path)
    name = f"own_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(WEATHER)
    assert [kind.name for kind in own_tools([f"{name}:forecast"])] == ["forecast"]
    last = sys.path.pop()
    assert last == str(tmp_path)
    assert str(tmp_path) not in sys.path


@pytest.mark.real
@pytest.mark.parametrize("options", [(), ("-P",)])
def test_a_library_is_not_imported_from_the_directory_where_it_is_started(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    command = [sys.executable, *options, "-m", "agentrt", "models", "--help"]
    for name in ("litellm", "prompt_toolkit", "rich"):
        (tmp_path / f"{name}.py").write_text("open('ran', 'w')")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment(tmp_path), check=False)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "ran").exists()


def test_what_a_package_offers_is_loaded_by_its_name(module: str, tmp_path: Path) -> None:
    info = tmp_path / "weather-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: weather\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[agentrt.tools]\nweather = {module}:both\n")
    assert [kind.name for kind in own_tools(["weather"])] == ["forecast", "celsius"]
    assert {kind.name for kind in offered_tools()} >= {"forecast", "celsius"}
    with pytest.raises(ConfigurationError, match=r"--tools climate: no package offers .*weather.*write MODULE:NAME"):
        own_tools(["climate"])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("nowhere_at_all:forecast", "cannot be loaded: ModuleNotFoundError"),
        ("MODULE:", "write MODULE:NAME, as 'tools:celsius'"),
        ("pkg/helper:h", "write MODULE:NAME"),
        ("a:b:c", "write MODULE:NAME"),
        ("MODULE:nothing", "cannot be loaded: AttributeError"),
        ("MODULE:number", "tools=.* has int in it"),
    ],
)
def test_what_cannot_be_loaded_is_said_in_a_sentence(module: str, given: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as refused:
        own_tools([given.replace("MODULE", module)])
    assert "\n" not in str(refused.value)


@pytest.mark.real
async def test_a_server_has_them(module: str, tmp_path: Path) -> None:
    async with ScriptedProvider([call("forecast", city="Oslo"), finish("Wet.")]) as provider:
        words = ("--model", "openai/scripted", "--base-url", provider.base_url, "--tools", f"{module}:forecast")
        async with agentrt_serve(tmp_path, *words, "--confirm", "never", OPENAI_API_KEY="none") as server:
            async with aiohttp.ClientSession() as session:
                await ready(session, server)
                wanted = {"id": "c", "message": "How is it?"}
                async with session.post(f"{server.url}/conversations", json=wanted) as answer:
                    assert answer.status == 201, await answer.text()

                async def told() -> bool:
                    async with session.get(f"{server.url}/conversations/c") as answer:
                        return bool((await answer.json())["answer"] == "Wet.")

                await eventually(told, "the answer", 20)
            assert await server.stop() == 0
    assert "rains in Oslo" in json.dumps(provider.requests[1]["messages"])


@pytest.mark.real
async def test_a_run_has_them_and_a_resume_takes_them_again(module: str, tmp_path: Path) -> None:
    turns = [call("forecast", city="Oslo"), finish("Wet."), call("forecast", city="Bergen"), finish("Wetter.")]
    async with ScriptedProvider(turns) as provider:
        where = ("--model", "openai/scripted", "--base-url", provider.base_url, "--workspace", str(tmp_path))
        given = {**environment(tmp_path / "home"), "OPENAI_API_KEY": "none"}
        tools = ("--tools", f"{module}:forecast", "--yes")
        agentrt = partial(programs.run, "-m", "agentrt", directory=tmp_path, environment=given)
        ran = await anyio.to_thread.run_sync(lambda: agentrt("run", "-", *where, *tools, "--json", input="How is it?"))
        assert ran.returncode == 0, ran.stderr
        said = [json.loads(line) for line in ran.stdout.splitlines()]
        assert any(e["type"] == "ObservationEvent" and "rains in Oslo" in json.dumps(e["content"]) for e in said)
        again = await anyio.to_thread.run_sync(lambda: agentrt("resume", "-m", "And Bergen?", *tools))
        assert again.returncode == 0, again.stderr
        assert "It rains in Bergen." in again.stdout
        without = await anyio.to_thread.run_sync(lambda: agentrt("resume", "-m", "And here?"))
        assert without.returncode == 2
        assert without.stderr.startswith("agentrt: no implementation of tool 'forecast'")
    assert provider.requests[0]["messages"][1]["content"] == "How is it?"
