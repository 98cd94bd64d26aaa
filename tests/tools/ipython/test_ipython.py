"""Cells in a real kernel, as a conversation runs them."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import msgspec
import psutil
import pytest

from agentrt import (
    LLM,
    Agent,
    AlwaysConfirm,
    Conversation,
    ExecutionStatus,
    NeverConfirm,
    PermissionRule,
    Runtime,
    Tool,
)
from agentrt.context.replies import ModelReply
from agentrt.errors import ToolError
from agentrt.events import ActionEvent, AgentErrorEvent, InputRequested, ModelCalled, ObservationEvent
from agentrt.placing import Setting
from agentrt.protocols import ModelRequest
from agentrt.sandboxes.in_memory import InMemory, MemoryWorkspace
from agentrt.specs import ImageContent
from agentrt.specs.content import plain
from agentrt.testing import ScriptedLLM, ScriptedProvider, Stall, call, finish, say
from agentrt.tools.ipython import ipython
from agentrt.tools.ipython.ipython import IPythonAction
from tests.proofs.waiting import eventually

from ..context import FakeContext, workspace_at

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("walls")]

SECONDS = 60
DOCUMENTS = Path(__file__).parents[2] / "documents" / "files"
NEW = "[a new kernel: the variables of the one before are gone]"


class Notebook:
    """A conversation whose agent runs the cells that a test gives it."""

    def __init__(self) -> None:
        self.code: dict[str, Any] = {}
        self.conversation: Conversation | None = None

    def turn(self, request: ModelRequest) -> ModelReply:
        if any(isinstance(block, ImageContent) for block in request.messages[-1].content):
            return say("I see a heron.")
        code, self.code = self.code, {}
        return call("ipython", **code) if code else finish("ok")

    @property
    def talk(self) -> Conversation:
        assert self.conversation is not None
        return self.conversation

    async def begin(self, code: str, **more: Any) -> ExecutionStatus:
        """Have a cell run until the conversation rests."""
        self.code = {"code": code, **more}
        await self.talk.send_message("go")
        return (await self.talk.run()).status

    async def last(self) -> ObservationEvent | AgentErrorEvent:
        log = [e async for e in self.talk.events() if isinstance(e, ObservationEvent | AgentErrorEvent)]
        return [event for event in log if event.tool_name == "ipython"][-1]

    async def __call__(self, code: str, **more: Any) -> str:
        """What a cell came to, in words."""
        assert await self.begin(code, **more) is ExecutionStatus.FINISHED, self.talk.state.error
        last = await self.last()
        return plain(last.content) if isinstance(last, ObservationEvent) else last.error

    async def details(self) -> dict[str, Any]:
        last = await self.last()
        assert isinstance(last, ObservationEvent)
        found: dict[str, Any] = msgspec.json.decode(last.details_json)
        return found


@asynccontextmanager
async def notebook(place: Path, **more: Any) -> AsyncIterator[Notebook]:
    made = Notebook()
    tools = (Tool("ipython"), Tool("terminal"))
    usual: dict[str, Any] = {"tools": tools, "confirmation": NeverConfirm(), "stuck": None}
    secrets = more.pop("secrets", {})
    spec = Agent(**{"llm": LLM(model="scripted"), **usual, **more})
    with anyio.fail_after(SECONDS):
        async with Runtime("memory://", client=ScriptedLLM(made.turn)) as runtime:
            async with Conversation(spec, workspace_at(place), runtime=runtime, secrets=secrets) as made.conversation:
                yield made


def kernels() -> set[int]:
    """The kernels below this process."""
    found = set()
    for one in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # one that has ended
            if "ipykernel_launcher" in " ".join(one.cmdline()):
                found.add(one.pid)
    return found


async def test_cells_keep_their_state_and_show_what_they_have(tmp_path: Path) -> None:
    async with notebook(tmp_path) as run:
        assert await run("x = 20\nx + 1") == "21"
        assert await run("import asyncio\nawait asyncio.sleep(0)\nprint(x)\nx + 2") == "20\n22"
        assert await run("y = x") == "[no output]"
        assert "ZeroDivisionError: division by zero" in await run("1 / 0")
        assert (await run.details())["status"] == "error"
        assert await run("!echo from a shell") == "from a shell"
        await run("from IPython.display import Image\nImage(data=bytes(10), format='png')")
        last = await run.last()
        assert isinstance(last, ObservationEvent)
        assert any(isinstance(block, ImageContent) for block in last.content)
        said = await run("print('x' * 40_000)")
        assert "characters left out" in said
        assert "bytes in 1 lines, is in " in said
        assert await run("'x' in dir()", restart=True) == f"False\n{NEW}"
        assert await run("import os; [name for name in os.environ if 'KEY' in name]") == "[]"


async def test_nothing_of_the_workspace_is_imported_before_a_cell_and_cells_import_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, lib = tmp_path / "project", tmp_path / "project/lib"
    lib.mkdir(parents=True)
    starting = ("ipykernel_launcher", "ipykernel", "IPython", "zmq", "sitecustomize", "usercustomize", "ipython_config")
    for name in (*starting, "jupyter_core", "ipython_kernel_config", "startup"):
        for path in (place, lib):
            (path / f"{name}.py").write_text(f"open({str(place / 'ran')!r}, 'a').write(__file__)")
    (place / "mine.py").write_text("answer = 42")
    (lib / "library.py").write_text("answer = 43")
    monkeypatch.setenv("PYTHONPATH", f"{lib}:.")
    monkeypatch.setenv("PYTHONSTARTUP", str(place / "startup.py"))
    async with notebook(place) as run:
        assert await run("1") == "1"
        assert not (place / "ran").exists(), "nobody allowed what is in the workspace to run"
        assert await run("import mine, library, os\nmine.answer, library.answer") == "(42, 43)"
        assert await run("print(os.getcwd(), os.environ['PWD'], *_dh, sep='\\n')") == "\n".join([str(place)] * 3)
        assert await run("os.environ['PYTHONPATH']") == repr(f"{lib}:.")
        spawned = (
            "import multiprocessing as m, mine\nwith m.get_context('spawn').Pool(1) as p: print(p.map(mine.f, [2]))"
        )
        (place / "mine.py").write_text("import os\ndef f(n): return n, os.getcwd()")
        assert await run(spawned, restart=True) == f"[(2, {str(place)!r})]\n{NEW}"


async def test_nothing_of_the_workspace_takes_the_place_of_what_ipython_loads_later(tmp_path: Path) -> None:
    """For a traceback, a question, a command, and magics."""
    for name in ("stack_data", "executing", "asttokens", "pure_eval", "pexpect", "pty", "timeit", "cProfile", "jedi"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write({name!r})")
    async with notebook(tmp_path) as run:
        for cell in ("1 / 0", "print?", "!echo x", "%timeit -n1 -r1 1", "%prun 1", "get_ipython().complete('os.pa')"):
            await run(cell)
    assert not (tmp_path / "ran").exists()


async def test_a_cell_has_the_secrets_that_it_names_and_no_other_cell_does(tmp_path: Path) -> None:
    async with notebook(tmp_path, secrets={"API_TOKEN": "s3cr3t-value-1"}) as run:
        assert await run("import os, time\nlen(os.environ['API_TOKEN'])") == "14"
        assert "s3cr3t" not in await run("os.environ['API_TOKEN']")
        assert await run("[n for n in os.environ if n.startswith('API')]") == "[]"
        assert "interrupted" in await run("API_TOKEN = 1\ntime.sleep(60)", timeout=0.5)
        assert await run("[n for n in os.environ if n.startswith('API')]") == "[]"


async def test_a_secret_that_was_lent_as_the_time_ran_out_is_taken_back(tmp_path: Path) -> None:
    async with notebook(tmp_path, secrets={"API_TOKEN": "s3cr3t-value-1"}) as run:
        await run("import os")
        await run("API_TOKEN = 1", timeout=0.001)
        assert await run("[n for n in os.environ if n.startswith('API')]") == "[]"


async def test_a_cell_that_ends_its_own_kernel_is_run_once(tmp_path: Path) -> None:
    async with notebook(tmp_path) as run:
        for _ in range(3):
            said = await run("import os\nopen('runs', 'a').write('x')\nos._exit(3)")
            assert "the kernel has ended (exit code 3)" in said
    assert (tmp_path / "runs").read_text() == "xxx"


async def test_many_calls_at_once_are_made_in_turn(tmp_path: Path) -> None:
    async with notebook(tmp_path) as run:
        code = "import asyncio\nlen(await asyncio.gather(*(tools.think(thought=str(n)) for n in range(300))))"
        assert await run(code) == "300"


async def test_an_interrupt_ends_what_a_document_is_asked_for(tmp_path: Path) -> None:
    """No model is asked for the next frames once the cell has ended."""
    shutil.copy(DOCUMENTS / "heron.mp4", tmp_path)
    asked, waits = 0, anyio.Event()

    def script(body: dict[str, Any]) -> Any:
        nonlocal asked
        if "image_url" in str(body["messages"][-1]["content"]):
            asked += 1
            waits.set()
            return Stall("", 20)
        return call("ipython", code="parse_video('heron.mp4', frame_interval=1)")

    with anyio.fail_after(SECONDS):
        async with ScriptedProvider(script) as provider:
            agent = Agent(llm=provider.llm(vision=True), tools=(Tool("ipython"),), confirmation=NeverConfirm())
            async with (
                Runtime("memory://") as runtime,
                Conversation(agent, workspace_at(tmp_path), runtime=runtime) as talk,
            ):
                await talk.send_message("go")
                running = asyncio.ensure_future(talk.run())
                await waits.wait()
                await talk.interrupt("enough")
                await running
                await eventually(lambda: provider.active == 0, "nobody asks any more", 10)
                assert asked == 1


async def test_a_tool_finds_its_last_result_that_code_has_made(tmp_path: Path) -> None:
    async with notebook(tmp_path, tools=(Tool("ipython"), Tool("task_tracker"))) as run:
        await run("await tools.task_tracker(command='plan', task_list=[{'title': 'Count the herons'}])")
        assert "Count the herons" in await run("print(await tools.task_tracker(command='view'))")


async def test_its_code_calls_the_other_tools(tmp_path: Path) -> None:
    async with notebook(tmp_path) as run:
        code = "said = await tools.terminal(command='echo hi; (exit 3)')"
        assert "ToolFailed: hi\n[exit code 3" in await run(code)
        code = "said = await tools.terminal(command='echo hi')\nprint(said.split()[0], said.details['exit_code'])"
        assert await run(code) == "hi 0"
        code = "import asyncio\nprint(*await asyncio.gather(*(tools.think(thought=str(n)) for n in range(20))))"
        assert await run(code) == " ".join(["Noted."] * 20)
        assert (await run.details())["calls"] == 20
        assert "unknown tool 'ipython'; tools to call here: terminal, think" in await run(
            "await tools.ipython(code='1')"
        )
        late = "import asyncio\ntask = asyncio.ensure_future(tools.terminal(command='sleep 0.3; echo late'))"
        await run(f"{late}\nawait asyncio.sleep(0.1)")
        log = [event async for event in run.talk.events()]
        results = {event.action_id for event in log if isinstance(event, ObservationEvent | AgentErrorEvent)}
        assert {event.id for event in log if isinstance(event, ActionEvent)} <= results


async def test_a_cell_is_interrupted_by_its_limit_and_by_a_person(tmp_path: Path) -> None:
    async with notebook(tmp_path) as run:
        await run("import time\nx = 1")
        assert await run("time.sleep(60)", timeout=0.5) == "[interrupted after 0.5 s, its limit]"
        assert await run("x") == "1"
        waits = "open('begun', 'x').close()\n    time.sleep(60)"
        running = asyncio.ensure_future(run.begin(f"try:\n    {waits}\nexcept KeyboardInterrupt:\n    x = 2"))
        await eventually(lambda: (tmp_path / "begun").exists(), "it runs", 20)
        await run.talk.interrupt("enough")
        await running
        last = await run.last()
        assert isinstance(last, AgentErrorEvent)
        assert last.error.startswith("Interrupted after")
        assert await run("x") == "2"
        deaf = "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\ntime.sleep(60)"
        assert "it did not end: the kernel was ended" in await run(deaf, timeout=0.5)
        assert "NameError" in await run("x")


async def test_a_kernel_that_dies_is_told_and_another_one_starts(tmp_path: Path) -> None:
    async with notebook(tmp_path) as run:
        said = await run("import os\nos.kill(os.getpid(), 9)")
        assert "the kernel has ended (SIGKILL): its variables are gone" in said
        assert await run("1 + 1") == f"2\n{NEW}"
        (kernel,) = kernels()
        os.kill(kernel, signal.SIGKILL)
        await eventually(lambda: not psutil.pid_exists(kernel), "it has ended")
        assert await run("2 + 2") == f"4\n{NEW}"
    await eventually(lambda: not kernels(), "no kernel is left", 10)


async def test_recordings_are_heard_and_watched(tmp_path: Path) -> None:
    cells = ["parse_audio('heron.mp3')", "parse_video('heron.mp4', task='What is it?', frame_interval=40)"]
    cells += ["parse_audio('paper.pdf')", "parse_video('heron.mp3')", "parse_video('heron.mp4', frame_interval=0)"]
    for name in ("heron.mp3", "heron.mp4", "paper.pdf"):
        shutil.copy(DOCUMENTS / name, tmp_path)

    def turn(body: dict[str, Any]) -> ModelReply:
        if "image_url" in str(body["messages"][-1]["content"]):
            return say("a test picture")
        done = sum(message["role"] == "tool" for message in body["messages"])
        return call("ipython", code=cells[done]) if done < len(cells) else finish("ok")

    with anyio.fail_after(SECONDS):
        async with ScriptedProvider(turn, transcripts=[say("Good morning.")]) as provider:
            agent = Agent(llm=provider.llm(vision=True), tools=(Tool("ipython"),), confirmation=NeverConfirm())
            async with (
                Runtime("memory://") as runtime,
                Conversation(agent, workspace_at(tmp_path), runtime=runtime) as talk,
            ):
                await talk.send_message("go")
                await talk.run()
                log = [event async for event in talk.events()]
    said = [plain(event.content) for event in log if isinstance(event, ObservationEvent)]
    assert said[0] == "Good morning."
    assert said[1] == "at 0:00: a test picture\n\nat 0:04: a test picture"
    assert "is not audio or video, but pdf" in said[2]
    assert "has no frames: it is audio" in said[3]
    assert "frame_interval is a number of frames, from 1" in said[4]
    used = [event.usage_id for event in log if isinstance(event, ModelCalled)]
    assert used == ["default", "transcription", "default", "vision", "vision", *["default"] * 4]


async def test_input_is_asked_of_a_person(tmp_path: Path) -> None:
    rules = (PermissionRule(tool="ipython", verdict="allow"),)
    async with notebook(tmp_path, confirmation=AlwaysConfirm(), rules=rules) as run:
        status = await run.begin("name = input('Your name? ')\nprint('Hello', name)")
        assert status is ExecutionStatus.WAITING_FOR_CONFIRMATION
        (asked,) = run.talk.pending_inputs
        assert isinstance(asked, InputRequested)
        assert (asked.message, asked.asks) == ("Your name? ", "ipython")
        await run.talk.give_input(asked.id, {"value": "Ada"})
        assert (await run.talk.run()).status is ExecutionStatus.FINISHED
        last = await run.last()
        assert isinstance(last, ObservationEvent)
        assert plain(last.content) == "Hello Ada"
        assert "a password was asked for" in await run("import getpass\ngetpass.getpass()")
    async with notebook(tmp_path) as run:
        assert "input() was not answered: nobody is there" in await run("input('Your name? ')")


async def test_where_it_cannot_run_says_why(tmp_path: Path) -> None:
    async with notebook(tmp_path, tools=(Tool("ipython", {"python": "/bin/false"}),)) as run:
        assert "the kernel does not start" in await run("1")
    executor = ipython.executor({})
    nowhere = InMemory(MemoryWorkspace(), Setting(lambda function: None))
    with pytest.raises(ToolError, match="there is no Python here"):
        await executor(IPythonAction("1"), FakeContext(tmp_path, place=nowhere))


async def test_documents_are_parsed_for_its_code(tmp_path: Path) -> None:
    for name in ("paper.pdf", "report.docx", "talk.pptx"):
        shutil.copy(DOCUMENTS / name, tmp_path)
    (tmp_path / "a.tex").write_text("\\section{Herons} They \\emph{wade}.")
    async with notebook(tmp_path) as run:
        said = await run(
            "parse_pdf('paper.pdf')\nparse_docx('report.docx')\nparse_pptx('talk.pptx')\nparse_latex('a.tex')"
        )
        for part in ("paper.pdf: PDF", "report.docx: ", "talk.pptx: ", "Herons", "wade"):
            assert part in said, said
        assert "is not a pdf, but docx" in await run("parse_pdf('report.docx')")
        assert "ToolFailed: " in await run("parse_pdf('nowhere.pdf')")


async def test_an_image_is_looked_at_within_the_budget(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(20))
    (tmp_path / "b.png").write_bytes(b"no image")
    async with notebook(tmp_path, llm=LLM(model="scripted", vision=True)) as run:
        assert await run("parse_image('a.png', task='What is it?')") == "I see a heron."
        asked = [event async for event in run.talk.events() if isinstance(event, ModelCalled)]
        assert [event.usage_id for event in asked] == ["default", "vision", "default"]
        assert "is not an image that a model sees" in await run("parse_image('b.png')")
    async with notebook(tmp_path, llm=LLM(model="scripted", vision=False)) as run:
        assert "cannot see images" in await run("parse_image('a.png')")
