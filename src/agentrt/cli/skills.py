"""`agentrt skills`: the skills of a workspace, and the installed ones."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import anyio
import click

from ..errors import ConfigurationError, WorkspaceMissing
from ..sources.fetching import fetched
from ..sources.skill_files import PACKAGE, skill_of
from ..sources.text import Reader
from ..specs import PluginSource, Skill
from ..storage import default_store
from .context import Place
from .options import store_option
from .places import workspace_option
from .wording import clean

HERE = ".agents/skills"
"""The directory of installed skills, below the workspace or the user's home directory."""

_NEW = """\
---
name: {name}
description: What this is for, and when to use it.
---

# {name}

Say step by step what is to be done. Files in scripts/, references/ and assets/ beside this one are read when they are
named here.
"""

project_option = click.option("--project", is_flag=True, help="Use the workspace instead of your home directory.")


@click.group(invoke_without_command=True)
@workspace_option
@store_option
@click.pass_context
def skills(given: click.Context, workspace: Path, store: str | None) -> None:
    """List, show, make, check, install and remove skills: instructions that an agent reads when it needs them.

    A skill is a directory with a SKILL.md (https://agentskills.io). Skills of a workspace are in .agents/skills, yours
    in ~/.agents/skills.

    \b
    agentrt skills new release-notes --project
    agentrt skills check .agents/skills/release-notes
    agentrt skills install github:owner/repo --path skills/pdf --ref v1.2
    """
    if not workspace.is_dir():
        raise WorkspaceMissing(workspace.absolute())
    given.obj = Place(store, str(workspace.absolute()))
    if given.invoked_subcommand is None:
        _list(given.obj)


@skills.command(name="list")
@click.pass_obj
def list_(place: Place) -> None:
    """List the skills of the workspace and yours, as `agentrt skills` alone does."""
    _list(place)


def _list(place: Place) -> None:
    told = place.resolved().event
    names = {(source.name, source.path) for source in told.sources if source.kind == "skill"}
    found = [skill for skill in told.skills if (skill.name, skill.path) in names]
    for skill in found:
        click.echo(f"{clean(skill.name)}  ({skill.origin}, {skill.kind})  {clean(skill.description)}")
    if not found:
        click.echo("no skills are here: 'agentrt skills new NAME' makes one")


@skills.command()
@click.argument("name")
@click.pass_obj
def show(place: Place, name: str) -> None:
    """Show the skill NAME: where it is, what activates it, and its text."""
    told = place.resolved()
    skill = next((skill for skill in told.event.skills if skill.name == name), None)
    if skill is None:
        there = ", ".join(skill.name for skill in told.event.skills) or "none"
        raise click.UsageError(f"unknown skill {name!r}; known here: {there}")
    source = next(source for source in told.event.sources if source.path == skill.path and source.name == skill.name)
    lines = {
        "file": skill.path,
        "description": skill.description,
        "shown": source.when,
        "inputs": ", ".join(skill.inputs),
        "approved tools": " ".join(skill.allowed_tools),
        "forbidden tools": " ".join(skill.disallowed_tools),
        "not available": ", ".join(source.missing),
    }
    for label, value in lines.items():
        if value:
            click.echo(f"{label}: {clean(value)}")
    click.echo(f"\n{clean(told.texts[name])}")


@skills.command()
@click.argument("name")
@project_option
@click.pass_obj
def new(place: Place, name: str, project: bool) -> None:
    """Make a skill NAME from a template to fill in."""
    path = _root(place, project=project) / name / PACKAGE
    try:
        skill_of(_NEW.format(name=name), path, name)
    except ConfigurationError as error:
        raise click.UsageError(str(error)) from error
    if path.exists():
        raise click.UsageError(f"{path} exists already")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_NEW.format(name=name))
    click.echo(str(path))


@skills.command()
@click.argument("path", type=click.Path(exists=True, path_type=Path))
def check(path: Path) -> None:
    """Check the skill at a PATH: its directory, its SKILL.md, or a single file. Exit code 1 for a fault."""
    skill, problems = _read(path)
    for problem in problems:
        click.echo(f"{path}: {clean(problem)}", err=True)
    if skill is None or problems:
        sys.exit(1)
    click.echo(f"{clean(skill.name)} is valid: {skill.kind}, {len(skill.body)} characters")


@skills.command()
@click.argument("source")
@click.option("--ref", default="", help="The revision of a git address: a commit, a tag or a branch.")
@click.option("--path", "inside", default="", help="The skill's directory within the SOURCE.")
@project_option
@click.pass_obj
def install(place: Place, source: str, ref: str, inside: str, project: bool) -> None:
    """Install a skill from a SOURCE: a directory, a git address, or github:owner/repo.

    Read it first: the agent follows its instructions, and its commands run like any other.
    """
    cache = Path(place.store or default_store()) / "skills"
    try:
        found = anyio.run(fetched, PluginSource(source, ref, inside), cache, Path.cwd())
    except ConfigurationError as error:
        raise click.UsageError(str(error)) from error
    skill, problems = _read(found)
    if skill is None:
        raise click.UsageError(f"{source} is not a skill: {problems[0]}")
    target = _root(place, project=project) / skill.name
    if target.exists():
        raise click.UsageError(f"{target} exists already: 'agentrt skills remove {skill.name}' removes it")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(found, target, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    click.echo(f"{clean(skill.name)}: {clean(skill.description)}\n{target}")


@skills.command()
@click.argument("name")
@project_option
@click.pass_obj
def remove(place: Place, name: str, project: bool) -> None:
    """Remove the installed skill NAME. Conversations that have read it keep it."""
    root = _root(place, project=project)
    target, file = root / name, root / f"{name}.md"
    if target.parent == root and target.is_symlink():
        target.unlink()
    elif target.parent == root and (target / PACKAGE).is_file():
        shutil.rmtree(target)
    elif file.parent == root and file.is_file():
        target = file
        file.unlink()
    else:
        where = "" if project else " (with --project it is looked for in the workspace)"
        raise click.UsageError(f"there is no skill {name!r} in {root}{where}")
    click.echo(f"removed {target}")


def _root(place: Place, *, project: bool) -> Path:
    return (Path(place.workspace) if project else Path.home()) / HERE


def _read(path: Path) -> tuple[Skill | None, list[str]]:
    """Return the skill at a path, and its faults."""
    path = path / PACKAGE if path.is_dir() else path
    reader = Reader()
    text = reader.read(path.absolute())
    if text is None:
        return None, [problem.what for problem in reader.problems] or [f"there is no {PACKAGE}"]
    try:
        skill, told = skill_of(text, path.absolute(), path.stem)
    except ConfigurationError as error:
        return None, [str(error)]
    return skill, list(told)
