"""Fixed rules that rate an action by what it reads, writes, runs and reaches. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from ..events import ActionEvent
from ..specs.effects import Effects, Source
from .budget import Budget, NotAtOnce, TooMuch
from .calls import Call
from .file_rules import rate_tree, rate_tree_write
from .found import found_effects, texts
from .injections import rate_text
from .paths import Site, normal, site
from .rating import Rating, Scene
from .shell_text import ANY
from .verdicts import highest, low, unknown

MAX_ARGUMENTS = 16 * 1024
"""Maximum size of an action's arguments, in bytes, for a rating on the event loop."""

MAX_PLAIN = 1024
"""Maximum length of the programs of an action, in characters, for a rating on the event loop."""

_EXPANDS = re.compile(r"[$`{]|[<>]\(")
"""Matches shell text that the shell expands, and definitions of functions."""

_KEY = re.compile(r"(?i)C-[a-z]|UP|DOWN|RIGHT|LEFT|HOME|END|PGUP|PGDN|TAB|ESC|BS|ENTER|y|n|yes|no|q|\d{1,6}")


def rate_action(action: ActionEvent, scene: Scene, *, at_once: bool = False) -> Rating:
    """Return the rating of an action by the effects that its tool declares, or else by those found in its arguments.

    If the tool declares no effects, the rating is at least UNKNOWN, unless the tool declares that it only reads.
    Raises `msgspec.DecodeError` if the arguments are not JSON. With `at_once`, raises `NotAtOnce` if the rating may be
    slow.
    """
    where, (effects, budget) = _site(scene), _considered(action, scene, at_once)
    call = Call(action.tool_name, (), where.workspace, where)
    try:
        ratings = list(_rate_named(call, effects, scene, budget))
    except TooMuch:
        ratings = [unknown("names too much to be read")]
    ratings += [_rate_source(source, where, scene, budget) for source in effects.sources]
    ratings += _rate_texts(action, effects, certain=scene.effects is not None)
    if scene.effects is None:
        nothing = low("the tool says that it only reads")
        ratings.append(nothing if scene.only_reads else unknown("no rule for this tool"))
    return highest(ratings, "only reads" if effects.reads else "touches nothing")


def _rate_named(call: Call, effects: Effects, scene: Scene, budget: Budget) -> Iterator[Rating]:
    """Rate the paths and addresses of an action."""
    where = call.where
    for path in effects.reads:
        budget.spend(32 + len(path))
        yield from rate_tree(call, _rooted(path, where))
    for file in effects.files:
        budget.spend(32 + len(file.path))
        yield rate_tree_write(call, _rooted(file.path, where))
    for address in effects.reaches:
        budget.spend(32 + len(address))
        yield from _rate_address(call, address)
    if effects.sends:
        from .request_rules import local_port, rate_sent

        here = replace(where, listening=scene.listening)  # the tool itself sends, not a program in a container
        for sent in effects.requests:
            budget.spend(32 + len(sent.where))
            yield from _rate_address(call, sent.where)
            yield from rate_sent(local_port(sent.where), here)


def wanted(action: ActionEvent, scene: Scene, *, at_once: bool = False) -> tuple[frozenset[str], frozenset[int]]:
    """Return what the rating depends on and is not in `scene`: the paths of files that an action's commands run or
    append to, and the ports of this machine to which it sends requests that may change something.

    Raises as `rate_action` does.
    """
    effects, budget = _considered(action, scene, at_once)
    commands = [_command(source) for source in effects.sources if not source.typed]
    if not commands and not effects.sends:
        return frozenset(), frozenset()
    from .command_rules import wanted_by
    from .request_rules import local_port

    found = [wanted_by(command, _site(scene), scene.files, budget) for command in commands]
    ports = {port for sent in effects.requests if (port := local_port(sent.where)) is not None}
    ports = ports.union(*(each.ports for each in found)) - scene.listening
    return frozenset().union(*(each.files for each in found)), frozenset(ports)


def written(action: ActionEvent, scene: Scene, *, at_once: bool = False) -> dict[str, str]:
    """Return the text of each file that an action writes, by path; marks stand for what is not known of a text.

    Raises as `rate_action` does.
    """
    where, (effects, budget) = _site(scene), _considered(action, scene, at_once)
    found = {normal(_rooted(file.path, where)): ANY if file.text is None else file.text for file in effects.files}
    for command in (_command(source) for source in effects.sources if not source.typed):
        from .command_rules import files_written

        found |= files_written(command, where, budget)
    return found


def _considered(action: ActionEvent, scene: Scene, at_once: bool) -> tuple[Effects, Budget]:
    """Return the effects of an action, and what the rating of all of them may take together."""
    if at_once and len(bytes(action.arguments_json)) > MAX_ARGUMENTS:
        raise NotAtOnce
    effects = scene.effects
    if effects is None:
        effects = found_effects(action.arguments_json, only_reads=scene.only_reads)
    length = 0
    for source in effects.sources:
        length += len(source.text)
        # a short text that stands for itself is rated at once: nothing in it is expanded
        if at_once and (length > MAX_PLAIN or (source.language == "shell" and _EXPANDS.search(source.text))):
            raise NotAtOnce
    return effects, Budget(len(bytes(action.arguments_json)) + length, at_once=at_once)


def _site(scene: Scene) -> Site:
    """Return where an action's commands run: in a container, all that listens there belongs to the conversation."""
    workspace = scene.workspace
    here = scene.listening if workspace.on_this_machine else frozenset[int]()
    listening = None if workspace.has_own_network else here
    return site(workspace.path, scene.directory, scene.own, listening)


def _rooted(path: str, where: Site) -> str:
    """Return an action's path, with the workspace before it if it is relative."""
    return path if path.startswith(("/", "~")) else f"{where.workspace}/{path}"


def _command(source: Source) -> str:
    """Return the shell command that runs a program."""
    return source.text if source.language == "shell" else f"python3 -c {shlex.quote(source.text)}"


def _rate_source(source: Source, where: Site, scene: Scene, budget: Budget) -> Rating:
    from .command_rules import rate_command, rate_input  # takes 50 ms to compile its patterns: not at every start
    from .own_rules import rate_requests

    if not source.text.strip():
        return low("waits")
    if not source.typed:
        return rate_command(_command(source), where, scene.files, budget)
    if _KEY.fullmatch(source.text.strip()):
        return low("presses a key")
    return highest((rate_input(source.text, where, budget), *rate_requests(source.text, where)))


def _rate_address(call: Call, address: str) -> Iterator[Rating]:
    from .network_rules import rate_url
    from .own_rules import rate_requests

    yield from rate_requests(address, call.where)
    yield from rate_url(call, address)


def _rate_texts(action: ActionEvent, effects: Effects, *, certain: bool) -> Iterator[Rating]:
    """Rate texts of a call that give a model orders: MEDIUM at most if its tool declares effects and runs nothing."""
    run = [source.text for source in effects.sources]
    for text in run or [text for _, text in texts(msgspec.json.decode(action.arguments_json))]:
        if (found := rate_text(text, written=certain and not run)) is not None:
            yield found
