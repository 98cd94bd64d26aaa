"""What needs which scope; the table is written by hand, from what each control does."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agentrt import LLM, Agent, AlwaysConfirm, ConfirmRisky, Hook, HookEvent, InformationFlow, Limits, NeverConfirm
from agentrt.controls import (
    AddRule,
    Agree,
    AnyControl,
    AskAgent,
    Configure,
    Confirm,
    Control,
    GenerateTitle,
    RemoveRule,
    SendMessage,
    SetGoal,
    SwitchLLM,
    tag_of,
)
from agentrt.events import RuleAdded
from agentrt.ledger import AddedRule, Ledger
from agentrt.server.permissions import (
    Demand,
    check,
    looks_at_agent,
    of_control,
    of_creation,
    of_file,
    of_fork,
    scope_of,
)
from agentrt.server.principals import EVERYONE, Principal, Scope
from agentrt.server.problems import Refusal
from agentrt.specs import (
    AgentContext,
    FallbackLLM,
    LLMSummarizingCondenser,
    ObservationMaskingCondenser,
    PermissionRule,
    PipelineCondenser,
    PluginSource,
    RouterLLM,
    SecurityRisk,
    Skill,
    Tool,
)
from agentrt.specs.context import Offer
from agentrt.specs.mcp import MCPServer
from agentrt.specs.policies import asks
from agentrt.state import State

pytestmark = pytest.mark.pure

ALLOW = PermissionRule("allow", "terminal", "git *")
DENY = PermissionRule("deny", "terminal", "*git push*")
HOOK = Hook(event=HookEvent.START, command="touch /tmp/x")
SAFE = Agent(llm=LLM(model="openai/a"), confirmation=ConfirmRisky())
SERVER = Agent(
    llm=LLM(model="openai/a", base_url="http://models.example", api_key_env="MODELS"),
    tools=(Tool("terminal"), Tool("file_editor", {"root": "/x"})),
    confirmation=ConfirmRisky(SecurityRisk.MEDIUM),
    rules=(DENY, ALLOW),
    flow=InformationFlow(labels=("web",)),
    hooks=(HOOK,),
    limits=Limits(max_cost=2.0),
)

NEEDED = {
    "message": "steer",
    "run": "steer",
    "pause": "steer",
    "interrupt": "steer",
    "confirm": "approve",
    "reject": "approve",
    "tool_result": "steer",
    "input": "approve",
    "rule": "approve",
    "remove_rule": "approve",
    "configure": "approve",
    "confirmation_policy": "approve",
    "security_analyzer": "approve",
    "switch_llm": "steer",
    "secrets": "steer",
    "goal": "steer",
    "ask_agent": "steer",
    "generate_title": "steer",
    "rename": "steer",
    "tags": "steer",
    "grant": "approve",
    "agree": "approve",
    "load_plugin": "admin",
    "rewind": "steer",
    "condense": "steer",
    "fork": "steer",
}


def scopes(demands: Iterable[Demand]) -> set[str]:
    return {demand.scope.value for demand in demands} - {"steer"}


def of(control: AnyControl, agent: Agent = SAFE, default: Agent | None = None) -> set[str]:
    return scopes(of_control(control, agent, default))


def changes(**fields: Any) -> Configure:
    return Configure(changes={name: msgspec.Raw(msgspec.json.encode(value)) for name, value in fields.items()})


def test_each_control_needs_what_the_table_says() -> None:
    kinds: tuple[type[Control], ...] = get_args(AnyControl)
    assert {tag_of(kind): scope_of(kind).value for kind in kinds} == NEEDED


def test_the_servers_own_agent_needs_nothing_more() -> None:
    assert scopes(of_creation(SERVER, SERVER)) == set()
    assert scopes(of_creation(SAFE, None)) == set()


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"confirmation": NeverConfirm(), "flow": SERVER.flow}, "`confirmation`"),
        ({"confirmation": ConfirmRisky(SecurityRisk.HIGH)}, "`confirmation`"),
        ({"confirmation": ConfirmRisky(SecurityRisk.MEDIUM, confirm_unknown=False)}, "`confirmation`"),
        ({"analyzer": ("model", "rules")}, "`analyzer`"),
        ({"flow": None}, "`flow`"),
        ({"flow": InformationFlow(labels=("mcp",))}, "`flow`"),
        ({"flow": InformationFlow(labels=("web",), sinks=("push",))}, "`flow`"),
        ({"rules": ()}, "`rules`"),
        ({"rules": (DENY, PermissionRule("allow"))}, "`rules`"),
        ({"hooks": ()}, "`hooks`"),
        ({"hooks": (HOOK, HOOK)}, "`hooks`"),
        ({"tools": (Tool("task_tracker"),)}, "`tools`"),
        ({"tools": (Tool("file_editor", {"root": "/"}),)}, "`tools`"),
        ({"limits": Limits()}, "`limits`"),
        ({"limits": Limits(max_cost=2.1)}, "`limits`"),
        ({"limits": Limits(max_cost=2, max_steps=501)}, "`limits`"),
        ({"agents": {"helper": replace(SERVER, confirmation=NeverConfirm())}}, "`confirmation`"),
        ({"llm": replace(SERVER.llm, input_cost_per_token=0.0)}, "prices"),
        ({"condenser": LLMSummarizingCondenser(llm=replace(SERVER.llm, input_cost_per_token=0.0))}, "prices"),
        ({"context": AgentContext(consolidate_memory=True)}, "later conversations"),
        ({"context": AgentContext(skills=(Skill(name="x", allowed_tools=("Bash",)),))}, "approve calls in advance"),
    ],
)
def test_what_loosens_it_needs_the_word_of_one_who_may_approve(fields: dict[str, Any], why: str) -> None:
    demands = list(of_creation(replace(SERVER, **fields), SERVER))
    assert scopes(demands) == {"approve"}
    assert why in " ".join(demand.why for demand in demands)


@pytest.mark.parametrize(
    "fields",
    [
        {"confirmation": AlwaysConfirm()},
        {"confirmation": AlwaysConfirm(), "analyzer": "model"},
        {"confirmation": ConfirmRisky(SecurityRisk.LOW)},
        {"flow": InformationFlow()},
        {"rules": (DENY, PermissionRule("ask"))},
        {"tools": ()},
        {"limits": Limits(max_cost=1.0, max_steps=10)},
        {"system_prompt": "Be brief."},
        {"llm": LLM(model="anthropic/b")},
        {"llm": replace(SERVER.llm, model="openai/b", temperature=0.0)},
        {"agents": {"helper": SERVER}},
        {"condenser": LLMSummarizingCondenser(llm=LLM(model="anthropic/b"), max_size=80)},
    ],
)
def test_what_is_as_strict_needs_nothing_more(fields: dict[str, Any]) -> None:
    assert scopes(of_creation(replace(SERVER, **fields), SERVER)) == set()


@pytest.mark.parametrize(
    "fields",
    [{"confirmation": NeverConfirm(), "analyzer": None}, {"hooks": (HOOK,)}, {"rules": (ALLOW,)}],
)
def test_without_an_agent_of_its_own_a_server_wants_risky_actions_asked_about(fields: dict[str, Any]) -> None:
    assert scopes(of_creation(replace(SAFE, **fields), None)) == {"approve"}
    assert scopes(of_creation(replace(SAFE, tools=(Tool("any"),), limits=Limits(max_steps=9000)), None)) == set()


ELSEWHERE = [
    LLM(model="openai/a", base_url="http://evil.example"),
    LLM(model="openai/a", base_url="http://models.example"),
    LLM(model="openai/a", base_url="http://models.example", api_key_env="AWS_SECRET_ACCESS_KEY"),
    LLM(model="anthropic/a", base_url="http://models.example", api_key_env="MODELS"),
    LLM(model="openai/a", api_key_env="GITHUB_TOKEN"),
    LLM(model="openai/a", extra_headers={"Host": "evil.example"}),
    LLM(model="anthropic/a", extra_body={"api_base": "http://evil.example"}),
    LLM(model="huggingface/https://evil.example/x"),
    FallbackLLM((LLM(model="openai/a"), LLM(model="openai/a", base_url="http://evil.example"))),
    RouterLLM(llms={"x": LLM(model="openai/a", base_url="http://evil.example")}, rule="cost"),
]


def test_only_an_admin_says_which_programs_run_as_mcp_servers() -> None:
    servers = {"x": MCPServer(command="sh")}
    for default in (None, SERVER):
        agent = replace(default or SAFE, mcp_servers=servers)
        assert scopes(of_creation(agent, default)) == {"admin"}
        assert scopes(of_creation(replace(default or SAFE, agents={"x": agent}), default)) == {"admin"}
        assert of(changes(agents={"x": agent}), default=default) == {"admin", "approve"}
        assert scopes(of_creation(agent, agent)) == set()


@pytest.mark.parametrize("llm", ELSEWHERE)
@pytest.mark.parametrize("default", [None, SERVER])
def test_only_an_admin_says_where_the_servers_keys_go(llm: Any, default: Agent | None) -> None:
    agent = replace(default or SAFE, llm=llm)
    assert scopes(of_creation(agent, default)) == {"admin"}
    assert scopes(of_creation(replace(default or SAFE, agents={"x": agent}), default)) == {"admin"}
    condensed = PipelineCondenser(condensers=(ObservationMaskingCondenser(), LLMSummarizingCondenser(llm=llm)))
    assert scopes(of_creation(replace(default or SAFE, condenser=condensed), default)) == {"admin"}
    assert of(changes(condenser=condensed), default=default) == {"admin", "approve"}
    for control in (
        SwitchLLM(llm=llm),
        AskAgent(question="?", llm=llm),
        GenerateTitle(llm=llm),
        SetGoal(objective="x", judge=llm),
    ):
        assert looks_at_agent(control)
        assert of(control, default=default) == {"admin"}, control
    assert looks_at_agent(changes(llm=llm))
    assert of(changes(llm=llm), default=default) == {"admin", "approve"}
    assert of(changes(agents={"x": agent}), default=default) == {"admin", "approve"}


def test_a_model_that_the_conversation_has_may_be_named_again() -> None:
    assert of(SwitchLLM(llm=SERVER.llm), agent=SERVER) == set()
    assert of(SwitchLLM(llm=SERVER.llm), default=SERVER) == set()
    assert of(AskAgent(question="?"), agent=SERVER) == set()
    assert of(GenerateTitle()) == set()


def test_a_change_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        of(changes(llm=5))
    assert of(changes(busy="steer")) == {"approve"}
    assert of(changes(llm="scripted/other")) == of(changes(llm={"type": "LLM", "model": "scripted/other"}))


def test_rules_for_a_whole_workspace_hold_for_others_too() -> None:
    assert of(AddRule(rule=ALLOW)) == {"approve"}
    assert of(AddRule(rule=DENY, scope="project")) == {"approve"}
    assert of(AddRule(rule=ALLOW, scope="project")) == {"approve", "admin"}
    assert of(RemoveRule(rule=DENY)) == {"approve"}
    assert of(RemoveRule(rule=ALLOW, scope="project")) == {"approve"}
    assert of(RemoveRule(rule=DENY, scope="project")) == {"approve", "admin"}
    assert of(Confirm(always="session")) == {"approve"}
    assert of(Confirm(always="project")) == {"approve", "admin"}


def test_a_fork_from_before_is_no_way_back_to_what_was_looser() -> None:
    loose, strict = State(agent=replace(SAFE, confirmation=NeverConfirm())), State(agent=SAFE)
    assert scopes(of_fork(loose, strict)) == {"approve"}
    assert scopes(of_fork(strict, loose)) == set()
    assert scopes(of_fork(strict, strict, loose.spec)) == {"approve"}
    assert scopes(of_fork(strict, strict, replace(SAFE, system_prompt="Be brief."))) == set()
    denied = replace(strict, ledger=Ledger(added=(AddedRule(DENY),)))
    assert scopes(of_fork(strict, denied)) == {"approve"}
    allowed = replace(strict, ledger=Ledger(added=(AddedRule(ALLOW),)))
    assert scopes(of_fork(allowed, strict)) == {"approve"}
    assert scopes(of_fork(denied, denied)) == set()
    assert RuleAdded(rule=DENY).rule in denied.ledger.rules


def test_what_is_not_there_is_said() -> None:
    ada = Principal("ada", frozenset({Scope.OBSERVE, Scope.STEER}))
    check(ada, of_control(SendMessage(content="x"), None, None))
    check(EVERYONE, of_creation(replace(SERVER, llm=ELSEWHERE[0]), SERVER))
    with pytest.raises(Refusal) as refused:
        check(ada, of_creation(replace(SERVER, hooks=(), llm=ELSEWHERE[0]), SERVER))
    problem = refused.value.problem
    assert (problem.status, problem.code) == (403, "scope")
    assert "'admin' and 'approve'" in problem.detail
    assert "`hooks`" in problem.detail


policies = st.one_of(
    st.just(NeverConfirm()),
    st.just(AlwaysConfirm()),
    st.builds(ConfirmRisky, st.sampled_from(SecurityRisk), st.booleans()),
)


@given(policies, policies)
def test_a_policy_is_as_strict_when_it_asks_about_all_that_the_other_asks_about(one: Any, other: Any) -> None:
    agent = replace(SAFE, confirmation=one, analyzer="rules")
    base = replace(SAFE, confirmation=other, analyzer="rules")
    stricter = all(asks(one, risk) or not asks(other, risk) for risk in SecurityRisk)
    assert (scopes(of_creation(agent, base)) == set()) == stricter


def test_a_plugin_is_no_detour_to_what_only_an_admin_may_load() -> None:
    plugin = AgentContext(plugins=(PluginSource("https://example.com/x.git"),))
    inner = msgspec.structs.replace(SAFE, context=plugin)
    changes = {"agents": msgspec.Raw(msgspec.json.encode({"a": inner}))}
    assert "admin" in of(Configure(changes=changes), SAFE)
    assert "admin" in scopes(of_creation(inner, SAFE))


@pytest.mark.parametrize(
    ("path", "home", "needed"),
    [
        ("src/a.py", None, set()),
        ("src/.git/config", None, {"approve"}),
        (".agents/AGENTS.md", None, set()),
        (".agents/AGENTS.md", "/w", {"admin"}),
        (".claude/skills/a/SKILL.md", "/w", {"approve", "admin"}),
        (".agents/AGENTS.md", "/w/.agents", set()),
        ("sub/.agents/AGENTS.md", "/w", set()),
        ("me/.OpenHands/agents/a.md", "/w/me", {"admin"}),
    ],
)
def test_a_file_that_counts_without_consent_needs_more(path: str, home: str | None, needed: set[str]) -> None:
    assert scopes(of_file(path, f"/w/{path}", Path(home) if home else None)) == needed


def test_words_need_less_than_programs() -> None:
    offers = [Offer(digest="p", name="hooks", hooks=(HOOK,)), Offer(digest="w", name="AGENTS.md by bob", by="bob")]
    needed = {digest: scopes(of_control(Agree(digest=digest), SAFE, None, (), offers)) for digest in ("p", "w", "x")}
    assert needed == {"p": {"approve", "admin"}, "w": {"approve"}, "x": {"approve"}}
    assert looks_at_agent(Agree(digest="p"))
