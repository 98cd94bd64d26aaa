"""Fixed rules that rate an action by what it reads, writes, runs and reaches. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import msgspec

from ..events import ActionEvent
from ..specs.effects import Effects, Source
from .calls import Call
from .file_rules import rate_tree, rate_tree_write
from .found import found_effects, texts
from .injections import rate_text
from .own_rules import rate_requests
from .paths import Site, normal, site
from .rating import Rating, Scene
from .shell_text import ANY
from .verdicts import highest, low, unknown

_KEY = re.compile(r"(?i)C-[a-z]|UP|DOWN|RIGHT|LEFT|HOME|END|PGUP|PGDN|TAB|ESC|BS|ENTER|y|n|yes|no|q|\d{1,6}")


def rate_action(action: ActionEvent, scene: Scene) -> Rating:
    """The rating of an action by what its tool says that it does, or by what its arguments name.

    An action whose tool does not say is UNKNOWN at least, unless the tool declares that it only reads. Raises
    `msgspec.DecodeError` when the arguments are not JSON.
    """
    where, effects = _site(scene), _effects(action, scene)
    call = Call(action.tool_name, (), where.workspace, where)
    ratings = [rating for path in effects.reads for rating in rate_tree(call, _rooted(path, where))]
    ratings += [rate_tree_write(call, _rooted(file.path, where)) for file in effects.files]
    ratings += [rating for address in effects.reaches for rating in _rate_address(call, address)]
    ratings += [_rate_source(source, where, scene) for source in effects.sources]
    ratings += _rate_texts(action, effects, certain=scene.effects is not None)
    if scene.effects is None:
        nothing = low("the tool says that it only reads")
        ratings.append(nothing if scene.only_reads else unknown("no rule for this tool"))
    return highest(ratings, "only reads" if effects.reads else "touches nothing")


def scripts(action: ActionEvent, scene: Scene) -> frozenset[str]:
    """The paths of what a command runs, and that `scene` has no text of."""
    commands = [_command(source) for source in _effects(action, scene).sources if not source.typed]
    if not commands:
        return frozenset()
    from .command_rules import files_run

    return frozenset().union(*(files_run(command, _site(scene), scene.files) for command in commands))


def written(action: ActionEvent, scene: Scene) -> dict[str, str]:
    """The paths of what an action writes, with the text where it is known, else one that nobody can read."""
    where, effects = _site(scene), _effects(action, scene)
    found = {normal(_rooted(file.path, where)): ANY if file.text is None else file.text for file in effects.files}
    for command in (_command(source) for source in effects.sources if not source.typed):
        from .command_rules import files_written

        found |= files_written(command, where)
    return found


def _effects(action: ActionEvent, scene: Scene) -> Effects:
    if scene.effects is not None:
        return scene.effects
    return found_effects(action.arguments, only_reads=scene.only_reads)


def _site(scene: Scene) -> Site:
    return site(scene.workspace.path, scene.directory, scene.own)


def _rooted(path: str, where: Site) -> str:
    """A path of an action; one that is relative is so to the workspace."""
    return path if path.startswith(("/", "~")) else f"{where.workspace}/{path}"


def _command(source: Source) -> str:
    """The shell command that runs a program."""
    return source.text if source.language == "shell" else f"python3 -c {shlex.quote(source.text)}"


def _rate_source(source: Source, where: Site, scene: Scene) -> Rating:
    from .command_rules import rate_command, rate_input  # their patterns take 50 ms to compile: not at every start

    if not source.text.strip():
        return low("waits")
    if not source.typed:
        return rate_command(_command(source), where, scene.files)
    if _KEY.fullmatch(source.text.strip()):
        return low("presses a key")
    return highest((rate_input(source.text, where), *rate_requests(source.text, where)))


def _rate_address(call: Call, address: str) -> Iterator[Rating]:
    from .network_rules import rate_url

    yield from rate_requests(address, call.where)
    yield from rate_url(call, address)


def _rate_texts(action: ActionEvent, effects: Effects, *, certain: bool) -> Iterator[Rating]:
    """Orders for a model among the texts of a call; less is at stake where a tool that is known writes them down."""
    run = [source.text for source in effects.sources]
    for text in run or [text for _, text in texts(msgspec.json.decode(action.arguments))]:
        if (found := rate_text(text, written=certain and not run)) is not None:
            yield found
