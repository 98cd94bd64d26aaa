"""The options that several commands share, and the agent that they configure."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from ..context.titles import checked_tags
from ..conversation import Conversation
from ..errors import ConfigurationError
from ..llm.profiles import ProfileStore, profiles_file
from ..protocols import ModelClient
from ..secrets import EnvironmentSecret
from ..sources.servers import Served
from ..specs import (
    LLM,
    RULES,
    Agent,
    AgentContext,
    AlwaysConfirm,
    AnyLLM,
    ConfirmationPolicy,
    ConfirmRisky,
    Hook,
    InformationFlow,
    Limits,
    NeverConfirm,
    PermissionRule,
    PluginSource,
)
from ..specs.hooks import hooks_from_json
from ..specs.llm import members
from ..specs.presets import PRESETS, PresetName
from ..specs.rules import Verdict
from .defaults import WORDS, default_model
from .own_tools import own_tools
from .permissions import rule_from
from .servers import given_secrets, servers_option

POLICIES: Mapping[str, ConfirmationPolicy] = {
    "risky": ConfirmRisky(),
    "always": AlwaysConfirm(),
    "never": NeverConfirm(),
}
"""The confirmation policies by the values of --confirm."""

Command = TypeVar("Command", bound=Callable[..., Any])
R = TypeVar("R")
Option = Callable[[Any], Any]


def _positive(context: click.Context, parameter: click.Parameter, given: float | None) -> float | None:
    if given is not None and not 0 < given < float("inf"):
        raise click.BadParameter(f"{given} is not an amount: give a number above 0", context, parameter)
    return given


store_option = click.option(
    "--store",
    type=click.Path(file_okay=False),
    default=None,
    help="The directory where conversations are kept. Default: $AGENTRT_HOME, else ~/.agentrt.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one event on each line, as JSON.")
yes_option = click.option(
    "--yes", is_flag=True, help="Approve actions that would wait for an answer. Actions that a rule denies stay denied."
)
grant_option = click.option(
    "--grant",
    type=float,
    metavar="USD",
    callback=_positive,
    help="The amount that it may spend on top of its --max-cost.",
)
base_url_option = click.option(
    "--base-url", default=None, help="The address of a server that speaks the provider's API."
)


def _price(context: click.Context, parameter: click.Parameter, given: str | None) -> tuple[float, float] | None:
    if given is None:
        return None
    try:
        into, out = (float(part) / 1e6 for part in given.split(","))
    except ValueError:
        into = out = -1.0
    if not (0 <= into < float("inf") and 0 <= out < float("inf")):
        raise click.BadParameter(f"{given!r} is not a price: write two amounts, as 0.5,1.5", context, parameter)
    return into, out


def _policy(context: click.Context, parameter: click.Parameter, given: str | None) -> ConfirmationPolicy | None:
    return None if given is None else POLICIES[given]


def _rules(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> tuple[PermissionRule, ...]:
    own = own_tools(context.params.get("own", ())) if given else ()
    verdict: Verdict = "deny" if parameter.name == "deny" else "allow"
    servers = bool(context.params.get("servers"))
    try:
        return tuple(rule_from(verdict, written, own, servers=servers) for written in given)
    except ValueError as error:
        raise click.BadParameter(str(error), context, parameter) from error


def _hooks(context: click.Context, parameter: click.Parameter, given: Path | None) -> tuple[Hook, ...]:
    if given is None:
        return ()
    try:
        return hooks_from_json(msgspec.json.decode(given.read_bytes()))
    except OSError as error:
        raise click.BadParameter(f"cannot read {given}: {error.strerror}", context, parameter) from error
    except (ValueError, msgspec.MsgspecError) as error:
        raise click.BadParameter(f"{given}: {error}", context, parameter) from error


def tags_of(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """Return the tags of "KEY=VALUE" strings; an empty value is kept. Raises `click.BadParameter`."""
    pairs = [each.partition("=") for each in given]
    for key, equals, _ in pairs:
        if not equals:
            raise click.BadParameter(f"{key!r} has no value: write {key}=VALUE", context, parameter)
    try:
        return checked_tags({key: value for key, _, value in pairs})
    except ConfigurationError as error:
        raise click.BadParameter(str(error), context, parameter) from error


def confirm_option(default: str | None) -> Option:
    """Return the --confirm option; without a default, the policy stays as it is."""
    return click.option(
        "--confirm",
        type=click.Choice(list(POLICIES)),
        default=default,
        show_default=default is not None or "as it was",
        callback=_policy,
        help="Which actions wait for your answer: those rated risky or of unknown risk, all, or none.",
    )


def _limits(steps: int | None) -> tuple[Option, ...]:
    """Return the options for the limits of a run."""
    return (
        click.option(
            "--max-steps",
            type=click.IntRange(1),
            default=steps,
            show_default=steps is not None,
            help="Maximum number of model calls.",
        ),
        click.option(
            "--max-cost",
            type=float,
            metavar="USD",
            callback=_positive,
            help="Total amount that it may spend. The limit is never exceeded: the cost of each call is reserved in"
            " advance. The model's price must be known.",
        ),
        click.option(
            "--max-tokens", type=click.IntRange(1), help="Maximum number of tokens in total, input and output."
        ),
        click.option(
            "--max-seconds",
            type=float,
            metavar="SECONDS",
            callback=_positive,
            help="Maximum duration of a run; running work is interrupted then.",
        ),
    )


plugin_option = click.option(
    "--plugin",
    "plugins",
    multiple=True,
    metavar="SOURCE",
    callback=lambda context, option, given: tuple(map(_plugin, given)),
    help="A plugin: a directory, a git address, github:owner/repo or NAME@MARKETPLACE; #REVISION may follow. May be"
    " repeated.",
)


def _plugin(given: str) -> PluginSource:
    source, _, ref = given.partition("#")
    return PluginSource(source, ref)


_AGENT: tuple[Option, ...] = (
    click.option(
        "--model",
        "-m",
        default=None,
        show_default=WORDS,
        help="Any model that litellm knows, with its provider.",
    ),
    base_url_option,
    click.option(
        "--price",
        default=None,
        metavar="IN,OUT",
        callback=_price,
        help="The model's price in USD per million tokens of input and output: 0.5,1.5. For models whose price is not"
        " known, such as those of your own server.",
    ),
    click.option(
        "--profile", default=None, metavar="NAME", help="A saved model, instead of --model: see `agentrt profile`."
    ),
    click.option(
        "--preset",
        type=click.Choice(list(PRESETS)),
        default=None,
        help="The agent's tools: gpt5 and gemini have the tools that these models know, planning can only write a"
        " plan. Default: the preset that suits the model.",
    ),
    *_limits(Limits().max_steps),
    confirm_option("risky"),
    click.option(
        "--deny",
        multiple=True,
        metavar="PATTERN",
        callback=_rules,
        help="Never run matching actions: a command such as '*git push*', or TOOL:PATTERN such as"
        " 'file_editor:/etc/*'. The whole command is matched. May be repeated; no other rule can allow what is"
        " denied.",
    ),
    click.option(
        "--allow",
        multiple=True,
        metavar="PATTERN",
        callback=_rules,
        help="Run matching actions without asking, whatever their rating: for example 'docker compose *'. A star does"
        " not match a second command here. May be repeated.",
    ),
    click.option(
        "--flow",
        is_flag=True,
        help="Also ask when the agent has read the web, an MCP server or a file from outside, and an action would"
        " reach the network, a secret, a push or a place outside the workspace.",
    ),
    click.option(
        "--hooks",
        type=click.Path(dir_okay=False, path_type=Path),
        default=None,
        metavar="FILE",
        callback=_hooks,
        help="A hooks.json: commands that run before and after the agent's actions, and can forbid them.",
    ),
    plugin_option,
    servers_option,
    click.option(
        "--project/--no-project",
        default=True,
        help="Whether the instructions, skills, agents and memory of the workspace are read.",
    ),
)


def with_options(command: Command, options: Sequence[Option]) -> Command:
    """Return the command with these options, in their order."""
    for option in reversed(options):
        command = option(command)
    return command


def agent_options(command: Command) -> Command:
    """Add the options that `agent_of` takes."""
    return with_options(command, _AGENT)


def limit_options(command: Command) -> Command:
    """Add options that change limits; limits without an option stay as they are."""
    return with_options(command, _limits(None))


def agent_of(
    *,
    model: str | None,
    base_url: str | None,
    price: tuple[float, float] | None,
    profile: str | None,
    preset: PresetName | None,
    store: str | None,
    confirm: ConfirmationPolicy,
    allow: tuple[PermissionRule, ...],
    deny: tuple[PermissionRule, ...],
    flow: bool,
    hooks: tuple[Hook, ...],
    plugins: tuple[PluginSource, ...],
    servers: tuple[Served, ...],
    project: bool,
    **limits: Any,
) -> Agent:
    """Return the agent that the options describe. Raises `click.UsageError` for two models, or `ProfileMissing`."""
    return Agent.preset(
        preset,
        llm=chosen_llm(model, base_url, profile, store, price),
        analyzer=RULES,
        confirmation=confirm,
        rules=(*deny, *allow),
        flow=InformationFlow() if flow else None,
        hooks=hooks,
        context=AgentContext(load_user_skills=True, load_project_skills=project, plugins=plugins),
        limits=Limits(**limits),
        mcp_servers={name: one for served in servers for name, one in served.servers.items()},
    )


def chosen_llm(
    model: str | None,
    base_url: str | None,
    profile: str | None,
    store: str | None,
    price: tuple[float, float] | None = None,
) -> AnyLLM:
    """Return the model that the options name. Raises `click.UsageError` for two models, or `ProfileMissing`."""
    if profile is None:
        into, out = price or (None, None)
        return LLM(
            model=model or default_model(os.environ),
            base_url=base_url,
            input_cost_per_token=into,
            output_cost_per_token=out,
        )
    if price is not None:
        raise click.UsageError("--profile has a model and its price: give it, or --model and --price")
    if model is not None or base_url is not None:
        raise click.UsageError("--profile has a model and its address: give it, or --model and --base-url")
    return ProfileStore(profiles_file(store)).load(profile)


def check_price(agent: Agent, client: ModelClient) -> None:
    """Raise `ConfigurationError` if an agent's budget cannot be enforced; its model must be prepared."""
    if agent.limits.max_cost is None:
        return
    for llm in members(agent.llm):
        known = client.known(llm)
        if known.input_cost is None or known.output_cost is None:
            raise ConfigurationError(
                f"the price of {llm.model!r} is unknown, so --max-cost cannot be enforced: give the price with --price"
                " IN,OUT (USD for a million tokens), or leave --max-cost out"
            )


