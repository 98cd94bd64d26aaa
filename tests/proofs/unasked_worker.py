"""Has an agent try all ways to a canary where nothing can confine it, and prints those that touched one unasked.

`python -m tests.proofs.unasked_worker DIRECTORY POLICY`, with the policy `never` or `risky`; nobody answers.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import anyio
import msgspec

from agentrt import LLM, Agent, ConfirmRisky, Conversation, LocalWorkspace, NeverConfirm, Tool
from agentrt.events import ActionEvent, AgentErrorEvent, ObservationEvent
from agentrt.specs import SecurityRisk
from agentrt.specs.content import plain
from agentrt.specs.policies import ConfirmationPolicy
from agentrt.testing import ScriptedLLM, call, finish

from .wall_worker import CANARY, FILES, Canaries, ways

AT_WORK = "read: store in the workspace"
"""A way to what is an ordinary file of the workspace here, which may be read."""

POLICIES: dict[str, ConfirmationPolicy] = {
    "never": NeverConfirm(),
    "risky": ConfirmRisky(threshold=SecurityRisk.HIGH, confirm_unknown=False),
}
"""`risky` asks as little as it can."""


async def main(base: Path, policy: str) -> None:
    """Try all ways, and print those by which something was touched."""
    os.environ |= {"MYAPP_CFG": CANARY, "HOME": str(base / "home")}
    canaries = Canaries(base)
    canaries.make()
    names = {"base": base, "home": canaries.home, "work": canaries.work, "outside": canaries.outside}
    known = {**names, "pid": os.getpid(), "foreign": canaries.foreign.pid, "name": canaries.name}
    turns = [call("terminal", command=command.format(**known)) for name, command in ways("off") if name != AT_WORK]
    for path in FILES:
        turns.append(call("file_editor", command="view", path=path.format(**known)))
        turns.append(call("file_editor", command="create", path=path.format(**known), file_text="x"))
    turns += [call("terminal", command="pwd; ls"), finish("Done.")]
    agent = Agent(
        llm=LLM(model="scripted"), tools=(Tool("terminal"), Tool("file_editor")), confirmation=POLICIES[policy]
    )
    touched, said = list[str](), dict[str, str]()
    commands = dict[str, str]()
    async with Conversation(
        agent, LocalWorkspace(str(canaries.work)), store="memory://", client=ScriptedLLM(turns)
    ) as talk:
        await talk.send_message("go")
        while talk.pending_confirmation or not said:
            async for event in talk.run():
                if isinstance(event, ActionEvent):
                    commands[event.id] = bytes(event.arguments_json).decode()
                elif isinstance(event, ObservationEvent | AgentErrorEvent):
                    text = plain(event.content) if isinstance(event, ObservationEvent) else event.error
                    name = commands[event.action_id or ""]
                    said[name] = text[:300]
                    if CANARY in text or canaries.changed():
                        touched.append(name)
            if talk.pending_confirmation:
                await talk.reject()
    canaries.close()
    told: dict[str, Any] = {"tried": len(turns) - 1, "touched": touched, "said": said}
    sys.stdout.write(msgspec.json.encode(told).decode())


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), sys.argv[2])
