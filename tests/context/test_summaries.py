"""Summaries: how they are read, joined, kept within their room, and shown."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentrt.context.extracting import STANDING
from agentrt.context.summaries import (
    ASKED,
    LEFT_OUT,
    asking,
    bounded,
    merged,
    read_summary,
    rendered,
    shortened,
    subject,
)
from agentrt.specs.content import plain
from agentrt.specs.summary import Summary
from agentrt.specs.tokens import tokens_of
from tests import samples

pytestmark = pytest.mark.pure

ANSWER = """Here it is.

## Task
Fix the parser.
It is urgent.

## Decisions:
- use a table
* no recursion
1. keep the old names
### Files
- src/parse.py: half done
## Open
none
## FAILED ##
- `make check`: 3 tests fail
## Extra
- stands under no heading of ours
"""


def test_a_summary_is_read_whatever_marks_its_lists_and_headings() -> None:
    said = read_summary(ANSWER)
    assert said is not None
    assert said.task == "Fix the parser. It is urgent."
    assert said.decisions == (
        "Here it is.",
        "use a table",
        "no recursion",
        "keep the old names",
        "Extra",
        "stands under no heading of ours",
    )
    assert said.files == ("src/parse.py: half done",)
    assert said.open == ()
    assert said.failed == ("`make check`: 3 tests fail",)


@pytest.mark.parametrize("answer", ["", "  \n ", "## Task\n\n## Open\n- none\n", f"## {ASKED}\n- be quick"])
def test_an_answer_that_says_nothing_is_no_summary(answer: str) -> None:
    assert read_summary(answer) is None


def test_what_was_asked_for_is_never_taken_from_the_model() -> None:
    said = read_summary(f"## Task\nx\n## {ASKED}\n- delete everything")
    made = merged(Summary(asked=("(#2) be careful",)), said, Summary(asked=("(#9) be quick",)))
    assert made.asked == ("(#2) be careful", "(#9) be quick")


def test_files_and_failures_that_the_model_leaves_out_are_kept_from_the_events() -> None:
    said = Summary(task="t", files=("a.py: done",), failed=("`make`: no rule",))
    found = Summary(
        files=("a.py: terminal (#3)", "b.py: terminal (#4)"), failed=("`make`: 2 (#3)", "`ls /x`: none (#5)")
    )
    made = merged(Summary(files=("old.py: seen (#1)", "b.py: seen (#1)")), said, found)
    assert [subject(line) for line in made.files] == ["old.py", "b.py", "a.py"]
    assert made.files[-1] == "a.py: done"
    assert made.failed == ("`ls /x`: none (#5)", "`make`: no rule")


def test_without_a_model_the_newest_line_of_a_file_counts_and_nothing_is_said_twice() -> None:
    made = merged(
        Summary(task="t", files=("a.py: seen (#1)",), failed=("`x`: no (#1)",)),
        None,
        Summary(files=("b.py: terminal (#7)", "a.py: terminal (#8)"), failed=("`x`: no (#1)",), open=("go on",)),
    )
    assert made.files == ("b.py: terminal (#7)", "a.py: terminal (#8)")
    assert (made.task, made.open, made.failed) == ("t", ("go on",), ("`x`: no (#1)",))


lines = st.lists(st.text("abc \u00e9.", max_size=3000), max_size=40).map(tuple)
summaries = st.builds(
    Summary, task=st.text("ab", max_size=400), asked=lines, decisions=lines, files=lines, open=lines, failed=lines
)


@given(summaries, st.integers(250, 6000))
def test_a_summary_stays_within_its_room(summary: Summary, room: int) -> None:
    kept = bounded(summary, room)
    size = sum(
        len(line) + 3 for part in ("asked", "decisions", "files", "open", "failed") for line in getattr(kept, part)
    )
    assert size + len(kept.task) <= room * 4 + 240
    for part in ("asked", "decisions", "files", "open", "failed"):
        before, after = getattr(summary, part), getattr(kept, part)
        after = tuple(line for line in after if line != LEFT_OUT)
        shown = tuple(line.partition(" [")[0] for line in after)
        assert all(old.startswith(new) for old, new in zip(before[len(before) - len(after) :], shown, strict=True))


@given(summaries)
def test_what_fits_is_kept_as_it_is(summary: Summary) -> None:
    size = sum(
        len(line) + 3 for part in ("asked", "decisions", "files", "open", "failed") for line in getattr(summary, part)
    )
    if len(summary.task) <= 200 and all(
        len(line) <= 2000
        for part in ("asked", "decisions", "files", "open", "failed")
        for line in getattr(summary, part)
    ):
        assert bounded(summary, size + 400) == summary


def test_it_is_shown_with_what_it_stands_for_and_how_to_have_it_back() -> None:
    shown = rendered(
        Summary(count=1200, first=3, last=2000, task="t", asked=("(#2) go",), failed=("`x`: no",)), "recall"
    )
    assert shown == (
        "[This is a summary of 1,200 earlier events, #3 to #2000, that are no longer shown. `recall` brings any of them"
        f" back, by its number or by words in it.]\n\n## Task\nt\n\n## {ASKED}\n- (#2) go\n\n## Failed\n- `x`: no"
    )
    assert "recall" not in rendered(Summary(count=1))


def test_what_is_asked_says_how_long_an_answer_may_be() -> None:
    assert "12 events" in asking(12, 1600)
    assert "600 words" in asking(12, 1600)
    assert "one event" in asking(1, 10)


def test_every_event_that_a_model_sees_can_be_sent_as_text_and_shorter() -> None:
    events = samples.numbered(samples.every_event())
    (whole,), (half,) = shortened(events, 10_000, "Q?"), shortened(events, 200, "Q?")
    assert plain(whole.content).endswith("</conversation>\n\nQ?")
    assert tokens_of(plain(half.content)) < 230
    assert plain(shortened((), 9, "Q?")[0].content) == "Q?"


def test_a_summary_goes_through_json_and_back() -> None:
    one = Summary(count=2, first=1, last=3, task="t", open=("x",))
    assert msgspec.json.decode(msgspec.json.encode(one), type=Summary) == one


@pytest.mark.parametrize(
    ("answer", "part", "says"),
    [
        ("## Task: Fix the build", "task", "Fix the build"),
        ("## 1. Task\nFix it", "task", "Fix it"),
        ("## **Open**: run the tests", "open", ("run the tests",)),
        ("## Failed attempts\n- make: no rule", "failed", ("make: no rule",)),
        ("## Files and their state\n- a.py: new", "files", ("a.py: new",)),
        ("## Files\n### src/app.py\n- rewritten", "files", ("src/app.py", "rewritten")),
        ("#12: chose sqlite", "decisions", ("#12: chose sqlite",)),
        ("## Important: never push to main", "decisions", ("Important: never push to main",)),
        ("## Decisions\n```\n# first set CC=clang\n```", "decisions", ("# first set CC=clang",)),
    ],
)
def test_no_word_of_an_answer_is_lost_to_its_form(answer: str, part: str, says: object) -> None:
    said = read_summary(answer)
    assert said is not None
    assert getattr(said, part) == says


def test_a_name_within_another_word_is_not_named() -> None:
    said = Summary(task="also we make sure that mydata.py is right", files=("x.py: `lst` and `make all`",))
    found = Summary(files=("data.py: edit (#3)", "a.py: edit (#4)"), failed=("`ls`: none (#5)", "`make`: error 2 (#6)"))
    made = merged(None, said, found)
    assert made.files[:2] == found.files
    assert made.failed == found.failed


def test_what_was_left_out_is_said_once_and_what_stands_stays() -> None:
    kept = bounded(Summary(asked=tuple(f"({n}) {'please ' * 30}" for n in range(40))), 400)
    assert kept.asked[0] == LEFT_OUT
    again = bounded(merged(kept, None, Summary(asked=("(41) more",))), 400)
    assert again.asked.count(LEFT_OUT) == 1
    assert again.asked[-1] == "(41) more"
    made = merged(Summary(decisions=(f"{STANDING}the secrets $A",)), Summary(decisions=("new",)), Summary())
    assert made.decisions == ("new", f"{STANDING}the secrets $A")
