from __future__ import annotations

import io
import os
import zipfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import quote

import aiohttp
import anyio
import pytest

from agentrt.server import ServerSettings
from agentrt.testing import ScriptedLLM
from tests.memory import growth
from tests.proofs.waiting import eventually

from ..served import Client, served
from .helpers import begin

pytestmark = pytest.mark.real


class Files:
    """The files of a conversation, as a client and as they lie on disk."""

    def __init__(self, client: Client, name: str, place: Path) -> None:
        self.client, self.place, self.base = client, place, f"/conversations/{name}/files"

    async def read(self, path: str, **headers: str) -> tuple[int, bytes, Mapping[str, str]]:
        url = f"{self.client.url}{self.base}/content?path={quote(path)}"
        async with self.client.session.get(url, headers=headers) as answer:
            return answer.status, await answer.read(), answer.headers

    async def write(self, path: str, data: bytes) -> int:
        url = f"{self.client.url}{self.base}/content?path={quote(path)}"
        async with self.client.session.put(url, data=io.BytesIO(data)) as answer:
            await answer.read()
            return answer.status

    async def refused(self, path: str) -> tuple[int, str]:
        status, problem = await self.client.ask("GET", f"{self.base}/content?path={quote(path)}")
        return status, problem["code"]


@asynccontextmanager
async def files(directory: Path, **fields: int) -> AsyncIterator[Files]:
    settings = ServerSettings(port=0, workspaces=(directory / "workspaces",), **fields)  # type: ignore[arg-type]
    async with served(directory, ScriptedLLM([]), settings) as client:
        name = (await begin(client))["id"]
        yield Files(client, name, directory / "workspaces" / name)


