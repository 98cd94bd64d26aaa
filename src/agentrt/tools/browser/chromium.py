"""`Chromium`: the browser of a conversation and those that it delegates to.

On this machine its only way out is our proxy. In another place it runs there, and has the network of the place.
"""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import anyio.to_thread

from ...errors import ToolError
from ...loading import load_extra
from ...network.addresses import Guard
from ...network.egress import Egress, egress
from ...placing import DEVNULL, PIPE, Place, Process
from ...sandboxes.processes import CONVERSATION
from ...scratch import RUNTIME, runtime_directory
from .finding import COMMANDS, MISSING, found

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Playwright

LAUNCH_SECONDS = 30.0
CLOSE_SECONDS = 10.0

ARGUMENTS = (
    "--disable-quic",  # QUIC bypasses proxies
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",  # its name in older versions
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-dev-shm-usage",
)
_INHERITED = ("HOME", "LANG", "LC_ALL", "PATH", "TMPDIR", "TZ", "XDG_RUNTIME_DIR")


class Chromium:
    """A running browser, in which each conversation has a context of its own."""

    def __init__(self, browser: Browser, way_out: Egress | None, allowed: tuple[str, ...], downloads: str) -> None:
        self._browser, self._way_out, self._allowed = browser, way_out, allowed
        self.downloads = downloads
        """Directory of the downloads that run, and of those that wait to be put into the workspace; "": it has none."""

    @property
    def version(self) -> str:
        """Its name and version."""
        return f"Chromium {self._browser.version}"

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._browser.is_connected()

    def let_out(self, host: str, port: int) -> None:
        """Let pages reach this port if the host is this machine: the agent itself opens an address there."""
        place = f"{host}:{port}"
        if self._way_out is not None and _is_of_this_machine(host) and place not in self._allowed:
            self._allowed = (*self._allowed, place)
            self._way_out.guard = Guard(self._allowed)

    def refused(self, place: str) -> str | None:
        """Return why the last connection to "host:port" was refused or cut, or None."""
        return self._way_out.refused.get(place) if self._way_out is not None else None

    def forget_refusals(self) -> None:
        """Forget all refusals, because a new step begins."""
        if self._way_out is not None:
            self._way_out.refused.clear()

    async def context(self) -> BrowserContext:
        """Make a context, with its own cookies, storage and pages."""
        return await self._browser.new_context(
            accept_downloads=bool(self.downloads), viewport={"width": 1280, "height": 800}
        )


@asynccontextmanager
async def chromium(allowed: tuple[str, ...], mark: str, most_bytes: int) -> AsyncIterator[Chromium]:
    """Run a browser for as long as the body lasts.

    `mark` names the conversation in the environment of its processes. One connection may bring `most_bytes` at most.
    Raises `ToolError` that says what is missing.
    """
    library = await load_extra("playwright.async_api", "browser")
    async with egress(Guard(allowed), most_bytes) as way_out:
        downloads = await anyio.to_thread.run_sync(runtime_directory.directory, "downloads-")
        driver: Playwright | None = None
        try:
            with anyio.CancelScope(shield=True):
                driver = await library.async_playwright().start()  # nobody would end it if this were cancelled
            await anyio.lowlevel.checkpoint()
            assert driver is not None
            yield Chromium(await _launched(library, driver, way_out, mark, downloads), way_out, allowed, downloads)
        finally:
            if driver is not None:
                await _stopped(driver)  # this ends the browser, too
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(runtime_directory.remove, downloads)


@asynccontextmanager
async def chromium_there(place: Place) -> AsyncIterator[Chromium]:
    """Run a browser in a place that is not this machine for as long as the body lasts.

    It has the network of the place. Raises `ToolError` that says what is missing.
    """
    library = await load_extra("playwright.async_api", "browser")
    process = await place.run(
        ["sh", "-c", _START, "sh", *COMMANDS], cwd="/", stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE
    )
    try:
        try:
            with anyio.fail_after(LAUNCH_SECONDS):
                port, path = await _listening(process)
        except TimeoutError:
            raise ToolError(f"the browser did not start within {LAUNCH_SECONDS:.0f} s") from None
        async with anyio.create_task_group() as tasks, place.forward(port) as near:
            tasks.start_soon(_unheard, process)
            try:
                async with _driven(library, f"ws://127.0.0.1:{near}{path}") as browser:
                    yield Chromium(browser, None, (), "")
            finally:
                tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await process.end()
            process.close_pipes()


