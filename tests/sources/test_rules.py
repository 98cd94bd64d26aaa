"""Rules for parts of a repository, in the files of other programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentrt.sources.instructions import DEEPEST, find_instructions
from agentrt.sources.rules import find_rules
from agentrt.sources.settings_files import find_settings, rules_of
from agentrt.sources.text import Reader
from agentrt.specs import PermissionRule
from agentrt.specs.triggers import touched
from agentrt.tools.built_in import BUILT_IN

from .test_skills import write

pytestmark = pytest.mark.simulated


def rule(root: Path, name: str, header: str = "", body: str = "Rule.") -> None:
    write(root / name, f"---\n{header}\n---\n{body}\n" if header else body)


@pytest.mark.parametrize(
    ("name", "header", "kind", "paths"),
    [
        (".claude/rules/a.md", "", "document", ()),
        (".claude/rules/deep/a.md", "paths: ['src/**/*.ts']", "path", ("src/**/*.ts",)),
        (
            ".claude/rules/a.md",
            "paths: src/**/*.{ts,tsx}, lib/*.ts",
            "path",
            ("src/**/*.ts", "src/**/*.tsx", "lib/*.ts"),
        ),
        (".agents/rules/a.md", "paths: '**'", "document", ()),
        (".cursor/rules/a.mdc", "description: x\nglobs: *.ts,*.tsx\nalwaysApply: false", "path", ("*.ts", "*.tsx")),
        (".cursor/rules/a.mdc", "globs: **/*.py\nalwaysApply: true", "document", ()),
        (".cursor/rules/a.mdc", "description: About databases.\nglobs:\nalwaysApply: false", "listed", ()),
        (".cursor/rules/a.mdc", "alwaysApply: false", "task", ()),
        (".github/copilot-instructions.md", "", "document", ()),
        (".github/instructions/a.instructions.md", 'applyTo: "**"', "document", ()),
        (".github/instructions/a.instructions.md", "applyTo: **/*.rb,app/**", "path", ("**/*.rb", "app/**")),
    ],
)
def test_each_format(tmp_path: Path, name: str, header: str, kind: str, paths: tuple[str, ...]) -> None:
    rule(tmp_path, name, header)
    reader = Reader(tmp_path)
    documents, skills = find_rules(tmp_path, tmp_path, reader)
    assert not reader.problems
    if kind == "document":
        assert ([one.name for one in documents], skills) == ([name], ())
        assert documents[0].text == "Rule."
    else:
        (skill,) = skills
        assert (documents, skill.name, skill.kind, skill.paths) == ((), name, kind, paths)
        assert skill.origin == "project"
        assert skill.model_may_invoke == (kind == "listed")


@pytest.mark.parametrize(
    ("pattern", "path", "applies"),
    [
        ("libs/one/**", "a.txt", True),
        ("libs/one/src/*.ts", "src/a.ts", True),
        ("libs/two/**", "../two/a.txt", True),
        ("libs/two/**", "a.txt", False),
        ("**/*.ts", "src/a.ts", True),
        ("*.ts", "src/a.ts", True),
    ],
)
def test_a_pattern_begins_at_the_root_of_the_repository(tmp_path: Path, pattern: str, path: str, applies: bool) -> None:
    rule(tmp_path, ".claude/rules/a.md", f"paths: {pattern}")
    (tmp_path / "libs/one").mkdir(parents=True)
    _, skills = find_rules(tmp_path, tmp_path / "libs/one", Reader(tmp_path))
    assert bool(list(touched(skills, path))) == applies


def test_a_file_with_front_matter_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    rule(tmp_path, ".claude/rules/a.md", "paths: [")
    reader = Reader(tmp_path)
    assert find_rules(tmp_path, tmp_path, reader) == ((), ())
    assert "not YAML" in reader.problems[0].what


def test_imports_of_a_claude_file(tmp_path: Path) -> None:
    root = tmp_path / "it"
    write(tmp_path / "secret.md", "Secret.")
    write(root / "docs/one.md", "One, and @two.md again @two.md.")
    write(root / "docs/two.md", "Two, and @../docs/one.md.")
    text = "See @docs/one.md. Not `@docs/code.md`, me@docs.md, @../secret.md or @nowhere.md.\n```\n@docs/code.md\n```\n"
    write(root / "docs/code.md", "Code.")
    write(root / "CLAUDE.md", text)
    (root / "docs/link.md").symlink_to(tmp_path / "secret.md")
    write(root / "part/CLAUDE.md", "@../docs/link.md @own.md")
    write(root / "part/own.md", "Own.")
    reader = Reader(root)
    documents, nested = find_instructions(root, root, reader)
    assert [one.name for one in documents] == ["CLAUDE.md", "docs/one.md", "docs/two.md"]
    assert [(one.name, one.paths) for one in nested] == [
        ("part/CLAUDE.md", ("/part/**",)),
        ("part/own.md", ("/part/**",)),
    ]
    assert {problem.what for problem in reader.problems} == {"leads out of the repository, and was passed over"}


def test_imports_end_at_a_depth(tmp_path: Path) -> None:
    write(tmp_path / "CLAUDE.md", "@1.md")
    for number in range(1, DEEPEST + 3):
        write(tmp_path / f"{number}.md", f"@{number + 1}.md")
    documents, _ = find_instructions(tmp_path, tmp_path, Reader(tmp_path))
    assert len(documents) == 1 + DEEPEST


def test_only_a_claude_file_imports(tmp_path: Path) -> None:
    write(tmp_path / "AGENTS.md", "@one.md")
    write(tmp_path / "one.md", "One.")
    documents, _ = find_instructions(tmp_path, tmp_path, Reader(tmp_path))
    assert [one.name for one in documents] == ["AGENTS.md"]


SETTINGS = """{"model": "opus", "permissions": {
    "allow": ["Bash(npm run test:*)", "Bash(git status)", "WebFetch(domain:example.com)", "Read(src/**)", "mcp__x__y"],
    "ask": ["Bash(git push:*)"], "deny": ["Read(./.env)", "Bash(curl:*)", "Write", "WebSearch", 5],
    "defaultMode": "acceptEdits"}}"""


def test_permissions_as_rules(tmp_path: Path) -> None:
    write(tmp_path / ".claude/settings.json", SETTINGS)
    reader = Reader(tmp_path)
    tools = {name: BUILT_IN[name].definition for name in ("terminal", "file_editor", "fetch", "web_search")}
    rules, missing = rules_of(find_settings(tmp_path, reader).entries, tools, "/w")
    assert rules == (
        PermissionRule("allow", "terminal", "npm run test", "command"),
        PermissionRule("allow", "terminal", "npm run test *", "command"),
        PermissionRule("allow", "terminal", "git status", "command"),
        *(
            PermissionRule("allow", "fetch", f"{scheme}://example.com{end}", "url")
            for scheme in ("https", "http")
            for end in ("", "/*")
        ),
        PermissionRule("ask", "terminal", "git push", "command"),
        PermissionRule("ask", "terminal", "git push *", "command"),
        PermissionRule("deny", "file_editor", ".env", "path"),
        PermissionRule("deny", "file_editor", "/w/.env", "path"),
        PermissionRule("deny", "terminal", "curl", "command"),
        PermissionRule("deny", "terminal", "curl *", "command"),
        PermissionRule("deny", "web_search"),
    )
    assert missing == ("allow Read(src/**)", "allow mcp__x__y", "deny Write")
    assert not reader.problems


@pytest.mark.parametrize("text", ["[]", "{", '{"permissions": []}'])
def test_settings_that_cannot_be_read_are_told(tmp_path: Path, text: str) -> None:
    write(tmp_path / ".claude/settings.json", text)
    reader = Reader(tmp_path)
    assert find_settings(tmp_path, reader).entries == ()
    assert "cannot be used" in reader.problems[0].what
