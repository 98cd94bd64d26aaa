"""Files over a network that fails: whole or not at all, and never of two versions."""

from __future__ import annotations

import os
import random
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from math import log10
from pathlib import Path

import pytest

from agentrt import LLM, Agent, Conversation, RemoteWorkspace
from agentrt.client.files import RemoteFiles
from agentrt.client.transport import Transport
from agentrt.errors import ServerUnreachable, WorkspaceError
from agentrt.testing import ScriptedLLM
from agentrt.workspaces.asking import ReadFile, WriteFile
from tests.proofs.waiting import eventually

from .places import TOKEN, remote
from .proxy import Proxy, proxied

pytestmark = pytest.mark.real

AGENT = Agent(llm=LLM(model="scripted"), tools=())
LARGE = random.Random(5).randbytes(3_000_001)


class Lasting(random.Random):
    """Has each connection last for so many bytes."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size

    def uniform(self, a: float, b: float) -> float:
        return log10(self.size)


@asynccontextmanager
async def over_a_proxy(directory: Path) -> AsyncIterator[tuple[Proxy, Conversation, Path]]:
    """A conversation on a server, a network that may fail before it, and its workspace."""
    async with remote(directory, ScriptedLLM([])) as place:
        async with proxied(place.place.url) as proxy:  # type: ignore[attr-defined]
            async with Conversation(AGENT, beyond(proxy)) as conversation:
                yield proxy, conversation, place.workspace


def beyond(proxy: Proxy) -> RemoteWorkspace:
    """The workspace that is reached over it."""
    return RemoteWorkspace(proxy.url, path="workspace", timeout=1.0, give_up=20.0, api_key=TOKEN)


@asynccontextmanager
async def in_pieces(proxy: Proxy, conversation: Conversation) -> AsyncIterator[RemoteFiles]:
    """The files of a conversation, piece by piece."""
    async with Transport(beyond(proxy)) as transport:
        yield RemoteFiles(transport, conversation.id)


async def test_a_file_goes_on_where_it_was_cut(tmp_path: Path) -> None:
    async with over_a_proxy(tmp_path) as (proxy, conversation, workspace):
        (workspace / "large").write_bytes(LARGE)
        before, proxy.lasts = proxy.made, Lasting(400_000)
        await conversation.workspace.file_download("large", tmp_path / "here")
        assert (tmp_path / "here").read_bytes() == LARGE
        assert 8 <= proxy.made - before <= 20, "a part over each connection"


async def test_a_file_that_changes_while_it_is_cut_is_given_up(tmp_path: Path) -> None:
    async with (
        over_a_proxy(tmp_path) as (proxy, conversation, workspace),
        in_pieces(proxy, conversation) as files,
    ):
        (workspace / "large").write_bytes(LARGE)
        proxy.lasts = Lasting(400_000)
        with pytest.raises(WorkspaceError) as changed:
            async with aclosing(files.read(ReadFile("large"))) as pieces:
                async for _ in pieces:
                    (workspace / "new").write_bytes(LARGE[::-1])
                    os.replace(workspace / "new", workspace / "large")
        assert changed.value.code == "file-changed"
        (tmp_path / "here").write_text("what was there before")
        proxy.lasts = Lasting(1000)
        with pytest.raises(ServerUnreachable):
            await conversation.workspace.archive_download(tmp_path / "here")
        assert (tmp_path / "here").read_text() == "what was there before"
        assert {child.name for child in tmp_path.iterdir()} == {"here", "store", "workspace"}


async def test_an_upload_that_is_cut_is_sent_again_and_nothing_is_left_of_the_first(tmp_path: Path) -> None:
    async with (
        over_a_proxy(tmp_path) as (proxy, conversation, workspace),
        in_pieces(proxy, conversation) as files,
    ):
        (workspace / "there").write_text("what was there before")
        begun, before = 0, set[Path]()

        def arriving() -> set[Path]:
            return {*workspace.glob(".*.upload")} - before

        async def source() -> AsyncIterator[bytes]:
            nonlocal begun
            begun += 1
            for start in range(0, len(LARGE), 100_000):
                if begun < 3 and start == 1_000_000:
                    await eventually(arriving, "it is on its way")
                    before.update(arriving())
                    assert (workspace / "there").read_text() == "what was there before"
                    proxy.cut()
                yield LARGE[start : start + 100_000]

        await files.write(WriteFile("there"), source)
        assert (begun, (workspace / "there").read_bytes()) == (3, LARGE)
        assert [child.name for child in workspace.iterdir()] == ["there"]


async def test_what_fails_here_is_raised_here_and_leaves_nothing_there(tmp_path: Path) -> None:
    async with (
        over_a_proxy(tmp_path) as (proxy, conversation, workspace),
        in_pieces(proxy, conversation) as files,
    ):
        begun = 0

        async def source() -> AsyncIterator[bytes]:
            nonlocal begun
            begun += 1
            yield b"a beginning"
            raise OSError("the disk here is broken")

        with pytest.raises(OSError, match="the disk here is broken"):
            await files.write(WriteFile("there"), source)
        assert begun == 1
        await eventually(lambda: not [*workspace.iterdir()], "nothing is left of the upload")


async def test_without_a_network_nothing_is_waited_for_long(tmp_path: Path) -> None:
    async with over_a_proxy(tmp_path) as (proxy, conversation, workspace):
        (workspace / "large").write_bytes(LARGE)
        proxy.refusing = True
        proxy.cut()
        for asked in (
            conversation.workspace.read_file("large"),
            conversation.workspace.write_file("large", b"x"),
            conversation.workspace.list_files(),
        ):
            with pytest.raises(ServerUnreachable):
                await asked
        assert (workspace / "large").read_bytes() == LARGE


async def test_a_line_that_falls_silent_in_the_middle_is_given_up(tmp_path: Path) -> None:
    async with (
        over_a_proxy(tmp_path) as (proxy, conversation, workspace),
        in_pieces(proxy, conversation) as files,
    ):
        (workspace / "large").write_bytes(LARGE)
        silent, read = False, 0
        async with aclosing(files.read(ReadFile("large"))) as pieces:
            async for piece in pieces:
                read += len(piece)
                if not silent:
                    silent = True
                    proxy.hush()
        assert read == len(LARGE)
        begun = 0

        async def source() -> AsyncIterator[bytes]:
            nonlocal begun
            begun += 1
            for start in range(0, len(LARGE), 100_000):
                if begun == 1 and start == 1_000_000:
                    await eventually(lambda: [*workspace.glob(".*.upload")], "it is on its way")
                    proxy.hush()
                yield LARGE[start : start + 100_000]

        await files.write(WriteFile("there"), source)
        assert (begun, (workspace / "there").read_bytes()) == (2, LARGE)
