"""What one owner writes through REST does not instruct the conversations of another one before that one has agreed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp
import anyio
import pytest
from msgspec.structs import replace

from agentrt import LLM, Agent, AgentContext, ConfirmRisky, PluginSource, Tool
from agentrt.context.replies import ModelReply
from agentrt.protocols import ModelRequest
from agentrt.specs.content import plain
from agentrt.testing import ScriptedLLM, call, say

from ..auth.doors import Doors, doors

pytestmark = pytest.mark.real

AGENT = Agent(LLM("scripted/model"), tools=(), confirmation=ConfirmRisky(), context=AgentContext())
CANARY = "the penguin dances"
SKILL = f"---\nname: dance\ndescription: {CANARY} at noon\n---\nDance.\n"
HELPER = f"---\nname: helper\ndescription: {CANARY} at night\n---\nYou dance.\n"
WORDS = {
    "AGENTS.md": CANARY,
    "CLAUDE.md": f"See @more/words.txt. {CANARY}",
    "web/AGENTS.md": CANARY,
    ".agents/skills/dance/SKILL.md": SKILL,
    ".agents/agents/helper.md": HELPER,
    ".agents/rules/dance.md": CANARY,
    ".github/copilot-instructions.md": CANARY,
}


class Talk:
    """Conversations of several owners in one workspace."""

    def __init__(self, at: Doors, model: ScriptedLLM) -> None:
        self.at, self.model = at, model
        self.place = ""

    async def begin(self, name: str, *, agent: Agent = AGENT, tools: bool = False) -> str:
        """A conversation of somebody in the workspace, which the first one makes."""
        given = {"workspace": self.place} if self.place else {}
        made = await self.at.begin(name, replace(agent, tools=(Tool("terminal"),)) if tools else agent, **given)
        _, found = await self.at.ask(name, "GET", f"/conversations/{made}")
        self.place = found["workspace"]
        return made

    async def write(self, name: str, conversation: str, path: str, text: str) -> int:
        url = f"{self.at.client.url}/conversations/{conversation}/files/content?path={quote(path)}"
        async with self.at.client.session.put(url, data=text.encode(), headers=self.at.header(name)) as answer:
            await answer.read()
            return answer.status

    async def told(self, name: str, conversation: str) -> str:
        """All that the model is told when somebody says something."""
        before = len(self.model.requests)
        body = {"content": "Go", "run": True}
        assert (await self.at.ask(name, "POST", f"/conversations/{conversation}/message", body))[0] == 200
        with anyio.fail_after(20):
            while (await self.at.ask(name, "GET", f"/conversations/{conversation}"))[1]["status"] != "finished":
                await anyio.lowlevel.checkpoint()
        return "\n".join(plain(message.content) for message in self.model.requests[before].messages)

    async def context(self, name: str, conversation: str) -> dict[str, Any]:
        """What the log says last of what the conversation is told."""
        _, page = await self.at.ask(name, "GET", f"/conversations/{conversation}/events?type=ContextResolved")
        return dict(page["items"][-1])

    async def offers(self, name: str, conversation: str) -> dict[str, str]:
        """The digests of the files of others that wait, by their names."""
        offers = (await self.context(name, conversation)).get("offers", [])
        return {offer["name"]: offer["digest"] for offer in offers if offer.get("by") and not offer.get("agreed")}


@asynccontextmanager
async def talk(directory: Path, home: Path | None = None) -> AsyncIterator[Talk]:
    def script(request: ModelRequest) -> ModelReply:
        offered = "terminal" in {tool.name for tool in request.tools}
        return call("terminal", command="true") if offered and request.messages[-1].role == "user" else say("Done.")

    model = ScriptedLLM(script)
    async with doors(directory, model, home=home, rate=None, max_upload=1000) as at:
        yield Talk(at, model)


@pytest.mark.parametrize("path", WORDS)
async def test_words_of_another_owner_wait_and_ones_own_count(tmp_path: Path, path: str) -> None:
    async with talk(tmp_path) as here:
        writing = await here.begin("bob")
        assert await here.write("bob", writing, path, WORDS[path]) == 201
        reading = await here.begin("ada")
        shown = await here.told("ada", reading)
        assert CANARY not in shown
        assert CANARY not in str(await here.context("ada", reading))
        assert list(await here.offers("ada", reading)) == [f"{path} by bob"]
        own = await here.begin("bob")
        await here.told("bob", own)
        context = await here.context("bob", own)
        assert not await here.offers("bob", own)
        assert [source["by"] for source in context["sources"] if source.get("path", "").endswith(path)] == ["bob"]


async def test_what_was_agreed_to_counts_here_and_later_for_this_owner_as_it_was(tmp_path: Path) -> None:
    async with talk(tmp_path) as here:
        writing = await here.begin("bob")
        await here.write("bob", writing, "AGENTS.md", CANARY)
        await here.write("bob", writing, ".agents/skills/dance/SKILL.md", SKILL)
        await here.write("bob", writing, ".agents/agents/helper.md", HELPER)
        reading = await here.begin("ada")
        assert CANARY not in await here.told("ada", reading)
        for digest in (await here.offers("ada", reading)).values():
            assert (await here.at.ask("ada", "POST", f"/conversations/{reading}/agree", {"digest": digest}))[0] == 200
        for conversation in (reading, await here.begin("ada")):
            shown = await here.told("ada", conversation)
            assert {f"{CANARY} at noon" in shown, CANARY in shown} == {True}
            names = {
                source["name"]: source.get("by") for source in (await here.context("ada", conversation))["sources"]
            }
            assert {names["AGENTS.md"], names["dance"], names["helper"]} == {"bob"}
        root = await here.begin("root")
        assert CANARY not in await here.told("root", root), "ada agreed for herself"
        await here.write("bob", writing, "AGENTS.md", f"{CANARY} wildly")
        changed = await here.begin("ada")
        assert "wildly" not in await here.told("ada", changed), "a change asks again"
        assert list(await here.offers("ada", changed)) == ["AGENTS.md by bob"]


async def test_an_upload_that_fails_changes_nothing(tmp_path: Path) -> None:
    async with talk(tmp_path) as here:
        writing = await here.begin("ada")
        assert await here.write("ada", writing, "AGENTS.md", CANARY) == 201
        other = await here.begin("bob")
        assert await here.write("bob", other, "AGENTS.md/x.md", "x") >= 400
        assert await here.write("bob", other, "AGENTS.md", "x" * 2000) == 413
        again = await here.begin("ada")
        assert CANARY in await here.told("ada", again)
        assert not await here.offers("ada", again)


async def test_a_file_of_which_nobody_knows_the_writer_is_not_imported(tmp_path: Path) -> None:
    async with talk(tmp_path) as here:
        writing = await here.begin("ada")
        await here.write("ada", writing, "CLAUDE.md", "See @config.json and @words.txt.")
        await here.write("ada", writing, "words.txt", "Speak softly.")
        await here.write("bob", await here.begin("bob"), "config.json", CANARY)
        reading = await here.begin("ada")
        shown = await here.told("ada", reading)
        assert "Speak softly." in shown
        assert CANARY not in shown
        (problem,) = (await here.context("ada", reading))["problems"]
        assert (
            problem["what"] == "is not read on a server, where others may write it: name the file itself *.md or *.txt"
        )


async def test_files_that_the_repository_has_instruct_everybody(tmp_path: Path) -> None:
    async with talk(tmp_path) as here:
        await here.begin("bob")
        (Path(here.place) / "AGENTS.md").write_text(CANARY)
        assert CANARY in await here.told("ada", await here.begin("ada"))


async def test_a_copy_of_the_files_is_by_who_wrote_them(tmp_path: Path) -> None:
    async with talk(tmp_path) as here:
        writing = await here.begin("bob", tools=True)
        await here.write("bob", writing, "AGENTS.md", CANARY)
        await here.told("bob", writing)  # it runs a command, before which the files are kept
        status, forked = await here.at.ask("bob", "POST", f"/conversations/{writing}/fork", {"files": True})
        assert status == 200, forked
        _, found = await here.at.ask("bob", "GET", f"/conversations/{forked['id']}")
        here.place = found["workspace"]
        assert (Path(here.place) / "AGENTS.md").read_text() == CANARY
        reading = await here.begin("ada")
        assert CANARY not in await here.told("ada", reading)
        assert list(await here.offers("ada", reading)) == ["AGENTS.md by bob"]


async def test_an_upload_that_is_cut_takes_no_note_back(tmp_path: Path) -> None:
    async with talk(tmp_path) as here:
        writing = await here.begin("bob")
        url = f"{here.at.client.url}/conversations/{writing}/files/content?path=AGENTS.md"
        cut = anyio.Event()

        async def slowly() -> AsyncIterator[bytes]:
            yield b"harmless"
            await cut.wait()
            raise ConnectionError("cut")

        async def upload() -> None:
            with suppress(aiohttp.ClientError, ConnectionError):
                await here.at.client.session.put(url, data=slowly(), headers=here.at.header("bob"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(upload)
            await anyio.sleep(0)
            assert await here.write("bob", writing, "AGENTS.md", CANARY) == 201
            cut.set()
        reading = await here.begin("ada")
        assert CANARY not in await here.told("ada", reading)


async def test_a_plugin_in_the_workspace_and_a_file_that_a_link_leads_to_wait_too(tmp_path: Path) -> None:
    async with talk(tmp_path) as here:
        writing = await here.begin("bob")
        place = Path(here.place)
        (place / "prompts").mkdir()
        (place / "prompts/agents.tmpl").write_text("Use tabs.")
        (place / "AGENTS.md").symlink_to("prompts/agents.tmpl")
        (place / "CLAUDE.md").symlink_to("prompts/more.md")
        await here.write("bob", writing, "prompts/agents.tmpl", CANARY)
        await here.write("bob", writing, "prompts/more.md", CANARY)
        await here.write("bob", writing, "tools/skills/dance/SKILL.md", SKILL)
        await here.write("bob", writing, "tools/agents/helper.md", HELPER)
        context = AgentContext(plugins=(PluginSource("./tools"),))
        reading = await here.begin("root", agent=replace(AGENT, context=context))
        shown = await here.told("root", reading)
        assert CANARY not in shown
        assert CANARY not in str(await here.context("root", reading))
        assert sorted(await here.offers("root", reading)) == [
            "CLAUDE.md by bob",
            "tools/agents/helper.md by bob",
            "tools/skills/dance/SKILL.md by bob",
        ]
        problems = [problem["path"] for problem in (await here.context("root", reading))["problems"]]
        assert str(place / "AGENTS.md") in problems


async def test_what_waits_hides_nothing_of_the_repository(tmp_path: Path) -> None:
    async with talk(tmp_path) as here:
        writing = await here.begin("bob")
        own = {
            "CLAUDE.md": "Use tabs.",
            ".claude/skills/deploy/SKILL.md": "---\nname: deploy\ndescription: ships the code\n---\nShip.\n",
            ".claude/agents/helper.md": "---\nname: helper\ndescription: helps in earnest\n---\nYou help.\n",
        }
        for path, text in own.items():
            (Path(here.place) / path).parent.mkdir(parents=True, exist_ok=True)
            (Path(here.place) / path).write_text(text)
        await here.write("bob", writing, "AGENTS.md", "x")
        await here.write("bob", writing, ".agents/skills/deploy/SKILL.md", SKILL.replace("dance", "deploy"))
        await here.write("bob", writing, ".agents/agents/helper.md", HELPER)
        reading = await here.begin("ada")
        shown = await here.told("ada", reading)
        assert "Use tabs." in shown
        assert "ships the code" in shown
        sources = (await here.context("ada", reading))["sources"]
        assert [one["path"] for one in sources if one["name"] == "helper"] == [str(Path(here.place) / list(own)[2])]


async def test_nobody_writes_the_users_own_words_and_programs_but_an_admin(tmp_path: Path) -> None:
    async with talk(tmp_path, home=tmp_path / "workspaces") as here:
        here.place = str(tmp_path / "workspaces")
        writing = await here.begin("bob")
        assert await here.write("bob", writing, ".agents/skills/dance/SKILL.md", SKILL) == 403
        assert await here.write("bob", writing, ".openhands/agents/helper.md", HELPER) == 403
        reigning = await here.begin("root")
        assert await here.write("root", reigning, ".agents/AGENTS.md", CANARY) == 201
        assert CANARY not in await here.told("ada", await here.begin("ada"))
