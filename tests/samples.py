"""Events of every type, and short histories, for the tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import get_args

import msgspec
from msgspec.structs import replace

from agentrt.context.replies import BadCall
from agentrt.events import (
    ActionEvent,
    ActionRevised,
    AgentErrorEvent,
    BudgetGranted,
    BudgetReserved,
    ChangedDuring,
    ChildAction,
    ChildAnswered,
    ChildFinished,
    ChildMessaged,
    ChildStarted,
    ChildWaiting,
    CommandEnded,
    CommandStarted,
    Condensation,
    CondensationRequest,
    ConfirmationGiven,
    ConfirmationRequested,
    ConsentGiven,
    ContextChanged,
    ContextResolved,
    ConversationCreated,
    ConversationErrorEvent,
    ConversationStateUpdateEvent,
    CriticAssessed,
    DurabilityChanged,
    Event,
    ExecutionLost,
    ExecutionStarted,
    ExecutionStatus,
    FilesRestored,
    GoalSet,
    Grant,
    HeadMoved,
    HookExecutionEvent,
    HookRun,
    InputGiven,
    InputRequested,
    InterruptEvent,
    KnownEvent,
    MessageEvent,
    ModelCalled,
    ModelCallRetried,
    ModelCallStarted,
    ModelVisible,
    ObservationEvent,
    PauseEvent,
    ResourceLost,
    RiskAssessed,
    RuleAdded,
    RuleRemoved,
    RunEnded,
    RunRequested,
    SecretsChanged,
    SkillActivated,
    StuckDetected,
    SystemPromptEvent,
    TagsChanged,
    TitleChanged,
    ToolResultRequested,
    ToolResultsAwaited,
    ToolsChanged,
    UserRejectObservation,
    WorkspaceSnapshot,
)
from agentrt.specs import (
    LLM,
    Agent,
    BlobReference,
    CondensationReason,
    ConfirmationPolicy,
    ConfirmRisky,
    Durability,
    FileContent,
    HookEvent,
    ImageContent,
    Limits,
    LocalWorkspace,
    NeverConfirm,
    OnCrash,
    PermissionRule,
    SecurityRisk,
    TextContent,
    Thinking,
    Tool,
    ToolDefinition,
)
from agentrt.specs.content import text
from agentrt.specs.context import ContextProblem, ContextSource, Offer
from agentrt.specs.secrets import EnvironmentSecret, SavedStatic
from agentrt.specs.skill import Skill
from agentrt.specs.summary import Summary
from agentrt.state import Seen, as_seen, summarized
from agentrt.tools import BUILT_IN
from agentrt.usage import Spending, Usage

WORKSPACE = LocalWorkspace("/work")
THINKING = Thinking("m", msgspec.Raw(b'[{"type":"thinking","thinking":"Hm.","signature":"s"}]'))


def agent(
    *, analyzer: str | None = None, confirmation: ConfirmationPolicy = NeverConfirm(), limits: Limits = Limits()
) -> Agent:
    """An agent with two tools."""
    return Agent(
        llm=LLM(model="scripted"),
        tools=(Tool("terminal"), Tool("look")),
        analyzer=analyzer,
        confirmation=confirmation,
        limits=limits,
    )


def definition(name: str, on_crash: OnCrash = OnCrash.ASK, *, holds_resource: bool = False) -> ToolDefinition:
    """A tool without parameters, which declares what the built-in one of its name does."""
    schema = msgspec.Raw(b'{"type":"object","properties":{},"required":[]}')
    made = ToolDefinition(name=name, description=f"The {name}.", parameters=schema)
    declared = BUILT_IN[name].definition if name in BUILT_IN else made
    own = {"description": made.description, "parameters": schema, "labels": (), "annotations": made.annotations}
    return replace(declared, on_crash=on_crash, holds_resource=holds_resource, **own)


def beginning(spec: Agent | None = None) -> tuple[Event, ...]:
    """The first batch of a conversation."""
    tools = (
        definition("terminal", holds_resource=True),
        definition("look", OnCrash.RETRY),
        definition("once", OnCrash.FAIL),
        *map(definition, ("finish", "think", "delegate", "file_editor")),
    )
    created = ConversationCreated(conversation_id="c", agent=spec or agent(), workspace=WORKSPACE)
    return (created, SystemPromptEvent(system_prompt="You are a test.", tools=tools))


def message(words: str = "go", id: str | None = None) -> MessageEvent:
    """A user's message."""
    made = MessageEvent(source="user", content=text(words))
    return replace(made, id=id) if id else made


def answer(words: str = "done", *, partial: bool = False) -> MessageEvent:
    """The agent's message."""
    return MessageEvent(source="agent", content=text(words), partial=partial)


def action(name: str = "terminal", response: str = "r1", *resources: str, id: str | None = None) -> ActionEvent:
    """A call."""
    made = ActionEvent(
        tool_name=name,
        tool_call_id="call_1",
        arguments_json=msgspec.Raw(b'{"command":"ls"}'),
        llm_response_id=response,
        resources=resources,
    )
    return replace(made, id=id) if id else made


