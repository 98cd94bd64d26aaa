"""`agentrt log`: checks, repairs, exports and replays a log."""

from __future__ import annotations

import sys
from functools import partial
from typing import IO

import anyio
import click

from ..errors import LogCorrupt
from ..events import Event
from ..replaying import Difference, replay
from ..snapshot import Snapshot, differences, snapshot
from ..state import fold
from ..storage import conversations
from ..storage.checking import Verdict, repair, root_of, verify
from .exports import FORMATS
from .finding import Found, find
from .options import store_option
from .wording import clean, count


@click.group()
def log() -> None:
    """Check, repair, export or replay a conversation's log.

    Each command takes a CONVERSATION (an id, a unique part of an id, or a directory). The default is the newest one.
    """


@log.command(name="verify")
@click.argument("conversation", required=False)
@click.option("--all", "every", is_flag=True, help="Check every conversation of the store.")
@store_option
def verify_(conversation: str | None, every: bool, store: str | None) -> None:
    """Check every record and blob, and change nothing.

    Prints one line for each conversation; the exit code is 0 if nothing is wrong, and 1 otherwise.
    """
    if every and conversation is not None:
        raise click.UsageError("give a conversation or --all, not both")
    directories = conversations(root_of(store)) if every else [find(conversation, store).directory]
    wrong = checked = 0
    for directory in directories:
        checked += 1
        try:
            verdict = verify(directory)
        except OSError as error:
            wrong += 1
            click.echo(f"{clean(directory.name)}  unreadable: {error}")
            continue
        wrong += not verdict.sound
        click.echo(f"{clean(directory.name)}  {_told(verdict)}")
    if every and not checked:
        click.echo("no conversations yet")
    sys.exit(1 if wrong else 0)


def _told(verdict: Verdict) -> str:
    """Return a verdict as one line."""
    whole = f"{count(verdict.events, 'event')}, {count(verdict.length, 'byte')}"
    if verdict.damage is not None:
        told = f"corrupt: {verdict.damage}; before it {whole} in whole batches"
        told += f"; after it {count(verdict.beyond, 'event')} intact" if verdict.beyond else ""
        told += "; 'agentrt show' shows them" if verdict.repairable or verdict.beyond else ""
        if not verdict.repairable:
            return f"{told}; restore it from a copy, or delete the conversation with 'agentrt delete'"
        return f"{told}, 'agentrt log repair --force' cuts the log there"
    if verdict.torn:
        place = f"{verdict.path}:{verdict.events + 1}"
        told = f"torn: {place}: {count(verdict.torn, 'byte')} from byte {verdict.length} on are not a complete batch"
        told += f"; before them {whole}; 'agentrt log repair' sets them aside"
    elif verdict.missing:
        told = f"incomplete: {whole}"
    else:
        told = f"ok: {whole}" + (f", {count(verdict.blobs, 'blob')}" if verdict.blobs else "")
    shared = f", after {verdict.after} of its parent" if verdict.after else ""
    return "; ".join([told + shared, *map(str, verdict.missing)])


@log.command(name="repair")
@click.argument("conversation", required=False)
@click.option("--force", is_flag=True, help="Also cut a damaged log before its first damaged batch; a copy is kept.")
@store_option
def repair_(conversation: str | None, force: bool, store: str | None) -> None:
    """Set aside an incomplete tail of the log, as opening the conversation would.

    A damaged record is only cut with --force if a later record proves that it was once durable. Missing blobs cannot be
    restored. The exit code is 0 if the log can be opened.
    """
    directory = find(conversation, store).directory
    try:
        done = repair(directory, force=force)
    except LogCorrupt as corrupt:
        hint = ""
        if corrupt.repairable and not force:
            hint = "\nto cut it there, with a copy of the file kept beside it: agentrt log repair --force"
        click.echo(f"agentrt: {clean(str(corrupt))}{hint}", err=True)
        sys.exit(1)
    remain = f"{count(done.events, 'event')} remain" if done.events != 1 else "1 event remains"
    if done.kept is None:
        click.echo(f"{clean(directory.name)}  nothing to repair: {count(done.events, 'event')}")
    elif done.whole:
        click.echo(f"{clean(directory.name)}  cut by {count(done.cut, 'byte')}: {remain}")
        click.echo(f"the whole file as it was is kept in {done.kept}")
        click.echo("one event was added, which begins a new epoch: clients that saw what is gone start over")
    else:
        click.echo(f"{clean(directory.name)}  a torn tail was set aside: {remain}")
        click.echo(f"its {count(done.cut, 'byte')} are kept in {done.kept}")


