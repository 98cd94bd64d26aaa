"""The scopes that each control needs, more if it loosens security; for REST and for sockets.

A key that may only steer must not get by a detour what only a key that may approve, or an admin's key, allows. So a
conversation that it begins is compared with the server's own agent, or with `BASELINE` if the server has none:

- when a person is asked, the ratings that decide this, what is denied, and what may be spent: at least as strict.
  Otherwise: approve.
- hooks (commands that run without being asked about) and tools: those of the server's agent. Otherwise: approve.
- prices of models, which budgets are computed with: those of the server's agent. Otherwise: approve.
- the address of a model, the variable of the server's environment that has its key, and additions to the request: the
  provider's own, or those of the server's agent or a profile. Otherwise: admin, because the server's keys would be sent
  to an address that the caller chooses. An added header (`Host`) and, with some providers, an added member (`api_base`)
  redirect the request, too.
- files of the workspace that are run by other programs later, such as git hooks and CI configurations: approve.
- rules for all conversations in a workspace, also those of other users: admin, to add a rule that allows something, or
  to remove a rule that asks or denies.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

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
from ..specs.context import Offer
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

_ADMINISTERING = (LoadPlugin,)
"""Controls for admins: they read a plugin from anywhere."""

_RUNS_FOR_ALL = "its programs run in all conversations that find them"

BASELINE = Agent(llm=LLM(model=""), confirmation=ConfirmRisky())
"""The agent to compare with if the server has none of its own: a person is asked about actions rated as risky."""


_PROGRAMS = "its `mcp_servers` are others: they run as programs of the server, or are sent what it knows"


class Demand(msgspec.Struct, frozen=True):
    """A scope that is needed, and the reason."""

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
"""Files of a workspace that other programs run later: those of git, editors, environments, hooks and CI."""


_OWN = re.compile(r"\.(?:agents|openhands|claude|config)(?:/|$)", re.IGNORECASE)
"""The directories of a home whose files count as the user's own words and programs."""


def of_file(path: str, real: str, home: Path | None) -> Iterator[Demand]:
    """Yield the additional demands for writing a file; `path` is its real path, relative to the workspace, `real` the
    absolute one, and `home` the home directory whose files count as the user's own.
    """
    if _RUNS.search(path):
        yield Demand(Scope.APPROVE, f"{path} runs by itself later, without being asked about")
    if home is not None and _OWN.match(os.path.relpath(real, os.path.realpath(home))):
        yield Demand(Scope.ADMIN, f"{path} instructs all conversations of this server, and its programs run unasked")


def scope_of(kind: type[Control]) -> Scope:
    """Return the scope that a control needs, whatever its content."""
    if issubclass(kind, _ADMINISTERING):
        return Scope.ADMIN
    return Scope.APPROVE if issubclass(kind, _APPROVING) else Scope.STEER


def require(principal: Principal, scope: Scope) -> None:
    """Raise `Refusal` (403) for a key without the scope."""
    if not principal.may(scope):
        raise refusal(403, "Not allowed", f"this needs a key with the scope {scope.value!r}", "scope")


def check(principal: Principal, demands: Iterable[Demand]) -> None:
    """Raise `Refusal` (403), with the reasons, if a principal does not have all scopes that are needed."""
    missing = [demand for demand in demands if not principal.may(demand.scope)]
    if missing:
        needed = " and ".join(sorted({repr(demand.scope.value) for demand in missing}))
        why = "; ".join(dict.fromkeys(demand.why for demand in missing))
        raise refusal(403, "Not allowed", f"this needs a key with the scope {needed}: {why}", "scope")


def of_creation(agent: Agent, default: Agent | None, saved: Iterable[AnyLLM] = ()) -> Iterator[Demand]:
    """Yield the demands for beginning a conversation with an agent, on a server whose own agent is `default` and whose
    profiles are `saved`.
    """
    yield Demand(Scope.STEER, "it begins a conversation")
    if agent != default:
        yield from _of_agent(agent, default or BASELINE, bounded=default is not None, saved=tuple(saved))


def looks_at_agent(control: AnyControl) -> bool:
    """Return whether the demands of a control depend on the agent of its conversation, or on what is offered to it."""
    return isinstance(control, SwitchLLM | AskAgent | GenerateTitle | SetGoal | Configure | Agree)


def of_control(
    control: AnyControl,
    agent: Agent | None,
    default: Agent | None,
    saved: Iterable[AnyLLM] = (),
    offers: Iterable[Offer] = (),
) -> Iterator[Demand]:
    """Yield the demands of a control. The conversation's `agent` and `offers` and the `saved` profiles matter only if
    `looks_at_agent`.

    Raises `msgspec.ValidationError` for invalid changes.
    """
    yield Demand(scope_of(type(control)), f"{tag_of(control)!r} needs it")
    known = (*saved, *(llm for one in (default, agent) if one is not None for llm in llms_of(one)))
    match control:
        case SwitchLLM(llm=llm):
            yield from _of_llm(llm, known)
        case AskAgent(llm=llm) | GenerateTitle(llm=llm) | SetGoal(judge=llm) if llm is not None:
            yield from _of_llm(llm, known)
        case Agree(digest=digest):
            if any(offer.digest == digest and not offer.by for offer in offers):
                yield Demand(Scope.ADMIN, _RUNS_FOR_ALL)
        case Configure(changes=changes) if agent is not None:
            made = replaced(agent, changes)
            for llm in llms_of(made):
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
    """Yield the demands for a fork of a conversation whose current state is `now`. The fork begins with `agent`, or
    with the agent of the earlier state `then`.
    """
    yield from _of_agent(_with_rules(agent or then.spec, then), _with_rules(now.spec, now), bounded=True)


