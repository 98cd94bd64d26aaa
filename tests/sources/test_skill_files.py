"""A skill as a file says it: one case for each field of the format, and for what does not fit it."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

import pytest

from agentrt.errors import ConfigurationError
from agentrt.sources.skill_files import LONGEST, LONGEST_DESCRIPTION, skill_of
from agentrt.specs.skill import Skill, SkillKind

pytestmark = pytest.mark.pure

PACKAGE = PurePath("/w/.agents/skills/pdf-tools/SKILL.md")


def package(header: str, body: str = "Do it.") -> Skill:
    text = f"---\nname: pdf-tools\ndescription: Works with PDF.\n{header}\n---\n{body}\n"
    return skill_of(text, PACKAGE, "", "project", "0" * 64)[0]


@pytest.mark.parametrize(
    ("header", "field", "value"),
    [
        ("license: Apache-2.0", "license", "Apache-2.0"),
        ("compatibility: Needs git", "compatibility", "Needs git"),
        ("version: 1.10", "version", "1.1"),
        ("metadata:\n  author: ada\n  tags: [a]", "metadata", {"author": "ada", "tags": ["a"]}),
        ("allowed-tools: Bash(git add *) Read", "allowed_tools", ("Bash(git add *)", "Read")),
        ("allowed-tools: [terminal, think]", "allowed_tools", ("terminal", "think")),
        ("triggers: [pdf, a form]", "triggers", ("pdf", "a form")),
        ("triggers: pdf, a form", "triggers", ("pdf", "a form")),
        ("inputs:\n  - name: file\n    description: Which\n  - pages", "inputs", ("file", "pages")),
        ("paths: ['**/*.pdf']", "paths", ("**/*.pdf",)),
        ("disable-model-invocation: true", "model_may_invoke", False),
        ("unknown: x", "name", "pdf-tools"),
    ],
)
def test_each_field_is_read(header: str, field: str, value: Any) -> None:
    skill = package(header)
    assert getattr(skill, field) == value
    assert (skill.description, skill.body, skill.path, len(skill.digest)) == (
        *("Works with PDF.", "Do it.", str(PACKAGE)),
        64,
    )


@pytest.mark.parametrize(
    ("header", "path", "kind"),
    [
        ("", "x/SKILL.md", "listed"),
        ("triggers: [x]", "x/SKILL.md", "keyword"),
        ("triggers: [x, /x]", "x.md", "task"),
        ("triggers: [x]\npaths: ['*.py']", "x.md", "path"),
        ("type: repo", "x.md", "always"),
    ],
)
def test_what_activates_it(header: str, path: str, kind: SkillKind) -> None:
    skill, _ = skill_of(f"---\nname: x\ndescription: d\n{header}\n---\n", PurePath(path), "x")
    assert skill.kind == kind


def test_a_single_file_needs_no_front_matter() -> None:
    skill, told = skill_of("# Rules\n", PurePath("/w/.openhands/microagents/team/rules.md"), "team/rules")
    assert (skill.name, skill.kind, skill.body, told) == ("team/rules", "always", "# Rules", ())


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("name: PDF Tools\ndescription: d", "lower-case letters"),
        ("name: -x\ndescription: d", "lower-case letters"),
        ("name: pdf-tools", "needs a description"),
        ("name: pdf-tools\ndescription: d\nallowed-tools: {a: b}", "cannot be used"),
    ],
)
def test_what_does_not_fit_the_format_is_refused(header: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        skill_of(f"---\n{header}\n---\n", PACKAGE, "")


def test_what_is_cut_is_said() -> None:
    long = "x" * (LONGEST_DESCRIPTION + 1)
    skill, told = skill_of(f"---\nname: other\ndescription: {long}\n---\n{'y' * (LONGEST + 5)}", PACKAGE, "")
    assert (len(skill.description), len(skill.body)) == (LONGEST_DESCRIPTION, LONGEST)
    assert told == (
        "its name is 'other', and that of its directory 'pdf-tools'",
        "its description was cut at 1024 of 1025 characters",
        "its text was cut at 100000 of 100005 characters",
    )
