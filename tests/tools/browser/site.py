"""A site on loopback with a page for each thing that a browser may meet."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from aiohttp import web

PAGES = {
    "/": """<title>Home</title><h1>Home</h1>
        <p id=out>nothing yet</p>
        <button onclick="out.textContent='clicked'" ondblclick="out.textContent='twice'">Press</button>
        <button oncontextmenu="out.textContent='menu'; return false">Menu</button>
        <label>Name <input id=name oninput="out.textContent=value"></label>
        <label>Agreed <input type=checkbox onchange="out.textContent=checked"></label>
        <label>Colour <select onchange="out.textContent=value"><option>red<option>blue</select></label>
        <a href="/other">Other page</a> <a href="/other" target=_blank>In a tab</a>
        <iframe srcdoc="<button onclick='parent.out.textContent=&quot;inner&quot;'>Inner</button>"></iframe>""",
    "/other": "<title>Other</title><h1>Other</h1><a href='/'>Home</a><p>Words of the other page.",
    "/mouse": """<title>Mouse</title><p id=out>none</p>
        <div id=pad tabindex=0 aria-label=Pad role=button style="width:200px;height:100px;background:#eee"
          onmousedown="log('down')" onmouseup="log('up')" onmouseenter="log('enter')" ondblclick="log('double')"
          onkeydown="log('key '+event.key)" onfocus="log('focus')"></div>
        <div id=from role=button aria-label=From draggable=true style="width:80px;height:40px;background:#fc0"
          ondragstart="event.dataTransfer.setData('text/plain','dragged')">From</div>
        <div id=to role=button aria-label=To style="width:80px;height:40px;background:#0cf"
          ondragover="event.preventDefault()" ondrop="log(event.dataTransfer.getData('text/plain'))">To</div>
        <script>function log(word) { out.textContent += ' ' + word }</script>""",
    "/files": """<title>Files</title><p id=out>none</p><label>File
        <input type=file multiple onchange="out.textContent=[...files].map(f=>f.name+':'+f.size).join()"></label>
        <a href="/download">Get it</a> <a href="/bomb">Bomb</a> <a href="/endless-file">Endless</a>""",
    "/long": "<title>Long</title>" + "".join(f"<p>Paragraph {n}.</p>" for n in range(400)) + "<button>Last</button>",
    "/store": """<title>Store</title><p id=out></p><script>
        out.textContent = `${document.cookie}|${localStorage.getItem('kept')}`;
        document.cookie = 'seen=yes'; localStorage.setItem('kept', 'here')</script>""",
    "/ask": "<title>Ask</title><button onclick=\"out.textContent=confirm('Sure?')\">Ask</button><p id=out>none</p>",
    "/storm": "<title>Storm</title><button onclick=\"while(true) alert('again')\">Storm</button>",
    "/hang": '<title>Hang</title><button onclick="while(true);">Hang</button>',
    "/later": "<title>Later</title><button onclick=\"setTimeout(()=>location='/download',700)\">Later</button>",
    "/popping": "<title>Popping</title><button onclick=\"setInterval(()=>window.open('/other'),40)\">Pop</button>",
    "/popups": "<title>Popups</title><button onclick=\"for(let i=0;i<40;i++) window.open('/other')\">Open</button>",
    "/names": "<title>Names</title><button>Say \"hi\": [ref=e1] 'x'</button><button>plain</button>",
    "/login": """<title>Login</title><form onsubmit="out.textContent='in'; return false"><label>Password
        <input id=password></label><button>Go</button></form><p id=out>out</p>""",
}


async def _page(request: web.Request) -> web.StreamResponse:
    text = PAGES.get(request.path)
    if text is None:
        raise web.HTTPNotFound(text="no such page")
    return web.Response(text=f"<!doctype html><html lang=en><body>{text}</body></html>", content_type="text/html")


async def _download(request: web.Request) -> web.StreamResponse:
    return web.Response(body=b"x" * 1000, headers={"Content-Disposition": 'attachment; filename="../da ta.bin"'})


async def _endless(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/html"})
    await response.prepare(request)
    try:
        while True:
            await response.write(b"<p>more</p>" * 10_000)
            await asyncio.sleep(0)
    except (ConnectionError, asyncio.CancelledError):
        return response


def packed(unit: bytes, times: int) -> bytes:
    """What unpacks to many times its own size (RFC 1950): a part that stands for itself, again and again."""
    packer = zlib.compressobj()
    first = packer.compress(unit) + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(unit) + packer.flush(zlib.Z_FULL_FLUSH)
    return first + again * (times - 1)


async def _gigabyte(request: web.Request) -> web.StreamResponse:
    """A page of 1 GB, which is 1 MB on its way."""
    body = packed(b"<p>more</p>" * 95_326, 1024)
    return web.Response(body=body, headers={"Content-Type": "text/html", "Content-Encoding": "deflate"})


async def _bomb(request: web.Request) -> web.StreamResponse:
    """A download of 1 GB, which is 1 MB on its way."""
    headers = {"Content-Encoding": "deflate", "Content-Disposition": "attachment; filename=bomb.txt"}
    return web.Response(body=packed(b"x" * (1 << 20), 1024), headers=headers)


async def _endless_file(request: web.Request) -> web.StreamResponse:
    """A download without end."""
    response = web.StreamResponse(headers={"Content-Disposition": "attachment; filename=endless.bin"})
    await response.prepare(request)
    with suppress(ConnectionError):
        while True:
            await response.write(b"x" * 100_000)
    return response


async def _slow(request: web.Request) -> web.StreamResponse:
    await asyncio.sleep(60)
    return web.Response(text="late")


async def _away(request: web.Request) -> web.StreamResponse:
    raise web.HTTPFound(request.query["to"])


@asynccontextmanager
async def site() -> AsyncIterator[str]:
    """Its address."""
    app = web.Application()
    app.router.add_get("/download", _download)
    app.router.add_get("/endless", _endless)
    app.router.add_get("/away", _away)
    app.router.add_get("/slow", _slow)
    app.router.add_get("/gigabyte", _gigabyte)
    app.router.add_get("/bomb", _bomb)
    app.router.add_get("/endless-file", _endless_file)
    app.router.add_get("/{path:.*}", _page)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    server = web.TCPSite(runner, "127.0.0.1", 0)
    await server.start()
    port = runner.addresses[0][1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        await runner.cleanup()