@log.command()
@click.argument("conversation", required=False)
@click.option(
    "--format",
    "-f",
    "form",
    type=click.Choice(list(FORMATS)),
    default="markdown",
    show_default=True,
    help="All events as a JSON array, the messages that the model would be sent, or a transcript.",
)
@click.option(
    "--output",
    "-o",
    type=click.File("w", encoding="utf-8", lazy=True, atomic=True),
    default="-",
    help="The file to write, once the export is complete. Default: the terminal.",
)
@store_option
def export(conversation: str | None, form: str, output: IO[str], store: str | None) -> None:
    """Write a conversation in another format."""
    events = find(conversation, store).events()
    output.write(FORMATS[form](events))


@log.command(name="replay")
@click.argument("conversation", required=False)
@click.option(
    "--model",
    type=click.Choice(["scripted"]),
    default=None,
    help="Run the conversation again, with the recorded replies of the model and results of the tools.",
)
@store_option
def replay_(conversation: str | None, model: str | None, store: str | None) -> None:
    """Recompute a conversation's state, and compare it with the stored snapshot.

    With --model scripted, the whole conversation runs again in a scratch directory. The model's replies and the tools'
    results are the recorded ones, everything else is real, and no tool is executed. The exit code is 1 if something
    differs, such as the system prompt, a tool's definition, a decision or a message to the model.
    """
    found = find(conversation, store)
    events = found.events()
    sys.exit(_compare(found, events) if model is None else _rerun(found, events))


async def _stored(found: Found) -> Snapshot | None:
    async with found.history() as history:
        return await history.snapshot()


def _compare(found: Found, events: list[Event]) -> int:
    name, stored = clean(found.id), anyio.run(_stored, found)
    if stored is None:
        state = fold(events)
        click.echo(f"{name}  {count(state.seq, 'event')}, {state.status.value}; no snapshot to compare with")
        return 0
    wrong = differences(stored, snapshot(fold(event for event in events if event.seq <= stored.seq)))
    if wrong:
        click.echo(f"{name}  the snapshot of event {stored.seq} is not what the events give: {clean(wrong[0])}")
        if more := len(wrong) - 1:
            click.echo(f"and {count(more, 'more difference')}")
        return 1
    behind = f" ({len(events) - stored.seq} came later)" if len(events) > stored.seq else ""
    click.echo(f"{name}  the state after {count(stored.seq, 'event')} is that of the snapshot{behind}")
    return 0


def _rerun(found: Found, events: list[Event]) -> int:
    name, done = clean(found.id), anyio.run(partial(replay, events))
    for tool in done.from_log:
        click.echo(f"agentrt: tool {tool!r} has no implementation here; its definition is the recorded one", err=True)
    if done.difference is None:
        click.echo(f"{name}  {count(done.events, 'event')} with {count(done.calls, 'model call')} came as recorded")
        return 0
    click.echo(f"{name}  {clean(_pointed_at(done.difference))}")
    return 1


def _pointed_at(difference: Difference) -> str:
    return (
        f"event {difference.seq} differs, {difference.where}\n"
        f"  recorded  {difference.recorded}\n"
        f"  replayed  {difference.replayed}"
    )
