"""`Talk`: a conversation with a person at the terminal, until the person leaves it."""

from __future__ import annotations

import math
import signal
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress

import anyio
import msgspec
from rich.text import Text

from ...controls import GenerateTitle
from ...conversation import Conversation
from ...conversation.titles import needs_title
from ...decisions.permissions import leaves
from ...errors import AgentrtError
from ...events import ConversationErrorEvent, Cursor, Event, MessageEvent, RunEnded
from ...ids import new_id
from ...llm.profiles import ProfileStore
from ...specs import TextContent
from ...specs.content import plain
from ...storing import Storage
from ..answering import Answering
from ..asking import Approve, Quit, Reply, explained, lines_of, reply_to
from ..forms import fill_in
from ..questions import Question
from ..views import LiveView
from ..wording import clean
from .attachments import attached
from .commands import Invoked, Message, Mistyped, meant
from .completing import ChatCompleter
from .doing import Doing, Given, Left, Next
from .earlier import earlier
from .kept import Entry, Kept
from .keys import keys
from .prompt import Prompt, Typed
from .screen import PLAN_ROWS, Bottom, Screen
from .status import Task, plan_in, plan_lines, status_of

HINT = 2.0
"""Seconds for which a hint is shown."""


class Place(msgspec.Struct, frozen=True):
    """The state that the talks of a chat share."""

    store: Storage
    kept: Kept
    profiles: ProfileStore
    approves: bool = False
    """Whether every action is approved without asking."""
    titles: bool = False
    """Whether a conversation gets a title from its model, once the agent has replied."""


