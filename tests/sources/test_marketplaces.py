"""Plugins and marketplaces in the shapes in which they are published, written by hand."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentrt.errors import ConfigurationError
from agentrt.sources.fetching import fetched_plugins
from agentrt.sources.gathering import gather
from agentrt.specs.context import AgentContext, Gathered, PluginSource
from agentrt.specs.workspace import LocalWorkspace

pytestmark = pytest.mark.simulated


def write(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def skill(root: Path, name: str) -> None:
    write(root / name / "SKILL.md", f"---\nname: {name}\ndescription: About {name}.\n---\nDo {name}.\n")


def command(root: Path, name: str) -> Path:
    return write(root / f"{name}.md", f"---\ndescription: {name}\n---\nRun {name}.\n")


def agent(root: Path, name: str) -> Path:
    return write(root / f"{name}.md", f"---\nname: {name}\ndescription: {name}\nmodel: sonnet\n---\nYou {name}.\n")


async def read(place: Path, source: str, **more: str) -> Gathered:
    """What a source brings."""
    plugins = await fetched_plugins(PluginSource(source, **more), place / "cache", place)
    alone = AgentContext(load_project_skills=False, load_memory=False)
    return gather(alone, LocalWorkspace(str(place)), plugins=plugins)


def names(found: Gathered) -> tuple[set[str], set[str], set[str]]:
    """The names of plugins, of skills with commands, and of agents."""
    return (
        {plugin.name for plugin in found.plugins},
        {one.name for one in found.skills},
        {one.name for one in found.agents},
    )


def bundle_of_skills(root: Path) -> None:
    """Two plugins in the root of a repository without manifests: their entries name the skills."""
    for name in ("docx", "pdf", "canvas", "art"):
        skill(root / "skills", name)
    entry = {"source": "./", "strict": False}
    plugins = [
        {"name": "documents", "description": "Papers.", "skills": ["./skills/docx", "./skills/pdf"], **entry},
        {"name": "examples", "skills": ["./skills/canvas", "./skills/art"], **entry},
    ]
    market = {"name": "shop", "owner": {"name": "Me"}, "metadata": {"version": "1.0"}, "plugins": plugins}
    write(root / ".claude-plugin/marketplace.json", market)


def directory_of_plugins(root: Path) -> None:
    """Plugins below a root that the metadata name, some with a manifest and some without, and one that is elsewhere."""
    first, second = root / "plugins/review", root / "plugins/format"
    write(first / ".claude-plugin/plugin.json", {"name": "review", "author": {"name": "A"}, "version": "2"})
    command(first / "commands", "review")
    agent(first / "agents", "reviewer")
    command(second / "commands", "format")
    plugins = [
        {"name": "review", "source": "review", "category": "x", "tags": ["a"]},
        {"name": "format", "source": "./plugins/format", "keywords": ["b"], "commands": ["./extra/tidy.md"]},
        {"name": "far", "source": {"source": "git-subdir", "url": "https://example.com/x.git", "path": "p"}},
    ]
    command(second / "extra", "tidy")
    market = {"name": "many", "metadata": {"pluginRoot": "./plugins"}, "plugins": plugins}
    write(root / ".claude-plugin/marketplace.json", market)


def collection_of_agents(root: Path) -> None:
    """Entries that name files of agents and commands, without manifests."""
    agent(root / "plugins/backend/agents", "backend")
    agent(root / "plugins/backend/agents", "unlisted")
    command(root / "plugins/backend/commands", "feature")
    entry = {
        "name": "backend",
        "source": "./plugins/backend",
        "strict": False,
        "agents": ["./agents/backend.md"],
        "commands": ["./commands/feature.md"],
    }
    write(root / ".claude-plugin/marketplace.json", {"name": "agents", "plugins": [entry]})


def plugin_with_a_market_of_itself(root: Path) -> None:
    """A plugin whose repository is its own marketplace, for those who try it."""
    write(root / ".claude-plugin/plugin.json", {"name": "powers", "version": "4", "skills": "./skills/"})
    write(root / ".claude-plugin/marketplace.json", {"name": "dev", "plugins": [{"name": "powers", "source": "./"}]})
    skill(root / "skills", "debugging")
    command(root / "commands", "plan")
    groups = [{"matcher": "startup|resume", "hooks": [{"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/x.sh"}]}]
    write(root / "hooks/hooks.json", {"description": "h", "hooks": {"SessionStart": groups, "Notification": groups}})


def bare_directory(root: Path) -> None:
    """No manifest at all."""
    skill(root / "skills", "tidy")
    agent(root / "agents", "sweeper")


def root_manifest(root: Path) -> None:
    """A plugin.json in the root, with commands by name and agents in a list of files."""
    agent(root / "team", "lead")
    command(root / "cmds", "ship")
    manifest = {
        "name": "rooted",
        "agents": ["./team/lead.md"],
        "commands": {"ship": {"source": "./cmds/ship.md", "description": "Ships."}},
    }
    write(root / "plugin.json", manifest)


def one_skill(root: Path) -> None:
    """A directory that is a skill."""
    write(root / "SKILL.md", f"---\nname: {root.name}\ndescription: d\n---\nDo it.\n")


SHAPES: list[tuple[Callable[[Path], None], str, set[str], set[str], set[str]]] = [
    (bundle_of_skills, "documents@./it", {"documents"}, {"docx", "pdf"}, set()),
    (bundle_of_skills, "./it", {"documents", "examples"}, {"docx", "pdf", "canvas", "art"}, set()),
    (directory_of_plugins, "review@./it", {"review"}, {"review"}, {"reviewer"}),
    (directory_of_plugins, "format@./it", {"format"}, {"format", "tidy"}, set()),
    (directory_of_plugins, "./it", {"review", "format"}, {"review", "format", "tidy"}, {"reviewer"}),
    (collection_of_agents, "backend@./it", {"backend"}, {"feature"}, {"backend"}),
    (plugin_with_a_market_of_itself, "./it", {"powers"}, {"debugging", "plan"}, set()),
    (plugin_with_a_market_of_itself, "powers@./it", {"powers"}, {"debugging", "plan"}, set()),
    (bare_directory, "./it", {"it"}, {"tidy"}, {"sweeper"}),
    (root_manifest, "./it", {"rooted"}, {"ship"}, {"lead"}),
    (one_skill, "./it", {"it"}, {"it"}, set()),
]


@pytest.mark.parametrize(("shape", "source", "plugins", "skills", "agents"), SHAPES)
@pytest.mark.parametrize("git", [False, pytest.param(True, marks=pytest.mark.real)], ids=["disk", "git"])
async def test_each_shape(
    tmp_path: Path,
    shape: Callable[[Path], None],
    source: str,
    plugins: set[str],
    skills: set[str],
    agents: set[str],
    git: bool,
) -> None:
    shape(tmp_path / "it")
    if git:
        for words in (
            ("init", "-q"),
            ("add", "."),
            ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "it"),
        ):
            subprocess.run(["git", *words], cwd=tmp_path / "it", check=True)
        source = source.replace("./it", f"file://{tmp_path}/it")
    assert names(await read(tmp_path, source)) == (plugins, skills, agents)


async def test_a_hook_that_cannot_run_here_leaves_the_others(tmp_path: Path) -> None:
    plugin_with_a_market_of_itself(tmp_path / "it")
    found = await read(tmp_path, "./it")
    (offer,) = found.offers
    assert [hook.command for hook in offer.hooks] == ["${CLAUDE_PLUGIN_ROOT}/x.sh"]
    (problem,) = found.problems
    assert "a hook is left out: no hooks run at 'Notification'" in problem.what


async def test_programs_of_an_entry_are_part_of_what_is_agreed_to(tmp_path: Path) -> None:
    bare_directory(tmp_path / "it")
    digests = set[str]()
    for word in ("a", "b"):
        server = {"mcpServers": {"files": {"command": word}}}
        entry = {"name": "it", "source": "./it", "strict": False, "skills": "./skills", **server}
        write(tmp_path / "market.json", {"name": "m", "plugins": [entry]})
        found = await read(tmp_path, "it@./market.json")
        assert names(found) == ({"it"}, {"tidy"}, set())
        (offer,) = found.offers
        digests.add(offer.digest)
    assert len(digests) == 2


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"name": "x", "source": {"source": "npm", "package": "x"}}, "comes from npm"),
        ({"name": "x", "source": {}}, "does not say where"),
        ({"name": "x", "source": "../out"}, "leads out of"),
        ({"name": "y", "source": "./y"}, "has no plugin 'x'; it has: y"),
    ],
)
async def test_what_cannot_be_had_is_said(tmp_path: Path, entry: dict[str, Any], said: str) -> None:
    (tmp_path / "out").mkdir()
    write(tmp_path / "it/.claude-plugin/marketplace.json", {"name": "m", "plugins": [entry]})
    with pytest.raises(ConfigurationError, match=said):
        await read(tmp_path, "x@./it")


async def test_a_market_whose_plugins_are_elsewhere_names_them(tmp_path: Path) -> None:
    entry = {"name": "far", "source": {"source": "github", "repo": "a/b"}}
    write(tmp_path / "it/.claude-plugin/marketplace.json", {"name": "m", "plugins": [entry]})
    with pytest.raises(ConfigurationError, match="name a plugin as NAME@./it, of far"):
        await read(tmp_path, "./it")


async def test_no_entry_reads_outside_of_its_directory(tmp_path: Path) -> None:
    skill(tmp_path / "secret", "stolen")
    (tmp_path / "it").mkdir()
    entry = {"name": "x", "source": "./", "strict": False, "skills": ["../secret/stolen"]}
    write(tmp_path / "it/.claude-plugin/marketplace.json", {"name": "m", "plugins": [entry]})
    found = await read(tmp_path, "x@./it")
    assert names(found) == ({"x"}, set(), set())


@pytest.mark.real
async def test_an_address_in_a_marketplace_is_no_plugin_of_another(tmp_path: Path) -> None:
    entry = {"name": "x", "source": {"source": "url", "url": "me@127.0.0.1:nowhere.git"}}
    write(tmp_path / "it/.claude-plugin/marketplace.json", {"name": "m", "plugins": [entry]})
    with pytest.raises(ConfigurationError, match=r"me@127\.0\.0\.1:nowhere\.git cannot be fetched"):
        await read(tmp_path, "x@./it")
