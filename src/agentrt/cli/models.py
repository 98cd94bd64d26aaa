"""`agentrt models`: the models that are known, what each can do and costs, and how it is called."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import anyio
import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..errors import UnknownModel
from ..llm import ModelsClient
from ..llm.known_models import KnownModel
from ..llm.providers import provider_of, way
from ..specs import LLM, Capabilities
from .options import base_url_option

MOST = 50
"""Models that a list shows."""

_UNKNOWN = "unknown"


@click.group()
def models() -> None:
    """Find models, and see what each can do, what it costs and how it is called.

    agentrt models list claude
    agentrt models show openai/gpt-5.5
    """


@models.command(name="list")
@click.argument("words", nargs=-1)
def list_(words: Sequence[str]) -> None:
    """List known models whose names have all WORDS, with their prices in USD for a million tokens.

    Those of providers whose key is set come first. Other models work as well: name the provider, and the address of a
    server of your own with --base-url.
    """
    found = anyio.run(_found, " ".join(words))
    if not found:
        raise click.ClickException("no known model has that in its name; one that is not known may work all the same")
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("model", overflow="fold")
    for column in ("window", "in", "out", "images"):
        table.add_column(column, justify="right", no_wrap=True)
    for one in found[:MOST]:
        prices = _million(one.input_cost), _million(one.output_cost)
        table.add_row(Text(one.model), _count(one.max_input_tokens), *prices, "yes" if one.vision else "")
    Console().print(table)
    if len(found) > MOST:
        click.echo(f"and {len(found) - MOST:,} more: give more words")


@models.command()
@click.argument("model")
@base_url_option
def show(model: str, base_url: str | None) -> None:
    """Show what is known of MODEL, and how it is called: directly, or through litellm."""
    llm = LLM(model=model, base_url=base_url)
    known = anyio.run(_known, llm)
    for name, value in _lines(llm, known):
        click.echo(f"{name:<16}{value}")


async def _found(query: str) -> Sequence[KnownModel]:
    client = ModelsClient()
    try:
        return await client.models(query)
    finally:
        await client.aclose()


async def _known(llm: LLM) -> Capabilities:
    client = ModelsClient()
    try:
        await client.look(llm)
        return client.known(llm)
    except UnknownModel as error:
        raise click.ClickException(str(error)) from error
    finally:
        await client.aclose()


def _lines(llm: LLM, known: Capabilities) -> Iterator[tuple[str, str]]:
    provider = provider_of(llm)
    yield "model", llm.model
    yield "called", "directly (LLM(client='litellm') has litellm call it)" if way(llm) == "wire" else "through litellm"
    if provider is not None and way(llm) == "wire":
        yield "address", llm.base_url or provider.url
        yield "interface", _interface(provider.speaks, known)
        keys = " or ".join(provider.keys)
        there = any(os.environ.get(name) for name in provider.keys)
        yield "key", f"{keys} ({'set' if there else 'not set' if provider.needs_key else 'not set, and not needed'})"
    yield "context window", f"{_count(known.max_input_tokens)} tokens"
    yield "longest answer", f"{_count(known.max_output_tokens)} tokens"
    prices = f"${_million(known.input_cost)} in, ${_million(known.output_cost)} out for a million tokens"
    yield "price", _UNKNOWN if None in (known.input_cost, known.output_cost) else prices
    abilities = {"calls tools": known.native_tool_calling, "sees images": known.vision, "reasons": known.reasoning}
    yield "can", ", ".join(name for name, has in abilities.items() if has) or "nothing of note"


def _interface(speaks: str, known: Capabilities) -> str:
    if speaks != "openai":
        return {"anthropic": "Anthropic messages", "gemini": "Gemini generateContent"}[speaks]
    return "OpenAI Responses" if known.responses else "OpenAI chat completions"


def _count(number: int | None) -> str:
    return _UNKNOWN if number is None else f"{number:,}"


def _million(price: float | None) -> str:
    return _UNKNOWN if price is None else f"{price * 1e6:,.2f}"
