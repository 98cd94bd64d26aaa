"""The worker: what it cannot do, what it may take, and that it ends."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import anyio
import psutil
import pytest

import agentrt
from agentrt.documents.document import Document, Wanted
from agentrt.documents.job import MIB
from agentrt.documents.rendering import shown
from agentrt.documents.running import READERS, read_document
from agentrt.errors import ToolError
from agentrt.sandboxes.here import THIS_MACHINE
from tests.network.serving import Server, pages, serving

from .making import FILES, changed, packed

pytestmark = pytest.mark.real


def workers() -> list[psutil.Process]:
    """The readers that run now."""
    found: list[psutil.Process] = []
    for each in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it has ended meanwhile
            if each.name() != "bwrap" and any(part.endswith("worker.py") for part in each.cmdline()):
                found.append(each)
    return found


SLOW = b"<p>" + b"<b>word <i>and</i></b> word\n" * 250_000


async def test_a_document_is_read_elsewhere_and_its_process_ends() -> None:
    found = await read_document(THIS_MACHINE, (FILES / "report.pdf").read_bytes(), "report.pdf", Wanted("2"))
    assert isinstance(found, Document)
    assert (found.title, [part.number for part in found.parts]) == ("Report on herons", [2])
    assert workers() == []
    with pytest.raises(ToolError, match=r"^a\.pdf is empty$"):
        await read_document(THIS_MACHINE, b"", "a.pdf", Wanted())
    with pytest.raises(ToolError, match=r"^x/a\.xlsx is encrypted: "):
        await read_document(THIS_MACHINE, (FILES / "encrypted.xlsx").read_bytes(), "x/a.xlsx", Wanted())


async def test_one_that_takes_too_long_is_ended() -> None:
    with pytest.raises(ToolError, match="takes longer than 1 s to read"):
        await read_document(THIS_MACHINE, SLOW, "a.html", Wanted(), seconds=1)
    assert workers() == []


async def test_a_cancellation_ends_the_process() -> None:
    with anyio.move_on_after(0.4) as scope:
        await read_document(THIS_MACHINE, SLOW, "a.html", Wanted())
    assert scope.cancelled_caught
    assert workers() == []


async def test_a_few_are_read_at_once() -> None:
    most, names = 0, [f"{number}.pdf" for number in range(READERS + 3)]
    data, found = (FILES / "report.pdf").read_bytes(), list[str]()

    async def one(name: str) -> None:
        assert "Herons" in shown(await read_document(THIS_MACHINE, data, name, Wanted()), name)
        found.append(name)

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            for name in names:
                tasks.start_soon(one, name)
            while len(found) < len(names):
                most = max(most, len(workers()))
                await anyio.sleep(0.01)
    assert most <= READERS
    assert sorted(found) == names


async def test_memory_is_bounded() -> None:
    with pytest.raises(ToolError, match="needs more than 100 MiB of memory to be read"):
        await read_document(THIS_MACHINE, b"a,b,c\n" * 20_000_000, "a.csv", Wanted(), memory=100 * MIB)


ATTEMPTS: Mapping[str, str] = {
    "connect": "socket.create_connection(('127.0.0.1', 9))",
    "look-up": "socket.getaddrinfo('localhost', 80)",
    "url": "urllib.request.urlopen('http://127.0.0.1:9/')",
    "program": "subprocess.run(['true'])",
    "shell": "os.system('true')",
    "fork": "os.fork()",
    "exec": "os.execv('/bin/true', ['true'])",
    "spawn": "os.posix_spawn('/bin/true', ['true'], {})",
    "write": "open('/tmp/agentrt-worker-wrote', 'w')",
    "create": "os.open('/tmp/agentrt-worker-wrote', os.O_CREAT)",
    "remove": "os.remove('/tmp/agentrt-nothing')",
    "rename": "os.rename('/tmp/agentrt-nothing', '/tmp/agentrt-else')",
    "secret": "open('/etc/passwd').read()",
    "around": "open(os.__file__ + '/../../../../../../../../../../etc/passwd').read()",
    "limits": "resource.setrlimit(resource.RLIMIT_CPU, (99, 99))",
    "kill": "os.kill(os.getppid(), 0)",
}


def test_the_worker_is_refused_all_but_its_work() -> None:
    tried = "\n".join(
        f"try:\n    {source}\n    print('{name} was let through')\nexcept PermissionError: pass"
        for name, source in ATTEMPTS.items()
    )
    program = (
        "import os, resource, socket, subprocess, sys, sysconfig, urllib.request\n"
        "from agentrt.documents.confinement import limit, refuse\n"
        "limit(1 << 30, 20)\n"
        "sys.addaudithook(refuse([*sys.path, *sysconfig.get_paths().values()]))\n"
        f"{tried}\n"
        "import json.tool, xml.dom.minidom\nprint('end', resource.getrlimit(resource.RLIMIT_FSIZE))"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said == "end (0, 0)\n"


def test_the_worker_imports_no_more_than_it_needs() -> None:
    program = (
        "import sys; sys.argv=['', '{\"name\": \"a.txt\"}']\n"
        f"import runpy; runpy.run_path({agentrt.__path__[0] + '/documents/worker.py'!r})['main']()\n"
        "print(*sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], input=b"hello", capture_output=True, check=True)
    assert b'"text":"hello"' in done.stdout
    loaded = set(done.stderr.decode().split())
    assert not loaded & {
        "anyio",
        "lxml",
        "pypdfium2",
        "PIL",
        "mammoth",
        "agentrt.protocols",
        "agentrt.documents.running",
    }


def test_a_library_that_is_missing_is_named() -> None:
    program = (
        "import sys; sys.modules['pypdfium2'] = None\n"
        "from agentrt.documents.job import Job, answered\n"
        "print(answered(Job('a.pdf'), b'%PDF-1.4', sys.path[0]))"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said.startswith("Missing(name='pypdfium2', reason=")


@asynccontextmanager
async def canary() -> AsyncIterator[Server]:
    """A server that nothing may ask."""
    async with serving(pages({})) as server:
        yield server
        assert server.asked == []


async def said(data: bytes, name: str, of: str = "") -> str:
    try:
        return shown(await read_document(THIS_MACHINE, data, name, Wanted(of)), name)
    except ToolError as error:
        return str(error)


async def test_nothing_that_a_page_names_is_loaded() -> None:
    async with canary() as server:
        url = server.url("/x")
        source = (
            f"<!DOCTYPE html SYSTEM '{url}'><base href='{url}'><link rel=stylesheet href={url}><img src={url}>"
            f"<iframe src='{url}'></iframe><iframe src='file:///etc/passwd'></iframe><object data='{url}'></object>"
            f"<script src='{url}'></script><meta http-equiv=refresh content='0;url={url}'><p>text"
        )
        assert "text" in await said(source.encode(), "a.html")
        assert "root:" not in await said(source.encode(), "a.html")
        latex = rf"\input{{/etc/passwd}}\include{{{url}}}\immediate\write18{{touch /tmp/agentrt-ran}}text"
        found = await said(latex.encode(), "a.tex")
        assert "text" in found
        assert "root:" not in found


async def test_nothing_that_an_office_file_links_to_is_loaded() -> None:
    async with canary() as server:
        url, office = server.url("/x"), "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
        drawing = "http://schemas.openxmlformats.org/drawingml/2006"
        picture = (
            f'<w:p><w:r><w:drawing><wp:inline xmlns:wp="{drawing}/wordprocessingDrawing"><a:graphic xmlns:a="{drawing}'
            f'/main"><a:graphicData uri="{drawing}/picture"><pic:pic xmlns:pic="{drawing}/picture"><pic:blipFill>'
            f'<a:blip xmlns:r="{office}" r:link="rId98"/></pic:blipFill></pic:pic></a:graphicData></a:graphic>'
            "</wp:inline></w:drawing></w:r></w:p></w:body>"
        ).encode()
        linked = (
            f'<Relationship Id="rId98" TargetMode="External" Target="{url}" Type="{office}/image"/>'
            f'<Relationship Id="rId97" TargetMode="External" Target="{url}" Type="{office}/oleObject"/></Relationships>'
        ).encode()
        template = (
            '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
            f'<Relationship Id="rId1" TargetMode="External" Target="{url}" Type="{office}/attachedTemplate"/>'
            "</Relationships>"
        ).encode()
        data = changed(
            (FILES / "report.docx").read_bytes(),
            {
                "word/document.xml": lambda old: old.replace(b"</w:body>", picture),
                "word/_rels/document.xml.rels": lambda old: old.replace(b"</Relationships>", linked),
                "word/_rels/settings.xml.rels": lambda old: template,
                "word/vbaProject.bin": lambda old: b'Sub AutoOpen()\nShell "touch /tmp/agentrt-ran"\nEnd Sub',
            },
        )
        found = await said(data, "a.docm")
        assert "Herons stand in shallow water" in found
        assert "[image]" in found
        svg = f'<svg xmlns="http://www.w3.org/2000/svg"><image href="{url}"/><script href="{url}"/><text>x</text></svg>'
        odt = changed(
            (FILES / "report.odt").read_bytes(),
            {
                "content.xml": lambda old: old.replace(
                    b'xlink:href="https://birds.example/heron"', f'xlink:href="{url}"'.encode()
                )
            },
        )
        assert "Herons stand" in await said(odt, "a.odt")
        assert "<svg" in await said(packed({"a.svg": svg}), "a.zip", "a.svg")
        entity = f'<!DOCTYPE x [<!ENTITY e SYSTEM "{url}">]><x>&e;</x>'
        assert "declares entities" in await said(
            changed(data, {"word/document.xml": lambda old: entity.encode()}), "a.docx"
        )
