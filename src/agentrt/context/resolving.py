"""Resolves an agent's context from the files that were read: its agents, its prompt, and the event that records them.

Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

import msgspec
from msgspec.structs import replace

from ..events import ContextResolved
from ..specs import (
    LLM,
    Agent,
    AlwaysConfirm,
    AnyCondenser,
    AnyLLM,
    ConfirmationPolicy,
    ConfirmRisky,
    Limits,
    LLMSummarizingCondenser,
    NeverConfirm,
    PipelineCondenser,
    Tool,
)
from ..specs.agent import DEFAULT_TOOLS
from ..specs.agent_file import AgentFile
from ..specs.built_in_agents import SAME_TOOLS
from ..specs.condensers import read_condenser, stages, summarizers
from ..specs.context import AgentContext, ContextProblem, ContextSource, Document, Gathered, Offer, SourceKind
from ..specs.llm import INHERIT
from ..specs.mcp import MCPServer
from ..specs.skill import Skill
from ..specs.tokens import tokens_of
from ..state import State
from ..state.skills import handed, with_programs
from .prompt import system_prompt
from .telling import dynamic_context

_CONFIRMATIONS: Mapping[str, ConfirmationPolicy] = {
    "always_confirm": AlwaysConfirm(),
    "confirm_risky": ConfirmRisky(),
    "never_confirm": NeverConfirm(),
}

Lookup = Callable[[str], str | None]
"""Returns the tool that a name stands for; None if there is none."""
Profiles = Callable[[str], AnyLLM | None]
"""Returns the model that the user saved under a name; None if there is none."""


class Resolved(msgspec.Struct, frozen=True, kw_only=True):
    """The resolved context of an agent."""

    agent: Agent
    """The agent, with the agents, hooks and MCP servers from files, and the tools for skills and agents."""
    prompt: str = ""
    """The static part of its system prompt."""
    dynamic: str = ""
    """The dynamic part."""
    event: ContextResolved = ContextResolved()
    """The event that records the result, without the texts of the skills."""
    texts: dict[str, str] = {}
    """The texts of the skills, by name."""

    @property
    def says_something(self) -> bool:
        """Whether the event has any content."""
        event = self.event
        return bool(event.sources or event.skills or event.offers or event.problems)


def resolved(
    agent: Agent, context: AgentContext, gathered: Gathered, agreed: Collection[str], tool: Lookup, profile: Profiles
) -> Resolved:
    """Resolve an agent's context from what was gathered for it; `agreed` are the digests of the programs that a person
    agreed to.
    """
    names = {skill.name for skill in gathered.skills}
    offers = tuple(
        replace(offer, agreed=offer.digest in agreed, condenser=_with_saved(offer.condenser, profile))
        for offer in gathered.offers
        if offer.agent not in agent.agents  # the program's own agents have nothing of a file
    )
    given = [offer for offer in offers if offer.agreed]
    agent = with_programs(agent, given)
    servers = agent.mcp_servers
    made = {file.name: as_agent(file, tool, profile, names, servers) for file in gathered.agents}
    agents = {name: one for name, (one, _) in made.items()} | agent.agents
    preloaded = set(context.preload_skills)
    always = [skill for skill in gathered.skills if skill.kind == "always" or skill.name in preloaded]
    listed = [skill for skill in gathered.skills if _is_listed(skill) and skill.name not in preloaded]
    tools = [*agent.tools]
    if listed and "invoke_skill" not in {one.name for one in tools}:
        tools.append(Tool("invoke_skill"))
    if agents and agent.tools == DEFAULT_TOOLS and tool("task") is not None:
        tools.append(Tool("task"))
    if agent.tools == DEFAULT_TOOLS:
        tools += [Tool(name) for name in _about_the_past(agent, context) if tool(name) is not None]
    sources = (
        *gathered.plugins,
        *_with_writers(
            (
                *(_of_document("instructions", document) for document in gathered.documents),
                *(_of_skill(skill, tool, skill in always, servers) for skill in gathered.skills),
                *(_of_agent(file, made[file.name][1]) for file in gathered.agents),
            ),
            gathered.writers,
        ),
        *(_of_document("memory", document) for document in gathered.memory),
        *(source for offer in offers for source in _of_offer(offer)),
    )
    return Resolved(
        agent=replace(agent, agents=handed(agents, given), tools=tuple(tools)),
        prompt=system_prompt(agent),
        dynamic=dynamic_context(gathered.facts, gathered.documents, listed, always, gathered.memory),
        event=ContextResolved(
            directory=gathered.facts.directory,
            sources=sources,
            skills=tuple(replace(skill, body="", metadata={}, brought={}) for skill in gathered.skills),
            offers=offers,
            problems=(*gathered.problems, *_unknown(context, names), *_not_used(agent.mcp_servers, offers)),
        ),
        texts={skill.name: skill.body for skill in gathered.skills},
    )


def _about_the_past(agent: Agent, context: AgentContext) -> Iterator[str]:
    """Yield the tools for events that an agent no longer sees and, if the user's own files are read, for its notes."""
    if any(stages(agent.condenser)):
        yield "recall"
    if context.load_memory and context.load_user_skills:
        yield "memory"


