"""The rules of a workspace: they follow the logs, and a crash between the two is made good."""

from __future__ import annotations

from pathlib import Path

import anyio
import msgspec
import pytest

from agentrt import LLM, Agent, Conversation, PermissionRule, Runtime
from agentrt.actors.group import ConversationGroup
from agentrt.conversation.project_rules import append_with_rules
from agentrt.errors import ConfigurationError, LimitReached, LogFailed
from agentrt.events import Cursor, Event, RuleAdded, RuleRemoved
from agentrt.specs.quota import Quota
from agentrt.storage import FileStore, open_storage
from agentrt.storage.shelf import FileShelf
from agentrt.testing import ScriptedLLM
from agentrt.workspaces.project_rules import (
    Intent,
    ProjectRules,
    change_project_rules,
    fulfil,
    intend,
    project_rules,
    recover_project_rules,
)
from tests import samples
from tests.hosted import group_in
from tests.stores import rules_in

pytestmark = pytest.mark.simulated

AGENT = Agent(llm=LLM(model="scripted"), tools=())
ALLOW, DENY = PermissionRule("allow", "terminal"), PermissionRule("deny", "terminal", "rm *", "command")


def runtime(tmp_path: Path, quota: Quota = Quota()) -> Runtime:
    return Runtime(tmp_path / "store", client=ScriptedLLM([]), quota=quota)


def stored(tmp_path: Path) -> ProjectRules:
    (path,) = (tmp_path / "store" / "rules").glob("*.json")
    assert path.stat().st_mode & 0o777 == 0o600
    return msgspec.json.decode(path.read_bytes(), type=ProjectRules)


def intents(tmp_path: Path) -> tuple[Intent, ...]:
    found = (tmp_path / "store" / "rules" / "intents").glob("*.json")
    return tuple(msgspec.json.decode(path.read_bytes(), type=Intent) for path in found)


async def test_a_rule_that_the_log_refuses_holds_nowhere(tmp_path: Path) -> None:
    async with runtime(tmp_path, Quota(events=1)) as refusing, Conversation(AGENT, tmp_path, runtime=refusing) as one:
        with pytest.raises(LimitReached):
            await one.add_rule(ALLOW, "project")
        assert one.state.ledger.rules == ()
    assert await rules_in(tmp_path / "store", tmp_path) == ()
    assert intents(tmp_path) == ()


async def test_an_entry_names_its_conversation_and_event_and_outlives_the_conversation(tmp_path: Path) -> None:
    async with runtime(tmp_path) as one:
        async with Conversation(AGENT, tmp_path, runtime=one, id="c") as conversation:
            await conversation.add_rule(DENY, "project")
            await conversation.add_rule(ALLOW, "project")
            await conversation.remove_rule(ALLOW, "project")
            (added, *_) = [event async for event in conversation.events() if isinstance(event, RuleAdded)]
        await one.store.delete("c")
    (entry,) = stored(tmp_path).rules
    assert (entry.rule, entry.conversation, entry.seq) == (DENY, "c", added.seq)
    async with runtime(tmp_path) as one, Conversation(AGENT, tmp_path, runtime=one) as another:
        assert another.state.ledger.rules == (DENY,)


async def test_taking_back_a_rule_that_does_not_hold_here_is_logged_before_the_file_is_written(tmp_path: Path) -> None:
    async with runtime(tmp_path) as one, Conversation(AGENT, tmp_path, runtime=one) as conversation:
        await change_project_rules(one.store, str(tmp_path), add=[DENY])
        await conversation.remove_rule(DENY, "project")
        removed = [event.rule async for event in conversation.events() if isinstance(event, RuleRemoved)]
    assert removed == [DENY]
    assert await rules_in(tmp_path / "store", tmp_path) == ()


async def crashed(tmp_path: Path) -> Path:
    """A store whose process died after a rule was logged, before it was in the workspace's file."""
    store = tmp_path / "store"
    async with runtime(tmp_path) as one, Conversation(AGENT, tmp_path, runtime=one, id="c") as conversation:
        await intend(FileShelf(store), Intent(str(tmp_path), "c", conversation.state.seq, "i"))
        await group_in(one).log.append(RuleAdded(rule=DENY, scope="project"))
    assert not list((store / "rules").glob("*.json"))
    return store