async def test_what_is_written_is_listed_and_read(tmp_path: Path) -> None:
    async with files(tmp_path) as here:
        assert await here.write("src/deep/né w.txt", b"one") == 201
        assert await here.write("src/deep/né w.txt", b"two") == 200
        assert await here.write("a.bin", os.urandom(3 << 20)) == 201
        status, listed = await here.client.ask("GET", here.base)
        assert status == 200
        assert [(e["name"], e["type"], e["size"]) for e in listed["items"]] == [
            ("src", "directory", 0),
            ("a.bin", "file", 3 << 20),
        ]
        _, listed = await here.client.ask("GET", f"{here.base}?path=src/deep")
        assert [e["path"] for e in listed["items"]] == ["src/deep/né w.txt"]
        status, data, headers = await here.read("src/deep/né w.txt")
        assert (status, data) == (200, b"two")
        assert "filename*=UTF-8''n%C3%A9%20w.txt" in headers["Content-Disposition"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert sorted(path.name for path in here.place.rglob("*")) == ["a.bin", "deep", "né w.txt", "src"]


@pytest.mark.parametrize(
    ("header", "status", "data", "range_"),
    [
        ("bytes=0-3", 206, b"0123", "bytes 0-3/10"),
        ("bytes=7-", 206, b"789", "bytes 7-9/10"),
        ("bytes=-2", 206, b"89", "bytes 8-9/10"),
        ("bytes=8-100", 206, b"89", "bytes 8-9/10"),
        ("bytes=-100", 206, b"0123456789", "bytes 0-9/10"),
        ("bytes=0-1,3-4", 200, b"0123456789", None),
        ("lines=0-1", 200, b"0123456789", None),
        ("bytes=5-2", 200, b"0123456789", None),
    ],
)
async def test_a_part_is_read(tmp_path: Path, header: str, status: int, data: bytes, range_: str | None) -> None:
    async with files(tmp_path) as here:
        (here.place / "digits").write_bytes(b"0123456789")
        told, found, headers = await here.read("digits", Range=header)
        assert (told, found, headers.get("Content-Range")) == (status, data, range_)


async def test_a_part_that_is_not_there_and_a_file_that_is_known(tmp_path: Path) -> None:
    async with files(tmp_path) as here:
        (here.place / "digits").write_bytes(b"0123456789")
        for header in ("bytes=10-", "bytes=-0"):
            status, _, headers = await here.read("digits", Range=header)
            assert (status, headers["Content-Range"]) == (416, "bytes */10")
        tag = (await here.read("digits"))[2]["ETag"]
        assert (await here.read("digits", **{"If-None-Match": tag}))[:2] == (304, b"")
        assert (await here.read("digits", **{"If-Range": tag, "Range": "bytes=0-0"}))[:2] == (206, b"0")
        assert (await here.read("digits", **{"If-Range": '"other"', "Range": "bytes=0-0"}))[0] == 200
        async with here.client.session.head(f"{here.client.url}{here.base}/content?path=digits") as answer:
            assert (answer.status, answer.headers["Content-Length"]) == (200, "10")


async def test_nothing_outside_is_reached(tmp_path: Path) -> None:
    async with files(tmp_path) as here:
        (tmp_path / "outside").mkdir()
        (tmp_path / "outside" / "secret").write_text("no")
        (here.place / "absolute").symlink_to(tmp_path / "outside")
        (here.place / "relative").symlink_to("../../outside")
        (here.place / "straight").symlink_to(tmp_path / "outside" / "secret")
        (here.place / "round").symlink_to("round")
        (here.place / "inner").mkdir()
        (here.place / "inner" / "fine").write_text("yes")
        (here.place / "link").symlink_to("inner")
        for path in ("../x", "/etc/passwd", "a/../../x", "absolute/secret", "relative/secret", "straight", "round"):
            assert await here.refused(path) == (403, "path-outside"), path
            status, problem = await here.client.ask("GET", f"{here.base}?path={path}")
            assert (status, problem["code"]) in ((403, "path-outside"), (409, "not-a-directory")), path
        for path in ("../x", "absolute/new", "relative/new"):
            assert await here.write(path, b"x") == 403
        assert (await here.read("link/fine"))[1] == b"yes"
        assert await here.write("straight", b"mine") == 200  # the link is replaced, not followed
        assert (tmp_path / "outside" / "secret").read_text() == "no"
        assert (here.place / "straight").read_bytes() == b"mine"


async def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    async with files(tmp_path) as here:
        os.mkfifo(here.place / "pipe")
        (here.place / "dir").mkdir()
        assert await here.refused("pipe") == (409, "not-a-file")
        assert await here.refused("dir") == (409, "not-a-file")
        assert await here.write("pipe", b"x") == 409
        assert await here.write("dir", b"x") == 409
        assert await here.refused("nothing") == (404, "file-missing")
        assert await here.refused("pipe/x") == (409, "not-a-directory")
        assert await here.refused("nul\0") == (422, "path")
        assert await here.refused("n" * 300) == (422, "path")
        assert (await here.refused(""))[0] == 422
        _, listed = await here.client.ask("GET", here.base)
        assert [(e["name"], e["type"]) for e in listed["items"]] == [("dir", "directory"), ("pipe", "other")]


async def test_a_file_that_is_too_large_leaves_nothing(tmp_path: Path) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(64):
            yield b"x" * 65536

    async with files(tmp_path, max_upload=2 << 20) as here:
        assert await here.write("large", b"x" * ((2 << 20) + 1)) == 413
        url = f"{here.client.url}{here.base}/content?path=large"
        with suppress(aiohttp.ClientError):  # it may be told while it still sends
            async with here.client.session.put(url, data=endless()) as answer:
                assert answer.status == 413
        with anyio.fail_after(10):
            while list(here.place.iterdir()):
                await anyio.lowlevel.checkpoint()


LARGE = 300 << 20
LITTLE = 48 << 20
"""What the server and its client may take more, both being in this process."""


async def test_a_file_of_any_size_goes_through_little_memory(tmp_path: Path) -> None:
    async def zeros() -> AsyncIterator[bytes]:
        piece = bytes(256 * 1024)
        for _ in range(LARGE // len(piece)):
            yield piece

    async with files(tmp_path, max_upload=LARGE) as here:
        (here.place / "sparse").touch()
        os.truncate(here.place / "sparse", LARGE)
        assert await here.write("warm", b"x" * (4 << 20)) == 201
        base = f"{here.client.url}{here.base}"
        with growth() as download:
            async with here.client.session.get(f"{base}/content?path=sparse") as answer:
                read = sum([len(piece) async for piece in answer.content.iter_any()])
        with growth() as archive:
            async with here.client.session.get(f"{base}/archive") as answer:
                zipped = sum([len(piece) async for piece in answer.content.iter_any()])
        with growth() as upload:
            async with here.client.session.put(f"{base}/content?path=sent", data=zeros()) as answer:
                assert answer.status == 201
        assert (read, (here.place / "sent").stat().st_size) == (LARGE, LARGE)
        assert 0 < zipped < LARGE // 100
        (here.place / "sent").unlink()
        assert max(download.bytes, archive.bytes, upload.bytes) < LITTLE


@pytest.mark.parametrize("path", ["content?path=large", "archive"])
async def test_a_client_that_goes_away_ends_the_work(tmp_path: Path, path: str) -> None:
    async with files(tmp_path) as here:
        large = here.place / "large"
        large.touch()
        os.truncate(large, 1 << 30)
        async with here.client.session.get(f"{here.client.url}{here.base}/{path}") as answer:
            assert await answer.content.readany()
            assert large in opened(), "it is sent"
            answer.close()
        await eventually(lambda: large not in opened(), "the file is closed")


async def test_an_upload_whose_client_goes_away_leaves_nothing(tmp_path: Path) -> None:
    gone = anyio.Event()

    async def begun() -> AsyncIterator[bytes]:
        yield bytes(4 << 20)
        await gone.wait()

    async with files(tmp_path) as here, anyio.create_task_group() as tasks:
        (here.place / "there").write_text("before")

        async def send() -> None:
            url = f"{here.client.url}{here.base}/content?path=there"
            async with here.client.session.put(url, data=begun()):
                pass

        tasks.start_soon(send)
        await eventually(lambda: len(list(here.place.iterdir())) == 2, "it is on its way")
        assert (here.place / "there").read_text() == "before"
        tasks.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            await eventually(lambda: len(list(here.place.iterdir())) == 1, "nothing is left of it")
            assert (here.place / "there").read_text() == "before"


async def test_nothing_is_read_for_the_headers_alone(tmp_path: Path) -> None:
    async with files(tmp_path) as here:
        (here.place / "large").touch()
        os.truncate(here.place / "large", 2 << 30)
        for path, length in (("content?path=large", str(2 << 30)), ("archive", None)):
            with anyio.fail_after(30):
                async with here.client.session.head(f"{here.client.url}{here.base}/{path}") as answer:
                    assert (answer.status, answer.headers.get("Content-Length")) == (200, length)
        await eventually(lambda: here.place / "large" not in opened(), "it is closed")


def opened() -> set[Path]:
    """The files that this process has open."""
    found = set[Path]()
    for link in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found.add(link.readlink())
    return found


async def test_an_archive_has_the_files_and_no_links(tmp_path: Path) -> None:
    async with files(tmp_path) as here:
        (here.place / "a").mkdir()
        (here.place / "a" / "one").write_bytes(b"1" * 300_000)
        (here.place / "a" / "empty").mkdir()
        (here.place / "two.sh").write_text("2")
        (here.place / "two.sh").chmod(0o755)
        (here.place / "link").symlink_to("/etc/passwd")
        (here.place / os.fsdecode(b"odd\xff")).write_text("3")
        os.mkfifo(here.place / "pipe")
        os.utime(here.place / "two.sh", (0, 0))
        async with here.client.session.get(f"{here.client.url}{here.base}/archive") as answer:
            assert answer.headers["Content-Type"] == "application/zip"
            made = zipfile.ZipFile(io.BytesIO(await answer.read()))
        assert made.testzip() is None
        assert sorted(made.namelist()) == ["a/", "a/empty/", "a/one", "odd�", "two.sh"]
        assert made.read("a/one") == b"1" * 300_000
        assert made.getinfo("two.sh").external_attr >> 16 & 0o777 == 0o755
        async with here.client.session.get(f"{here.client.url}{here.base}/archive?path=a") as answer:
            assert zipfile.ZipFile(io.BytesIO(await answer.read())).namelist() == ["empty/", "one"]
        for path, told in (("nothing", 404), ("two.sh", 409), ("..", 403)):
            assert (await here.client.ask("GET", f"{here.base}/archive?path={path}"))[0] == told
