"""`Container`: a Docker container in which a conversation's commands run. It ends when this process does."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import struct
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module, resources
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from ..errors import ConfigurationError, ToolError
from ..placing import StartSoon
from ..scratch import runtime_directory
from ..specs import DockerWorkspace
from .kit import PYTHON, kits
from .set_ids import clear_set_ids

if TYPE_CHECKING:
    from aiodocker import Docker
    from aiodocker.containers import DockerContainer
    from aiodocker.execs import Exec
    from aiodocker.stream import Stream

    from .executor import Executor

ORDER_SECONDS = 10.0
"""Seconds that the warden may take for an order; the longest one waits for the effect of TERM and of KILL."""

NOT_THERE = 900
"""The status in aiodocker's own error if no engine answers."""

_RIGHTS = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID")
"""The capabilities (capabilities(7)) that root keeps: those that installing a package needs."""


class _Attempt:
    """One attempt to start a container."""

    def __init__(self) -> None:
        self.scope, self.settled = anyio.CancelScope(), anyio.Event()
        self.failure: ToolError | None = None


class Container:
    """A container. Its commands see the workspace and a scratch directory, under the same paths as on this machine, and
    nothing else of this machine.

    Its first process, `warden.bash`, takes orders from its standard input and ends when that closes. So no container
    outlives the process that started it.
    """

    def __init__(self, workspace: DockerWorkspace, start_soon: StartSoon) -> None:
        self._workspace, self._start_soon = workspace, start_soon
        self._attempt: _Attempt | None = None
        self._docker: Docker | None = None
        self._container: DockerContainer | None = None
        self._warden: Stream | None = None
        self._closed = self._paused = False
        self._scratch: Path | None = None
        self._one_at_a_time, self._begins, self._checks = anyio.Lock(), anyio.Lock(), anyio.Lock()
        self._executor: Executor | None = None
        self._mounts: Mapping[str, str] | None = None
        self._orders = 0
        self._rest = b""

    @property
    def scratch(self) -> Path:
        """A directory of this machine that commands can read under the same path, but not write."""
        assert self._scratch is not None
        return self._scratch

    def listen(self, stream: Stream, heard: Callable[[bytes], None]) -> None:
        """Pass the data of a stream to `heard`, and no bytes when the stream ends."""
        self._start_soon(partial(_listen, stream, heard))

    async def start(self) -> None:
        """Wait until the container runs. The first call starts it, and so does a call after it has ended.

        Cancelling ends only the wait. Raises `ToolError` with the reason of a failure; the next call tries again.
        """
        if self._closed or self._paused:
            raise ToolError("the workspace was closed" if self._closed else "the workspace is paused: resume it first")
        if self._executor is not None and self._executor.alive:
            return  # it hangs up as the container ends
        async with self._checks:  # or callers side by side would each remove the dead one, and start another
            attempt = self._attempt
            if attempt is not None and attempt.settled.is_set() and not await self._answers():
                await self._remove()
                attempt = None
            if attempt is None:
                attempt = self._attempt = _Attempt()
                self._start_soon(partial(self._start, attempt))
        await attempt.settled.wait()
        if attempt.failure is not None:
            if self._attempt is attempt:
                self._attempt = None
            raise ToolError(str(attempt.failure)) from attempt.failure

    async def _answers(self) -> bool:
        try:
            await self.order("count", "nobody")  # changes nothing: `note` would forget what a shell has noted
        except ToolError:
            return False
        return True

    async def _start(self, attempt: _Attempt) -> None:
        try:
            with attempt.scope:
                await self._open()
        except Exception as error:
            told = error if isinstance(error, ToolError) else _told(error, self._workspace.image)
            attempt.failure = told or ToolError(f"a container cannot start: {error!r}")
        finally:
            if attempt.failure is not None or attempt.scope.cancel_called:
                with anyio.CancelScope(shield=True):
                    await self._remove()
            attempt.settled.set()

    async def _open(self) -> None:
        self._docker = await _engine()
        await self.clear_set_ids()  # left by a container that ended with its process
        self._scratch = Path(await anyio.to_thread.run_sync(runtime_directory.directory, "container-"))
        warden = self._scratch / "warden"
        warden.write_bytes(resources.files(__name__.rpartition(".")[0]).joinpath("warden.bash").read_bytes())
        with anyio.CancelScope(shield=True):  # otherwise nobody gives it back
            self._mounts = await anyio.to_thread.run_sync(kits.take)
        config = _config(self._workspace, self._scratch, self._mounts or {})
        container = await self._create(self._docker, config)
        stream = container.attach(stdin=True, stdout=True, stderr=True)
        await stream.__aenter__()
        self._warden, self._rest = stream, b""
        await container.start()
        await self._answer(0)

    async def _create(self, docker: Docker, config: dict[str, Any]) -> DockerContainer:
        """Return a new container, not started; a missing image is pulled first."""
        from aiodocker import DockerError

        try:
            return await self._kept(docker, config)
        except DockerError as error:
            if error.status != 404:
                raise
        await docker.images.pull(self._workspace.image)
        return await self._kept(docker, config)

    async def _kept(self, docker: Docker, config: dict[str, Any]) -> DockerContainer:
        with anyio.CancelScope(shield=True):  # otherwise a container that nobody knows of may be left
            self._container = await docker.containers.create(config)
        assert self._container is not None
        return self._container

    async def order(self, verb: str, token: str, call: str = "") -> str:
        """Give the warden an order (see `warden.bash`), and return its answer. Raises `ToolError` if there is none."""
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
        """Return the answer to an order; answers to cancelled orders are skipped."""
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
        """Return a program on a terminal of its own, not started; `start()` gives its stream. Raises `ToolError`."""
        assert self._container is not None
        try:
            return await self._container.exec(
                arguments, stdin=True, tty=True, environment=environment, workdir=directory
            )
        except Exception as error:
            raise (_told(error, self._workspace.image) or error) from error

    async def executor(self) -> Executor:
        """Return the executor in the container; the first call starts it, and the container. Raises `ToolError`."""
        await self.start()
        async with self._begins:
            if self._executor is None or not self._executor.alive:
                self._executor = await self._begun()
            return self._executor

    async def _begun(self) -> Executor:
        from .executor import Executor

        assert self._container is not None
        path = f"{self.scratch}/{token_hex(8)}"
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            try:
                listener.bind(path)
                listener.listen(8)
                listener.setblocking(False)
                words = [PYTHON, "-I", "-m", f"{__package__}.inside", path, self._workspace.path]
                begun = await self._container.exec(words, workdir="/")
                await begun.start(detach=True)
                with anyio.move_on_after(ORDER_SECONDS):
                    return Executor(await _accepted(listener, begun))
            except ToolError:
                raise
            except Exception as error:
                raise (_told(error, self._workspace.image) or error) from error
            finally:
                with contextlib.suppress(OSError):
                    os.unlink(path)
        raise ToolError(f"the container's executor did not start within {ORDER_SECONDS:.0f} s")

    async def pause(self) -> None:
        """Stop all that runs in it; a container that does not run stays as it is. Raises `ToolError`."""
        await self._change("pause")
        self._paused = self._container is not None

    async def resume(self) -> None:
        """Let all that runs in it go on. Raises `ToolError`."""
        if self._paused:
            await self._change("unpause")
            self._paused = False

    async def _change(self, verb: str) -> None:
        if self._container is None:
            return
        try:
            await getattr(self._container, verb)()
        except Exception as error:
            raise (_told(error, self._workspace.image) or error) from error

    async def clear_set_ids(self) -> None:
        """Clear the set-user-ID bits of the workspace's files: here they would hold for this machine's users."""
        with contextlib.suppress(OSError):  # the workspace is gone
            await anyio.to_thread.run_sync(clear_set_ids, self._workspace.path)

    async def close(self) -> None:
        """End the container and all that runs in it, for good. May be called twice."""
        self._closed = True
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
        executor, self._executor = self._executor, None
        taken, self._mounts = self._mounts, None
        self._paused = False
        if executor is not None:
            executor.close()
        try:
            if container is not None:
                with contextlib.suppress(*engine_errors()):  # it is gone, or is already being removed
                    await container.delete(force=True)
                await self.clear_set_ids()
            if warden is not None:
                with contextlib.suppress(AssertionError):  # aiodocker's, when the engine hung up first
                    await warden.close()
        finally:
            if docker is not None:
                await docker.close()
            if scratch is not None:
                await anyio.to_thread.run_sync(runtime_directory.remove, scratch)
            if taken is not None:
                await anyio.to_thread.run_sync(kits.give_back)


