"""`@tool`: functions of all kinds as tools, from their signature to what the model sees."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime
import functools
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import anyio
import msgspec
import pydantic
import pytest

from agentrt import LLM, Agent, Conversation, Delta, Depends, Observation, ToolContext, ToolError, output_schema, tool
from agentrt.errors import ConfigurationError
from agentrt.events import AgentErrorEvent, ObservationEvent
from agentrt.secrets import StaticSecret
from agentrt.specs.content import plain, text
from agentrt.testing import ScriptedLLM, call, finish, say
from agentrt.tools import ToolType

pytestmark = pytest.mark.real

if TYPE_CHECKING:
    from collections import OrderedDict

AGENT = Agent(llm=LLM(model="scripted"), tools=())


class Point(pydantic.BaseModel):
    """A place."""

    x: float
    y: float = 0.0

    @pydantic.field_validator("x")
    @classmethod
    def _is_east(cls, x: float) -> float:
        if x < 0:
            raise ValueError("west of Greenwich is not served")
        return x


@dataclasses.dataclass
class Size:
    """How large something is."""

    width: int
    height: int = 1


def parameters(kind: ToolType) -> dict[str, Any]:
    shape: dict[str, Any] = msgspec.json.decode(kind.definition.parameters)
    return shape


async def results(place: Path, function: Any, *arguments: dict[str, Any]) -> list[ObservationEvent | AgentErrorEvent]:
    """What the model sees of calls of a function."""
    name = function.name if isinstance(function, ToolType) else function.__name__
    turns = [*(call(name, **one) for one in arguments), finish("Done.")]
    async with Conversation(AGENT, place, store=place / "s", client=ScriptedLLM(turns), tools=[function]) as talk:
        await talk.send_message("Go")
        await talk.run()
        return [e async for e in talk.events() if isinstance(e, ObservationEvent | AgentErrorEvent)][:-1]


async def told(place: Path, function: Any, **arguments: Any) -> str:
    (result,) = await results(place, function, arguments)
    return result.error if isinstance(result, AgentErrorEvent) else plain(result.content)


def add(a: int, b: int = 2) -> int:
    return a + b


async def test_a_plain_function_just_works(tmp_path: Path) -> None:
    assert await told(tmp_path, add, a=3) == "5"
    assert tool(add).description == "add(a: int, b: int = 2)"


async def test_a_function_given_to_the_agent_works(tmp_path: Path) -> None:
    agent = Agent(llm=AGENT.llm, tools=[add])
    client = ScriptedLLM([call("add", a=1), say("3")])
    async with Conversation(agent, tmp_path, store=tmp_path / "s", client=client, id="c") as talk:
        assert await talk.prompt("Add") == "3"
        assert [spec.name for spec in talk.state.spec.tools] == ["add"]


async def test_a_function_of_one_that_is_delegated_to_is_not_its_parent_s(tmp_path: Path) -> None:
    below = Agent(llm=AGENT.llm, tools=[add])
    agent = Agent(llm=AGENT.llm, tools=("delegate",), agents={"adder": below})
    turns = [call("delegate", agent="adder", task="Add"), call("add", a=1), say("3"), say("It is 3.")]
    async with Conversation(agent, tmp_path, store=tmp_path / "s", client=ScriptedLLM(turns)) as talk:
        assert await talk.prompt("Add") == "It is 3."
        assert [spec.name for spec in talk.state.spec.tools] == ["delegate"]


async def test_one_that_is_not_async_blocks_nobody(tmp_path: Path) -> None:
    met = threading.Event()

    def wait() -> str:
        """Wait until the event loop has gone on."""
        return "met" if met.wait(10) else "alone"

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_set_soon, met)
        assert await told(tmp_path, wait) == "met"


async def _set_soon(met: threading.Event) -> None:
    await anyio.sleep(0)
    met.set()


async def clock() -> str:
    return "noon"


async def test_a_call_has_its_context_and_what_the_program_makes(tmp_path: Path) -> None:
    closed: list[str] = []

    def connect() -> Iterator[str]:
        yield "database"
        closed.append("connection")

    async def open_session() -> AsyncIterator[str]:
        yield "session"
        closed.append("session")

    async def look(
        what: str,
        context: ToolContext,
        time: Annotated[str, Depends(clock)],
        database: Any = Depends(connect),
        session: Any = Depends(open_session),
        zone: Any = Depends(lambda: "UTC"),
    ) -> str:
        """Look something up."""
        context.output("looking")
        assert not closed
        return f"{what} in {database} at {time} {zone} by {session}, below {Path(context.workspace.path).name}"

    assert list(parameters(tool(look))["properties"]) == ["what"]
    said = await told(tmp_path, look, what="tea")
    assert said == f"tea in database at noon UTC by session, below {tmp_path.name}"
    assert closed == ["session", "connection"]


async def test_a_call_may_name_secrets(tmp_path: Path) -> None:
    async def connect(context: ToolContext) -> str:
        """Connect."""
        return f"{len((await context.secrets('psql $TOKEN'))['TOKEN'])} of {dict(await context.secrets('ls'))}"

    client = ScriptedLLM([call("connect"), finish("Done.")])
    agent = Agent(llm=LLM(model="scripted"), tools=(connect,))
    secrets = {"TOKEN": StaticSecret("hunter2-and-more")}
    async with Conversation(agent, tmp_path, store=tmp_path / "s", client=client, secrets=secrets) as conversation:
        await conversation.prompt("Go.")
        seen, _ = [event async for event in conversation.events() if isinstance(event, ObservationEvent)]
    assert plain(seen.content) == "16 of {}"


def google(city: str, days: Annotated[int, msgspec.Meta(ge=1)] = 1) -> str:
    """The weather of a city.

    More of it follows here.

    Args:
        city: Its name,
            in English.
        days: How far ahead.

    Returns:
        The forecast, in a sentence.
    """
    return city * days


def numpy(city: str, days: int = 1) -> str:
    """The weather of a city.

    Parameters
    ----------
    city : str
        Its name, in English.
    days : int
        How far ahead.
    """
    return city * days


@pytest.mark.pure
@pytest.mark.parametrize("function", [google, numpy])
def test_a_docstring_describes_the_parameters(function: Callable[..., str]) -> None:
    made = tool(function)
    shape = parameters(made)["properties"]
    assert shape["city"]["description"] == "Its name, in English."
    assert shape["days"]["description"] == "How far ahead."
    assert made.description.startswith("The weather of a city.")
    assert "Args" not in made.description
    assert "Parameters" not in made.description
    if function is google:
        assert made.description.endswith("More of it follows here.\n\nReturns:\n    The forecast, in a sentence.")


async def test_pydantic_s_models_and_fields_are_taken(tmp_path: Path) -> None:
    def go(
        to: Point,
        copy: Annotated[int, pydantic.Field(ge=1, description="How often.")] = 1,
        json: str = pydantic.Field(default="yes", max_length=3),
    ) -> Point:
        """Go somewhere."""
        return Point(x=to.x * copy, y=len(json))

    shape = parameters(tool(go))
    assert shape["properties"]["copy"] == {"type": "integer", "minimum": 1, "default": 1, "description": "How often."}
    assert shape["required"] == ["to"]
    assert set(shape["$defs"]["Point"]["properties"]) == {"x", "y"}
    right, west, often = await results(
        tmp_path, go, {"to": {"x": "2"}, "copy": 3}, {"to": {"x": -1}}, {"to": {"x": 1}, "copy": 0}
    )
    assert isinstance(right, ObservationEvent)
    assert plain(right.content) == '{"x":6.0,"y":3.0}'
    assert isinstance(west, AgentErrorEvent)
    assert "to.x: Value error, west of Greenwich is not served" in west.error
    assert isinstance(often, AgentErrorEvent)
    assert "copy: Input should be greater than or equal to 1" in often.error


async def test_dataclasses_and_other_types_are_taken(tmp_path: Path) -> None:
    def paint(
        size: Size, on: datetime.date, what: Literal["wall", "door"] = "wall", where: Path = Path()
    ) -> dict[str, Any]:
        """Paint something."""
        return {"area": size.width * size.height, "year": on.year, "what": what, "where": str(where / "x")}

    said = await told(tmp_path, paint, size={"width": 3}, on="2026-01-02", where="/a")
    assert msgspec.json.decode(said) == {"area": 3, "year": 2026, "what": "wall", "where": "/a/x"}


async def test_a_default_that_may_change_is_each_call_s_own(tmp_path: Path) -> None:
    def grow(words: list[str] = ["a"]) -> str:  # noqa: B006
        """Grow a list."""
        words.append("b")
        return "".join(words)

    first, second = await results(tmp_path, grow, {}, {})
    assert isinstance(first, ObservationEvent)
    assert isinstance(second, ObservationEvent)
    assert (plain(first.content), plain(second.content)) == ("ab", "ab")


class Counter:
    """Counts."""

    def __init__(self) -> None:
        self.total = 0

    def count(self, by: int = 1) -> int:
        """Count on."""
        self.total += by
        return self.total

    async def __call__(self, by: int) -> Observation:
        self.total -= by
        return Observation(content=text(f"back to {self.total}"))


async def test_methods_objects_and_parts_of_functions_are_taken(tmp_path: Path) -> None:
    counter = Counter()
    assert await told(tmp_path, counter.count, by=3) == "3"
    assert await told(tmp_path, tool(name="back")(counter), by=1) == "back to 2"
    assert await told(tmp_path, tool(name="add_to_five")(functools.partial(add, b=5)), a=1) == "6"


async def test_progress_of_a_function_that_blocks_streams(tmp_path: Path) -> None:
    def work(context: ToolContext) -> str:
        """Work."""
        for number in range(20):
            context.output(f"{number} ")
            threading.Event().wait(0.005)  # which lets those who follow read
        return "ok"

    turns = [call("work"), say("Done.")]
    async with Conversation(AGENT, tmp_path, store=tmp_path / "s", client=ScriptedLLM(turns), tools=[work]) as talk:
        await talk.send_message("Go")
        seen = [item async for item in talk.run().stream()]
    (result,) = [item for item in seen if isinstance(item, ObservationEvent)]
    assert plain(result.content) == "ok"
    shown = "".join(item.text for item in seen if isinstance(item, Delta) and item.channel == "output")
    assert shown.startswith("0 1 2 ")


@pytest.mark.parametrize("way", ["parent", "fork"])
async def test_an_agent_has_its_own_functions_and_no_others(tmp_path: Path, way: str) -> None:
    def secret() -> str:
        """A tool of the first agent."""
        return "secret"

    first = Agent(llm=AGENT.llm, tools=[secret, "delegate"])
    other = Agent(llm=AGENT.llm, tools=[add])
    turns = [call("delegate", agent="adder", task="Add"), say("3"), say("It is 3."), say("Forked.")]
    model = ScriptedLLM(turns if way == "parent" else turns[2:])
    agent = msgspec.structs.replace(first, agents={"adder": other}) if way == "parent" else first
    async with Conversation(agent, tmp_path, store=tmp_path / "s", client=model) as talk:
        await talk.prompt("Add")
        if way == "fork":
            async with await talk.fork(agent=other) as fork:
                await fork.prompt("Again")
    offered = [definition.name for definition in model.requests[1].tools]
    assert sorted(offered) == ["add", "finish", "think"]


class Odd(pydantic.BaseModel):
    """Whose validator fails."""

    how: str

    @pydantic.field_validator("how")
    @classmethod
    def _fails(cls, how: str) -> str:
        if how == "exit":
            sys.exit(2)
        raise KeyError("no such key")


async def test_a_validator_that_fails_is_told_and_ends_nothing(tmp_path: Path) -> None:
    def use(odd: Odd) -> str:
        """Use it."""
        return "used"

    first, second = await results(tmp_path, use, {"odd": {"how": "raise"}}, {"odd": {"how": "exit"}})
    assert isinstance(first, AgentErrorEvent)
    assert "KeyError: 'no such key'" in first.error
    assert isinstance(second, AgentErrorEvent)
    assert "sys.exit(2)" in second.error


class Stubborn(BaseException):
    """What no caller is to catch."""


@pytest.mark.parametrize("raised", [Stubborn("odd"), BaseExceptionGroup("two", [SystemExit(1), ValueError()])])
async def test_whatever_a_function_raises_ends_the_call_only(tmp_path: Path, raised: BaseException) -> None:
    def fail() -> None:
        """Fail."""
        raise raised

    assert "fail failed: Broken" in await told(tmp_path, fail)


class Careless:
    """An executor that fails at its end."""

    async def __call__(self, action: Any, context: ToolContext) -> Any:
        return action.result

    async def aclose(self) -> None:
        sys.exit(5)


class Given(msgspec.Struct):
    """What it returns."""

    result: Any = None


async def test_an_executor_may_fail_at_its_end_and_return_what_is_no_observation(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kind = ToolType("careless", "It is.", Given, executor=lambda params: Careless())
    (result,) = await results(tmp_path, kind, {"result": "text"})
    assert isinstance(result, AgentErrorEvent)
    assert "it returned str, not an Observation" in result.error
    assert "failed to close" in caplog.text


async def test_texts_of_any_kind_are_results(tmp_path: Path) -> None:
    class Markup(str):
        """As libraries for HTML have it."""

    def give(which: int) -> Any:
        """Give a text."""
        return [Markup("<b>"), "half \ud800", Observation(content="plain")][which]  # type: ignore[arg-type]

    given = await results(tmp_path, give, {"which": 0}, {"which": 1}, {"which": 2})
    assert [plain(one.content) for one in given if isinstance(one, ObservationEvent)] == ["<b>", "half \ufffd", "plain"]


@pytest.mark.simulated
def test_what_the_program_gives_is_not_shown(tmp_path: Path) -> None:
    def send(text: str, password: str, sender: Any = Depends(clock)) -> str:
        return text

    made = tool(name="send")(functools.partial(send, password="hunter2"))
    assert made.description == "send(text: str)"
    assert list(parameters(made)["properties"]) == ["text"]


@pytest.mark.pure
def test_a_docstring_keeps_all_that_is_not_about_a_parameter() -> None:
    def careful(a: int) -> int:
        """Short.

        Args:
            a: The a,
                indeed.

        Note:
            Never call this on Sunday.

        Important: never with 0.
        """
        return a

    made = tool(careful)
    assert made.description == "Short.\n\nNote:\n    Never call this on Sunday.\n\nImportant: never with 0."
    assert parameters(made)["properties"]["a"]["description"] == "The a, indeed."


@pytest.mark.pure
def test_arrays_say_what_they_hold() -> None:
    def take(bare: list, nested: list[list[int]]) -> int:  # type: ignore[type-arg]
        """Take lists."""
        return 0

    shape = parameters(tool(take))["properties"]
    assert shape["bare"] == {"type": "array", "items": {}}
    assert shape["nested"]["items"]["items"] == {"type": "integer"}


async def test_a_dependency_that_looks_at_a_failure_hides_nothing(tmp_path: Path) -> None:
    def transaction() -> Iterator[str]:
        with contextlib.suppress(ToolError):  # it is rolled back
            yield "transaction"

    def spend(account: Any = Depends(transaction)) -> str:
        """Spend."""
        raise ToolError("there is nothing to spend")

    assert await told(tmp_path, spend) == "there is nothing to spend"


@pytest.mark.parametrize("how", ["thread", "loop"])
async def test_sys_exit_ends_the_call_only(tmp_path: Path, how: str) -> None:
    def leave() -> None:
        """Leave."""
        sys.exit(3)

    async def leave_at_once() -> None:
        """Leave."""
        sys.exit("so long")

    said = await told(tmp_path, leave if how == "thread" else leave_at_once)
    assert "it called sys.exit(" in said
    assert "ended this call only" in said


async def test_a_thread_is_not_waited_for_after_an_interrupt(tmp_path: Path) -> None:
    begun, end = threading.Event(), threading.Event()

    def work() -> None:
        """Work."""
        begun.set()
        end.wait(30)

    turns = [call("work"), say("Done.")]
    async with Conversation(AGENT, tmp_path, store=tmp_path / "s", client=ScriptedLLM(turns), tools=[work]) as talk:
        await talk.send_message("Go")
        await talk.start_run()
        await asyncio.to_thread(begun.wait)
        with anyio.fail_after(10):
            await talk.interrupt()
        assert talk.state.status == "paused"
    end.set()


def variable(*values: str) -> None: ...
def keywords(**values: str) -> None: ...
def positional(value: str, /) -> None: ...
def untyped(value) -> None: ...  # type: ignore[no-untyped-def]
def unknown(value: OrderedDict[str, str]) -> None: ...
def opaque(value: threading.Lock) -> None: ...
def yields() -> Iterator[int]:
    yield 1


@pytest.mark.pure
@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (variable, "'variable' cannot be a tool: 'values' cannot be given by its name"),
        (keywords, "'keywords' cannot be a tool: 'values' cannot be given by its name"),
        (positional, "'positional' cannot be a tool: 'value' cannot be given by its name"),
        (untyped, "'untyped' cannot be a tool: 'value' needs a type, as in 'value: str'"),
        (unknown, "'unknown' cannot be a tool: name 'OrderedDict' is not defined where it was written"),
        (opaque, "'opaque' cannot be a tool: its parameters cannot be read from JSON"),
        (yields, "'yields' cannot be a tool: it yields"),
        (lambda: 1, "invalid name of a tool '<lambda>'"),
        (5, "a tool is made of a function, not of int"),
        (dict, "'dict' cannot be a tool: it has no signature"),
    ],
)
def test_a_function_that_cannot_be_a_tool_is_refused_in_a_sentence(function: Any, reason: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        tool(function)
    assert str(refused.value).startswith(reason)
    assert "\n" not in str(refused.value)


@pytest.mark.pure
def test_a_type_that_was_written_inside_of_a_function_is_found() -> None:
    class Local(msgspec.Struct):
        x: int

    def use(value: Local) -> int:
        """Use it."""
        return Local(value.x).x

    assert parameters(tool(use))["$defs"]["Local"]["required"] == ["x"]


class Report(pydantic.BaseModel):
    """What was found."""

    summary: str
    places: list[Point]

    @pydantic.model_validator(mode="after")
    def _has_places(self) -> Report:
        if not self.places:
            raise ValueError("name at least one place")
        return self


@pytest.mark.simulated
@pytest.mark.parametrize("given", [Report, output_schema(Report)])
async def test_an_output_of_pydantic_is_validated_in_its_own_words(tmp_path: Path, given: Any) -> None:
    agent = Agent(llm=AGENT.llm, tools=(), output=given)
    turns = [
        call("finish", message="m", output={"summary": "s", "places": []}),
        call("finish", message="m", output={"summary": "s", "places": [{"x": -5}]}),
        call("finish", message="m", output={"summary": "s", "places": [{"x": 5}]}),
    ]
    async with Conversation(agent, tmp_path, store=tmp_path / "s", client=ScriptedLLM(turns)) as talk:
        await talk.prompt("Look")
        errors = [event.error async for event in talk.events() if isinstance(event, AgentErrorEvent)]
        assert "output: Value error, name at least one place" in errors[0]
        assert "output: places.0.x: Value error, west of Greenwich is not served" in errors[1]
        assert await talk.output(Report) == Report(summary="s", places=[Point(x=5)])
        with pytest.raises(msgspec.ValidationError, match="width"):
            await talk.output(Size)


def test_importing_does_not_import_pydantic() -> None:
    heavy = ("pydantic", "docstring_parser", "litellm")
    look = f"import sys; from agentrt import *; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", look], text=True).strip() == "[]"