def _with_rules(agent: Agent, state: State) -> Agent:
    """Return the agent with the rules that were added to the conversation."""
    return msgspec.structs.replace(agent, rules=(*agent.rules, *state.ledger.rules))


def _of_agent(agent: Agent, base: Agent, *, bounded: bool, saved: tuple[AnyLLM, ...] = ()) -> Iterator[Demand]:
    """Yield the demands of an agent compared with an allowed one, with `bounded` also of its tools and limits."""

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
        yield from _of_llm(llm, (*saved, *llms_of(base)))
    for other in agent.agents.values():
        if other not in base.agents.values():
            yield from _of_agent(other, base, bounded=bounded, saved=saved)


def _all(agent: Agent) -> Iterator[Agent]:
    yield agent
    for other in agent.agents.values():
        yield from _all(other)


def _of_contexts(agent: Agent, known: Sequence[AgentContext | None]) -> Iterator[Demand]:
    """Yield the demands of the contexts of an agent, and of those below it, except for `known` contexts."""
    for one in _all(agent):
        if one.context not in known:
            yield from _of_context(one.context, None)


def _of_context(context: AgentContext | None, base: AgentContext | None) -> Iterator[Demand]:
    """Yield the demands of a context compared with an allowed one: for plugins, skills, and memory."""
    if context == base:
        return
    context, known = context or AgentContext(load_user_skills=True), base or AgentContext(load_user_skills=True)
    if not set(context.plugins) <= set(known.plugins):
        yield Demand(Scope.ADMIN, "its `plugins` are read from where the caller says")
    if context.load_user_skills and not known.load_user_skills:
        yield Demand(Scope.APPROVE, "it reads files of the server's user")
    if any(skill.allowed_tools and skill not in known.skills for skill in context.skills):
        yield Demand(Scope.APPROVE, "its `skills` approve calls in advance")
    if context.consolidate_memory and not known.consolidate_memory:
        yield Demand(Scope.APPROVE, "it notes what later conversations are told")


def _other_servers(agent: Agent, base: Agent) -> bool:
    """Return whether the agent has MCP servers that the other one does not have."""
    return _unpinned(agent).items() - _unpinned(base).items() != set()


def _unpinned(agent: Agent) -> dict[str, bytes]:
    """Return an agent's servers without the pins of their programs, which each conversation makes anew."""
    servers = agent.mcp_servers.items()
    return {name: msgspec.json.encode(msgspec.structs.replace(server, pinned=())) for name, server in servers}


def _rated_alike(agent: Agent, base: Agent) -> bool:
    """Return whether the agent has the analyzers of `base`, since others may rate lower, or asks about everything."""
    return isinstance(agent.confirmation, AlwaysConfirm) or set(agent.analyzers) == set(base.analyzers)


def _covers(flow: InformationFlow | None, base: InformationFlow | None) -> bool:
    if base is None:
        return True
    return flow is not None and set(base.labels) <= set(flow.labels) and set(base.sinks) <= set(flow.sinks)


def _tool(tool: msgspec.Struct) -> bytes:
    return msgspec.json.encode(tool, order="deterministic")


def _within(limits: Limits, base: Limits) -> bool:
    """Return whether no limit is higher than that of `base`; None is the highest."""
    pairs = ((getattr(limits, name), getattr(base, name)) for name in limits.__struct_fields__)
    return all(most is None or (own is not None and own <= most) for own, most in pairs)


def llms_of(agent: Agent) -> tuple[AnyLLM, ...]:
    """Return the models of an agent and of the agents that it may delegate to."""
    return (*agent.models, *(llm for other in agent.agents.values() for llm in llms_of(other)))


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


_WAY = (
    "no `base_url`, `api_key`, `api_key_env`, `extra_headers` or `extra_body` but those of the server's agent and its"
    " profiles"
)


def _way(llm: LLM) -> tuple[object, ...]:
    """Return the settings that decide which key is sent, and where."""
    return llm.base_url, llm.api_key, llm.api_key_env, llm.extra_headers, llm.extra_body


def _same_provider(one: LLM, other: LLM) -> bool:
    return one.model.partition("/")[0] == other.model.partition("/")[0]


def _prices(llm: LLM) -> tuple[float | None, ...]:
    return (
        llm.input_cost_per_token,
        llm.output_cost_per_token,
        llm.cache_read_cost_per_token,
        llm.cache_write_cost_per_token,
    )
