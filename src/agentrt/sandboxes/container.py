"""`Container`: one of Docker's, in which a conversation's commands run. It ends when this process does."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Coroutine
from functools import partial
from importlib import import_module, resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from ..errors import ConfigurationError, ToolError
from ..specs import DockerWorkspace
from .set_ids import clear_set_ids

if TYPE_CHECKING:
    from aiodocker import Docker
    from aiodocker.containers import DockerContainer
    from aiodocker.execs import Exec
    from aiodocker.stream import Stream

ORDER_SECONDS = 10.0
"""How long the warden may take for an order; the longest waits for two signals."""

NOT_THERE = 900
"""The status of aiodocker's own error when nobody answers."""

_RIGHTS = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID")
"""The capabilities (capabilities(7)) that root keeps: what installing a package takes."""


StartSoon = Callable[[Callable[[], Coroutine[Any, Any, None]]], None]
"""Starts a task that somebody supervises."""


class _Attempt:
    """One try to start a container."""

    def __init__(self) -> None:
        self.scope, self.settled = anyio.CancelScope(), anyio.Event()
        self.failure: ToolError | None = None


class Container:
    """Commands see the workspace and a scratch directory under their own paths, and nothing else of this machine.

    Its first process, `warden.bash`, carries out orders that come over its standard input, and ends with that: no
    container outlives the process that started it.
    """

    def __init__(self, workspace: DockerWorkspace, start_soon: StartSoon) -> None:
        self._workspace, self._start_soon = workspace, start_soon
        self._attempt: _Attempt | None = None
        self._docker: Docker | None = None
        self._container: DockerContainer | None = None
        self._warden: Stream | None = None
        self._scratch: Path | None = None
        self._one_at_a_time = anyio.Lock()
        self._orders = 0
        self._rest = b""

    @property
    def scratch(self) -> Path:
        """A directory of this machine that commands read under the same path; they cannot write in it."""
        assert self._scratch is not None
        return self._scratch

    def listen(self, stream: Stream, heard: Callable[[bytes], None]) -> None:
        """Tell what a stream brings, and nothing at all when it ends."""
        self._start_soon(partial(_listen, stream, heard))

    async def start(self) -> None:
        """Wait until it runs, and start it the first time, or when it has ended; being cancelled only ends the waiting.

        Raises `ToolError` with what is wrong; the next time it is tried anew.
        """
        attempt = self._attempt
        if attempt is not None and attempt.settled.is_set() and not await self._answers():
            await self._remove()
            attempt = None
        if attempt is None:
            attempt = self._attempt = _Attempt()
            self._start_soon(partial(self._start, attempt))
        await attempt.settled.wait()
        if attempt.failure is not None:
            self._attempt = None
            raise ToolError(str(attempt.failure)) from attempt.failure

    async def _answers(self) -> bool:
        try:
            await self.order("note", "nobody")
        except ToolError:
            return False
        return True

    async def _start(self, attempt: _Attempt) -> None:
        try:
            with attempt.scope:
                await self._open()
        except Exception as error:
            if (told := error if isinstance(error, ToolError) else _told(error, self._workspace.image)) is None:
                raise
            attempt.failure = told
        finally:
            if attempt.failure is not None or attempt.scope.cancel_called:
                with anyio.CancelScope(shield=True):
                    await self._remove()
            attempt.settled.set()

    async def _open(self) -> None:
        self._docker = await _engine()
        await self.clear_set_ids()  # of one that ended with its process
        self._scratch = Path(await anyio.to_thread.run_sync(tempfile.mkdtemp, None, "agentrt-container-"))
        warden = self._scratch / "warden"
        warden.write_bytes(resources.files(__name__.rpartition(".")[0]).joinpath("warden.bash").read_bytes())
        config = _config(self._workspace, self._scratch)
        container = await self._create(self._docker, config)
        stream = container.attach(stdin=True, stdout=True, stderr=True)
        await stream.__aenter__()
        self._warden, self._rest = stream, b""
        await container.start()
        await self._answer(0)

    async def _create(self, docker: Docker, config: dict[str, Any]) -> DockerContainer:
        """A new container, not started; an image that is not there is pulled first."""
        from aiodocker import DockerError

        try:
            return await self._kept(docker, config)
        except DockerError as error:
            if error.status != 404:
                raise
        await docker.images.pull(self._workspace.image)
        return await self._kept(docker, config)

    async def _kept(self, docker: Docker, config: dict[str, Any]) -> DockerContainer:
        with anyio.CancelScope(shield=True):  # else there may be one that nobody knows of
            self._container = await docker.containers.create(config)
        assert self._container is not None
        return self._container

    async def order(self, verb: str, token: str, call: str = "") -> str:
        """Have the warden do something (see `warden.bash`), and its answer. Raises `ToolError` when it gives none."""
        async with self._one_at_a_time:
            if self._warden is None:
                raise ToolError("the container has ended")
            self._orders += 1
            try:
                await self._warden.write_in(f"{self._orders} {verb} {token} {call}\n".encode())
                return await self._answer(self._orders)
            except _lost() as error:
                raise ToolError(f"the container has ended: {error}") from error

    async def _answer(self, number: int) -> str:
        """The answer to an order; those to orders that were cancelled are passed over."""
        assert self._warden is not None
        with anyio.move_on_after(ORDER_SECONDS):
            while True:
                line, newline, rest = self._rest.partition(b"\n")
                if newline:
                    self._rest = rest
                    given, _, answer = line.decode(errors="replace").partition(" ")
                    if given == str(number):
                        return answer.strip()
                elif (message := await self._warden.read_out()) is None:
                    said = self._rest.decode(errors="replace").strip()
                    raise ToolError(f"the container has ended{f': {said}' if said else ''}")
                else:
                    self._rest += message.data
        raise ToolError(f"the container did not answer within {ORDER_SECONDS:.0f} s")

    async def execute(self, arguments: list[str], directory: str, environment: dict[str, str]) -> Exec:
        """A program on a terminal of its own, not yet started; `start()` gives its stream. Raises `ToolError`."""
        assert self._container is not None
        try:
            return await self._container.exec(
                arguments, stdin=True, tty=True, environment=environment, workdir=directory
            )
        except Exception as error:
            raise (_told(error, self._workspace.image) or error) from error

    async def clear_set_ids(self) -> None:
        """Take the set-user-id bits from the files of the workspace: here they would hold for this machine's users."""
        with contextlib.suppress(OSError):  # the workspace is gone
            await anyio.to_thread.run_sync(clear_set_ids, self._workspace.path)

    async def close(self) -> None:
        """End it and all that runs in it; may be called twice."""
        if self._attempt is not None:
            self._attempt.scope.cancel()
            await self._attempt.settled.wait()
        self._attempt = None
        await self._remove()

    async def _remove(self) -> None:
        docker, self._docker = self._docker, None
        warden, self._warden = self._warden, None
        container, self._container = self._container, None
        scratch, self._scratch = self._scratch, None
        try:
            if container is not None:
                with contextlib.suppress(*engine_errors()):  # it is gone, or is being removed already
                    await container.delete(force=True)
                await self.clear_set_ids()
            if warden is not None:
                with contextlib.suppress(AssertionError):  # aiodocker's, when the engine hung up first
                    await warden.close()
        finally:
            if docker is not None:
                await docker.close()
            if scratch is not None:
                await anyio.to_thread.run_sync(shutil.rmtree, scratch, True)