@asynccontextmanager
async def _driven(library: Any, address: str) -> AsyncIterator[Browser]:
    """Drive the browser at an address. Raises `ToolError` if it does not answer."""
    driver: Playwright | None = None
    try:
        with anyio.CancelScope(shield=True):
            driver = await library.async_playwright().start()  # nobody would end it if this were cancelled
        assert driver is not None
        try:
            browser = await driver.chromium.connect_over_cdp(address, timeout=LAUNCH_SECONDS * 1000)
        except library.Error as error:
            raise ToolError(f"the browser does not answer: {str(error).strip().splitlines()[0]}") from error
        yield browser
    finally:
        if driver is not None:
            await _stopped(driver)


_START = f"""\
for name; do command -v "$name" >/dev/null && break; name=; done
[ -n "$name" ] || {{ echo 'there is no Chromium' >&2; exit 127; }}
set -- {" ".join(ARGUMENTS)}
[ "$(id -u)" != 0 ] && unshare -U true 2>/dev/null || set -- "$@" --no-sandbox
profile=$(mktemp -d) || exit 1
trap 'rm -rf "$profile"' EXIT
"$name" "$@" --headless=new --remote-debugging-port=0 --user-data-dir="$profile" about:blank
"""
"""For sh: runs the first of these programs that is there, with its own sandbox if it can have that."""

_LISTENS = re.compile(rb"DevTools listening on ws://127\.0\.0\.1:(\d+)(/[!-~]+)")


async def _listening(process: Process) -> tuple[int, str]:
    """Return the port and the path of the browser that a process says. Raises `ToolError` if it ends before."""
    assert process.stderr is not None
    said = bytearray()
    with suppress(anyio.EndOfStream):
        while (found := _LISTENS.search(said)) is None:
            said = said[-4096:] + await process.stderr.receive()
        return int(found[1]), found[2].decode()
    last = said.decode("utf-8", "replace").strip().split("\n")[-1]
    raise ToolError(f"the browser does not start in this place: {last}: install chromium there, or use the terminal")


async def _unheard(process: Process) -> None:
    """Take what the browser says, so that it does not wait."""
    assert process.stderr is not None
    with suppress(anyio.ClosedResourceError):
        async for _ in process.stderr:
            pass


async def _stopped(driver: Playwright) -> None:
    with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSE_SECONDS):
        await driver.stop()


async def _launched(library: Any, driver: Playwright, way_out: Egress, mark: str, downloads: str) -> Browser:
    there = await anyio.to_thread.run_sync(found, driver.chromium.executable_path)
    if there.program is None:
        raise ToolError(MISSING)
    try:
        return await driver.chromium.launch(
            executable_path=there.program or None,
            headless=True,
            chromium_sandbox=os.geteuid() != 0,  # Chromium refuses it to root
            args=list(ARGUMENTS),
            env=_environment(mark),
            proxy={"server": f"http://127.0.0.1:{way_out.port}"},
            downloads_path=downloads,
            timeout=LAUNCH_SECONDS * 1000,
            handle_sigint=False,
            handle_sigterm=False,
            handle_sighup=False,
        )
    except library.Error as error:
        raise ToolError(f"the browser does not start: {str(error).strip().splitlines()[0]}") from error


def _is_of_this_machine(host: str) -> bool:
    with suppress(ValueError):
        return ip_address(host.strip("[]")).is_loopback
    return host == "localhost" or host.endswith(".localhost")


def _environment(mark: str) -> dict[str, str | float | bool]:
    kept: Mapping[str, str] = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    marks = {RUNTIME: runtime_directory.name, **({CONVERSATION: mark} if mark else {})}
    return {**kept, **marks}
