"""`agentrt profile`: saves models with their settings under names."""

from __future__ import annotations

from typing import IO, get_args

import click
import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..llm.profiles import ProfileStore, profiles_file
from ..specs import LLM, AnyLLM
from ..specs.llm import Effort, named
from .options import base_url_option, store_option


@click.group()
def profile() -> None:
    """Save models with their settings under names.

    `agentrt run --profile NAME` uses one. A profile never contains a key: it names the environment variable that has
    the key, or uses the provider's usual one. A conversation keeps the settings that it began with, even if the profile
    changes.
    """


@profile.command(name="list")
@store_option
def list_(store: str | None) -> None:
    """List the profiles with their models."""
    profiles = ProfileStore(profiles_file(store))
    names = profiles.names()
    if not names:
        click.echo("no profiles yet: 'agentrt profile save NAME --model MODEL' makes one")
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("name", "model"):
        table.add_column(column, overflow="fold")
    for name in names:
        table.add_row(Text(name), Text(named(profiles.load(name))))
    Console().print(table)


@profile.command()
@click.argument("name")
@store_option
def show(name: str, store: str | None) -> None:
    """Print the profile NAME as JSON.

    The output is in the form that `save --from-json` takes; settings with their default value are left out.
    """
    spec = msgspec.json.encode(ProfileStore(profiles_file(store)).load(name))
    click.echo(msgspec.json.format(spec, indent=2))


@profile.command()
@click.argument("name")
@click.option("--model", "-m", default=None, help="Any model that litellm knows, with its provider.")
@base_url_option
@click.option("--api-key-env", default=None, metavar="VARIABLE", help="The environment variable that holds the key.")
@click.option(
    "--reasoning-effort",
    type=click.Choice(get_args(Effort)),
    default=None,
    help="The reasoning effort of a reasoning model.",
)
@click.option(
    "--from-json",
    type=click.File("rb"),
    default=None,
    help="A complete spec instead of the options above: one model with any setting, a FallbackLLM or a RouterLLM. '-'"
    " reads it from standard input.",
)
@store_option
def save(
    name: str,
    model: str | None,
    base_url: str | None,
    api_key_env: str | None,
    reasoning_effort: Effort | None,
    from_json: IO[bytes] | None,
    store: str | None,
) -> None:
    """Save a model as the profile NAME.

    An existing profile of that name is replaced. Use JSON for a FallbackLLM, a RouterLLM, or settings without an
    option.

    \b
    agentrt profile save fast --model openai/gpt-5.5 --reasoning-effort low
    agentrt profile save local --model openai/qwen --base-url http://127.0.0.1:8080/v1
    agentrt profile show fast | agentrt profile save copy --from-json -
    """
    if from_json is None:
        if model is None:
            raise click.UsageError("give --model, or a whole spec with --from-json")
        llm: AnyLLM = LLM(model=model, base_url=base_url, api_key_env=api_key_env, reasoning_effort=reasoning_effort)
    elif any(option is not None for option in (model, base_url, api_key_env, reasoning_effort)):
        raise click.UsageError("--from-json is the whole spec: give it alone")
    else:
        try:
            llm = msgspec.json.decode(from_json.read(), type=AnyLLM)
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise click.BadParameter(
                f'{error}; a spec is such as {{"type": "LLM", "model": "openai/gpt-5.5"}}', param_hint="'--from-json'"
            ) from error
    ProfileStore(profiles_file(store)).save(name, llm)
    click.echo(f"saved {name}: {named(llm)}")


@profile.command()
@click.argument("name")
@store_option
def remove(name: str, store: str | None) -> None:
    """Remove the profile NAME. Conversations that began with it are not affected."""
    ProfileStore(profiles_file(store)).remove(name)
    click.echo(f"removed {name}")