@pytest.mark.parametrize("opens", [True, False])
async def test_what_a_crash_kept_from_being_written_is_made_good(tmp_path: Path, opens: bool) -> None:
    store = await crashed(tmp_path)
    if opens:
        async with runtime(tmp_path):
            pass
        assert [entry.rule for entry in stored(tmp_path).rules] == [DENY]
    assert await rules_in(store, tmp_path) == (DENY,)
    assert len(intents(tmp_path)) == (not opens)


async def test_what_a_crash_kept_from_being_written_can_be_taken_back(tmp_path: Path) -> None:
    async with open_storage(await crashed(tmp_path)) as storage:
        assert await change_project_rules(storage, str(tmp_path), remove=[DENY]) == ()
    assert await rules_in(tmp_path / "store", tmp_path) == ()
    assert intents(tmp_path) == ()


async def test_all_who_begin_at_once_have_what_a_crash_kept_from_being_written(tmp_path: Path) -> None:
    found: list[tuple[PermissionRule, ...]] = []
    async with open_storage(await crashed(tmp_path)) as storage, anyio.create_task_group() as group:

        async def read() -> None:
            found.append(await project_rules(storage, str(tmp_path)))

        async def recover() -> None:
            await recover_project_rules(storage)

        for each in (recover, read, recover, read, read):
            group.start_soon(each)
    assert found == [(DENY,)] * 3


async def test_an_open_conversation_fulfils_its_own_intents(tmp_path: Path) -> None:
    store = tmp_path / "store"
    async with runtime(tmp_path) as one, Conversation(AGENT, tmp_path, runtime=one, id="c"):
        await intend(FileShelf(store), Intent(str(tmp_path), "c", 0, "i"))
        await group_in(one).log.append(RuleAdded(rule=DENY, scope="project"))
        await recover_project_rules(one.store)
        assert await rules_in(store, tmp_path) == (DENY,)
        assert len(intents(tmp_path)) == 1


async def test_an_intent_is_kept_when_nobody_knows_whether_the_rule_was_logged(tmp_path: Path) -> None:
    class Failing:
        """A group whose log fails."""

        def __init__(self, group: ConversationGroup) -> None:
            self.feed, self.log = group.feed, self

        async def append(self, *events: Event) -> Cursor:
            raise LogFailed(tmp_path, OSError("no space left"))

    store = tmp_path / "store"
    async with runtime(tmp_path) as one, Conversation(AGENT, tmp_path, runtime=one, id="c"):
        group = group_in(one)
        with pytest.raises(LogFailed):
            await append_with_rules(one.store.shelf, Failing(group), [RuleAdded(rule=DENY, scope="project")])  # type: ignore[arg-type]
        assert len(intents(tmp_path)) == 1
        await group.log.append(RuleAdded(rule=DENY, scope="project"))
    assert await rules_in(store, tmp_path) == (DENY,)


async def test_rules_are_not_known_while_the_log_that_may_have_added_some_cannot_be_read(tmp_path: Path) -> None:
    store = await crashed(tmp_path)
    log = store / "conversations" / "c" / "events.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"scripted"', b'"skripted"', 1))
    with pytest.raises(ConfigurationError, match="may have added permission rules"):
        await rules_in(store, tmp_path)
    assert await rules_in(store, tmp_path / "other") == ()
    async with runtime(tmp_path):  # which the others can use
        pass


async def test_what_is_fulfilled_twice_counts_once(tmp_path: Path) -> None:
    intent = Intent("/w", "c", 1, "i")
    logged = samples.numbered([samples.message(), RuleAdded(rule=DENY, scope="project"), RuleAdded(rule=ALLOW)])
    for _ in range(2):
        await intend(FileShelf(tmp_path), intent)
        await fulfil(FileShelf(tmp_path), intent, logged)
    assert await rules_in(tmp_path, "/w") == (DENY,)


async def test_a_file_of_an_earlier_version_holds(tmp_path: Path) -> None:
    await change_project_rules(FileStore(tmp_path), "/w", add=[ALLOW])
    (made,) = (tmp_path / "rules").glob("*.json")
    made.write_text(
        '{"workspace":"/w","rules":[{"verdict":"deny","tool":"terminal","pattern":"rm *","argument":"command"}]}'
    )
    assert await rules_in(tmp_path, "/w") == (DENY,)


async def test_an_intent_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    intents = tmp_path / "rules" / "intents"
    intents.mkdir(parents=True)
    (intents / "i.json").write_text('{"workspace":')
    with pytest.raises(ConfigurationError, match=r"intents/i\.json.*fix or remove it"):
        await rules_in(tmp_path, "/w")