def joined(state: State, more: Resolved) -> Resolved:
    """Return a conversation's context with what a plugin adds; of two skills with the same name, the first stays."""
    before = state.context or ContextResolved()
    names = {skill.name for skill in before.skills}
    event = replace(
        _with(before, more.event.skills, more.event.offers),
        id=more.event.id,
        timestamp=more.event.timestamp,
        sources=tuple({(one.kind, one.name, one.path): one for one in (*before.sources, *more.event.sources)}.values()),
        problems=(*before.problems, *more.event.problems),
    )
    texts = {name: body for name, body in more.texts.items() if name not in names}
    return replace(more, event=replace(event, seq=0), texts=texts)


def rejoined(state: State, told: Resolved) -> Resolved:
    """Return a conversation's context as it was read again, with what plugins have added to it meanwhile."""
    before = state.context or ContextResolved()
    known = {(one.kind, one.name, one.path) for one in told.event.sources}
    plugins = [one for one in before.sources if one.origin == "plugin" and (one.kind, one.name, one.path) not in known]
    added = [skill for skill in before.skills if skill.origin == "plugin"]
    event = _with(told.event, added, before.offers)
    return replace(told, event=replace(event, sources=(*event.sources, *plugins), texts=before.texts))


def _with(event: ContextResolved, skills: Iterable[Skill], offers: Iterable[Offer]) -> ContextResolved:
    """Return the event with more skills and offers; of two with the same name or digest, the first stays."""
    names, digests = {skill.name for skill in event.skills}, {offer.digest for offer in event.offers}
    return replace(
        event,
        skills=(*event.skills, *(skill for skill in skills if skill.name not in names)),
        offers=(*event.offers, *(offer for offer in offers if offer.digest not in digests)),
    )


def _unknown(context: AgentContext, names: Collection[str]) -> Iterator[ContextProblem]:
    """Yield a problem for each skill that a context names and that does not exist."""
    for name in context.preload_skills:
        if name not in names:
            yield ContextProblem("preload_skills", f"there is no skill {name!r}")


def _not_used(own: Mapping[str, MCPServer], offers: Iterable[Offer]) -> Iterator[ContextProblem]:
    """Yield a problem for each MCP server with fields of another program that are not used here, each server once."""
    found = {name: ("mcp_servers", server) for name, server in own.items()}
    found |= {name: (offer.path, server) for offer in offers for name, server in offer.servers.items()}
    for name, (path, server) in sorted(found.items()):
        if server.ignored:
            from ..specs.mcp_dialects import about_ignored  # few have any

            yield ContextProblem(path, f"the server {name!r} has fields that are {about_ignored(server.ignored)}")


def _is_listed(skill: Skill) -> bool:
    return skill.kind == "listed" and skill.model_may_invoke


