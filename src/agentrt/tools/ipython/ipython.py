"""`ipython`: Python cells in a kernel that keeps its state. Their code may call the agent's other tools."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import anyio
import anyio.to_thread
import msgspec
from msgspec import Meta

from ...errors import ToolError
from ...executing import Made, Observation, ToolContext
from ...placing import Python
from ...specs import Content, OnCrash, Same, TextContent, ToolAnnotations, WorkspaceSpec
from ...specs.content import plain, text
from ...specs.effects import Effects
from ..clipping import clip
from ..definition import Params, ToolType
from ..shortened import shortened
from .cell import Cell, failed, said
from .channel import Channel
from .kernel import Kernel, KernelDied, ignored
from .magics import effects_of
from .outputs import Outputs

MAX_OUTPUT = 30_000
"""Characters of text that the model sees of one cell; the whole is kept as a blob, and in a file that it can read."""

CELL_SECONDS = 120.0
SETTLE_SECONDS = 3.0
"""Seconds that an interrupted cell has to end before its kernel is ended."""

MOST_TOLD = 2_000
"""Characters shown of a call's arguments, and of its result, if the cell's kernel was lost with the process."""


class IPythonAction(msgspec.Struct, frozen=True):
    """Arguments of `ipython`."""

    code: Annotated[str, Meta(description="The Python code; `await` may stand outside of functions.")]
    timeout: Annotated[
        Annotated[float, Meta(gt=0, le=86_400)] | None,
        Meta(description="Seconds after which the cell is interrupted. Default: 120."),
    ] = None
    restart: Annotated[bool, Meta(description="Start a new kernel first: all variables are lost.")] = False


class IPythonObservation(Observation, frozen=True, kw_only=True):
    """The result of a cell. `execution_count` is its number, `calls` the number of tool calls that it made."""

    status: str
    execution_count: int = 0
    seconds: float = 0.0
    calls: int = 0


class IPython:
    """The kernel of a conversation, which starts with the first cell."""

    def __init__(self, params: Params) -> None:
        python = params.get("python")
        self._python = str(python) if python else None
        self._kernel: Kernel | None = None
        self._channel: Channel | None = None
        self._ended = False
        """Whether an earlier kernel has ended and no new one has started."""
        self._lent = frozenset[str]()
        """Names of the secrets in the kernel's environment."""

    async def __call__(self, action: IPythonAction, context: ToolContext) -> IPythonObservation:
        """Run a cell. Raises `ToolError`."""
        if context.calls.resumed:
            return _left(await context.calls.made())
        if action.restart:
            await self.aclose()
        begun, cell = time.monotonic(), Cell(context, action.timeout or CELL_SECONDS)
        lent = await context.secrets(action.code)
        kernel, again = await self._there(context)
        status = await self._run(kernel, action.code, cell, lent)
        made = await context.calls.made() if cell.calls else ()
        content = await _clipped(cell.outputs.content, context)
        footer = [cell.word] if cell.word else []
        if again:
            footer.append("[a new kernel: the variables of the one before are gone]")
        if not content and not footer:
            footer.append("[no output]")
        return IPythonObservation(
            content=(*content, *text("\n".join(footer))) if footer else content,
            is_error=status != "ok",
            status=status,
            execution_count=kernel.count,
            seconds=round(time.monotonic() - begun, 3),
            calls=len(made),
        )

    def lost(self, action: IPythonAction) -> bool:
        """Return whether the kernel has ended."""
        there = self._kernel is not None and self._kernel.alive
        return not (there or action.restart) and (self._kernel is not None or self._ended)

    async def aclose(self) -> None:
        """End the kernel and all that it started."""
        self._ended = self._ended or self._kernel is not None
        kernel, self._kernel = self._kernel, None
        channel, self._channel = self._channel, None
        with anyio.CancelScope(shield=True):
            if channel is not None:
                await channel.close()
            if kernel is not None:
                await kernel.end()

    async def _there(self, context: ToolContext) -> tuple[Kernel, bool]:
        """Return the kernel, started if there is none, and whether it replaces an earlier one. Raises `ToolError`."""
        if self._kernel is not None and self._kernel.alive:
            return self._kernel, False
        await self.aclose()
        place, workspace = context.place, context.workspace.path
        await place.prepare()
        if self._python is None:
            python = await place.python()
        else:
            python = Python(str(Path(workspace, self._python)) if "/" in self._python else self._python)
        kernel = await Kernel.started(place, python, workspace, context.masked)
        try:
            self._channel = channel = Channel()
            await channel.open(place)
            search = place.variables.get("PYTHONPATH", "")
            search = search if context.masked(search) == search else ""
            await _load(kernel, channel.path, workspace, search)
        except BaseException:
            self._kernel = kernel
            await self.aclose()
            raise
        self._kernel = kernel
        again, self._ended = self._ended, False
        return kernel, again

    async def _run(self, kernel: Kernel, code: str, cell: Cell, lent: Mapping[str, str]) -> str:
        """Run a cell with secrets in its environment, and return its status. It is interrupted if it is cancelled or
        reaches its time limit.
        """
        assert self._channel is not None
        self._channel.given = cell.given
        try:
            with cell.limit:
                await self._lend(kernel, lent)
                good = await kernel.run(code, cell.heard, cell.asked)
                await self._lend(kernel, {})
                return "ok" if good else "error"
            cell.word = f"[interrupted after {cell.seconds:g} s, its limit]"
            if not await kernel.settle(SETTLE_SECONDS):
                await self.aclose()
                cell.word += " [it did not end: the kernel was ended, and its variables are gone]"
            return "timeout"
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                if not await kernel.settle(SETTLE_SECONDS):
                    await self.aclose()
            raise
        except KernelDied as died:
            await self.aclose()
            cell.word = f"[{died}]"
            return "died"
        finally:
            if self._channel is not None:
                self._channel.given = None
                with anyio.CancelScope(shield=True):
                    await self._channel.drop()

    async def _lend(self, kernel: Kernel, secrets: Mapping[str, str]) -> None:
        """Put secrets into the kernel's environment in place of the earlier ones, so that no cell has another's."""
        if secrets or self._lent:
            old, self._lent = self._lent, self._lent | secrets.keys()  # the kernel may have them even if this is cut
            await kernel.run(_LENT.format(old=[*old], new=dict(secrets)), ignored, quiet=True)
            self._lent = frozenset(secrets)


