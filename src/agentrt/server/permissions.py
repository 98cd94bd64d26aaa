"""What each control needs of a principal, and what loosens security so that it needs more; for REST and for sockets.

A key that may steer must not get by a detour what only a key that may approve, or an admin's, allows. So what it begins
is held against the server's own agent, or against `BASELINE` where the server has none:

- who is asked, the ratings that decide it, what is denied, and what may be spent: no less strict. Else: approve.
- hooks (they are commands that run unasked) and tools: those of the server's agent. Else: approve.
- prices of models, by which budgets are reckoned: those of the server's agent. Else: approve.
- where a model is called, with which variable of the server's environment as its key, and what is added to the
  request: as the provider has it, or as the server's agent has it. Else: admin, since the server's keys would go where
  the caller says. An added header (`Host`) and, with some providers, an added member (`api_base`) redirect it, too.
- files of the workspace that run by themselves later, such as hooks of git and what CI runs: approve.
- rules for all conversations in a workspace, others' as well: admin for one that allows something, and to take back one
  that asks or denies.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from ..controls import (
    AddRule,
    Agree,
    AnyControl,
    AskAgent,
    Configure,
    Confirm,
    Control,
    GenerateTitle,
    GiveInput,
    Grant,
    LoadPlugin,
    Reject,
    RemoveRule,
    SetConfirmationPolicy,
    SetGoal,
    SetSecurityAnalyzer,
    SwitchLLM,
    tag_of,
)
from ..specs import (
    LLM,
    Agent,
    AgentContext,
    AlwaysConfirm,
    AnyLLM,
    ConfirmRisky,
    InformationFlow,
    Limits,
    SecurityRisk,
    replaced,
)
from ..specs.llm import members
from ..specs.policies import asks
from ..state import State
from .principals import Principal, Scope
from .problems import refusal

_FOR_ALL = "the rule holds for all conversations in the workspace"
_APPROVING = (
    Confirm,
    GiveInput,
    Reject,
    Agree,
    LoadPlugin,
    AddRule,
    RemoveRule,
    Configure,
    SetConfirmationPolicy,
    SetSecurityAnalyzer,
    Grant,
)

_ADMINISTERING = (Agree, LoadPlugin)
"""The programs run in all conversations that find them, and a plugin is read from where the caller says."""

BASELINE = Agent(llm=LLM(model=""), confirmation=ConfirmRisky())
"""What is asked for where the server has no agent of its own: actions that are rated risky are asked about."""


_PROGRAMS = "its `mcp_servers` are others: they run as programs of the server, or are sent what it knows"


class Demand(msgspec.Struct, frozen=True):
    """A scope that is needed, and what for."""

    scope: Scope
    why: str


_RUNS = re.compile(
    r"(?:^|/)(?:\.git|\.githooks|\.husky|\.direnv|\.devcontainer|\.circleci|\.buildkite|\.woodpecker|\.claude|\.cursor"
    r"|\.gemini|\.codex|\.idea|\.zed|\.mise|\.gitlab|\.tekton|\.semaphore|\.azure-pipelines|\.agentrt)(?:$|/)"
    r"|(?:^|/)\.(?:github|gitea|forgejo)/(?:workflows|actions)/|(?:^|/)\.vscode/(?:tasks|launch|settings|mcp)\.json$"
    r"|^(?:git-?hooks|hooks)/|(?:^|/)(?:\.envrc|\.pre-commit-config\.ya?ml|\.?lefthook(?:-local)?\.ya?ml|hooks\.json"
    r"|\.devcontainer\.json|\.mcp\.json|[^/]*\.code-workspace|\.exrc|\.nvimrc|\.dir-locals\.el|buildspec\.ya?ml"
    r"|\.yarnrc\.ya?ml|\.pnpmfile\.cjs|sitecustomize\.py|usercustomize\.py|[^/]*\.pth|(?:pre|post)-(?:commit|push|merge"
    r"|checkout|rewrite|receive)|commit-msg|prepare-commit-msg|pre-rebase"
    r"|\.gitattributes|\.gitmodules|\.gitlab-ci\.ya?ml|\.travis\.ya?ml|\.drone\.ya?ml|\.woodpecker\.ya?ml|Jenkinsfile"
    r"|azure-pipelines\.ya?ml|bitbucket-pipelines\.ya?ml|appveyor\.ya?ml|\.cirrus\.ya?ml|cloudbuild\.ya?ml"
    r"|\.?mise(?:\.local)?\.toml)$",
    re.IGNORECASE,
)
"""Files of a workspace that run by themselves later: those of git, editors, environments, hooks and CI."""


def of_file(path: str) -> Iterator[Demand]:
    """What writing a file of the workspace needs besides; `path` is where it leads, from the workspace on."""
    if _RUNS.search(path):
        yield Demand(Scope.APPROVE, f"{path} runs by itself later, without being asked about")


def scope_of(kind: type[Control]) -> Scope:
    """What a principal needs for a control, whatever it says."""
    if issubclass(kind, _ADMINISTERING):
        return Scope.ADMIN
    return Scope.APPROVE if issubclass(kind, _APPROVING) else Scope.STEER


def require(principal: Principal, scope: Scope) -> None:
    """Raises `Refusal` (403) for a key without a scope."""
    if not principal.may(scope):
        raise refusal(403, "Not allowed", f"this needs a key with the scope {scope.value!r}", "scope")


def check(principal: Principal, demands: Iterable[Demand]) -> None:
    """Whether a principal has all that is needed. Raises `Refusal` (403), which says what is not there."""
    missing = [demand for demand in demands if not principal.may(demand.scope)]
    if missing:
        needed = " and ".join(sorted({repr(demand.scope.value) for demand in missing}))
        why = "; ".join(dict.fromkeys(demand.why for demand in missing))
        raise refusal(403, "Not allowed", f"this needs a key with the scope {needed}: {why}", "scope")


def of_creation(agent: Agent, default: Agent | None, saved: Iterable[AnyLLM] = ()) -> Iterator[Demand]:
    """What beginning a conversation with an agent needs, on a server whose own agent is `default`, and whose profiles
    are `saved`.
    """
    yield Demand(Scope.STEER, "it begins a conversation")
    if agent != default:
        yield from _of_agent(agent, default or BASELINE, bounded=default is not None, saved=tuple(saved))


def looks_at_agent(control: AnyControl) -> bool:
    """Whether what a control needs depends on the agent of its conversation."""
    return isinstance(control, SwitchLLM | AskAgent | GenerateTitle | SetGoal | Configure)


def of_control(
    control: AnyControl, agent: Agent | None, default: Agent | None, saved: Iterable[AnyLLM] = ()
) -> Iterator[Demand]:
    """What a control needs of a conversation whose agent is `agent`; that and what is `saved` as profiles counts only
    where `looks_at_agent`.

    Raises `msgspec.ValidationError` for changes that make no sense.
    """
    yield Demand(scope_of(type(control)), f"{tag_of(control)!r} needs it")
    known = (*saved, *(llm for one in (default, agent) if one is not None for llm in _llms(one)))
    match control:
        case SwitchLLM(llm=llm):
            yield from _of_llm(llm, known)
        case AskAgent(llm=llm) | GenerateTitle(llm=llm) | SetGoal(judge=llm) if llm is not None:
            yield from _of_llm(llm, known)
        case Configure(changes=changes) if agent is not None:
            made = replaced(agent, changes)
            for llm in _llms(made):
                yield from _of_llm(llm, known)
            known_agents = [each for one in (default, agent) if one is not None for each in _all(one)]
            yield from _of_contexts(made, [each.context for each in known_agents])
            for one in _all(made):
                if all(_other_servers(one, other) for other in known_agents):
                    yield Demand(Scope.ADMIN, _PROGRAMS)
        case AddRule(rule=rule, scope="project") if rule.verdict == "allow":
            yield Demand(Scope.ADMIN, _FOR_ALL)
        case RemoveRule(rule=rule, scope="project") if rule.verdict != "allow":
            yield Demand(Scope.ADMIN, _FOR_ALL)
        case Confirm(always="project"):
            yield Demand(Scope.ADMIN, _FOR_ALL)


def of_fork(then: State, now: State, agent: Agent | None = None) -> Iterator[Demand]:
    """What a fork needs that begins with what was configured `then`, or with another `agent`, of a conversation that
    stands as it is `now`.
    """
    yield from _of_agent(_with_rules(agent or then.spec, then), _with_rules(now.spec, now), bounded=True)


def _with_rules(agent: Agent, state: State) -> Agent:
    """The agent, with the rules that were added to the conversation."""
    return msgspec.structs.replace(agent, rules=(*agent.rules, *state.ledger.rules))


def _of_agent(agent: Agent, base: Agent, *, bounded: bool, saved: tuple[AnyLLM, ...] = ()) -> Iterator[Demand]:
    """What an agent needs beside one that is allowed; `bounded` by its tools and limits, too."""

    def approve(why: str) -> Demand:
        return Demand(Scope.APPROVE, why)

    strict = [risk for risk in SecurityRisk if asks(base.confirmation, risk)]
    if not all(asks(agent.confirmation, risk) for risk in strict):
        yield approve("its `confirmation` asks about less")
    if strict and not _rated_alike(agent, base):
        yield approve("its `analyzer` is another")
    if not _covers(agent.flow, base.flow):
        yield approve("its `flow` asks about less")
    if not {rule for rule in base.rules if rule.verdict != "allow"} <= set(agent.rules):
        yield approve("`rules` that deny or ask are not there")
    if {rule for rule in agent.rules if rule.verdict == "allow"} - set(base.rules):
        yield approve("its `rules` allow more")
    if _other_servers(agent, base):
        yield Demand(Scope.ADMIN, _PROGRAMS)
    if agent.hooks != base.hooks:
        yield approve("its `hooks` are others, and they run unasked")
    yield from _of_context(agent.context, base.context)
    if bounded and not {_tool(tool) for tool in agent.tools} <= {_tool(tool) for tool in base.tools}:
        yield approve("it has other `tools`")
    if bounded and not _within(agent.limits, base.limits):
        yield approve("its `limits` are wider")
    for llm in agent.models:
        yield from _of_llm(llm, (*saved, *_llms(base)))
    for other in agent.agents.values():
        if other not in base.agents.values():
            yield from _of_agent(other, base, bounded=bounded, saved=saved)


def _all(agent: Agent) -> Iterator[Agent]:
    yield agent
    for other in agent.agents.values():
        yield from _all(other)


def _of_contexts(agent: Agent, known: Sequence[AgentContext | None]) -> Iterator[Demand]:
    """What the contexts of an agent and of those below it need that are none of the `known` ones."""
    for one in _all(agent):
        if one.context not in known:
            yield from _of_context(one.context, None)


def _of_context(context: AgentContext | None, base: AgentContext | None) -> Iterator[Demand]:
    """What an agent is told needs where it comes from files that the caller could not read."""
    if context == base:
        return
    context, known = context or AgentContext(load_user_skills=True), base or AgentContext(load_user_skills=True)
    if not set(context.plugins) <= set(known.plugins):
        yield Demand(Scope.ADMIN, "its `plugins` are read from where the caller says")
    if context.load_user_skills and not known.load_user_skills:
        yield Demand(Scope.APPROVE, "it reads files of the server's user")
    if context.consolidate_memory and not known.consolidate_memory:
        yield Demand(Scope.APPROVE, "it notes what later conversations are told")


def _other_servers(agent: Agent, base: Agent) -> bool:
    """Whether it has MCP servers that the other has not."""
    return any(base.mcp_servers.get(name) != server for name, server in agent.mcp_servers.items())


def _rated_alike(agent: Agent, base: Agent) -> bool:
    """Whether nothing that one asks about may go unasked in the other: another analyzer may rate lower."""
    return isinstance(agent.confirmation, AlwaysConfirm) or set(agent.analyzers) == set(base.analyzers)


def _covers(flow: InformationFlow | None, base: InformationFlow | None) -> bool:
    if base is None:
        return True
    return flow is not None and set(base.labels) <= set(flow.labels) and set(base.sinks) <= set(flow.sinks)


def _tool(tool: msgspec.Struct) -> bytes:
    return msgspec.json.encode(tool, order="deterministic")


def _within(limits: Limits, base: Limits) -> bool:
    """Whether no bound is wider; None is the widest."""
    pairs = ((getattr(limits, name), getattr(base, name)) for name in limits.__struct_fields__)
    return all(most is None or (own is not None and own <= most) for own, most in pairs)


def _llms(agent: Agent) -> tuple[AnyLLM, ...]:
    """Of an agent and of those that it may delegate to."""
    return (*agent.models, *(llm for other in agent.agents.values() for llm in _llms(other)))


def _of_llm(llm: AnyLLM, known: Iterable[AnyLLM]) -> Iterator[Demand]:
    theirs = [member for one in known for member in members(one)]
    for member in members(llm):
        if any(_way(member)) and not any(
            _way(member) == _way(other) and _same_provider(member, other) for other in theirs
        ):
            yield Demand(Scope.ADMIN, f"keys of the server's environment would go where {member.model!r} says: {_WAY}")
        if "://" in member.model and member.model not in {other.model for other in theirs}:
            yield Demand(Scope.ADMIN, f"the model {member.model!r} has an address in its name")
        if _prices(member) != _prices(LLM(model="")) and _prices(member) not in map(_prices, theirs):
            yield Demand(Scope.APPROVE, f"the prices of {member.model!r} are what budgets go by")


_WAY = "no `base_url`, `api_key_env`, `extra_headers` or `extra_body` but those of the server's agent and its profiles"


def _way(llm: LLM) -> tuple[object, ...]:
    """What says where a key goes, and which one."""
    return llm.base_url, llm.api_key_env, llm.extra_headers, llm.extra_body


def _same_provider(one: LLM, other: LLM) -> bool:
    return one.model.partition("/")[0] == other.model.partition("/")[0]


def _prices(llm: LLM) -> tuple[float | None, ...]:
    return (
        llm.input_cost_per_token,
        llm.output_cost_per_token,
        llm.cache_read_cost_per_token,
        llm.cache_write_cost_per_token,
    )
