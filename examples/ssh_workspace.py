"""A kind of workspace: a directory of another machine, which the system's `ssh` reaches.

    python examples/ssh_workspace.py HOST DIRECTORY [OPTION OF SSH...]

HOST is what `ssh` takes, such as `me@build.example.org` or a name in `~/.ssh/config`. That machine needs Linux, bash
and Python 3.9. Nothing is installed there, and what a conversation runs there ends with it.

Runs without a key: the model's words are scripted.
"""

import shlex
import sys
from collections.abc import Sequence

import anyio
import msgspec

from agentrt import LLM, Agent, ConfigurationError, Conversation, Tool, Workspace
from agentrt.events import ObservationEvent
from agentrt.placing import PlaceType
from agentrt.sandboxes.by_command import CommandPlace
from agentrt.specs import WorkspaceSpec
from agentrt.specs.content import plain
from agentrt.testing import ScriptedLLM, call, finish


class SshWorkspace(WorkspaceSpec, msgspec.Struct, frozen=True, tag="ssh"):
    """A directory of another machine. It stands in the log, so it has no secrets: keys are those of `ssh`."""

    path: str
    host: str
    python: str = "python3"
    options: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """What a model is told of the system there."""
        return f"the machine {self.host}"


class SshPlace(CommandPlace[SshWorkspace]):
    """The place of such a workspace."""

    @property
    def name(self) -> str:
        return self.workspace.host

    @property
    def interpreter(self) -> str:
        return self.workspace.python

    def command(self, program: Sequence[str]) -> Sequence[str]:
        # a lost connection is noticed within a minute, and nothing waits for a password
        options = ["-T", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=15", *self.workspace.options]
        return ["ssh", *options, "--", self.workspace.host, shlex.join(program)]


async def check(workspace: SshWorkspace) -> None:
    """Check what can be wrong before a conversation begins."""
    if not workspace.path.startswith("/"):
        raise ConfigurationError(f"{workspace.path!r} is not an absolute directory of {workspace.host}")


PLACE = PlaceType(SshWorkspace, SshPlace, check)
"""A package offers it with `[project.entry-points."agentrt.places"]` and `ssh = "its_module:PLACE"`."""


async def main(workspace: SshWorkspace) -> None:
    async with Workspace(workspace) as held:
        result = await held.execute_command("mkdir -p notes && uname -sn")
        print(result.stdout.strip() or result.stderr.strip())

        words = [
            call("file_editor", command="create", path=f"{workspace.path}/notes/today.md", file_text="It rains.\n"),
            call("terminal", command="cat notes/today.md"),
            finish("The note is there."),
        ]
        tools = (Tool("terminal"), Tool("file_editor"))
        agent = Agent(llm=LLM("openai/scripted", base_url="http://127.0.0.1:9/v1"), tools=tools)
        async with Conversation(agent, held, client=ScriptedLLM(words)) as conversation:
            await conversation.send_message("Note the weather.")
            await conversation.run()
            async for event in conversation.events():
                if isinstance(event, ObservationEvent):
                    print(plain(event.content))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    anyio.run(main, SshWorkspace(path=sys.argv[2], host=sys.argv[1], options=tuple(sys.argv[3:])))
