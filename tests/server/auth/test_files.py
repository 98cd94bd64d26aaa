"""Ways out of a workspace, tried over HTTP as they are sent."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import zipfile
from io import BytesIO
from pathlib import Path
from urllib.parse import quote

import anyio
import anyio.to_thread
import msgspec
import pytest
from yarl import URL

from agentrt.server.principals import Scope
from tests.stores import make_key

from .doors import AGENT, Doors, doors

pytestmark = pytest.mark.real

SECRET = b"outside-of-the-workspace-7f3a"

OUTWARDS = [
    "../secret",
    "..",
    "a/../../secret",
    "a/b/../../../secret",
    "./../secret",
    ".//..//secret",
    "/etc/passwd",
    "//etc/passwd",
    "....//secret",
    "..\\secret",
    "..;/secret",
    "%2e%2e/secret",
    "..%2fsecret",
    "..%00/secret",
    "secret\0.txt",
    "\0",
    "~/secret",
    "file:///etc/passwd",
    "\uff0e\uff0e/secret",
    "\u2025/secret",
    "..\u2215secret",
    "..\ud800/secret",
    "x" * 300,
    "/".join("x" * 100),
    "/" * 5000 + "etc/passwd",
    "proc/self/environ",
    "link",
    "link/secret",
    "relative",
    "relative/secret",
    "chain",
    "chain/secret",
    "loop",
    "loop/secret",
    "self",
    "proc/environ",
    "dir/up/secret",
    "hard/../link/secret",
    "pipe",
    "server",
    "null",
    "con",
]


def prepare(directory: Path, inside: Path) -> None:
    """A secret beside the workspaces, and what may lead to it from within one."""
    (directory / "secret").write_bytes(SECRET)
    (directory / "workspaces" / "secret").write_bytes(SECRET)
    (inside / "link").symlink_to(directory)
    (inside / "relative").symlink_to("../..")
    (inside / "chain").symlink_to("link")
    (inside / "loop").symlink_to("loop")
    (inside / "self").symlink_to("/proc/self/environ")
    (inside / "proc").symlink_to("/proc/self")
    (inside / "dir").mkdir()
    (inside / "dir" / "up").symlink_to("../..")
    (inside / "null").symlink_to("/dev/null")
    os.mkfifo(inside / "pipe")
    here = os.getcwd()
    os.chdir(inside)  # the path of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("server")
    finally:
        os.chdir(here)


def url(at: Doors, conversation: str, what: str, path: str) -> URL:
    encoded = quote(path.encode("utf-8", "surrogatepass"), safe="")
    return URL(f"{at.client.url}/conversations/{conversation}/{what}?path={encoded}", encoded=True)


async def sent(at: Doors, method: str, place: URL, data: bytes | None = None) -> tuple[int, bytes]:
    with anyio.fail_after(20):
        async with at.client.session.request(method, place, data=data, headers=at.header("ada")) as answer:
            return answer.status, await answer.read()


async def test_no_path_leads_out_of_a_workspace(tmp_path: Path) -> None:
    async with doors(tmp_path, rate=None) as at:
        made = await at.begin("ada")
        inside = tmp_path / "workspaces" / made
        prepare(tmp_path, inside)
        before = {path: path.read_bytes() for path in (tmp_path / "secret", tmp_path / "workspaces" / "secret")}
        around = sorted(os.listdir(tmp_path)), sorted(os.listdir(tmp_path / "workspaces"))
        for path in OUTWARDS:
            for what in ("files", "files/content", "files/archive", "git/diff"):
                status, body = await sent(at, "GET", url(at, made, what, path))
                assert SECRET not in body, (what, path)
                assert b"root:" not in body, (what, path)
                assert b"PATH=" not in body, (what, path)
                assert 400 <= status < 500, (what, path, status, body)
        for path in OUTWARDS:  # a link is replaced, not followed
            status, body = await sent(at, "PUT", url(at, made, "files/content", path), b"overwritten")
            assert status in (200, 201) or 400 <= status < 500, (path, status, body)
        assert {path: path.read_bytes() for path in before} == before
        assert (sorted(os.listdir(tmp_path)), sorted(os.listdir(tmp_path / "workspaces"))) == around
        assert Path("/dev/null").is_char_device()


async def test_encoded_paths_are_no_way_either(tmp_path: Path) -> None:
    async with doors(tmp_path) as at:
        made = await at.begin("ada")
        prepare(tmp_path, tmp_path / "workspaces" / made)
        base = f"{at.client.url}/conversations/{made}/files"
        for tail in (
            "/content?path=%2e%2e%2fsecret",
            "/content?path=%252e%252e%252fsecret",
            "/content?path=..%c0%afsecret",
            "/content?path=%00",
            "/content?path=a&path=../secret",
            "/../../../secret",
            "/%2e%2e/%2e%2e/secret",
            "/content/../../secret",
        ):
            status, body = await sent(at, "GET", URL(base + tail, encoded=True))
            assert SECRET not in body, tail
            assert 400 <= status < 500, (tail, status)
        for name in ("..", "../x", "%2e%2e", "a%2f..%2fb", "."):
            status, body = await sent(at, "GET", URL(f"{at.client.url}/conversations/{name}/events", encoded=True))
            assert status == 404, (name, status)


async def test_a_workspace_is_below_those_of_the_server(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "workspaces").mkdir()
    (tmp_path / "workspaces" / "link").symlink_to(tmp_path / "outside")
    async with doors(tmp_path) as at:
        agent = {"agent": msgspec.to_builtins(AGENT)}
        for workspace in ("..", "/", "/etc", str(tmp_path), "link", "a/../..", "../outside", "link/.."):
            status, problem = await at.ask("ada", "POST", "/conversations", {**agent, "workspace": workspace})
            assert status == 422, (workspace, status, problem)


SWAP = """
import ctypes, os, sys
exchange = ctypes.CDLL(None).renameat2
while os.getppid() == int(sys.argv[1]):
    assert exchange(-100, b"real", -100, b"bait", 2) == 0
