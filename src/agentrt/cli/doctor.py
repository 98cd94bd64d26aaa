"""`agentrt doctor`: says what this machine can hold of what agents do."""

from __future__ import annotations

import click

from ..sandboxes.holding import way, whats_missing


@click.command()
def doctor() -> None:
    """Try on this machine what agents need, and say what is missing.

    It makes a box, as is done for each conversation on this machine, and runs a program in it.
    """
    if missing := whats_missing():
        click.echo(f"commands cannot be confined here: {missing}")
        click.echo("Until then they run unconfined, and --confine require refuses to run any.")
        raise SystemExit(1)
    click.echo(f"commands are confined here: a box was made (by {way()}), and a program ran in it.")
