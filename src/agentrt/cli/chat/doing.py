"""Carries out the commands of a chat on its conversation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...conversation import Conversation
from ...errors import ConfigurationError, ProfileMissing, WorkspaceError
from ...llm.profiles import ProfileStore
from ...specs import LLM, AnyLLM
from ...specs.content import plain
from ...specs.llm import members
from ...specs.rules import Verdict
from ..context import show_usage
from ..diff import colored
from ..options import POLICIES
from ..permissions import rule_from, rule_words
from ..story import summary
from ..wording import clean, count, money
from .commands import COMMANDS, KEYS, Command, Invoked
from .status import MARKS, Task


class Anew(msgspec.Struct, frozen=True):
    """Leave this conversation, and begin another one with the same agent."""


class Beside(msgspec.Struct, frozen=True, gc=True):
    """Leave this conversation, and continue another one."""

    conversation: Conversation


class Left(msgspec.Struct, frozen=True):
    """Leave the chat."""


class Given(msgspec.Struct, frozen=True):
    """Stay, with this text on the prompt."""

    text: str = ""


Next: TypeAlias = Anew | Beside | Left | Given


class Doing:
    """The commands, by their names in the table. Their output goes to `console`."""

    def __init__(
        self,
        conversation: Conversation,
        console: Console,
        profiles: ProfileStore,
        plan: Callable[[], Sequence[Task]],
    ) -> None:
        self._conversation, self._console = conversation, console
        self._profiles, self._plan = profiles, plan
        self._of: Mapping[str, Callable[[str], Awaitable[Next | None]]] = {
            "help": self._help, "model": self._model, "cost": self._cost, "context": self._context,
            "compact": self._compact, "plan": self._show_plan, "diff": self._diff, "undo": self._undo,
            "rewind": self._undo, "fork": self._fork, "ask": self._ask, "goal": self._goal, "title": self._title,
            "confirm": self._confirm, "rules": self._rules, "grant": self._grant, "mcp": self._mcp,
            "pause": self._pause, "resume": self._resume, "clear": self._anew, "quit": self._quit,
        }  # fmt: skip

    @property
    def names(self) -> frozenset[str]:
        """The names of the commands that it can carry out."""
        return frozenset(self._of)

    async def do(self, invoked: Invoked) -> Next:
        """Carry out a command and return what comes next. Raises `AgentrtError` if it fails."""
        return await self._of[invoked.command.name](invoked.argument) or Given()

    def _say(self, words: str, style: str = "dim") -> None:
        self._console.print(Text(clean(words), style), soft_wrap=True)

    async def _help(self, argument: str) -> None:
        table = Table.grid(padding=(0, 2))
        for command in COMMANDS:
            table.add_row(Text(command.usage, "bold"), Text(_does(command), "dim"))
        table.add_row()
        for key, does in KEYS:
            table.add_row(Text(key, "bold"), Text(does, "dim"))
        self._console.print(table)

    async def _model(self, argument: str) -> None:
        before = self._conversation.state.spec.llm
        if not argument:
            self._say(_models(before))
            return
        llm = self._named(argument, members(before)[0])
        await self._conversation.switch_llm(llm)
        self._say(f"from now on: {_models(llm)}")

    def _named(self, name: str, before: LLM) -> AnyLLM:
        """Return a saved profile, or a model; a model of the same provider keeps the address of `before`."""
        try:
            return self._profiles.load(name)
        except ProfileMissing:
            provider = before.model.partition("/")[0]
            return LLM(model=name, base_url=before.base_url if name.startswith(f"{provider}/") else None)

    async def _cost(self, argument: str) -> None:
        state = self._conversation.state
        self._console.print(summary(state), soft_wrap=True)
        for name, spent in sorted(state.ledger.spending.items()):
            used = spent.usage
            self._say(
                f"  {name}: {money(spent.cost, spent.unpriced)}, {used.prompt_tokens:,} tokens in"
                f" ({used.cache_read_tokens:,} of them cached), {used.completion_tokens:,} out"
            )

    async def _context(self, argument: str) -> None:
        show_usage(await self._conversation.context_usage(), self._console)

    async def _compact(self, argument: str) -> None:
        await self._conversation.condense()
        self._say("older messages are summarized before the next model call")

    async def _show_plan(self, argument: str) -> None:
        tasks = self._plan()
        for task in tasks:
            notes = f"  {task.notes}" if task.notes else ""
            self._say(f"{MARKS.get(task.status, '○')} {task.title}{notes}", "" if task.status != "done" else "dim")
        if not tasks:
            self._say("no plan yet")

    async def _diff(self, argument: str) -> None:
        found = await self._conversation.workspace.file_diff(1, self._conversation.state.seq, argument)
        for line in colored(found.diff):
            self._console.print(line, soft_wrap=True)
        if not found.diff:
            self._say("no changed files are on record")

    async def _undo(self, argument: str) -> Next:
        number = _number(argument or "1")
        state = self._conversation.state
        said = [seen for seen in (*state.branch.view, *state.branch.queued) if seen.user]
        if not 0 < number <= len(said):
            raise ConfigurationError(f"nothing to undo: you have sent {count(len(said), 'message')} here")
        place = said[-number].seq
        (event,) = await self._conversation.page(place - 1, 1)
        try:
            await self._conversation.rewind(place - 1, files=True)
        except WorkspaceError as error:
            await self._conversation.rewind(place - 1)
            self._say(f"! the files were not restored: {error}", "yellow")
        self._say(f"↩ {count(number, 'message')} taken back")
        return Given(plain(event.content[:1]))  # type: ignore[attr-defined]

    async def _fork(self, argument: str) -> Next:
        fork = await self._conversation.fork(title=argument)
        self._say("this is a fork now; the original conversation is unchanged")
        return Beside(fork)

    async def _ask(self, argument: str) -> None:
        answer = await self._conversation.ask_agent(argument)
        self._say(f"? {argument}", "bold")
        self._say(answer or "(it answered in no words)", "italic")

    async def _goal(self, argument: str) -> None:
        goal = self._conversation.state.ledger.goal
        if argument:
            await self._conversation.set_goal("" if argument == "off" else argument)
        elif goal is None:
            self._say("no goal is set")
        else:
            self._say(f"◎ {goal.set.objective}: {self._conversation.state.goal_status}")

    async def _title(self, argument: str) -> None:
        if argument:
            await self._conversation.rename(argument)
        else:
            self._say(self._conversation.state.ledger.title or "it has no title")

    async def _confirm(self, argument: str) -> None:
        if argument and argument not in POLICIES:
            raise ConfigurationError(f"write one of {', '.join(POLICIES)}")
        if argument:
            await self._conversation.set_confirmation_policy(POLICIES[argument])
        policy = self._conversation.state.spec.confirmation
        self._say(f"approval: {next((name for name, one in POLICIES.items() if one == policy), policy)}")

    async def _rules(self, argument: str) -> None:
        verdict, _, written = argument.partition(" ")
        state = self._conversation.state
        if verdict == "remove":
            rules = state.ledger.added
            number = _number(written)
            if not 0 < number <= len(rules):
                raise ConfigurationError(f"no rule {written!r}: /rules lists the rules")
            await self._conversation.remove_rule(rules[number - 1].rule)
        elif argument:
            try:
                rule = rule_from(_verdict(verdict), written.strip(), servers=bool(state.servers))
            except ValueError as error:
                raise ConfigurationError(str(error)) from error
            await self._conversation.add_rule(rule)
        else:
            for rule in state.spec.rules:
                self._say(f"   {rule_words(rule)}  (of the agent)")
            for place, added in enumerate(state.ledger.added, 1):
                self._say(f"{place}  {rule_words(added.rule)}", "")
            if not (state.spec.rules or state.ledger.added):
                self._say("no rules: risky actions need approval")

    async def _grant(self, argument: str) -> None:
        try:
            amount = float(argument.lstrip("$"))
        except ValueError as error:
            raise ConfigurationError(f"{argument!r} is not an amount: write /grant 2.50") from error
        await self._conversation.grant(amount)
        await self._conversation.start_run()

    async def _mcp(self, argument: str) -> None:
        servers = self._conversation.servers
        items = (await servers.connect(argument),) if argument else (await servers.list()).items
        for one in items:
            tools = f", {count(len(one.tools), 'tool')}" if one.tools else ""
            self._say(f"{one.name}  {one.standing}{tools}  {one.where}", "yellow" if one.problem else "")
            if one.problem:
                self._say(f"  {one.problem}", "yellow")
        if not items:
            self._say("no MCP servers: start agentrt chat with --mcp FILE to add some")

    async def _pause(self, argument: str) -> None:
        await self._conversation.pause()

    async def _resume(self, argument: str) -> None:
        await self._conversation.start_run()

    async def _anew(self, argument: str) -> Next:
        return Anew()

    async def _quit(self, argument: str) -> Next:
        return Left()


def _does(command: Command) -> str:
    also = f" (also {', '.join(f'/{name}' for name in command.aliases)})" if command.aliases else ""
    return command.does + also


def _models(llm: AnyLLM) -> str:
    return ", ".join(f"{one.model}" + (f" at {one.base_url}" if one.base_url else "") for one in members(llm))


def _number(written: str) -> int:
    try:
        return int(written)
    except ValueError as error:
        raise ConfigurationError(f"{written!r} is not a number") from error


def _verdict(written: str) -> Verdict:
    match written:
        case "allow" | "ask" | "deny":
            return written
    raise ConfigurationError("write /rules allow PATTERN, ask PATTERN, deny PATTERN, or remove N")