"""
"""Exchanges two names, each time at once, for as long as its parent lives: renameat2(2)."""


async def test_who_swaps_a_directory_for_a_link_while_it_is_read_gains_nothing(tmp_path: Path) -> None:
    """A race between the check of a path and its use: thousands of swaps while files are read, written and archived."""
    async with doors(tmp_path, rate=None) as at:
        made = await at.begin("ada")
        inside = tmp_path / "workspaces" / made
        (tmp_path / "target").mkdir()
        (tmp_path / "target" / "file").write_bytes(SECRET)
        (inside / "real").mkdir()
        (inside / "real" / "file").write_bytes(b"inside")
        (inside / "bait").symlink_to(tmp_path / "target")
        swapper = await anyio.open_process(
            [sys.executable, "-c", SWAP, str(os.getpid())],
            cwd=inside,
        )
        try:
            seen = set[int]()
            for number in range(60):
                for what, path in (("files/content", "real/file"), ("files/archive", ""), ("files", "real")):
                    status, body = await sent(at, "GET", url(at, made, what, path))
                    seen.add(status)
                    assert SECRET not in body
                    if what == "files/archive" and status == 200:
                        with zipfile.ZipFile(BytesIO(body)) as archive:
                            assert all(archive.read(name) != SECRET for name in archive.namelist())
                status, _ = await sent(at, "PUT", url(at, made, "files/content", f"real/{number % 5}"), b"written")
                seen.add(status)
                assert status < 500
        finally:
            assert swapper.returncode is None, "it was at it all the time"
            swapper.kill()
            await swapper.wait()
        assert 200 in seen
        assert sorted(os.listdir(tmp_path / "target")) == ["file"]
        assert (tmp_path / "target" / "file").read_bytes() == SECRET


CONFIGURATIONS = {
    "a monitor": '[core]\n\tfsmonitor = "{run}"\n',
    "a pager": '[core]\n\tpager = "{run}"\n[pager]\n\tstatus = true\n\tdiff = true\n',
    "an external diff": '[diff]\n\texternal = "{run}"\n',
    "a filter": '[filter "x"]\n\tclean = "{run}"\n\tsmudge = "{run}"\n\tprocess = "{run}"\n\trequired = true\n',
    "a text conversion": '[diff "x"]\n\ttextconv = "{run}"\n\tcommand = "{run}"\n',
    "hooks": '[core]\n\thooksPath = "hooks-here"\n',
    "an include": '[include]\n\tpath = "../included"\n',
    "a promised object": (
        '[core]\n\trepositoryformatversion = 1\n[extensions]\n\tpartialClone = origin\n[remote "origin"]\n'
        '\turl = "ext::touch {mark}"\n\tpromisor = true\n[protocol]\n\tallow = always\n[protocol "ext"]\n'
        "\tallow = always\n"
    ),
    "an alias": '[alias]\n\tstatus = "!{run}"\n\tdiff = "!{run}"\n\trev-parse = "!{run}"\n',
}


@pytest.mark.parametrize("kind", CONFIGURATIONS)
async def test_a_repository_that_was_prepared_runs_nothing(tmp_path: Path, kind: str) -> None:
    """Git runs what a repository's configuration says; whoever may write files there would run programs unasked."""
    async with doors(tmp_path) as at:
        made = await at.begin("ada")
        inside, mark = tmp_path / "workspaces" / made, tmp_path / "ran"
        await anyio.to_thread.run_sync(_repository, inside)
        run = f"touch {mark}; true"
        with (inside / ".git" / "config").open("a") as config:
            config.write(CONFIGURATIONS[kind].format(run=run, mark=mark))
        (inside / "included").write_text(f'[core]\n\tfsmonitor = "{run}"\n')
        (inside / ".gitattributes").write_text("* filter=x diff=x\n")
        (inside / "hooks-here").mkdir()
        for place in (inside / "hooks-here", inside / ".git" / "hooks"):
            for hook in (
                "post-index-change",
                "pre-commit",
                "fsmonitor-watchman",
                "post-checkout",
                "reference-transaction",
            ):
                (place / hook).write_text(f"#!/bin/sh\n{run}\n")
                (place / hook).chmod(0o755)
        (inside / "file").write_text("changed")
        if kind == "a promised object":
            (inside / ".git" / "refs" / "heads" / "main").write_text("1" * 40 + "\n")
            (inside / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        for what in ("git/changes", "git/diff?path=", "git/diff?path=file"):
            status, _ = await sent(at, "GET", URL(f"{at.client.url}/conversations/{made}/{what}", encoded=True))
            assert status < 500 or status == 504
        assert not mark.exists()


def _repository(inside: Path) -> None:
    def git(*words: str) -> None:
        named = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", "-C", str(inside), *named, *words], check=True, capture_output=True)

    git("init", "-q")
    (inside / "file").write_text("first")
    git("add", "file")
    git("commit", "-q", "-m", "first")


async def test_a_repository_elsewhere_is_not_read(tmp_path: Path) -> None:
    async with doors(tmp_path) as at:
        made = await at.begin("ada")
        inside, other = tmp_path / "workspaces" / made, tmp_path / "other"
        other.mkdir()
        await anyio.to_thread.run_sync(_repository, other)
        (other / "file").write_bytes(SECRET)
        for prepare_it in (
            lambda: (inside / ".git").symlink_to(other / ".git"),
            lambda: (inside / ".git").write_text(f"gitdir: {other / '.git'}\n"),
        ):
            prepare_it()
            for what in ("git/changes", "git/diff"):
                status, body = await sent(at, "GET", url(at, made, what, ""))
                assert status == 404
                assert SECRET not in body
            (inside / ".git").unlink()


RUNS_LATER = (
    ".git/hooks/post-checkout",
    ".git/config",
    "sub/.git/config",
    ".GIT/config",
    ".envrc",
    ".vscode/tasks.json",
    ".github/workflows/ci.yml",
    ".gitlab-ci.yml",
    ".husky/pre-commit",
    "hooks/check.sh",
    ".pre-commit-config.yaml",
    "through/config",
    "deep/../.envrc",
)


async def test_a_key_that_steers_alone_writes_nothing_that_runs_by_itself_later(tmp_path: Path) -> None:
    async with doors(tmp_path) as at:
        at.keys["eve"] = await make_key(at.root, "eve", (Scope.STEER, Scope.OBSERVE))
        folder = tmp_path / "workspaces" / "w"
        (folder / ".git").mkdir(parents=True)
        (folder / "through").symlink_to(".git")

        async def put(who: str, path: str) -> tuple[int, str]:
            place = f"{at.client.url}/conversations/{names[who]}/files/content"
            async with at.client.session.put(place, params={"path": path}, data=b"x", headers=at.header(who)) as answer:
                return answer.status, (await answer.json(content_type=None)).get("code", "")

        names = {who: await at.begin(who, workspace=str(folder)) for who in ("eve", "ada")}
        for path in RUNS_LATER:
            assert await put("eve", path) in ((403, "scope"), (422, "path-outside"), (403, "path-outside")), path
        assert {entry.name for entry in folder.rglob("*")} == {".git", "through"}
        assert (await put("eve", "src/hooks/a.py"))[0] == 201
        assert (await put("ada", ".envrc"))[0] == 201, "who may approve may"