async def _accepted(listener: socket.socket, begun: Exec) -> socket.socket:
    """Return the connection of the program that was begun. Others in the container can see the socket, too."""
    while True:
        connection, _ = await asyncio.get_running_loop().sock_accept(listener)
        caller = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
        if caller and caller == (await begun.inspect()).get("Pid"):
            return connection
        connection.close()


async def _listen(stream: Stream, heard: Callable[[bytes], None]) -> None:
    try:
        with contextlib.suppress(*engine_errors()):
            while (message := await stream.read_out()) is not None:
                heard(message.data)
    finally:
        heard(b"")


async def check_engine() -> None:
    """Check that an engine answers. Raises a `ConfigurationError` that says what to do if none does."""
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
    """Return the engine that `DOCKER_HOST` or the context names, or at a usual socket. Raises `ValueError` if there is
    none, and `ConfigurationError` without aiodocker.
    """
    try:
        aiodocker = await anyio.to_thread.run_sync(import_module, "aiodocker")
    except ImportError as error:
        raise ConfigurationError("containers need aiodocker: pip install 'agentrt[docker]'") from error
    try:
        docker: Docker = aiodocker.Docker()
    except AssertionError as error:  # aiodocker's, when no address is given and no socket is at a usual place
        raise ValueError("none is at a usual place") from error
    return docker


def _config(workspace: DockerWorkspace, scratch: Path, more: Mapping[str, str]) -> dict[str, Any]:
    """Return the request for a container (Docker Engine API 1.41, ContainerCreate). `more` are directories that it can
    read, by their paths there.
    """
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
                *({"Type": "bind", "Source": more[to], "Target": to, "ReadOnly": True} for to in sorted(more)),
            ],
        },
    }


def engine_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions of the engine and of the connection to it."""
    import aiohttp
    from aiodocker import DockerError

    return (DockerError, aiohttp.ClientError, OSError)


def _lost() -> tuple[type[Exception], ...]:
    """Return the exceptions raised for a closed connection; aiodocker also fails assertions."""
    return (*engine_errors(), AssertionError, RuntimeError)


def _told(error: BaseException, image: str) -> ToolError | None:
    """Return the error that describes a problem with an engine or an image; None for any other exception."""
    if isinstance(error, ValueError):
        return ToolError(f"no Docker engine answers: {error}; start one, or name another with DOCKER_HOST")
    from aiodocker import DockerError

    if isinstance(error, DockerError) and error.status != NOT_THERE:
        return ToolError(f"a container of image {image!r} cannot start: {error.message}")
    if isinstance(error, engine_errors()):
        return ToolError(f"no Docker engine answers: {error}; start one, or name another with DOCKER_HOST")
    return None