def _left(made: Sequence[Made]) -> IPythonObservation:
    """Return the result of a cell whose kernel ended with the process that ran it."""
    lines = ["The kernel ended in the middle of this cell, with the program that ran it: its variables are gone, and"]
    lines.append(
        "whatever the cell did besides is unknown. "
        + ("It had made these calls:" if made else "It had called no tool.")
    )
    for one in made:
        arguments = clip(bytes(one.action.arguments_json).decode(), MOST_TOLD)
        lines.append(f"- {one.action.tool_name}({arguments}){' failed' if failed(one) else ''}:")
        lines.append(clip(said(one), MOST_TOLD))
    return IPythonObservation(content=text("\n".join(lines)), is_error=True, status="left", calls=len(made))


async def _load(kernel: Kernel, socket: str, workspace: str, search: str) -> None:
    """Load `in_kernel.py` into the kernel. Then take the kernel to the workspace, from which cells may import, as from
    the directories of `search`, a `PYTHONPATH`. Raises `ToolError`.
    """
    source = await anyio.to_thread.run_sync((Path(__file__).parent / "in_kernel.py").read_text)
    problem = Outputs()
    loading = _LOADING.format(source=source, socket=socket, workspace=workspace, search=search, lazy=_LAZY)
    good = await kernel.run(loading, problem.take, quiet=True)
    if not good:
        raise ToolError(f"the kernel does not start: {plain(problem.content)}")


