"""`agentrt rules`: the permission rules that are stored for a workspace."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import get_args

import anyio
import click
import msgspec

from ..errors import WorkspaceMissing
from ..specs import PermissionRule
from ..specs.rules import Verdict
from ..storage import open_storage
from ..tools import BUILT_IN
from ..workspaces.project_rules import change_project_rules, project_rules
from .options import store_option
from .permissions import rule_for, rule_words
from .places import workspace_option
from .wording import clean


class _Place(msgspec.Struct, frozen=True):
    """A workspace whose rules are meant."""

    store: str | None
    workspace: str

    def rules(self) -> tuple[PermissionRule, ...]:
        return self.change()

    def change(
        self, add: Iterable[PermissionRule] = (), remove: Iterable[PermissionRule] = ()
    ) -> tuple[PermissionRule, ...]:
        async def changed() -> tuple[PermissionRule, ...]:
            async with open_storage(self.store, lazy=True) as storage:
                if add or remove:
                    return await change_project_rules(storage, self.workspace, add=add, remove=remove)
                return await project_rules(storage, self.workspace)

        return anyio.run(changed)


@click.group(invoke_without_command=True)
@workspace_option
@store_option
@click.pass_context
def rules(context: click.Context, workspace: Path, store: str | None) -> None:
    """List, add and remove the permission rules of a workspace.

    They apply to every conversation in it, in addition to the agent's own rules. A denied action never runs. An "ask"
    rule makes an action wait for your answer. An allowed action runs without asking, unless another rule denies it or
    asks. Answering a question with p adds a rule. The rules are kept outside the workspace, where its agents cannot
    write.

    \b
    agentrt rules add deny terminal "*git push*"
    agentrt rules --workspace ../other add allow file_editor
    agentrt rules remove 1
    """
    if not workspace.is_dir():
        raise WorkspaceMissing(workspace.absolute())
    context.obj = place = _Place(store, str(workspace.absolute()))
    if context.invoked_subcommand is None:
        _print(place.rules(), f"no rules are remembered for {place.workspace}")


@rules.command(name="list")
@click.pass_obj
def list_(place: _Place) -> None:
    """List the rules, as `agentrt rules` alone does."""
    _print(place.rules(), f"no rules are remembered for {place.workspace}")


@rules.command()
@click.argument("verdict", type=click.Choice(get_args(Verdict)))
@click.argument("tool")
@click.argument("pattern", default="*")
@click.pass_obj
def add(place: _Place, verdict: Verdict, tool: str, pattern: str) -> None:
    """Allow, ask about, or deny the calls of a TOOL, or only the calls that a PATTERN matches.

    The pattern is for the terminal's whole command, the file_editor's path, or any argument of another tool. A star
    matches anything; in a rule that allows, it does not match the start of a second command.
    """
    if not tool.strip() or not pattern.strip():
        raise click.UsageError("a rule needs a tool and a pattern: '*' matches anything")
    rule = rule_for(verdict, tool, pattern)
    if not any(fnmatchcase(known, tool) for known in BUILT_IN):
        click.echo(f"note: {clean(tool)!r} is not a built-in tool", err=True)
    _print(place.change(add=[rule]), "")


@rules.command()
@click.argument("number", type=click.IntRange(1))
@click.pass_obj
def remove(place: _Place, number: int) -> None:
    """Remove the rule with this NUMBER in the list.

    Conversations that began or were resumed with it keep it.
    """
    held = place.rules()
    if number > len(held):
        raise click.UsageError(f"no rule {number}: 'agentrt rules' lists the rules")
    _print(place.change(remove=[held[number - 1]]), "no rules are left")


def _print(held: tuple[PermissionRule, ...], none: str) -> None:
    for number, rule in enumerate(held, 1):
        click.echo(f"{number}  {clean(rule_words(rule))}")
    if not held and none:
        click.echo(none)