async def _listen(stream: Stream, heard: Callable[[bytes], None]) -> None:
    try:
        with contextlib.suppress(*engine_errors()):
            while (message := await stream.read_out()) is not None:
                heard(message.data)
    finally:
        heard(b"")


async def check_engine() -> None:
    """See that an engine answers. Raises `ConfigurationError` that says what to do when none does."""
    try:
        docker = await _engine()
        try:
            await docker.version()
        finally:
            await docker.close()
    except ConfigurationError:
        raise
    except Exception as error:
        if (told := _told(error, "")) is None:
            raise
        raise ConfigurationError(str(told)) from error


async def _engine() -> Docker:
    """The engine that `DOCKER_HOST`, the context or the usual socket names. Raises `ValueError` for none."""
    try:
        aiodocker = await anyio.to_thread.run_sync(import_module, "aiodocker")
    except ImportError as error:
        raise ConfigurationError("containers need aiodocker: pip install 'agentrt[docker]'") from error
    try:
        docker: Docker = aiodocker.Docker()
    except AssertionError as error:  # aiodocker's, when no address is given and no socket is at a usual place
        raise ValueError("none is at a usual place") from error
    return docker


def _config(workspace: DockerWorkspace, scratch: Path) -> dict[str, Any]:
    """What the engine is asked for (Docker Engine API 1.41, ContainerCreate)."""
    root = workspace.root or os.getuid() == 0
    return {
        "Image": workspace.image,
        "Entrypoint": ["bash", str(scratch / "warden")],
        "Cmd": [],
        "User": "0:0" if root else f"{os.getuid()}:{os.getgid()}",
        "Env": [] if root else ["HOME=/tmp"],
        "WorkingDir": workspace.path,
        "Labels": {"agentrt.workspace": workspace.path},
        "OpenStdin": True,
        "StdinOnce": True,
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "HostConfig": {
            "AutoRemove": True,
            "NetworkMode": workspace.network,
            "Memory": workspace.memory,
            "NanoCpus": int(workspace.cpus * 1_000_000_000),
            "PidsLimit": workspace.processes,
            "CapDrop": ["ALL"],
            "CapAdd": list(_RIGHTS) if root else [],
            "SecurityOpt": ["no-new-privileges"],
            "Mounts": [
                {"Type": "bind", "Source": workspace.path, "Target": workspace.path},
                {"Type": "bind", "Source": str(scratch), "Target": str(scratch), "ReadOnly": True},
            ],
        },
    }


def engine_errors() -> tuple[type[Exception], ...]:
    """What the engine and the way to it raise."""
    import aiohttp
    from aiodocker import DockerError

    return (DockerError, aiohttp.ClientError, OSError)


def _lost() -> tuple[type[Exception], ...]:
    """What is raised of a connection that was closed, by aiodocker also what it asserts."""
    return (*engine_errors(), AssertionError, RuntimeError)


def _told(error: BaseException, image: str) -> ToolError | None:
    """What is wrong with an engine or an image, in words; None for what is of another kind."""
    if isinstance(error, ValueError):
        return ToolError(f"no Docker engine answers: {error}; start one, or name another with DOCKER_HOST")
    from aiodocker import DockerError

    if isinstance(error, DockerError) and error.status != NOT_THERE:
        return ToolError(f"a container of image {image!r} cannot start: {error.message}")
    if isinstance(error, engine_errors()):
        return ToolError(f"no Docker engine answers: {error}; start one, or name another with DOCKER_HOST")
    return None