_LAZY = (
    *("stack_data", "executing", "asttokens", "pure_eval", "pexpect", "pty", "tty", "resource", "timeit", "difflib"),
    *("fractions", "filecmp", "pydoc", "pydoc_data.topics", "cProfile", "pstats", "pdb", "bdb"),
    *("IPython.core.oinspect", "IPython.core.magics.execution", "IPython.core.completer", "IPython.core.debugger"),
)
"""What IPython loads when a cell first needs it: tracebacks, `x?`, `!command`, `%timeit` and the like."""

_LOADING = """
def _agent_loads():
    import contextlib, importlib, os, sys, types
    module = types.ModuleType("agentskills")
    sys.modules["agentskills"] = module
    exec(compile({source!r}, "agentskills", "exec"), module.__dict__)
    module.SOCKET = {socket!r}
    get_ipython().user_ns.update({{name: getattr(module, name) for name in module.__all__}})
    get_ipython().user_ns.update(ToolFailed=module.ToolFailed)
    for name in {lazy!r}:  # or a module of the workspace would take its place
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    try:
        1 / 0
    except ZeroDivisionError:
        get_ipython().InteractiveTB.structured_traceback(*sys.exc_info())
    get_ipython().Completer.use_jedi = False  # it would be loaded from the workspace, too
    os.chdir({workspace!r})
    os.environ["PWD"] = {workspace!r}
    if visited := get_ipython().user_ns.get("_dh"):
        visited[:] = [type(visited[0])({workspace!r})]
    if "multiprocessing.process" in sys.modules:  # else its processes begin in the directory where the kernel did
        sys.modules["multiprocessing.process"].ORIGINAL_DIR = {workspace!r}
    for name in ("PYTHONHOME", "PYTHONPATH"):
        if not os.environ.get(name):  # emptied for the kernel alone
            os.environ.pop(name, None)
    if {search!r}:
        os.environ["PYTHONPATH"] = {search!r}
    paths = [os.path.abspath(path) for path in {search!r}.split(os.pathsep) if path]
    sys.path[:] = ["", *(path for path in paths if path not in sys.path), *(path for path in sys.path if path)]
_agent_loads()
del _agent_loads
"""


_LENT = """
(lambda env: ([env.pop(name, None) for name in {old!r}], env.update({new!r})))(__import__("os").environ)
"""


async def _clipped(content: tuple[Content, ...], context: ToolContext) -> tuple[Content, ...]:
    whole = "\n".join(block.text for block in content if isinstance(block, TextContent))
    if len(whole) <= MAX_OUTPUT:
        return content
    found = await shortened(context.masked(whole), MAX_OUTPUT, "full output", context)
    return (*found, *(block for block in content if not isinstance(block, TextContent)))


def _runs(action: IPythonAction, workspace: WorkspaceSpec) -> Effects:
    return effects_of(action.code)


def _one(action: IPythonAction, workspace: WorkspaceSpec) -> tuple[str, ...]:
    return ("ipython",)


ipython = ToolType(
    name="ipython",
    description=(
        "Run Python code in a kernel that lasts: variables and imports stay from call to call. The value of the last"
        " line is shown, and so are images and tables. `await tools.NAME(argument=...)` calls another of your tools and"
        " gives its result as a string (`.details` has the exit code of a command); several run side by side with"
        " asyncio.gather, and ToolFailed is raised where one fails. `!command` runs a shell command. There are"
        " open_file, goto_line, scroll_down, scroll_up, create_file, edit_file(start, end, content), search_dir,"
        " search_file, find_file, parse_pdf, parse_docx, parse_latex, parse_pptx, parse_image, parse_audio and"
        " parse_video, each of which prints."
        " A cell that takes longer than `timeout` is interrupted."
    ),
    action=IPythonAction,
    executor=IPython,
    annotations=ToolAnnotations(title="IPython"),
    on_crash=OnCrash.RESUME,
    holds_resource=True,
    resources=_one,
    effects=_runs,
    same=Same("code"),
    headline=("{code}",),
    aliases=("execute_ipython_cell", "ipython_cell", "jupyter", "run_ipython", "python", "run_python", "python_exec"),
)
