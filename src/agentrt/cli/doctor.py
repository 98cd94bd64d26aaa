"""`agentrt doctor`: says what this machine can hold of what agents do."""

from __future__ import annotations

import click

from ..sandboxes.box import whats_missing


@click.command()
def doctor() -> None:
    """Try on this machine what agents need, and say what is missing.

    It makes a box, as `--confine require` does for each conversation, and runs a program in it.
    """
    if missing := whats_missing():
        click.echo(f"commands cannot be confined here: {missing}")
        click.echo("Until then, --confine require refuses to run any, and --confine auto runs them unconfined.")
        raise SystemExit(1)
    click.echo("commands can be confined here: a box was made, and a program ran in it (--confine require).")