def as_agent(
    file: AgentFile,
    tool: Lookup,
    profile: Profiles,
    skills: Collection[str],
    servers: Mapping[str, MCPServer],
) -> tuple[Agent, tuple[str, ...]]:
    """Return the agent that a file describes, and what it names that is not available; it gets only known servers."""
    missing = [*(name for name in file.skills if name not in skills)]
    missing += [name for name in file.servers if name not in servers]
    is_foreign = file.origin != "user"
    condenser = _with_saved(read_condenser(file.condenser), profile)
    if condenser is None:
        missing.append("condenser")
    elif is_foreign and summarizers(condenser):
        condenser = None  # it is an offer, as its hooks are
    tools: tuple[Tool, ...] = SAME_TOOLS
    if file.tools is not None:
        found = {name: tool(name) for name in file.tools}
        missing += [name for name, known in found.items() if known is None]
        tools = tuple(Tool(name) for name in dict.fromkeys(known for known in found.values() if known is not None))
    llm = profile(file.model) if file.model != INHERIT else None
    if llm is None and file.model != INHERIT:
        missing.append(file.model)
    made = Agent(
        llm=llm or LLM(model=INHERIT),
        tools=tools,
        description=file.description,
        context=AgentContext(
            system_message_suffix=file.prompt, load_user_skills=file.origin == "user", preload_skills=file.skills
        ),
        confirmation=_CONFIRMATIONS.get(file.permission_mode, NeverConfirm()),
        condenser=condenser or LLMSummarizingCondenser(),
        hooks=() if is_foreign else file.hooks,
        limits=Limits(max_steps=file.max_steps or Limits().max_steps, max_cost=file.max_cost),
        is_vouched_for=file.origin == "user",
        mcp_servers={name: servers[name] for name in file.servers if name in servers},
    )
    return made, tuple(dict.fromkeys(missing))


def _with_saved(condenser: AnyCondenser | None, profile: Profiles) -> AnyCondenser | None:
    """Return a condenser of a file with the models that the user saved in place of their names."""
    if isinstance(condenser, PipelineCondenser):
        return replace(condenser, condensers=tuple(_with_saved(one, profile) for one in condenser.condensers))
    if isinstance(condenser, LLMSummarizingCondenser) and isinstance(llm := condenser.llm, LLM):
        return replace(condenser, llm=profile(llm.model) or llm) if llm == LLM(llm.model) else condenser
    return condenser


def _of_document(kind: SourceKind, document: Document) -> ContextSource:
    return ContextSource(
        kind=kind,
        name=document.name,
        origin=document.origin,
        path=document.path,
        digest=document.digest,
        tokens=tokens_of(document.text),
        when="always",
    )


def _of_skill(skill: Skill, tool: Lookup, always: bool, servers: Collection[str]) -> ContextSource:
    named = (entry.partition("(")[0].strip() for entry in (*skill.allowed_tools, *skill.disallowed_tools))
    shown = skill.description if _is_listed(skill) and not always else skill.body
    return ContextSource(
        kind="instructions" if skill.kind == "path" and not skill.is_package and not skill.triggers else "skill",
        name=skill.name,
        origin=skill.origin,
        path=skill.path,
        digest=skill.digest,
        tokens=tokens_of(shown),
        when="always" if always else _when(skill),
        missing=tuple(
            dict.fromkeys(
                (
                    *(name for name in named if tool(name) is None),
                    *(name for name in skill.servers if name not in servers),
                )
            )
        ),
    )


def _when(skill: Skill) -> str:
    match skill.kind:
        case "path":
            return f"a file is touched: {', '.join(skill.paths)}"
        case "keyword" | "task":
            return f"a message has {', '.join(skill.triggers)}"
        case "listed":
            return "listed" if skill.model_may_invoke else f"a message begins with /{skill.name}"
        case _:
            return "always"


def _of_agent(file: AgentFile, missing: tuple[str, ...]) -> ContextSource:
    return ContextSource(
        kind="agent",
        name=file.name,
        origin=file.origin,
        path=file.path,
        digest=file.digest,
        tokens=tokens_of(file.description),
        when="listed",
        missing=missing,
    )


def _with_writers(sources: Iterable[ContextSource], writers: Mapping[str, str]) -> Iterator[ContextSource]:
    """Yield the sources, each with the owner who wrote its file."""
    return (replace(one, by=writers[one.path]) if one.path in writers else one for one in sources)


def _of_offer(offer: Offer) -> Iterator[ContextSource]:
    when = "always" if offer.agreed else "once a person has agreed"
    if offer.by and not offer.agreed:
        yield ContextSource(kind="instructions", name=offer.name, path=offer.path, by=offer.by, when=when)
    if offer.hooks:
        yield ContextSource(kind="hooks", name=offer.name, path=offer.path, when=when)
    if offer.servers:
        missing = () if offer.agreed else tuple(offer.servers)
        yield ContextSource(kind="servers", name=offer.name, path=offer.path, when=when, missing=missing)
    if offer.condenser is not None:
        yield ContextSource(kind="condenser", name=offer.name, path=offer.path, when=when)
    if offer.commands:
        yield ContextSource(kind="commands", name=offer.name, path=offer.path, when=when)
