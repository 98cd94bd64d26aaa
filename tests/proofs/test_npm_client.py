"""The TypeScript client as somebody else has it: installed by npm into an empty project, and run by Node."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import anyio.to_thread
import msgspec
import pytest

from agentrt.server import pages
from agentrt.testing import ScriptedLLM, finish

from ..server.endpoints.helpers import begin, settled
from ..server.served import served

pytestmark = pytest.mark.long

WEB = Path(pages.__file__).parent / "web"
CLIENT = WEB / "client"

PROGRAM = """
import { Rest, Stream, Refused, allows } from "@agentrt/client";

const rest = new Rest({ base: process.env.URL, key: () => process.env.KEY });
const { items } = await rest.conversations();
const [{ id, unpriced }] = items;
const first = await new Promise((resolve) => {
  const stream = new Stream({ url: () => rest.socketURL() });
  stream.follow(id, {}, { batch: (got) => { stream.close(); resolve(got[0].event.type); }, reset: () => undefined });
});
const refused = await rest.conversation("nobody").catch((error) => error instanceof Refused && error.problem.code);
const counted = [await rest.countConversations(), await rest.countEvents(id, { type: "MessageEvent" })];
console.log(JSON.stringify({ id, unpriced, first, refused, counted, may: allows(["observe"], "get_event") }));
"""

TYPED = """
import { Rest, type ConversationInfo, type EventOf } from "@agentrt/client";

const info: ConversationInfo = await new Rest({ base: "http://localhost" }).conversation("c");
const seq: number = info.cursor.seq;
const event: EventOf<"MessageEvent"> | undefined = undefined;
// @ts-expect-error: there is no such field
info.nothing;
export { event, seq };
"""


def run(*arguments: str, within: Path, **environment: str) -> str:
    """What a command prints, which must end well."""
    whole: Mapping[str, str] = os.environ | environment
    done = subprocess.run(arguments, cwd=within, env=whole, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def install(project: Path, way: str) -> None:
    """Install the client as the documentation says, without a network."""
    project.mkdir()
    (project / "package.json").write_text('{"type": "module"}')
    what = [str(CLIENT)]
    if way == "packed":
        (packed,) = msgspec.json.decode(run("npm", "pack", "--json", str(CLIENT), within=project))
        what = [str(project / packed["filename"])]
    elif way == "copied":
        what.append("--install-links")
    run("npm", "install", "--offline", "--no-audit", "--no-fund", *what, within=project)


@pytest.mark.parametrize("way", ["linked", "copied", "packed"])
async def test_it_is_installed_from_the_repository_and_talks_to_a_server(tmp_path: Path, way: str) -> None:
    project = tmp_path / "project"
    await anyio.to_thread.run_sync(install, project, way)
    (project / "program.js").write_text(PROGRAM)
    directory = tmp_path / "server"
    directory.mkdir()
    async with served(directory, ScriptedLLM([finish("Done.")])) as client:
        made = await settled(client, (await begin(client, message="Begin"))["id"])
        environment = {"URL": client.url, "KEY": client.app.state.access.token}
        said = await anyio.to_thread.run_sync(
            # a browser has WebSocket, and so has Node from 22 on
            lambda: run("node", "--experimental-websocket", "program.js", within=project, **environment)
        )
    assert msgspec.json.decode(said) == {
        "id": made["id"],
        "unpriced": 1,
        "first": "ConversationCreated",
        "refused": "conversation-missing",
        "counted": [1, 1],
        "may": True,
    }


@pytest.mark.skipif(not (WEB / "node_modules").is_dir(), reason="TypeScript is one of the console's build tools")
@pytest.mark.parametrize("resolution", ["nodenext", "bundler"])
def test_its_types_are_there(tmp_path: Path, resolution: str) -> None:
    project = tmp_path / "project"
    install(project, "packed")
    (project / "program.ts").write_text(TYPED)
    tsc = WEB / "node_modules" / ".bin" / "tsc"
    module = "nodenext" if resolution == "nodenext" else "esnext"
    options = ("--strict", "--noEmit", "--target", "es2022", "--module", module, "--moduleResolution", resolution)
    run(str(tsc), *options, "program.ts", within=project)
