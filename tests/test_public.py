"""What is public shows no secret of the process that looks at it."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.long

CANARY = "canary-7f3e9a1c5b2d"

LOOK = """
import importlib, inspect, io, os, pkgutil, pydoc, sys
import agentrt

def faces():
    for found in pkgutil.walk_packages(agentrt.__path__, "agentrt."):
        if "__main__" not in found.name and "demo_project" not in found.name:
            yield importlib.import_module(found.name)

seen = []
for module in (agentrt, *faces()):
    for name, thing in vars(module).items():
        if str(getattr(thing, "__module__", "")).startswith("agentrt") or module is agentrt:
            seen.append(repr(thing))
            if inspect.isclass(thing) or inspect.isroutine(thing):
                seen.append(pydoc.plain(pydoc.render_doc(thing)))
            try:
                seen.append(str(inspect.signature(thing)))
            except (TypeError, ValueError):
                pass
agent = agentrt.Agent(llm=agentrt.LLM(model="x"))
for made in (agentrt.Runtime("store"), agentrt.Conversation(agent, ".", secrets={"A": os.environ["CANARY"]})):
    seen += [repr(made), str(made)]
text = "\\n".join(seen)
print(len(seen), os.environ["CANARY"] in text, "PATH" in text and os.environ["PATH"] in text)
"""


@pytest.mark.long
def test_help_signatures_and_reprs_print_no_environment() -> None:
    environment = {"CANARY": CANARY, "OPENAI_API_KEY": CANARY, "PATH": "/canary/bin:/usr/bin:/bin", "HOME": "/tmp"}
    told = subprocess.run([sys.executable, "-c", LOOK], env=environment, capture_output=True, text=True, timeout=900)
    assert told.returncode == 0, told.stderr[-2000:]
    count, canary, path = told.stdout.split()
    assert int(count) > 500
    assert (canary, path) == ("False", "False")
