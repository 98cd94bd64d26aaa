"""`agentrt profile`, and commands that take one, as processes."""

from __future__ import annotations

import json
from pathlib import Path

import anyio
import pytest

from agentrt.llm.profiles import ProfileStore
from agentrt.specs import LLM, FallbackLLM
from agentrt.testing import ScriptedProvider, say

from .test_main import agentrt

pytestmark = pytest.mark.real


def test_a_profile_is_saved_listed_shown_and_removed(tmp_path: Path) -> None:
    assert agentrt(tmp_path, "profile", "list").stdout == (
        "no profiles yet: 'agentrt profile save NAME --model MODEL' makes one\n"
    )
    options = ("--base-url", "http://127.0.0.1:1/v1", "--api-key-env", "MINE", "--reasoning-effort", "low")
    saved = agentrt(tmp_path, "profile", "save", "fast", "--model", "openai/gpt-5.5", *options)
    assert (saved.returncode, saved.stdout, saved.stderr) == (0, "saved fast: openai/gpt-5.5\n", "")
    assert ProfileStore(tmp_path / "profiles.json").load("fast") == LLM(
        model="openai/gpt-5.5", base_url="http://127.0.0.1:1/v1", api_key_env="MINE", reasoning_effort="low"
    )
    shown = agentrt(tmp_path, "profile", "show", "fast")
    assert json.loads(shown.stdout)["model"] == "openai/gpt-5.5"
    header, row = agentrt(tmp_path, "profile", "list").stdout.splitlines()
    assert (header.split(), row.split()) == (["name", "model"], ["fast", "openai/gpt-5.5"])
    assert agentrt(tmp_path, "profile", "remove", "fast").stdout == "removed fast\n"
    gone = agentrt(tmp_path, "profile", "show", "fast")
    assert gone.returncode == 2
    assert gone.stderr.startswith("agentrt: no profile 'fast': ")


def test_a_whole_spec_is_read_from_a_file_or_the_input(tmp_path: Path) -> None:
    spec = tmp_path / "spec.json"
    spec.write_text(
        '{"type": "FallbackLLM", "llms": [{"type": "LLM", "model": "a/b"}, {"type": "LLM", "model": "c/d"}]}'
    )
    saved = agentrt(tmp_path, "profile", "save", "both", "--from-json", str(spec), "--store", str(tmp_path / "s"))
    assert saved.stdout == "saved both: a/b | c/d\n"
    store = ProfileStore(tmp_path / "s" / "profiles.json")
    assert store.load("both") == FallbackLLM((LLM(model="a/b"), LLM(model="c/d")))
    shown = agentrt(tmp_path, "profile", "show", "both", "--store", str(tmp_path / "s"))
    copied = agentrt(tmp_path / "s", "profile", "save", "copy", "--from-json", "-", input=shown.stdout)
    assert copied.returncode == 0, copied.stderr
    assert store.load("copy") == store.load("both")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("profile", "save", "a"), "give --model, or a whole spec with --from-json"),
        (("profile", "save", "a", "--model", "x/y", "--from-json", "{spec}"), "--from-json is the whole spec"),
        (("profile", "save", "a", "--from-json", "{spec}"), "missing required field `model`"),
        (("profile", "save", "a b", "--model", "x/y"), "invalid name of a profile 'a b'"),
        (("profile", "save", "a", "--model", "x/y", "--reasoning-effort", "huge"), "'huge' is not one of"),
        (("profile", "remove", "a"), "no profile 'a'"),
        (("run", "x", "--profile", "a"), "no profile 'a'"),
        (("run", "x", "--profile", "a", "--model", "x/y"), "--profile has a model and its address: give it, or"),
        (("run", "x", "--profile", "a", "--base-url", "http://x"), "--profile has a model and its address"),
    ],
)
def test_bad_input_is_said_and_nothing_saved(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    spec = tmp_path / "spec.json"
    spec.write_text('{"type": "LLM"}')
    ran = agentrt(tmp_path, *(word.format(spec=spec) for word in words))
    assert ran.returncode == 2
    assert said in ran.stderr
    assert "Traceback" not in ran.stderr
    assert not (tmp_path / "profiles.json").exists()


async def test_a_task_is_run_with_a_profile(tmp_path: Path) -> None:
    async with ScriptedProvider([say("Done.")]) as provider:
        ProfileStore(tmp_path / "profiles.json").save("mine", provider.llm())
        ran = await anyio.to_thread.run_sync(
            lambda: agentrt(tmp_path, "run", "x", "--workspace", str(tmp_path), "--profile", "mine")
        )
    assert ran.returncode == 0, ran.stderr
    assert "Done." in ran.stdout


def test_help_is_worth_reading() -> None:
    said = agentrt(Path("/nonexistent"), "profile", "--help").stdout
    for command in ("list", "show", "save", "remove"):
        assert f"  {command} " in said
    assert "  profile  " in agentrt(Path("/nonexistent"), "--help").stdout
    assert "--model openai/gpt-5.5 --reasoning-effort low\n" in agentrt(Path("/"), "profile", "save", "--help").stdout
    assert "else openai/gpt-5.5" in agentrt(Path("/"), "run", "--help").stdout
