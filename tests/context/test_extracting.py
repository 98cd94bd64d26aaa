"""What is found in events without a model: words, paths and failures."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from agentrt.context.extracting import LONGEST_COMMAND, command_of, found_in, paths_in, reason_of
from agentrt.events import ActionEvent, AgentErrorEvent, Event, MessageEvent, ObservationEvent, UserRejectObservation
from agentrt.specs.content import text
from tests import samples

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("said", "paths"),
    [
        ("edit src/a/b.py and /etc/hosts", ["src/a/b.py", "/etc/hosts"]),
        ("cat ./x.sh ../y.txt ~/z", ["./x.sh", "../y.txt", "~/z"]),
        ("README.md, setup.cfg: done.", ["README.md", "setup.cfg"]),
        ('"tests/test_x.py::test_y" 1/2 3.5 e.g. etc', ["tests/test_x.py"]),
        ("see https://example.com/a/b.html for more", []),
        ("os.path.join(x) fails at google.com", []),
        ("File /a/b.py, line 3, and /a/b.py again", ["/a/b.py"]),
        ("nothing here", []),
        ("x" * 300 + ".py", []),
    ],
)
def test_paths_are_found_in_words(said: str, paths: list[str]) -> None:
    assert paths_in(said) == paths


def acted(seq: int, command: str, thought: str = "") -> ActionEvent:
    """A call of a shell."""
    return ActionEvent(
        id=f"a{seq}",
        seq=seq,
        thought=thought,
        tool_name="terminal",
        tool_call_id=f"c{seq}",
        arguments_json=msgspec.Raw(msgspec.json.encode({"command": command})),
        llm_response_id=f"r{seq}",
    )


def observed(seq: int, of: ActionEvent, said: str, code: int | None = 0, *, error: bool = False) -> ObservationEvent:
    """Its result."""
    details = msgspec.Raw(msgspec.json.encode({"exit_code": code}))
    place: dict[str, Any] = {"action_id": of.id, "tool_name": of.tool_name, "tool_call_id": of.tool_call_id}
    return ObservationEvent(seq=seq, content=text(said), details_json=details, is_error=error, **place)


def asked(seq: int, said: str) -> MessageEvent:
    """What a person said."""
    return MessageEvent(seq=seq, source="user", content=text(said))


def test_words_of_people_are_kept_as_they_were_said() -> None:
    said = "Fix it,\n  please:\n- all of it"
    found = found_in([asked(2, said), MessageEvent(seq=3, source="agent", content=text("ok"))])
    assert found.asked == (f"(#2) {said}",)
    assert found.task == "(#2) Fix it, please: - all of it"


def test_files_that_were_worked_on_stand_after_those_that_were_only_seen() -> None:
    one, two = acted(3, "ls src"), acted(5, "rm src/a.py", "the name is wrong")
    events: list[Event] = [one, observed(4, one, "src/a.py\nsrc/b.py"), two, observed(6, two, "")]
    assert found_in(events).files == ("src/b.py: seen (#4)", "src/a.py: terminal (#5)")


@pytest.mark.parametrize(
    ("result", "why"),
    [
        (("a\nmake: *** No rule to make target 'x'.  Stop.\nerror: it failed", 2), "error: it failed"),
        (("", 7), "exit code 7"),
        (("only words", 1), "only words"),
        (("fine, no error: at all", 0), None),
        (("still running: error", -1), None),
        (("no code, an Error", None), None),
    ],
)
def test_a_call_has_failed_by_its_exit_code(result: tuple[str, int | None], why: str | None) -> None:
    assert reason_of(observed(4, acted(3, "make x"), *result)) == why


def test_what_gave_no_result_and_what_was_rejected_have_failed() -> None:
    one = acted(3, "make x")
    place: dict[str, Any] = {"action_id": one.id, "tool_name": one.tool_name, "tool_call_id": one.tool_call_id}
    failed = [
        AgentErrorEvent(seq=4, error="it was cut", **place),
        UserRejectObservation(seq=5, rejection_reason="not now", **place),
    ]
    assert [reason_of(event) for event in failed] == ["it was cut", "rejected: not now"]
    assert found_in([one, *failed]).failed == ("`make x`: rejected: not now (#5)",)


def test_a_command_that_failed_again_is_named_once_with_what_it_said_last() -> None:
    one, two, three = acted(3, "make x"), acted(5, "ls"), acted(7, "make x")
    events = [
        one,
        observed(4, one, "error: a", 2),
        two,
        observed(6, two, "."),
        three,
        observed(8, three, "error: b", 2),
    ]
    assert found_in(events).failed == ("`make x`: error: b (#8)",)


def test_long_commands_are_shown_in_a_line_and_cut() -> None:
    assert command_of(acted(3, "cat <<E\n a\n\tb\nE")) == "cat <<E a b E"
    assert len(command_of(acted(3, "x" * 9000))) == LONGEST_COMMAND
    assert command_of(acted(3, " ")) == "terminal"


def test_thoughts_are_decisions_and_the_last_one_is_open() -> None:
    found = found_in([acted(3, "a", "look first"), acted(4, "b", "then change"), acted(5, "c")])
    assert found.decisions == ("look first",)
    assert found.open == ("Last you thought: then change",)


def test_it_reads_every_kind_of_event() -> None:
    assert found_in(samples.numbered(samples.every_event())).asked
