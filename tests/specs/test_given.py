"""What is given to public constructors is checked or converted there."""

# mypy: disable-error-code="arg-type,list-item,dict-item,return-value"

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agentrt import (
    LLM,
    Agent,
    AlwaysConfirm,
    Cipher,
    ConfirmRisky,
    Conversation,
    Critic,
    Depends,
    DockerWorkspace,
    EnvironmentSecret,
    Hook,
    HookEvent,
    InformationFlow,
    Limits,
    LookupSecret,
    NeverConfirm,
    PermissionRule,
    Rating,
    RemoteWorkspace,
    Runtime,
    SecurityRisk,
    StuckDetection,
    Tool,
    ToolType,
    output_schema,
    tool,
)
from agentrt.errors import ConfigurationError
from agentrt.llm import ProviderLimits
from agentrt.server import ServerSettings
from agentrt.specs import FallbackLLM, RouterLLM
from agentrt.specs.quota import Quota

pytestmark = pytest.mark.pure

MODEL = LLM(model="openai/x")
AGENT = Agent(llm=MODEL)


def greet(name: str) -> str:
    """Greet somebody."""
    return f"Hello {name}"


@tool(name="greet")
def other_greet(name: str) -> str:
    """Greet somebody else."""
    return f"Bye {name}"


class Text(str):
    """As libraries for markup have it."""


class Number(float):
    """As libraries for numbers have it."""


NEARLY: dict[str, tuple[Callable[[], Any], Callable[[Any], Any], Any]] = {
    "a model's name": (lambda: Agent(llm="openai/x"), lambda made: made.llm, MODEL),
    "a model as a dict": (lambda: Agent(llm={"type": "LLM", "model": "openai/x"}), lambda made: made.llm, MODEL),
    "a list of tools": (
        lambda: Agent(llm=MODEL, tools=[Tool("terminal")]),
        lambda made: made.tools,
        (Tool("terminal"),),
    ),
    "names of tools": (lambda: Agent(llm=MODEL, tools=["terminal"]), lambda made: made.tools, (Tool("terminal"),)),
    "a function": (lambda: Agent(llm=MODEL, tools=[greet]), lambda made: made.tools[0].implementation, greet),
    "made by tool": (lambda: Agent(llm=MODEL, tools=[tool(greet)]), lambda made: made.tools, (Tool("greet"),)),
    "a text of another class": (lambda: LLM(model=Text("x")), lambda made: type(made.model), str),
    "a number of another class": (lambda: LLM(model="x", timeout=Number(5)), lambda made: type(made.timeout), float),
    "a list of rules": (lambda: Agent(llm=MODEL, rules=[PermissionRule("deny")]), lambda made: len(made.rules), 1),
    "a list of analyzers": (lambda: Agent(llm=MODEL, analyzer=["rules"]), lambda made: made.analyzer, ("rules",)),
    "a word for a risk": (lambda: ConfirmRisky(threshold="medium"), lambda made: made.threshold, SecurityRisk.MEDIUM),
    "a word for an event": (lambda: Hook(event="stop", command="true"), lambda made: made.event, HookEvent.STOP),
    "a word for busy": (lambda: Agent(llm=MODEL, busy="steer"), lambda made: made.busy.name, "STEER"),
    "a whole number of dollars": (lambda: Limits(max_cost=5), lambda made: made.max_cost, 5.0),
    "limits as a dict": (lambda: Agent(llm=MODEL, limits={"max_steps": 3}), lambda made: made.limits.max_steps, 3),
    "names of fallbacks": (lambda: FallbackLLM(["openai/x"]), lambda made: made.llms, (MODEL,)),
    "names of routes": (
        lambda: RouterLLM(llms={"a": "openai/x"}, rule="cost"),
        lambda made: made.llms,
        {"a": MODEL},
    ),
    "a path for a container": (lambda: DockerWorkspace(Path("/w"), "x"), lambda made: made.path, "/w"),
    "paths of a server": (
        lambda: ServerSettings(workspaces=(".", Path("x"))),
        lambda made: made.workspaces,
        (Path(), Path("x")),
    ),
    "one path of a server": (lambda: ServerSettings(workspaces="w"), lambda made: made.workspaces, (Path("w"),)),
    "a list of origins": (lambda: ServerSettings(cors=["https://a"]), lambda made: made.cors, ("https://a",)),
    "a model of a server": (lambda: ServerSettings(agent=AGENT), lambda made: made.agent, AGENT),
}