titles_option = click.option(
    "--titles/--no-titles",
    default=True,
    show_default=True,
    envvar="AGENTRT_TITLES",
    help="Whether a conversation gets a title from its model, once the agent has replied. That short call counts in the"
    " conversation's cost.",
)

_BEGINNING: tuple[Option, ...] = (
    click.option(
        "--goal",
        default="",
        metavar="TEXT",
        help="What must be true at the end. A judge checks it, and sends the agent back with what is missing at most"
        " ten times.",
    ),
    click.option(
        "--secret",
        "secrets",
        multiple=True,
        metavar="NAME",
        callback=given_secrets,
        help="An environment variable that the agent's commands may use by its name; its value is never shown."
        " NAME=VARIABLE takes the value from another variable. May be repeated.",
    ),
    click.option("--title", default="", help="The title in `agentrt list`. Default: the task."),
    click.option("--tag", "tags", multiple=True, metavar="KEY=VALUE", callback=tags_of, help="A tag; may be repeated."),
)


class Beginning(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a new conversation besides its agent."""

    goal: str
    secrets: dict[str, EnvironmentSecret]
    title: str
    tags: dict[str, str]

    async def of(self, conversation: Conversation) -> None:
        """Apply these settings to a conversation; the secrets are passed to it when it is made."""
        if self.title:
            await conversation.rename(self.title)
        if self.tags:
            await conversation.set_tags(self.tags)
        if self.goal:
            await conversation.set_goal(self.goal)


def beginning_options(command: Callable[..., R]) -> Callable[..., R]:
    """Add the options that make up the parameter `beginning`."""

    @wraps(command)
    def begun(*, goal: str, secrets: dict[str, EnvironmentSecret], title: str, tags: dict[str, str], **rest: Any) -> R:
        return command(beginning=Beginning(goal=goal, secrets=secrets, title=title, tags=tags), **rest)

    return with_options(begun, _BEGINNING)
