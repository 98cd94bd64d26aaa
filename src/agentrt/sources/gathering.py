"""`gather`: reads all that the files of a project, its user and plugins say to an agent; for a thread."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from ..digests import file_digest
from ..errors import ConfigurationError
from ..specs.agent_file import AgentFile
from ..specs.context import AgentContext, ContextSource, Document, Gathered
from ..specs.hooks import Hook
from ..specs.workspace import WorkspaceSpec
from ..workspaces.fingerprint import identity_of
from . import agent_files, hook_files
from .fetching import Fetched
from .instructions import find_instructions, of_user, repository_of
from .memory import find_memory
from .place import facts_of
from .plugins import Plugin, read_plugin
from .rules import find_rules
from .servers import SERVERS, find_servers
from .settings_files import FILE as SETTINGS
from .settings_files import Settings, find_settings
from .skills import find_skills, shelves
from .text import Reader


def gather(
    context: AgentContext,
    workspace: WorkspaceSpec,
    home: Path | None = None,
    family: str = "",
    plugins: Sequence[Fetched] = (),
    owner: str | None = None,
    store: Path | None = None,
    hidden: Collection[str] = frozenset(),
    copy: Path | None = None,
) -> Gathered:
    """Return what files say to an agent that works in a workspace with a model of that family. Raises nothing.

    `home` is the user's home directory, None if it is not to be read; `plugins` were fetched. With an
    `owner`, no memory is read from files. The `store` is taken for empty, and the files `hidden`, by their paths
    without links, for missing. `copy` has the files of a workspace that this machine does not see.
    """
    if copy is not None:
        from .near import as_there

        hidden = {path.replace(workspace.path, str(copy), 1) for path in hidden}
        found = _gather(context, workspace, home, family, plugins, owner, store, hidden, copy, copy)
        return as_there(found, copy, workspace)
    place = Path(workspace.directory)
    return _gather(context, workspace, home, family, plugins, owner, store, hidden, place, repository_of(place))


def _gather(
    context: AgentContext,
    workspace: WorkspaceSpec,
    home: Path | None,
    family: str,
    plugins: Sequence[Fetched],
    owner: str | None,
    store: Path | None,
    hidden: Collection[str],
    place: Path,
    root: Path,
) -> Gathered:
    """`root` is that of the repository that contains `place`."""
    roots = tuple(dict.fromkeys((place, root))) if context.load_project_skills else ()
    project, user = Reader(root, None if _is_one(store, place) else store, hidden), Reader(hidden=hidden)
    readers, loaded = [project, user], list[Plugin]()
    for fetched in plugins:
        readers.append(reader := Reader(fetched.directory, hidden=hidden))
        try:
            loaded.append(read_plugin(fetched, reader))
        except (ConfigurationError, OSError, ValueError) as error:
            reader.tell(fetched.directory, str(error))
    homes = (home,) if home is not None else ()
    skills = find_skills(
        (*shelves(roots, project), *shelves(homes, user, "user"), *(shelf for p in loaded for shelf in p.shelves)),
        context.disabled_skills,
        context.skills,
    )
    agents = tuple(_agents(roots, homes, loaded, project, user).values())  # before a search that may be large
    documents, nested = find_instructions(place, root, project, family) if roots else ((), ())
    ours = tuple(document for each in homes for document in of_user(each, user, family))
    general, parts = find_rules(root, place, project) if roots else ((), ())
    settings = find_settings(root, project) if roots else Settings()
    hooks, hooks_path = _hooks(roots, project, settings, root / SETTINGS)
    servers = place / SERVERS
    return Gathered(
        facts=facts_of(workspace, root, context.current_datetime),
        documents=_once((*ours, *documents, *general)),
        memory=tuple(_memory(context, place, homes, project, user, owner)),
        skills=(*skills, *nested, *parts),
        agents=agents,
        hooks=hooks,
        hooks_path=hooks_path,
        servers=find_servers(servers, project) if roots else {},
        servers_path=str(servers),
        permissions=settings.entries,
        permissions_path=str(root / SETTINGS),
        offers=tuple(plugin.offer for plugin in loaded if plugin.offer is not None),
        plugins=tuple(plugin.source for plugin in loaded),
        problems=tuple(problem for reader in readers for problem in reader.problems),
        digests={path: digest for reader in readers for path, digest in reader.digests.items()},
    )


def _once(documents: Iterable[Document]) -> tuple[Document, ...]:
    """Return the documents, of several with the same text the first one."""
    return tuple({document.text: document for document in reversed(tuple(documents))}.values())[::-1]


def _memory(
    context: AgentContext,
    place: Path,
    homes: Sequence[Path],
    project: Reader,
    user: Reader,
    owner: str | None,
) -> Iterator[Document]:
    if context.load_memory and owner is None:
        for home in homes:
            yield from find_memory(home, user, "user")
        if context.load_project_skills:
            yield from find_memory(place, project, "project")


def _agents(
    roots: Sequence[Path], homes: Sequence[Path], plugins: Sequence[Plugin], project: Reader, user: Reader
) -> dict[str, AgentFile]:
    """Return the agents by name. Those of plugins take precedence over the project's, and these over the user's."""
    found: dict[str, AgentFile] = {}
    for plugin in plugins:
        found = {**plugin.agents, **found}
    names = agent_files.DIRECTORIES
    found = {**agent_files.find_agents([root / name for name in names for root in roots], project, "project"), **found}
    ours = agent_files.find_agents([home / name for name in names for home in homes], user, "user")
    return {**ours, **found}


def _hooks(roots: Sequence[Path], reader: Reader, settings: Settings, path: Path) -> tuple[tuple[Hook, ...], str]:
    """Return the hooks of the project, and their file: the first one with hooks, or the settings in `path`."""
    for root in roots:
        for name in hook_files.FILES:
            if hooks := hook_files.read_hooks(root / name, reader):
                return hooks, str(root / name)
    return (hook_files.hooks_of(settings.hooks, path, reader), str(path)) if settings.hooks else ((), "")


def changed(sources: Sequence[ContextSource]) -> tuple[str, ...]:
    """Return the paths of the sources that have changed since they were read; for a thread."""
    return tuple(source.path for source in sources if source.digest and file_digest(source.path) != source.digest)


def _is_one(store: Path | None, place: Path) -> bool:
    return store is not None and identity_of(str(store)) == identity_of(str(place))
