"""`agentrt serve`: many conversations in one process, over HTTP and WebSockets."""

from __future__ import annotations

import faulthandler
import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import anyio
import click

from ..decisions.agents import with_tools
from ..errors import ConfigurationError, MissingKey, UnknownModel
from ..runtime import Runtime
from ..specs import Durability
from ..specs.quota import Quota
from ..specs.workspace import Confine
from ..storage import default_store, open_storage
from .help import Command
from .options import agent_of, agent_options, check_price, store_option, titles_option
from .own_tools import offered_tools, own_tools, tools_option
from .places import container_of, place_options
from .whose_tokens import cipher_of

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from ..server import ServerSettings

STANDARD_ERROR = 2

NO_EXTRA = "the server is an extra: pip install 'agentrt[server]'"


workspaces_option = click.option(
    "--workspaces",
    "-w",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    multiple=True,
    metavar="DIR",
    help="A directory below which conversations may work. A conversation that names none gets a new directory in the"
    " first. May be repeated. Default: the current directory.",
)


@click.command(cls=Command)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="The address to listen on. Addresses other than loopback need API keys.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="The port to listen on. 0: any free port.",
)
@store_option
@workspaces_option
@titles_option
@click.option(
    "--resume-running",
    is_flag=True,
    help="Continue the conversations that were running when the last server ended, however it ended. Otherwise they"
    " wait, paused.",
)
@click.option(
    "--drain",
    type=click.FloatRange(0),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="How long running conversations may take to end their step when the server is told to stop.",
)
@click.option(
    "--cors",
    multiple=True,
    metavar="ORIGIN",
    help="The origin of another page that may use the server: https://console.example.org.",
)
@click.option(
    "--allow-host",
    "allow_hosts",
    multiple=True,
    metavar="NAME",
    help="A host name that clients may use besides the server's address: agents.example.org.",
)
@click.option(
    "--rate",
    default="6000/minute",
    show_default=True,
    help="Request limit for each key, or each address without a key: 100/second. none: no limit.",
)
@click.option(
    "--max-sockets",
    type=click.IntRange(1),
    default=256,
    show_default=True,
    help="Maximum number of open sockets and event streams for each key, or each address without a key.",
)
@click.option(
    "--keep-alive",
    type=click.FloatRange(0, min_open=True),
    default=75.0,
    show_default=True,
    metavar="SECONDS",
    help="How long a connection without a request stays open. Behind a proxy: longer than the proxy keeps it.",
)
@click.option(
    "--backlog",
    type=click.IntRange(1),
    default=2048,
    show_default=True,
    help="Maximum number of connections that wait to be accepted. The kernel's limit is net.core.somaxconn.",
)
@click.option(
    "--secrets-key",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="FILE",
    help="Keep secrets in the store, encrypted with the key in this file (see docs/secrets.md). Otherwise they are"
    " lost when the server ends.",
)
@click.option(
    "--idle-after",
    type=click.FloatRange(0, min_open=True),
    default=600.0,
    show_default=True,
    metavar="SECONDS",
    help="Idle time after which an unused conversation is removed from memory.",
)
@click.option(
    "--durability",
    type=click.Choice([each.value for each in Durability]),
    default=Durability.COMMIT.value,
    show_default=True,
    help="When an event counts as committed: on disk, or only written, which is faster but can lose events when the"
    " machine fails.",
)
@click.option("--max-events", type=click.IntRange(1), help="Maximum number of events of a conversation.")
@click.option("--max-bytes", type=click.IntRange(1), help="Maximum size of a conversation in the store, in bytes.")
@click.option(
    "--max-processes", type=click.IntRange(1), help="Maximum number of processes of a conversation's terminal."
)
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="The format of the log on standard error: for people, or one JSON object on each line.",
)
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
    help="The log level. At info, one line for each request.",
)
@click.option(
    "--traces",
    metavar="URL",
    help="Send OpenTelemetry traces to this address, by OTLP over HTTP: http://localhost:4318. Default: the"
    " environment's OTEL_EXPORTER_OTLP_ENDPOINT, if any.",
)
@click.option(
    "--compat",
    type=click.Choice(["openhands"]),
    help="Also serve the paths of the OpenHands agent server under /api for commands, files and git, in the first"
    " --workspaces directory.",
)
@place_options
@agent_options
@tools_option
def serve(
    host: str,
    port: int,
    store: str | None,
    workspaces: tuple[Path, ...],
    image: str | None,
    network: str | None,
    confine: Confine | None,
    rate: str,
    secrets_key: Path | None,
    idle_after: float,
    durability: str,
    max_events: int | None,
    max_bytes: int | None,
    max_processes: int | None,
    log_format: Literal["text", "json"],
    log_level: str,
    own: tuple[str, ...],
    **rest: Any,
) -> None:
    """Serve conversations over HTTP, with a console for the browser.

    The server hosts all conversations of its store; each is opened at its first request. While the store has no key,
    the server listens on 127.0.0.1 only, and accepts clients with the token in the address that it prints. If standard
    output is not a terminal, the address with the token is in a file that only you can read, and the path of the file
    is printed. The token changes at each start. To listen on other addresses, first make keys: see `agentrt keys
    create`.

    A conversation may bring its own agent. Otherwise it gets the agent of the options below, which are those of
    `agentrt run`.

    SIGTERM and Ctrl-C stop it gracefully: new work is refused, running steps may end, everything is written to disk,
    and then it exits. A second one hurries it.

    \b
    agentrt serve
    agentrt serve --workspaces ~/projects --model anthropic/claude-opus-4-5 --max-cost 5
    agentrt serve --workspaces ~/projects --image python:3.13
    agentrt serve --tools weather:forecast --tools orders:tools
    agentrt serve --host 0.0.0.0 --allow-host agents.example.org --resume-running --log-format json
    """
    try:
        from ..server import ServerSettings, create_app  # heavy, and an extra
        from ..server.observing import logs
        from ..server.running import run
    except ImportError as error:
        raise ConfigurationError(NO_EXTRA) from error
    tools = own_tools(own)
    given = ("drain", "cors", "allow_hosts", "max_sockets", "keep_alive", "backlog", "resume_running", "traces")
    settings = ServerSettings(
        host=host,
        port=port,
        workspaces=workspaces or (Path.cwd(),),
        container=container_of(Path(), image, network),
        confine=confine or "auto",
        forget_after=idle_after,
        rate=None if rate == "none" else rate,
        own_process=True,
        titles=rest.pop("titles"),
        compat=rest.pop("compat"),
        **{name: rest.pop(name) for name in given},
        agent=with_tools(agent_of(store=store, **rest), [kind.name for kind in tools]),
    )
    root = store or default_store()
    anyio.run(_check, settings, root)
    logs.configure(log_format, log_level.upper())
    runtime = Runtime(
        root,
        tools=(*offered_tools(), *tools),
        home=Path.home(),
        durability=Durability(durability),
        idle_after=idle_after,
        cipher=cipher_of(secrets_key),
        quota=Quota(events=max_events, bytes=max_bytes, processes=max_processes),
    )
    run(_serve, create_app(runtime, settings), settings, root)