class Said:
    """An `Indicator` that remembers the latest output of the running tool."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self.words = ""

    def start(self, what: str) -> None:
        """Record that it has no output yet."""
        self.words = ""

    def update(self, what: str) -> None:
        """Record its latest output."""
        self.words = what
        self._changed()

    def stop(self) -> None:
        """Record that it has ended."""
        self.words = ""


class Talk:
    """A `Person` with an open conversation. `ready` runs at the same time; its errors end the talk."""

    def __init__(self, conversation: Conversation, place: Place, ready: Callable[[], Awaitable[None]]) -> None:
        self._conversation, self._place, self._ready = conversation, place, ready
        created = conversation.state.created
        assert created is not None
        self._completer = ChatCompleter(created.workspace.path, self._skills)
        self._prompt = Prompt(place.kept, self._completer)
        self._screen = Screen(self._prompt, keys(self._prompt, self))
        self._console = self._screen.console
        self._said = Said(self._refresh)
        self._view = LiveView(self._console, self._said, thoughts=True)
        self._plan: tuple[Task, ...] = ()
        self._doing = Doing(conversation, self._console, place.profiles, lambda: self._plan)
        self._answering = Answering(conversation, place.store, self._answer, fill_in(self._console, self._line))
        self._sending: dict[str, Typed] = {}
        """The messages that are being written to the log, by their ids."""
        self._hint = ""
        self._titling = False
        """Whether the model is asked for a title."""
        self._waits = anyio.Event()
        self._typed_in, self._typed = anyio.create_memory_object_stream[Typed | None](math.inf)
        self._message_in, self._messages = anyio.create_memory_object_stream[str](math.inf)
        self._next: Next = Left()
        self._failure: AgentrtError | None = None

    async def run(self, *, told: bool, draft: str = "") -> Next:
        """Talk until the person leaves, and return what comes next. Raises the errors of the conversation.

        `told` says whether earlier messages are on the terminal.
        """
        after, before = self._conversation.cursor, await earlier(self._conversation)
        self._view.begin(self._conversation.state.tools)
        self._plan = before.plan
        for line in before.lines if not told else ():
            self._console.print(line)
        self._prompt.give(draft)
        self._look_whether_it_waits()
        self._refresh()
        async with anyio.create_task_group() as self._tasks:
            for part in (self._ask, self._listen, self._send, self._signals):
                self._tasks.start_soon(part)
            self._tasks.start_soon(self._completer.look, self._prompt.look_again)
            self._tasks.start_soon(self._or_fail, self._tell, after)
            self._tasks.start_soon(self._or_fail, self._ready)
            await self._screen.run()
            self._tasks.cancel_scope.cancel()
        if self._failure is not None:
            raise self._failure
        return self._next

    # what a person does

    def say(self, typed: Typed) -> None:
        """Send what was typed, or carry it out."""
        self._typed_in.send_nowait(typed)

    def stop(self) -> bool:
        """Interrupt what runs, or the open question; return whether there was either."""
        if self._prompt.asked is not None:
            self._answering.stopped = self._answering.take_back()
            return True
        state = self._conversation.state
        if not (state.status.at_work or state.in_flight):
            return False
        self._typed_in.send_nowait(None)
        return True

    def leave(self) -> None:
        """Leave the talk."""
        self._view.rest()
        self._screen.leave()

    def hint(self, words: str) -> None:
        """Show a hint for a moment."""
        self._tasks.start_soon(self._show_hint, words)

    async def _show_hint(self, words: str) -> None:
        self._hint = words
        self._refresh()
        await anyio.sleep(HINT)
        if self._hint == words:
            self._hint = ""
            self._refresh()

    # the parts

    async def _or_fail(self, part: Callable[..., Awaitable[None]], *given: object) -> None:
        """Run a part of the talk; if it fails, the talk ends with its error."""
        try:
            await part(*given)
        except AgentrtError as error:
            self._failure = error
            self.leave()

    async def _tell(self, after: Cursor) -> None:
        async for item in self._conversation.stream(after):
            if isinstance(item, MessageEvent) and item.source == "user":
                self._view.rest()
                self._console.print()
            self._view.show(item)
            if isinstance(item, Event):
                self._happened(item)

    def _happened(self, event: Event) -> None:
        plan = plan_in(event)
        self._plan = self._plan if plan is None else plan
        match event:
            case MessageEvent() if (typed := self._sending.pop(event.id, None)) is not None:
                if plain(event.content[:1]) == typed.whole:  # else it holds a secret
                    self._place.kept.add(Entry(typed.shown.strip(), typed.pasted))
            case RunEnded() if (
                self._place.titles and not self._titling and needs_title([event], self._conversation.state)
            ):
                self._tasks.start_soon(self._give_title)
            case ConversationErrorEvent(code="max_cost"):
                self._note("/grant USD lets it spend more and go on", "yellow")
        self._look_whether_it_waits()
        self._refresh()

    async def _give_title(self) -> None:
        self._titling = True
        with suppress(AgentrtError):  # the first words of the task stand for it
            await self._conversation.do(GenerateTitle(if_untitled=True))
        self._titling = False

    def _look_whether_it_waits(self) -> None:
        if self._conversation.pending_confirmation or self._conversation.pending_inputs:
            self._waits.set()

    def _refresh(self) -> None:
        state, unsent = self._conversation.state, self._sending.values()
        status = status_of(state, len(unsent))
        said = self._said.words if status.doing.startswith("running") else ""
        queued = tuple(typed.shown for typed in unsent)
        self._screen.show(Bottom(status, plan_lines(self._plan, PLAN_ROWS), queued, said, self._hint))

    async def _listen(self) -> None:
        async for typed in self._typed:
            if typed is None:
                await self._or_say(self._conversation.interrupt)
                continue
            text = typed.whole.strip()
            match meant(text, [name for name, _ in self._skills()]):
                case Mistyped(problem):
                    self._note(f"! {problem}", "yellow")
                case Invoked() as invoked:
                    self._place.kept.add(Entry(text))
                    self._view.rest()
                    self._console.print()
                    self._note(f"› {text}", "cyan")
                    self._tasks.start_soon(self._or_say, self._do, invoked)
                case Message(text):
                    name = new_id()
                    self._sending[name] = msgspec.structs.replace(typed, whole=text)
                    self._message_in.send_nowait(name)
                    self._refresh()

    async def _do(self, invoked: Invoked) -> None:
        match await self._doing.do(invoked):
            case Given(text):
                self._prompt.give(text)
                self._refresh()
            case after:
                self._next = after
                self.leave()

    async def _send(self) -> None:
        async for name in self._messages:
            typed = self._sending[name]
            if not await self._or_say(self._send_one, name, typed):
                self._sending.pop(name, None)
                self._prompt.give(typed.shown)
                self._refresh()
                continue
            self._tasks.start_soon(self._or_say, self._conversation.start_run)

    async def _send_one(self, name: str, typed: Typed) -> None:
        servers = self._conversation.state.servers
        blocks, problems = await attached(typed.whole, self._conversation.workspace, servers)
        for problem in problems:
            self._note(f"! {problem}", "yellow")
        await self._conversation.send_message([TextContent(typed.whole), *blocks], id=name)

    async def _or_say(self, do: Callable[..., Awaitable[object]], *given: object) -> bool:
        """Do something; if it fails, tell the person why. Return whether it succeeded."""
        try:
            await do(*given)
        except AgentrtError as error:
            self._note(f"✗ {error}", "red")
            return False
        return True

    def _note(self, words: str, style: str) -> None:
        self._view.rest()
        self._console.print(Text(clean(words), style), soft_wrap=True)

    async def _ask(self) -> None:
        while True:
            await self._waits.wait()
            self._waits = anyio.Event()
            await self._or_say(self._answering.ask)
            self._answering.stopped = False

    async def _answer(self, question: Question) -> Reply:
        if self._place.approves and not leaves(question.tool, question.action):
            return Approve()
        lines = lines_of(question)
        while True:
            said = await self._screen.ask(lines, "")
            if said is None:
                return Quit()
            reply = reply_to(said, may_always=question.always is not None)
            if reply is not None:
                return reply
            lines = explained(question)

    async def _line(self, before: str) -> str | None:
        return await self._screen.ask((), f"{before} ")

    async def _signals(self) -> None:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGHUP, signal.SIGINT) as signals:
            async for number in signals:
                if number != signal.SIGINT or not self.stop():
                    self.leave()

    def _skills(self) -> Iterable[tuple[str, str]]:
        """Return the skills that a message may name."""
        told = self._conversation.state.context
        for skill in told.skills if told is not None else ():
            names = [trigger[1:] for trigger in skill.triggers if trigger.startswith("/")]
            yield from ((name, skill.description) for name in names or [skill.name] if names or skill.is_package)
