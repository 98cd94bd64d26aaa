"""`agentrt models`: the known models, what each can do and costs, and how it is called."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence

import anyio
import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..errors import UnknownModel
from ..llm import ModelsClient
from ..llm.known_models import KnownModel
from ..llm.nearest import nearest_models
from ..llm.providers import Provider, named, provider_of, way
from ..specs import LLM, Capabilities
from .options import base_url_option

MOST = 50
"""Maximum number of models in a list."""

_UNKNOWN = "unknown"


@click.group()
def models() -> None:
    """Find models, and see what each can do, what it costs and how it is called.

    \b
    agentrt models list claude
    agentrt models show openai/gpt-5.5
    """


@models.command(name="list")
@click.argument("words", nargs=-1)
def list_(words: Sequence[str]) -> None:
    """List known models whose names contain all WORDS, with their prices in USD per million tokens.

    Models of providers whose key is set come first. Other models work as well: give the model as PROVIDER/NAME, and the
    address of your own server with --base-url.
    """
    found = anyio.run(_found, " ".join(words))
    if not found:
        raise click.ClickException("no known model matches; a model that is not listed may still work")
    table = Table(
        title="USD a million tokens: in, out",
        title_justify="right",
        box=None,
        header_style="bold",
        pad_edge=False,
    )
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
    """Show what is known about MODEL, and how it is called: directly, or through litellm."""
    llm = LLM(model=model, base_url=base_url)
    known, names = anyio.run(_known, llm)
    for name, value in _lines(llm, known, names):
        click.echo(f"{name:<16}{value}")


async def _found(query: str) -> Sequence[KnownModel]:
    client = ModelsClient()
    try:
        return await client.models(query)
    finally:
        await client.aclose()


async def _known(llm: LLM) -> tuple[Capabilities, Collection[str]]:
    """Return what is known about a model, and the names of all known models."""
    client = ModelsClient()
    try:
        await client.look(llm)
        return client.known(llm), [one.model for one in await client.models("")]
    except UnknownModel as error:
        raise click.ClickException(str(error)) from error
    finally:
        await client.aclose()


def _lines(llm: LLM, known: Capabilities, names: Collection[str]) -> Iterator[tuple[str, str]]:
    provider = provider_of(llm)
    yield "model", llm.model
    listed = "/".join(named(llm.model)) in names
    assumed = not listed and known.max_input_tokens is None
    if assumed:
        yield "known", _nobody(llm, names)
    yield "called", "directly (LLM(client='litellm') has litellm call it)" if way(llm) == "wire" else "through litellm"
    if provider is not None and way(llm) == "wire":
        yield "address", llm.base_url or provider.url
        yield "interface", _interface(provider.speaks, known)
        yield "key", _key(llm, provider)
    yield "context window", _tokens(known.max_input_tokens)
    yield "longest answer", _tokens(known.max_output_tokens)
    yield "price", _price(known, listed)
    abilities = {"calls tools": known.native_tool_calling, "sees images": known.vision, "reasons": known.reasoning}
    can = ", ".join(name for name, has in abilities.items() if has) or "nothing of note"
    yield "can", f"{can} (assumed)" if assumed else can


def _nobody(llm: LLM, names: Collection[str]) -> str:
    """Return the message for a name that is not listed; it may still be a model of the user's own server."""
    nearest = () if llm.base_url else nearest_models(llm.model, names)
    return "no known model has this name" + (f": nearest {', '.join(nearest)}" if nearest else "")


def _key(llm: LLM, provider: Provider) -> str:
    if any(os.environ.get(name) for name in provider.keys):
        state = "set"
    else:
        state = "not set" if provider.needs_key and llm.base_url is None else "not set, and not needed"
    return f"{' or '.join(provider.keys)} ({state})"


def _price(known: Capabilities, listed: bool) -> str:
    """Return the price, or that it is unknown; an unknown price is never shown as 0."""
    if known.input_cost is None or known.output_cost is None or not (listed or known.input_cost or known.output_cost):
        return _UNKNOWN
    return f"${_million(known.input_cost)} in, ${_million(known.output_cost)} out for a million tokens"


def _interface(speaks: str, known: Capabilities) -> str:
    if speaks != "openai":
        return {"anthropic": "Anthropic messages", "gemini": "Gemini generateContent"}[speaks]
    return "OpenAI Responses" if known.responses else "OpenAI chat completions"


def _tokens(number: int | None) -> str:
    return _UNKNOWN if number is None else f"{number:,} tokens"


def _count(number: int | None) -> str:
    return _UNKNOWN if number is None else f"{number:,}"


def _million(price: float | None) -> str:
    return _UNKNOWN if price is None else f"{price * 1e6:,.2f}"