def observation(of: ActionEvent, words: str = "ok") -> ObservationEvent:
    """A call's result."""
    return ObservationEvent(
        action_id=of.id, tool_name=of.tool_name, tool_call_id=of.tool_call_id, content=text(words), caused_by=of.id
    )


def failure(of: ActionEvent, words: str = "no") -> AgentErrorEvent:
    """A call's error."""
    return AgentErrorEvent(action_id=of.id, tool_name=of.tool_name, tool_call_id=of.tool_call_id, error=words)


def numbered(events: Sequence[Event], first: int = 1) -> list[Event]:
    """The events with their places in a log."""
    return [replace(event, seq=seq) for seq, event in enumerate(events, first)]


def seen(events: Iterable[Event]) -> list[Seen]:
    """The places in a view of those that the model sees."""
    return [as_seen(event) for event in events if isinstance(event, ModelVisible)]


def look_up(view: Iterable[Seen], events: Iterable[Event]) -> list[Event]:
    """The events of the places in a view."""
    by_seq = {event.seq: event for event in events}
    found = [by_seq[seen.seq] for seen in view]
    return [summarized(event) if isinstance(event, Condensation) else event for event in found]


def every_event() -> list[Event]:
    """One event of each type at least, with every field set, in an order that a conversation could have."""
    first, second, third = action(id="a1"), action("look", "r1", "file:/x", id="a2"), action("look", "r2", id="a3")
    blocks = (
        TextContent('says "hi"\n\u00e9\u4e16'),
        ImageContent("data:image/png;base64,AAAA", "low"),
        FileContent("/work/a.txt", "text/plain"),
        BlobReference("0" * 64, 12, name="full output"),
    )
    return [
        *beginning(agent(analyzer="rules", confirmation=ConfirmRisky(SecurityRisk.MEDIUM), limits=Limits(9, 2))),
        MessageEvent(source="user", by="ada", content=blocks),
        RunRequested(by="ada"),
        ModelCallStarted(command="call-1"),
        BudgetReserved(command="call-1", tokens=20, cost=0.6),
        ModelCallRetried(
            command="call-1", attempt=1, model="m", next_model="n", code="timeout", detail="no", wait=0.5, draft="d1"
        ),
        ModelCalled(
            command="call-1",
            model="m",
            usage=Usage(1, 2, 3, 4, 5),
            cost=0.5,
            latency=1.5,
            time_to_first_token=0.25,
            llm_response_id="r1",
        ),
        replace(
            first,
            security_risk=SecurityRisk.LOW,
            summary="Looks.",
            thought="I look.",
            reasoning="Because.",
            thinking=THINKING,
        ),
        second,
        RiskAssessed(
            action_id="a1", risk=SecurityRisk.HIGH, reason="deletes", sinks=("network", "outside"), labels=("web",)
        ),
        RiskAssessed(action_id="a2", risk=SecurityRisk.LOW),
        InputRequested(action_id="a2", message="Which colour?", schema=msgspec.Raw(b'{"type":"object"}'), asks="demo"),
        InputGiven(request_id="i1", content=msgspec.Raw(b'{"colour":"red"}')),
        ToolResultRequested(action_id="a2", deadline=5.0),
        ToolResultsAwaited(),
        ConfirmationRequested(action_ids=("a1",), reasons=("flow:web>network",)),
        ActionRevised(action_id="a1", arguments_json=msgspec.Raw(b'{"command":"ls -l"}'), by="hook", resources=("x",)),
        RiskAssessed(action_id="a1", risk=SecurityRisk.UNKNOWN),
        ConfirmationGiven(action_ids=("a1",), by="ada"),
        ExecutionStarted(action_id="a1", command="execute-a1-1"),
        ExecutionStarted(action_id="a2", command="execute-a2-1"),
        ObservationEvent(
            action_id="a1",
            tool_name="terminal",
            tool_call_id="call_1",
            content=blocks,
            is_error=True,
            details_json=msgspec.Raw(b'{"exit_code":1}'),
            labels=("web",),
            fingerprint=7,
        ),
        ExecutionLost(action_id="a2"),
        ExecutionStarted(action_id="a2", command="execute-a2-2", attempt=2),
        failure(second),
        ModelCallStarted(command="call-2"),
        ModelCalled(command="call-2", model="m", error="context_window"),
        CondensationRequest(reason="too long"),
        ToolsChanged(
            server="time",
            tools=(replace(definition("look"), server="time", remote="look", labels=("mcp",)),),
            problem="it has closed the connection",
            told="The MCP server time is not available.",
            changed=("look",),
        ),
        Condensation(
            forgotten_event_ids=("a1", "a2"),
            summary="It looked.",
            masked_event_ids=("a0",),
            reason=CondensationReason.TOKENS,
            facts=Summary(
                count=2,
                first=3,
                last=6,
                task="Look.",
                asked=("(#3) go",),
                decisions=("look first",),
                files=("x: seen (#5)",),
                open=("the rest",),
                failed=("`look`: not that (#6)",),
            ),
            labels=("web",),
            problem="no model summed it up: timeout",
            tokens_before=900,
            tokens_after=300,
        ),
        third,
        UserRejectObservation(action_id="a3", tool_name="look", tool_call_id="call_1", rejection_reason="not that"),
        PauseEvent(reason="lunch"),
        InterruptEvent(reason="stop", goes_on=True),
        ResourceLost(tool_name="terminal", detail="The terminal was restarted.", revoked=("a3",)),
        ContextResolved(
            sources=(
                ContextSource(kind="skill", name="pdf", path="/w/pdf.md", digest="0" * 64, tokens=9, when="listed"),
            ),
            skills=(Skill(name="pdf", description="Reads PDF.", path="/w/pdf.md", origin="project"),),
            offers=(Offer(digest="1" * 64, name="hooks of the project", path="/w/hooks.json"),),
            problems=(ContextProblem("/w/x.md", "is not text in UTF-8"),),
            texts=(BlobReference("ab" * 32, 9, "application/json", "skills"),),
        ),
        ConsentGiven(digest="1" * 64),
        ContextChanged(paths=("/w/AGENTS.md",)),
        SkillActivated(skill="pdf", cause="m-1", content=text("Do it."), allowed_tools=("terminal",)),
        RunEnded(status=ExecutionStatus.FINISHED, reason="answered"),
        StuckDetected(pattern="monologue", detail="three times", nudge=True),
        HookExecutionEvent(
            hook_event=HookEvent.BEFORE_TOOL,
            target="a1",
            verdict="ask",
            reason="it is Friday",
            runs=(
                HookRun(hook="./check", verdict="ask", reason="it is Friday", exit_code=0, stdout="{}", seconds=0.1),
            ),
        ),
        CriticAssessed(critic="goal", score=0.5, success=False, message="the tests"),
        CriticAssessed(critic="served", score=0.9, success=False, refine=True, metadata={"found": {"loop": 0.8}}),
        CriticAssessed(critic="strict", score=0.0, success=False, midway=True, error="OSError: the disk is gone"),
        RuleAdded(rule=PermissionRule("deny", "terminal", "rm *", "command"), scope="project"),
        RuleRemoved(rule=PermissionRule("deny", "terminal", "rm *", "command")),
        GoalSet(objective="all tests pass", judge=LLM(model="judge"), max_iterations=3),
        TitleChanged(title="Tests"),
        TagsChanged(tags={"team": "core"}),
        SecretsChanged(secrets={"TOKEN": SavedStatic(description="of the API"), "DB": EnvironmentSecret("DB_URL")}),
        BudgetGranted(amount=2.5),
        ChildStarted(
            child_id="d", task="look", action_id="a3", agent="looker", model="openai/gpt-4o", grant=Grant(1.0, 1000, 20)
        ),
        ChildWaiting(child_id="d", actions=(ChildAction("b1", "terminal", "{}", SecurityRisk.HIGH, "risk"),)),
        ChildAnswered(child_id="d", action_id="b1", approved=True),
        ChildMessaged(child_id="c-1", message="And the docs."),
        ChildFinished(
            child_id="d",
            status=ExecutionStatus.FINISHED,
            cost=0.1,
            spending={"default": Spending(1, Usage(3, 4), 0.1)},
            steps=2,
        ),
        ConversationStateUpdateEvent(key="confirmation", value=msgspec.Raw(b'{"type":"AlwaysConfirm"}')),
        DurabilityChanged(durability=Durability.INTERVAL, epoch=2),
        WorkspaceSnapshot(
            at=3,
            when="after",
            tree="4b825dc6",
            left_out=("what is ignored",),
            calls=(2,),
            writes=("a.txt",),
            late=True,
            off="too many files",
        ),
        FilesRestored(
            to=3,
            tree="4b825dc6",
            before="5c936ed7",
            files=2,
            left=("a.txt",),
            left_count=1,
            unknown=("a.txt",),
            unknown_count=1,
            during=(ChangedDuring(calls=(2,), paths=("b.txt", "c.txt"), count=2),),
        ),
        ConversationErrorEvent(code="timeout", detail="try again", retryable=True),
        CommandStarted(id="command-1", by="ada", command_line="npm test", cwd="/work", timeout=30.0),
        CommandEnded(
            caused_by="command-1",
            exit_code=-1,
            stdout="ok",
            stderr="no",
            timeout_occurred=True,
            stopped=True,
            lost=True,
            duration=30.1,
        ),
        HeadMoved(to=3),
        answer("bye", partial=True),
    ]


def all_types() -> set[type]:
    """The types of every known event."""
    return set(get_args(KnownEvent))


class AnyTool:
    """A toolbox that knows `look` and `terminal` and takes all arguments."""

    known = (definition("look"), definition("terminal"))

    def resources(self, name: str, arguments: msgspec.Raw) -> tuple[str, ...]:
        """No resource is shared."""
        if name not in ("look", "terminal"):
            raise BadCall(f"unknown tool {name!r}. The tools are: look, terminal.")
        return ()