@pytest.mark.parametrize("nearly", NEARLY)
def test_what_is_nearly_right_is_converted(nearly: str) -> None:
    make, look, expected = NEARLY[nearly]
    assert look(make()) == expected


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "llm": (lambda: Agent(llm=5), r"Agent\(llm=...\): expected LLM or FallbackLLM or RouterLLM, got int"),
    "model": (lambda: LLM(model=None), r"LLM\(model=...\): expected str, got NoneType"),
    "temperature": (lambda: LLM(model="x", temperature="hot"), r"LLM\(temperature=...\): expected float or None"),
    "effort": (lambda: LLM(model="x", reasoning_effort="huge"), r"'huge' is none of 'none', 'minimal', 'low'"),
    "headers": (lambda: LLM(model="x", extra_headers={"a": 1}), r"LLM\(extra_headers=...\): expected `str`, got `int`"),
    "one tool": (lambda: Agent(llm=MODEL, tools=Tool("terminal")), r"Agent\(tools=...\)"),
    "a tool": (lambda: Agent(llm=MODEL, tools=[5]), r"Agent\(tools=...\): expected .*struct.*got `int`"),
    "nameless": (lambda: Agent(llm=MODEL, tools=[lambda: 1]), "has no name that a model could call"),
    "confirmation": (lambda: Agent(llm=MODEL, confirmation="always"), "expected NeverConfirm or AlwaysConfirm or Conf"),
    "a class": (lambda: Agent(llm=MODEL, confirmation=AlwaysConfirm), r"the class itself: write AlwaysConfirm\(\)"),
    "event": (lambda: Hook(event="before_tol", command="exit 2"), "'before_tol' is none of 'before_tool'"),
    "hook": (lambda: Agent(llm=MODEL, hooks=("./check.sh",)), r"Agent\(hooks=...\)"),
    "failure": (lambda: Hook(event=HookEvent.END, command="true", on_failure="deny2"), "none of 'deny', 'ignore'"),
    "both": (lambda: Hook(event=HookEvent.END), "either a command or a function"),
    "verdict": (lambda: PermissionRule("forbid", "terminal"), "'forbid' is none of 'allow', 'ask', 'deny'"),
    "rules": (lambda: Agent(llm=MODEL, rules=PermissionRule("deny")), r"Agent\(rules=...\)"),
    "threshold": (lambda: ConfirmRisky(threshold="much"), "'much' is none of 'UNKNOWN', 'LOW'"),
    "flow": (lambda: Agent(llm=MODEL, flow=True), "expected InformationFlow or None, got bool"),
    "labels": (lambda: InformationFlow(labels=("lan",)), r"InformationFlow\(labels=...\)"),
    "busy": (lambda: Agent(llm=MODEL, busy="stear"), "'stear' is none of 'enqueue', 'steer'"),
    "critic": (lambda: Agent(llm=MODEL, critic="pass"), "expected Critic or None, got str"),
    "mode": (lambda: Critic("pass", mode="foo"), "'foo' is none of"),
    "output": (lambda: Agent(llm=MODEL, output={"type": "array"}), "an output is a JSON object"),
    "an output's type": (lambda: Agent(llm=MODEL, output=int), "an output is a JSON object"),
    "steps": (lambda: Limits(max_steps="many"), r"Limits\(max_steps=...\): expected int, got str"),
    "no steps": (lambda: Limits(max_steps=-1), "max_steps must be 0 or more"),
    "monologue": (lambda: StuckDetection(monologue=-1), "monologue must be a count"),
    "no fallbacks": (lambda: FallbackLLM(()), "needs at least one LLM"),
    "a fallback": (lambda: FallbackLLM("openai/x"), r"FallbackLLM\(llms=...\): expected"),
    "image": (lambda: DockerWorkspace("/w", ""), "is not an image"),
    "memory": (lambda: DockerWorkspace("/w", "x", memory="4g"), r"DockerWorkspace\(memory=...\): expected int"),
    "url": (lambda: RemoteWorkspace(8000), r"RemoteWorkspace\(url=...\): expected str, got int"),
    "calls": (lambda: ProviderLimits(calls=0), "calls must be at least 1"),
    "quota": (lambda: Quota(events="all"), r"Quota\(events=...\): expected int or None, got str"),
    "variable": (lambda: EnvironmentSecret(5), r"EnvironmentSecret\(variable=...\): expected str"),
    "lookup": (lambda: LookupSecret(5), "looked up at a whole URL"),
    "port": (lambda: ServerSettings(port="http"), r"ServerSettings\(port=...\): expected int, got str"),
    "a port too high": (lambda: ServerSettings(port=99999), r"expected `int` <= 65535, not 99999"),
    "silence": (lambda: ServerSettings(heartbeat=0), r"expected `float` > 0.0, not 0"),
    "a time before": (lambda: LLM(model="x", timeout=-1), r"LLM\(timeout=...\): expected `float` > 0.0, not -1"),
    "no number": (lambda: LLM(model="x", temperature=float("nan")), "expected a finite number, not nan"),
    "a price that no sum has": (
        lambda: LLM(model="x", input_cost_per_token=5e307),
        r"LLM\(input_cost_per_token=...\): expected `float` <= 1000.0, not 5e\+307",
    ),
    "for ever": (lambda: LLM(model="x", timeout=float("inf")), "expected a finite number, not inf"),
    "a share": (lambda: Critic("pass", threshold=5), r"expected `float` <= 1.0, not 5"),
    "a key": (lambda: Cipher(5), "the key for secrets is not 32 bytes"),
    "headers of a lookup": (lambda: LookupSecret("https://x", headers={"a": 5}), r"LookupSecret\(headers=...\)"),
    "a tool's name": (lambda: ToolType(5, "x", Limits, greet), r"ToolType\(name=...\): expected str"),
    "a tool's executor": (lambda: ToolType("x", "x", Limits, 5), r"ToolType\(executor=...\): expected a function"),
    "a tool's action": (lambda: ToolType("x", "x", 5, greet), r"ToolType\(action=...\): expected a type"),
    "a rating": (lambda: Rating("much"), r"Rating\(risk=...\): 'much' is none of"),
    "a word that is none": (
        lambda: Agent(llm=MODEL, limits={"max_cots": 1}),
        r"Agent\(limits=...\): there is no 'max_cots' in Limits: it has max_steps",
    ),
    "a word within a list": (
        lambda: Agent(llm=MODEL, rules=[{"verdict": "allow", "patern": "git *"}]),
        r"Agent\(rules=...\): there is no 'patern' in PermissionRule",
    ),
    "a word of one of several": (
        lambda: Agent(llm=MODEL, confirmation={"type": "ConfirmRisky", "treshold": "LOW"}),
        "there is no 'treshold' in ConfirmRisky",
    ),
    "a schema elsewhere": (
        lambda: Agent(llm=MODEL, output={"type": "object", "properties": {"a": {"$ref": "file:///etc/passwd"}}}),
        "a schema refers to 'file:///etc/passwd': put what it means into the schema",
    ),
    "two tools of one name": (
        lambda: Conversation(Agent(llm=MODEL, tools=[greet, other_greet])),
        "two different tools are called 'greet'",
    ),
    "a dependency": (lambda: Depends(greet), r"Depends\(...\) takes a function without parameters"),
    "an output": (lambda: output_schema(5), "an output is given as a JSON schema or as a type, not as int"),
    "owner": (lambda: Conversation(AGENT, owner=5), r"Conversation\(owner=...\): expected str or None, got int"),
    "rate": (lambda: ServerSettings(rate="often"), r"ServerSettings\(rate=...\): 'often' is not a rate"),
    "server's agent": (lambda: ServerSettings(agent="openai/x"), "expected Agent or None, got str"),
    "workspaces": (lambda: ServerSettings(workspaces=5), r"ServerSettings\(workspaces=...\)"),
    "conversation's agent": (lambda: Conversation("openai/x"), "expected Agent, got str"),
    "no agent": (Conversation, "give an agent to begin a conversation"),
    "conversation's id": (lambda: Conversation(AGENT, id=5), r"Conversation\(id=...\): expected str"),
    "workspace": (lambda: Conversation(AGENT, 5), r"Conversation\(workspace=...\): expected"),
    "conversation's tools": (lambda: Conversation(AGENT, tools=["terminal"]), "named in Agent"),
    "no list of tools": (lambda: Conversation(AGENT, tools=greet), "tools are given as a list"),
    "runtime": (
        lambda: Conversation(AGENT, runtime="store"),
        r"Conversation\(runtime=...\): expected Runtime, got str",
    ),
    "secrets": (lambda: Conversation(AGENT, secrets=["KEY"]), r"Conversation\(secrets=...\): expected"),
    "secret": (lambda: Conversation(AGENT, secrets={"KEY": 5}), "secret 'KEY' is a int"),
    "title": (lambda: Conversation(AGENT, title=5), "a title is a str"),
    "tags": (lambda: Conversation(AGENT, tags={"Team": "core"}), "cannot be the key of a tag"),
    "old title": (lambda: Conversation(id="c", title="Old"), "title and tags are for a new conversation"),
    "store": (lambda: Runtime(5), r"Runtime\(store=...\): expected Path"),
    "runtime's tools": (lambda: Runtime(tools=["terminal"]), "named in Agent"),
    "client": (lambda: Runtime(client="openai"), r"Runtime\(client=...\): expected a ModelClient, got str"),
    "limits": (lambda: Runtime(limits={"openai": 5}), r"Runtime\(limits=...\): expected"),
    "analyzer": (lambda: Runtime(analyzers={"mine": "rules"}), r"Runtime\(analyzers=...\): 'mine' is a function"),
    "hooks": (lambda: Runtime(hooks={"mine": "./x.sh"}), r"Runtime\(hooks=...\): 'mine' is a function"),
    "durability": (lambda: Runtime(durability="always"), "'always' is none of 'commit', 'interval', 'none'"),
    "cipher": (lambda: Runtime(cipher="key"), r"Runtime\(cipher=...\): expected Cipher, got str"),
    "idle": (lambda: Runtime(idle_after="long"), r"Runtime\(idle_after=...\): expected float or None, got str"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_cannot_be_is_refused_in_a_sentence(wrong: str) -> None:
    make, said = WRONG[wrong]
    with pytest.raises(ConfigurationError, match=said) as refused:
        make()
    assert "\n" not in str(refused.value)


def test_a_value_of_a_secret_is_not_said() -> None:
    with pytest.raises(ConfigurationError) as refused:
        RemoteWorkspace("https://host", api_key=b"canary-secret")
    assert "canary" not in str(refused.value)


def test_what_is_read_from_json_is_refused_as_json_is() -> None:
    """So a place in the document is told."""
    with pytest.raises(msgspec.ValidationError, match=r"max_steps must be 0 or more.*\$\.limits"):
        msgspec.json.decode(b'{"llm":{"type":"LLM","model":"x"},"limits":{"max_steps":-1}}', type=Agent)


def test_a_function_stays_known_when_the_agent_is_changed() -> None:
    agent = Agent(llm=MODEL, tools=[greet])
    other = msgspec.structs.replace(agent, system_prompt="Be brief.")
    assert other.tools[0].implementation is greet
    assert msgspec.json.decode(msgspec.json.encode(agent), type=Agent) == agent


def test_a_program_has_nobody_to_ask_unless_it_says_so() -> None:
    agent = Agent(llm=LLM(model="scripted"))
    assert agent.confirmation == NeverConfirm()
    assert "Nobody is asked before an action unless" in (Agent.__doc__ or "")
