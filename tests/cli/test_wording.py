"""Plain words for what stands in events."""

from __future__ import annotations

from typing import get_args

import msgspec
import pytest
from msgspec.structs import replace

from agentrt.cli import wording
from agentrt.cli.wording import clean, why_asked
from agentrt.events import ActionEvent
from agentrt.specs.flow import Label, Sink
from tests import samples

pytestmark = pytest.mark.pure


def headline(action: ActionEvent, most: int = wording.SHOWN) -> str:
    return wording.headline(action, samples.definition(action.tool_name), most)


def test_control_characters_are_taken_out() -> None:
    assert clean("a\x1b[31mred\x07\r\x9b2J\tb\nc") == "a[31mred2J\tb\nc"
    assert clean("rm \u202efig.\u2066txt") == "rm fig.txt", "nothing turns the direction of writing"


def test_a_headline_of_odd_arguments_is_their_json() -> None:
    odd = replace(samples.action("file_editor"), arguments_json=msgspec.Raw(b'{"x":1}'))
    assert headline(odd) == '{"x":1}'
    long = replace(samples.action("custom"), arguments_json=msgspec.Raw(b'{"x":"' + b"y" * 300 + b'"}'))
    assert len(headline(long)) == 161
    assert headline(long, 4000) == bytes(long.arguments_json).decode()


def test_what_does_not_fit_is_shown_as_it_was_sent() -> None:
    """And not as another call, such as one that waits for output."""
    terminal = samples.action("terminal")
    assert headline(replace(terminal, arguments_json=msgspec.Raw(b'{"cmd":"ls"}'))) == '{"cmd":"ls"}'
    assert (
        headline(replace(terminal, arguments_json=msgspec.Raw(b"{}"), malformed="{command: ls,\n")) == "{command: ls,"
    )
    assert headline(replace(terminal, arguments_json=msgspec.Raw(b'{"command":""}'))) == "(waits for more output)"
    assert headline(replace(samples.action("finish"), arguments_json=msgspec.Raw(b'{"text":"x"}'))) == '{"text":"x"}'


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("fetch", '{"url":"https://a.example/x"}', "https://a.example/x"),
        ("web_search", '{"query":"tall trees"}', "tall trees"),
        ("read_document", '{"path":"a.pdf","pages":"1-3"}', "a.pdf 1-3"),
        ("read_document", '{"path":"a.pdf","query":"herons"}', "a.pdf herons"),
        ("browser_navigate", '{"url":"https://a.example"}', "https://a.example"),
        ("browser_click", '{"index":5}', "5"),
        ("browser_type", '{"index":5,"text":"Ada"}', "Ada"),
        ("browse", '{"code":"click(\'a1\')"}', "click('a1')"),
    ],
)
def test_a_headline_of_a_tool_that_reads(tool: str, arguments: str, words: str) -> None:
    assert words in headline(replace(samples.action(tool), arguments_json=msgspec.Raw(arguments.encode())))


def test_a_headline_of_what_is_delegated_is_the_task() -> None:
    given = samples.action("delegate")
    assert headline(replace(given, arguments_json=msgspec.Raw(b'{"task":"look"}'))) == "look"
    assert headline(replace(given, arguments_json=msgspec.Raw(b'{"task":"look","agent":"scout"}'))) == "to scout: look"


@pytest.mark.parametrize(
    ("code", "detail", "words"),
    [
        ("risk", "", "because of its risk"),
        ("rule", "ask terminal", "because a rule says so: ask terminal"),
        ("hook", "it is Friday", "because a hook says so: it is Friday"),
        ("flow:web>push", "", "because what the agent read on the web may have caused it, and it publishes something"),
        (
            "flow:mcp>unknown",
            "",
            "because what an MCP server said may have caused it, and nobody can say where it leads",
        ),
        ("flow:new>network", "", "because content from 'new' may have caused it, and it reaches the network"),
        (
            "lost:terminal",
            "",
            "again, because the terminal was restarted: its variables, directory and running processes are gone",
        ),
        ("whatever", "x", "because of whatever: x"),
    ],
)
def test_why_a_person_is_asked(code: str, detail: str, words: str) -> None:
    assert why_asked(code, detail) == words


def test_every_cause_and_effect_has_words() -> None:
    for label in get_args(Label):
        for sink in get_args(Sink):
            words = why_asked(f"flow:{label}>{sink}")
            assert "content from" not in words
            assert "nobody can say" not in words