async def _check(settings: ServerSettings, root: Path | str) -> None:
    from ..server.auth import has_keys
    from ..server.settings import LOOPBACK

    if settings.host in LOOPBACK:
        return
    async with open_storage(root, lazy=True) as storage:
        closed = await has_keys(storage.shelf)
    if not closed:
        raise ConfigurationError(
            f"{settings.host} may be reached from elsewhere, and the store has no API key: make one with"
            " 'agentrt keys create --owner NAME --scope admin', or listen on 127.0.0.1"
        )


async def _serve(app: Starlette, settings: ServerSettings, root: Path | str) -> None:
    from ..sandboxes.container import check_engine
    from ..server.pages import BUILT, are_built
    from ..server.running import drain, serving

    if settings.container is not None:
        await check_engine()
    if settings.agent is not None and settings.agent.limits.max_cost is not None:
        with suppress(MissingKey, UnknownModel):  # which /ready tells of
            await app.state.runtime.client.prepare(settings.agent.llm)
            check_price(settings.agent, app.state.runtime.client)
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with serving(app, settings) as url:
            faulthandler.enable(STANDARD_ERROR)  # if a fault of a library ends the process, it says where
            with _shown(url, app.state.access.address(url), root) as address:
                click.echo(f"agentrt listens on {address} (conversations in {root}; Ctrl-C stops it)")
                if changed := app.state.services.hosting.saved.changed:
                    click.echo(f"the saved settings change the agent: {', '.join(changed)}", err=True)
                if not are_built():
                    click.echo(f"the console is missing from {BUILT}: install agentrt again. REST works", err=True)
                await anext(signals)
            click.echo(
                f"stopping: new work is refused, and running steps have {settings.drain:g} s to end;"
                " a second Ctrl-C stops at once",
                err=True,
            )
            async with anyio.create_task_group() as tasks:

                async def hurry() -> None:
                    await anext(signals)
                    tasks.cancel_scope.cancel()

                tasks.start_soon(hurry)
                await drain(app, settings.drain)
                tasks.cancel_scope.cancel()
    click.echo("stopped: everything is on disk", err=True)


@contextmanager
def _shown(url: str, address: str, root: Path | str) -> Iterator[str]:
    """Yield what the server prints as its address; `address` may have a token, which `url` has not.

    Only a terminal shows the token. A file or a pipe that gets standard output may be read by the commands of agents;
    so the address is written to a file of the store that only its owner can read, which is removed at the end.
    """
    if address == url or sys.stdout.isatty():
        yield address
        return
    directory = default_store() if "://" in str(root) else Path(root)
    for left in directory.glob("address-*"):  # of servers that were killed
        if not _is_served(left.name.rpartition("-")[2]):
            left.unlink(missing_ok=True)
    path = directory / f"address-{url.rpartition(':')[2]}"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w") as file:
            file.write(f"{address}\n")
    except OSError as error:
        raise ConfigurationError(
            f"the address with the token cannot be written to {path}: {error.strerror or error}; make a key with"
            " 'agentrt keys create', or start the server in a terminal"
        ) from error
    try:
        yield f"{url} (its address with the token: {path})"
    finally:
        path.unlink(missing_ok=True)


def _is_served(port: str) -> bool:
    """Return whether something listens on a port of this machine."""
    try:
        with socket.create_connection(("127.0.0.1", int(port)), timeout=1):
            return True
    except (OSError, ValueError, OverflowError):
        return False
