"""`Commands` and `Command`: help in groups, since nobody finds one of forty options in one list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import click

COMMANDS: Mapping[str, tuple[str, ...]] = {
    "Work with an agent": ("demo", "run", "chat", "resume", "ask"),
    "Conversations": ("list", "search", "show", "diff", "fork", "rename", "tag", "delete", "log"),
    "What an agent has": ("models", "profile", "rules", "skills", "agents", "context", "mcp", "browser"),
    "Server": ("serve", "keys"),
    "This machine": ("doctor",),
}
"""The commands of `agentrt`, by group."""

OPTIONS: Mapping[str, tuple[str, ...]] = {
    "Listen": (
        "host", "port", "cors", "allow_hosts", "workspaces", "rate", "max_sockets", "keep_alive", "backlog", "compat",
        "secrets_key",
    ),
    "Run conversations": (
        "resume_running", "drain", "idle_after", "durability", "max_events", "max_bytes", "max_processes",
    ),
    "Log": ("log_format", "log_level", "traces"),
    "Where it works": ("newest", "workspace", "image", "network", "confine"),
    "Model": ("model", "base_url", "price", "profile", "preset"),
    "Approval": ("confirm", "deny", "allow", "yes", "flow"),
    "Limits": ("max_steps", "max_cost", "max_tokens", "max_seconds", "grant"),
    "What it knows and can": ("message", "goal", "project", "plugins", "hooks", "servers", "own", "secrets"),
    "Conversation": ("title", "titles", "tags", "as_json", "store"),
}  # fmt: skip
"""The options of commands that have many, by group."""

FEW = 15
"""Maximum number of options that stand in one list."""

SUMMARY = 200
"""Maximum number of characters of a command's summary, its first sentence; longer than a line, it is wrapped."""


class Command(click.Command):
    """A command whose options are shown in groups, if they are many."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options by group, and those of no group last."""
        rows = {
            parameter.name or "": record
            for parameter in self.get_params(ctx)
            if isinstance(parameter, click.Option) and (record := parameter.get_help_record(ctx)) is not None
        }
        if len(rows) <= FEW:
            super().format_options(ctx, formatter)
            return
        _write(formatter, OPTIONS, rows, "Other options")


class Commands(click.Group):
    """The commands in groups. Commands that are added to it have their options in groups."""

    command_class = Command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by group."""
        names = [name for name in self.list_commands(ctx) if not self.commands[name].hidden]
        rows = {name: (name, self.commands[name].get_short_help_str(SUMMARY)) for name in names}
        _write(formatter, COMMANDS, rows, "Other commands")


def _write(
    formatter: click.HelpFormatter,
    groups: Mapping[str, Iterable[str]],
    rows: Mapping[str, tuple[str, str]],
    rest: str,
) -> None:
    grouped = {name for names in groups.values() for name in names}
    for title, names in (*groups.items(), (rest, [name for name in rows if name not in grouped])):
        if found := [rows[name] for name in names if name in rows]:
            with formatter.section(title):
                formatter.write_dl(found)
