"""A key that a program gives is sent to the provider, and stands nowhere else."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio
import msgspec
import pytest
from pydantic import SecretStr

from agentrt import LLM, Agent, Conversation, Runtime
from agentrt.errors import ConfigurationError, MissingKey
from agentrt.llm.profiles import ProfileStore
from agentrt.secrets import StaticSecret
from agentrt.specs.llm import given_key, named_as
from agentrt.testing import ScriptedProvider, call, finish, say

KEY = "sk-0123456789-abcdefghij"


@pytest.mark.pure
def test_a_name_stands_for_the_key() -> None:
    llm = LLM("openai/x", api_key=KEY)
    assert KEY not in repr(llm) + str(llm) + msgspec.json.encode(llm).decode()
    assert llm.api_key is not None
    assert given_key(llm.api_key) == KEY
    assert llm == LLM("openai/x", api_key=SecretStr(KEY)) == LLM("openai/x", api_key=StaticSecret(KEY))  # type: ignore[arg-type]
    assert msgspec.json.decode(msgspec.json.encode(named_as(llm, "other")), type=LLM).api_key == llm.api_key
    assert LLM("openai/x", api_key="another").api_key != llm.api_key
    assert given_key("key:000000000000") is None


@pytest.mark.pure
@pytest.mark.parametrize("wrong", ["", " ", b"sk-012345678", 7, "two\nlines"])
def test_what_is_no_key_is_refused_and_not_repeated(wrong: object) -> None:
    with pytest.raises(ConfigurationError, match=r"^LLM\(api_key=...\): expected the key") as caught:
        LLM("openai/x", api_key=wrong)  # type: ignore[arg-type]
    assert "sk-0" not in str(caught.value)


@pytest.mark.pure
def test_a_key_is_given_in_one_way() -> None:
    with pytest.raises(ConfigurationError, match="give one of them"):
        LLM("openai/x", api_key=KEY, api_key_env="MINE")


@pytest.mark.simulated
def test_a_profile_has_no_key(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="stays out of a profile"):
        ProfileStore(tmp_path / "profiles.json").save("x", LLM("openai/x", api_key=KEY))


@pytest.mark.real
@pytest.mark.parametrize("client", ["wire", "litellm"])
async def test_it_is_sent_and_in_no_event(tmp_path: Path, client: str) -> None:
    turns = [call("task_tracker", command="view"), say(f"Is it {KEY}?"), finish("Again.")]
    async with ScriptedProvider(turns) as provider:
        llm = provider.llm(api_key=KEY, client=client)
        async with Runtime(tmp_path / "store", environment={"OPENAI_API_KEY": "sk-of-the-environment"}) as runtime:
            async with Conversation(Agent(llm), tmp_path, runtime=runtime) as conversation:
                await conversation.prompt("go")
                await conversation.rest()
                assert await conversation.prompt("go on") == "Again.", "it woke, and knew the key"
            kept = b"".join(one.read_bytes() for one in (tmp_path / "store").rglob("*") if one.is_file())
    assert {key.removeprefix("Bearer ") for key in provider.keys} == {KEY}
    assert KEY.encode() not in kept
    assert b"sk-of-the-environment" not in kept


_LATER = """
import anyio, sys
from agentrt import LLM, Conversation
from agentrt.errors import MissingKey
async def main():
    async with Conversation(id=sys.argv[1], store=sys.argv[2]) as conversation:
        try:
            await conversation.prompt("go")
        except MissingKey as error:
            print(error)
        await conversation.switch_llm(LLM("openai/scripted", base_url=sys.argv[3], api_key="sk-of-another-key"))
        print(await conversation.run() and conversation.answer)
anyio.run(main)
"""


@pytest.mark.real
async def test_a_process_without_the_key_says_how_to_give_it(tmp_path: Path) -> None:
    async with ScriptedProvider(lambda body: say("Hello.")) as provider:
        llm = provider.llm(api_key=KEY)
        async with Conversation(Agent(llm), tmp_path, store=tmp_path / "store") as conversation:
            await conversation.prompt("go")
        command = [sys.executable, "-c", _LATER, conversation.id, str(tmp_path / "store"), provider.base_url]

        ran = await anyio.run_process(command, check=False)
    said = ran.stdout.decode().splitlines()
    assert said == [
        f"no key for model {llm.model!r}: the program that began the conversation gave it: make"
        f" LLM({llm.model!r}, api_key=...) with it again",
        "Hello.",
    ], ran.stderr.decode()
    assert provider.keys[-1] == "Bearer sk-of-another-key"


@pytest.mark.pure
def test_the_error_names_the_model() -> None:
    error = MissingKey("openai/x", ("key:0123456789ab",))
    assert "LLM('openai/x', api_key=...)" in str(error)
